"""From an application's folder to its objects: what kustomize or helm makes of it, or the files themselves."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from krm_fn import sources
from krm_fn.errors import InputError
from krm_fn.sources import NothingFoundError, Sources

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
CHART = "Chart.yaml"
# How long what was asked to end may take.
GRACE = 2.0


def build(folder: Path, *, options: Sequence[str], environment: Mapping[str, str], timeout: float) -> Sources:
    """The objects of the folder, maybe none. `options` are further flags for kustomize or helm.

    Raises: InputError where the folder can't be built within `timeout` seconds, or read.
    """
    command = command_for(folder, options=options, environment=environment)
    if command:
        return sources.of_bytes(_printed(command, folder, environment, timeout))
    if options:
        raise InputError(f"there is neither a kustomization nor a {CHART} for the build options {' '.join(options)}")
    try:
        return sources.read([os.path.relpath(folder)])
    except NothingFoundError:
        return Sources(sources=())


def command_for(folder: Path, *, options: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The command that builds the folder, empty where its files are the objects. Raises: InputError without the program."""
    path = environment.get("PATH")
    if any((folder / name).is_file() for name in KUSTOMIZATIONS):
        if shutil.which("kustomize", path=path):
            return ["kustomize", "build", *options, "."]
        if shutil.which("kubectl", path=path):
            return ["kubectl", "kustomize", *options, "."]
        raise InputError("the folder is a kustomization, and neither kustomize nor kubectl is on the PATH; see docs/argocd.md")
    if not (folder / CHART).is_file():
        return []
    if not shutil.which("helm", path=path):
        raise InputError("the folder is a chart, and helm is not on the PATH; see docs/argocd.md")
    return ["helm", "template", environment.get("ARGOCD_APP_NAME") or "release-name", ".", *_cluster(environment), *options]


def _cluster(environment: Mapping[str, str]) -> list[str]:
    """The flags with which Argo CD itself calls helm: namespace, custom resources, and what the cluster serves."""
    flags = ["--include-crds"]
    if environment.get("ARGOCD_APP_NAMESPACE"):
        flags += ["--namespace", environment["ARGOCD_APP_NAMESPACE"]]
    if environment.get("KUBE_VERSION"):
        flags += ["--kube-version", environment["KUBE_VERSION"]]
    for version in filter(None, environment.get("KUBE_API_VERSIONS", "").split(",")):
        flags += ["--api-versions", version]
    return flags


def _printed(command: Sequence[str], folder: Path, environment: Mapping[str, str], timeout: float) -> bytes:
    """What the command prints; its stderr goes straight to ours. It ends with us, and its children with it."""
    home = environment.get("HOME") or tempfile.gettempdir()  # a sidecar's user may have none, which helm doesn't bear
    short = " ".join(command[:2])
    process = subprocess.Popen(  # noqa: S603  the program is one of three
        command, cwd=folder, env={**environment, "HOME": home}, stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        printed, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        fix = "give it less to fetch, or raise --timeout and Argo CD's own"
        raise InputError(f"`{short}` was stopped after {timeout:g} s, since Argo CD waits for 60 s alone; {fix}") from None
    finally:
        _end(process)
    if process.returncode:
        raise InputError(f"`{short}` failed with exit code {process.returncode}; see its message above")
    return printed


def _end(process: subprocess.Popen[bytes]) -> None:
    """Whatever still runs of the process and its children is ended: Argo CD stops only us."""
    if process.poll() is not None:
        return
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
