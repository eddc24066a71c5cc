"""From an application's folder to its objects: the output of kustomize or helm, or the files themselves."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from krm_fn.base import programs
from krm_fn.base.errors import ConfigError, InputError
from krm_fn.base.wording import show
from krm_fn.hosts.argocd import flags
from krm_fn.hosts.argocd.flags import WantedFlags
from krm_fn.repositories import building, guard
from krm_fn.repositories.discovery import target_of
from krm_fn.repositories.guard import RefusedWordError
from krm_fn.sources import reading
from krm_fn.sources.reading import NothingFoundError
from krm_fn.sources.source import Sources

KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
CHART = "Chart.yaml"
NOTHING = flags.WantedFlags()
CALLS = (["kustomize", "build"], ["kubectl", "kustomize"])
HELM_COMMAND = "--helm-command"
FIX = ", because Argo CD waits for only 60 s; reduce what the build fetches, or raise --timeout and the timeout of Argo CD"


def build(
    folder: Path,
    *,
    options: Sequence[str],
    wanted: WantedFlags = NOTHING,
    environment: Mapping[str, str],
    timeout: float,
    network: bool = False,
) -> Sources:
    """The objects of the folder; there may be none. `options` are the administrator's flags, `wanted` those of the application.

    With `network`, the build may fetch.
    Raises: InputError if the folder can't be read, or built within `timeout` seconds; ConfigError for a flag that an
    application may not set.
    """
    command = command_for(folder, options=options, wanted=wanted, environment=environment)
    if command:
        powerful = _is_powerful(options)
        return reading.of_bytes(_printed(command, folder, environment, timeout, given=powerful, network=network))
    if given := (*options, *wanted.words):
        raise InputError(f"the folder has neither a kustomization nor a {CHART} for the build options {' '.join(given)}")
    try:
        found = reading.read([os.path.relpath(folder)], within=[str(repository(folder, environment))])
    except NothingFoundError:
        return Sources(sources=())
    found.refuse_skipped()  # Argo CD would delete the missing objects
    return found


def command_for(
    folder: Path, *, options: Sequence[str], wanted: WantedFlags = NOTHING, environment: Mapping[str, str]
) -> list[str]:
    """The command that builds the folder; empty if its files are the objects.

    Raises: InputError without the program; ConfigError for a flag that an application may not set.
    """
    path = environment.get("PATH", os.defpath)
    if any((folder / name).is_file() for name in KUSTOMIZATIONS):
        for call in CALLS:
            if programs.find(call[0], path):
                return [*call, *options, *_allowed("kustomize", wanted, folder, environment), "."]
        fact = "the folder is a kustomization, but neither kustomize nor kubectl is on the PATH"
        raise InputError(f"{fact}; install one of them; see docs/argocd.md")
    if not (folder / CHART).is_file():
        return []
    if not programs.find("helm", path):
        raise InputError("the folder is a chart, but helm is not on the PATH; install it; see docs/argocd.md")
    more = [*options, *_allowed("helm", wanted, folder, environment)]
    return ["helm", "template", _release(environment), ".", *_cluster(environment), *more]


def _allowed(program: str, wanted: WantedFlags, folder: Path, environment: Mapping[str, str]) -> list[str]:
    """The application's flags in the form for the program. Raises: ConfigError for a flag that it may not set."""
    known, places = flags.ALLOWED[program], (repository(folder, environment),)
    try:
        return list(flags.permitted(wanted.words, known, lambda name: guard.is_one_file(name, folder, places)))
    except RefusedWordError as error:
        *names, last = (flag.name for flag in known)
        reason = error.reason or (
            f"an application may pass only these flags to {program}: {', '.join(names)} or {last}; "
            "an administrator can pass others as --build-option in plugin.yaml"
        )
        raise ConfigError(f"found {show(error.word)}; {reason}", path=wanted.place) from None


def repository(folder: Path, environment: Mapping[str, str]) -> Path:
    """The folder of the repository that contains the application's folder. Links may lead there, as in Argo CD itself."""
    return flags.repository(folder, environment.get("ARGOCD_APP_SOURCE_PATH", ""))


def _release(environment: Mapping[str, str]) -> str:
    """The name of helm's release: that of the application."""
    name = environment.get("ARGOCD_APP_NAME") or "release-name"
    if name.startswith("-"):
        raise InputError(f"ARGOCD_APP_NAME: found {show(name)}, which helm would read as a flag; expected a name")
    return name


def _cluster(environment: Mapping[str, str]) -> list[str]:
    """The flags that Argo CD itself passes to helm: namespace, custom resources, and the versions that the cluster serves."""
    found = ["--include-crds"]
    if environment.get("ARGOCD_APP_NAMESPACE"):
        found += ["--namespace", environment["ARGOCD_APP_NAMESPACE"]]
    if environment.get("KUBE_VERSION"):
        found += ["--kube-version", environment["KUBE_VERSION"]]
    for version in filter(None, environment.get("KUBE_API_VERSIONS", "").split(",")):
        found += ["--api-versions", version]
    return found


def _printed(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], timeout: float, *, given: bool, network: bool
) -> bytes:
    """The stdout of the command. `given`: it gets the whole environment."""
    program, *words = command
    root = repository(folder, environment)
    name, chosen = " ".join(command[:2]), "helm"
    if program == "helm":
        if link := guard.link_out(str(folder), [root]):
            raise InputError(f"{link} is a link out of the repository; replace it by what it leads to")
        words += [] if network else guard.unfetched(str(folder))
    else:
        words, chosen = _without_helm(words)
        target = target_of(str(folder), [str(root)])
        building.refuse(target and building.barred(target, network=network))
    with programs.scratch() as made:
        try:
            ran = guard.run(
                programs.find(program, environment.get("PATH", os.defpath)) or program,
                words,
                scratch=Path(os.path.realpath(made)),
                roots=[str(root)],
                timeout=timeout,
                network=network,
                given=environment if given else None,
                folder=folder,
                helm=chosen,
                quiet=False,
            )
        except programs.OvertimeError:
            raise InputError(f"`{name}` was stopped after {timeout:g} s{FIX}") from None
    if ran.code:
        raise InputError(f"`{name}` failed with exit code {ran.code}; see its message above")
    return ran.out


def _is_powerful(options: Sequence[str]) -> bool:
    """True for flags of the administrator that an application may not set. What they start may need the environment."""
    try:
        tuple(flags.permitted(options, (*flags.KUSTOMIZE, *flags.HELM), lambda _: True))
    except RefusedWordError:
        return True
    return False


def _without_helm(words: Sequence[str]) -> tuple[list[str], str]:
    """The words without the administrator's choice of helm, and that choice."""
    kept: list[str] = []
    chosen = "helm"
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if name == HELM_COMMAND:
            chosen = value if equals else next(rest, "")
        else:
            kept.append(word)
    return kept, chosen
