"""Units judged by workers of a Dask cluster: the same output, whatever dies on the way."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest
from checking import run
from running import NEWEST_KUSTOMIZE, ROOT, fetched
from trees import tree

from krm_fn.kubevirt.settings import Config
from krm_fn.repositories import distributing
from krm_fn.repositories.clusters import TargetSettings
from krm_fn.repositories.loading import Unit, UnitPiece

DASK = [sys.executable, "-m", "dask"]  # the commands `dask scheduler` and `dask worker`
LONG = 120.0  # seconds that anything may take where other programs use the processors
# Notes what is built, and builds it. Where a file beside it says so, it waits until it is ended.
KUSTOMIZE = """\
#!/bin/sh
here=$(dirname "$0")
if [ "$1" = build ]; then
  sed 's/.*"resources": \\["\\([^"]*\\)".*/\\1/' "$2/kustomization.yaml" | xargs basename >> "$here/log"
  [ -e "$here/stuck" ] && exec sleep 600
fi
exec REAL "$@"
"""
LOCAL_CLUSTER = """
from distributed import LocalCluster
import time
with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
    print(cluster.scheduler_address, flush=True)
    time.sleep(600)
"""
VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web
spec:
  runStrategy: Always
  instancetype: {name: small}
  template:
    spec:
      domain: {devices: {}}
      volumes: [{name: a, secret: {secretName: absent}}]
"""
SIZE = """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterInstancetype
metadata: {name: small}
spec: {cpu: {guest: 1}, memory: {guest: 1Gi}}
"""
PATCH = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web
spec:
  template:
    spec:
      domain:
        cpu: {cores: NUMBER}
"""
OVERLAY = "resources: [../../base]\nnamespace: NAME\npatches: [{path: cores.yaml}]\n"
TARGETS = [f"vm-{number:02}" for number in range(6)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    fetched(NEWEST_KUSTOMIZE.name)
    return tmp_path_factory.mktemp("cluster")


def programs(folder, name, **more):
    """A folder with kustomize, which notes there what it builds."""
    made = tree(folder / name, {"kustomize": KUSTOMIZE.replace("REAL", str(NEWEST_KUSTOMIZE / "kustomize")), **more})
    (made / "kustomize").chmod(0o755)
    return made


def environment(path, **more):
    return {**os.environ, "PATH": f"{path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), **more}


def until(fact, *running):
    """What is true at last; the test fails where that takes too long or where something ended that has to run."""
    end = time.monotonic() + LONG
    while not (found := fact()):
        assert time.monotonic() < end
        assert all(each.poll() is None for each in running)
        time.sleep(0.02)
    return found


@contextmanager
def started(*words, log, **environment):
    """A program that runs meanwhile, its output in a file."""
    with log.open("wb") as out, subprocess.Popen(words, stdout=out, stderr=out, cwd=log.parent, **environment) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def scheduler(folder, name="scheduler"):
    """The address of a scheduler, and its process."""
    file = folder / f"{name}.json"
    words = ("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
    with started(*DASK, *words, log=folder / f"{name}.log") as process:
        until(lambda: file.exists() and file.read_text().endswith("}"), process)
        yield json.loads(file.read_text())["address"], process


@contextmanager
def worker(address, path, **more):
    """A worker of one process, and that process; what it builds with lies in the folder."""
    words = ("worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard")
    log = path / "worker.log"
    with started(*DASK, *words, log=log, env=environment(path, **more)) as process:
        until(lambda: "Registered to" in log.read_text(), process)
        yield process


@pytest.fixture(scope="module")
def cluster(folder):
    """The address of a scheduler with two workers, each started by its own command."""
    with (
        scheduler(folder) as (address, _),
        worker(address, programs(folder, "one")),
        worker(address, programs(folder, "two")),
    ):
        yield address


@pytest.fixture(scope="module")
def plain(folder):
    """What one process says of the repository."""
    root = written(folder / "repository")
    return check(root, PATH=f"{NEWEST_KUSTOMIZE}:{os.environ['PATH']}")


@pytest.fixture
def repository(tmp_path, monkeypatch, folder):
    """The repository, and a kustomize on the PATH that notes what it builds."""
    monkeypatch.setenv("PATH", f"{programs(tmp_path, 'here')}:{os.environ['PATH']}")
    return written(tmp_path / "repository")


def written(root):
    """Overlays of one base, the instancetype that they lack in another target, one that can't be built, and a file."""
    files = {
        "base/kustomization.yaml": "resources: [vm.yaml]\n",
        "base/vm.yaml": VM,
        "types/kustomization.yaml": "resources: [size.yaml]\n",
        "types/size.yaml": SIZE,
        "broken/kustomization.yaml": "resources: [absent.yaml, vm.yaml]\n",
        "broken/vm.yaml": VM.replace("web", "part"),
        "loose/vm.yaml": VM.replace("web", "loose"),
    }
    for number, name in enumerate(TARGETS):
        files[f"overlays/{name}/kustomization.yaml"] = OVERLAY.replace("NAME", name)
        files[f"overlays/{name}/cores.yaml"] = PATCH.replace("NUMBER", str(number % 3))
    (tree(root, files) / ".git").mkdir()
    return root


def built(path):
    """What was built with a folder's kustomize since the last call, sorted."""
    log = path / "log"
    names = sorted(log.read_text().split()) if log.exists() else []
    log.unlink(missing_ok=True)
    return names


def check(repository, *arguments, address="", **environment):
    dask = ("--executor", "dask", "--scheduler", address) if address else ("--jobs", "1")
    cache = () if "--cache" in arguments else ("--no-cache",)
    return run("check", ".", "--summary", *dask, *cache, *arguments, cwd=repository, **environment)


def test_the_output_is_that_of_one_process(repository, cluster, folder):
    files = [repository.parent / name for name in ("junit", "json")]
    outputs = ["-o", "text", *(word for file in files for word in ("-o", f"{file.name}={file}"))]
    plain = check(repository, *outputs), [file.read_text() for file in files]
    assert all(part in plain[0][1] for part in ("overlays/vm-05/cores.yaml", "base/vm.yaml", "broken", "instancetype-conflict"))
    here = built(repository.parent / "here")
    assert (check(repository, *outputs, address=cluster), [file.read_text() for file in files]) == plain
    assert built(repository.parent / "here") == ["broken"]
    there = sorted(name for each in ("one", "two") for name in built(folder / each))
    assert there == here == sorted(["broken", "types", *TARGETS])


def test_workers_build_nothing_after_the_time_for_all_builds(repository, cluster, folder):
    code, out, _ = check(repository, "--total-timeout", "0.001", address=cluster)
    assert code == 1
    assert "raise --total-timeout" in out
    assert [*built(folder / "one"), *built(folder / "two"), *built(repository.parent / "here")] == []


def test_links_and_files_above_the_folder_are_read_here(repository, cluster):
    (repository / "overlays/vm-03/cores.yaml").unlink()
    (repository / "overlays/vm-03/cores.yaml").symlink_to("../vm-04/cores.yaml")
    for cwd in (repository, repository / "overlays"):
        plain = check(cwd)
        built(repository.parent / "here")
        assert check(cwd, address=cluster) == plain
        assert "vm-03" in built(repository.parent / "here")


def test_what_workers_do_is_kept(repository, plain, cluster, tmp_path):
    cache = ("--cache", str(tmp_path / "cache"))
    assert check(repository, *cache, address=cluster) == plain
    built(repository.parent / "here")
    assert check(repository, *cache) == plain
    assert built(repository.parent / "here") == ["broken"]
    tree(repository, {"types/size.yaml": SIZE.replace("guest: 1}", "guest: 0}")})
    changed = check(repository)
    built(repository.parent / "here")
    assert check(repository, *cache, address=cluster) == changed != plain
    assert built(repository.parent / "here") == ["broken"]


def test_a_worker_that_dies_loses_nothing(repository, plain, cluster, folder):
    stuck = programs(folder, "stuck", stuck="")
    with worker(cluster, stuck) as process:
        killing = threading.Thread(target=lambda: (until((stuck / "log").exists), process.kill()))
        killing.start()
        found = check(repository, address=cluster)
        killing.join()
        assert process.wait(LONG) == -signal.SIGKILL
    assert found == plain


def test_what_is_left_is_judged_here_where_the_scheduler_dies(repository, plain, folder, monkeypatch):
    monkeypatch.setattr(distributing, "PATIENCE", 5.0)
    stuck = programs(folder, "alone", stuck="")
    with scheduler(folder, "dying") as (address, process), worker(address, stuck):
        killing = threading.Thread(target=lambda: (until((stuck / "log").exists), process.kill()))
        killing.start()
        code, out, err = check(repository, address=address)
        killing.join()
    assert (code, out) == plain[:2]
    assert err == f"kubevirt-render: note: no worker of {address} answers any more; this machine checks the rest\n"


def test_a_local_cluster_gives_the_same(repository, plain, tmp_path):
    log = tmp_path / "log"
    with started(sys.executable, "-c", LOCAL_CLUSTER, log=log) as process:
        found = until(lambda: re.search(r"^tcp:\S+$", log.read_text(), re.MULTILINE), process)
        assert check(repository, address=found[0]) == plain


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("import krm_fn; krm_fn.__version__ = '9.9'", "has kubevirt-render 9.9; expected kubevirt-render 0.1.0"),
        ("import sys; sys.modules['krm_fn'] = None", "can't load kubevirt-render; expected kubevirt-render 0.1.0"),
        ("import os; os.environ['PATH'] = '/nowhere'", "has neither kustomize nor kubectl; expected kustomize "),
    ],
)
def test_a_worker_with_another_version_is_named(repository, folder, tmp_path, code, complaint):
    other = tree(tmp_path / "other", {"sitecustomize.py": code})
    with scheduler(tmp_path) as (address, _), worker(address, programs(tmp_path, "other"), PYTHONPATH=f"{other}:{ROOT}"):
        code, out, err = check(repository, address=address)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "kubevirt-render: error: worker tcp://127.0.0.1:" in err
    assert complaint in err
    assert err.endswith(", as on this machine\n")


def test_what_the_options_lack_is_one_line(repository, monkeypatch):
    monkeypatch.setattr(distributing, "PATIENCE", 0.5)
    usage = {
        ("--executor", "dask"): "--executor dask needs --scheduler ADDRESS",
        ("--scheduler", "tcp://127.0.0.1:1"): "--scheduler needs --executor dask",
        ("--executor", "dask", "--scheduler", "tcp://127.0.0.1:1"): "--scheduler: tcp://127.0.0.1:1 does not answer",
        ("--executor", "dask", "--scheduler", "no://1"): "--scheduler: found 'no://1'; expected an address",
    }
    for words, complaint in usage.items():
        code, out, err = run("check", ".", *words, cwd=repository)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert f"kubevirt-render: error: {complaint}" in err


def test_the_extra_is_named_where_it_is_not_installed(repository, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    code, out, err = check(repository, address="tcp://127.0.0.1:1")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "run `pip install '.[dask]'` in a clone of this program" in err


def test_a_scheduler_without_workers_is_named(repository, folder, monkeypatch):
    monkeypatch.setattr(distributing, "FIRST", 0.0)
    with scheduler(folder, "idle") as (address, _):
        code, out, err = check(repository, address=address)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"{address} has no workers" in err


def test_a_shipment_ends_where_its_files_are_large_enough(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(distributing, "LARGE", 2_000)
    pieces = []
    for number in range(6):
        (tmp_path / f"{number}.yaml").write_text("#" * 999 + "\n")
        pieces.append(UnitPiece(number, Unit(settings=TargetSettings(config=Config()), files=(f"{number}.yaml",))))
    sent = distributing._parts(pieces, 5)
    assert [[piece.number for piece, _ in part] for part in sent] == [[0, 1], [2, 3], [4, 5]]
