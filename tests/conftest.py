"""Real hosts: kustomize and podman from `.hosts` (see `.ci/hosts`), kpt and kubectl from the PATH. Missing ones skip tests.

The figures of tests are printed at the end: `record_property("figure", "…")` collects a line from every worker.

With `--quick` pytest runs the first test of each module, and every test that uses the fixture `cases`, with a sample of the
measured cases. Tests need no mark: new modules and new tests of measured cases are in the quick subset automatically.
"""

from __future__ import annotations

import compileall
import fcntl
import gc
import os
import secrets
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import measured
import pytest
from building import HERE, image_of, once
from hypothesis import HealthCheck, settings
from running import HOSTS, PODMAN, ROOT, absent, fetched, on_path

MEMORY, ROOM = Path("/dev/shm"), 4 << 30  # the files of Linux that are in memory, and bytes
BUNDLE = ROOT / "kustomization-examples" / "quickstart" / "bundle"

# The oldest supported release and the two newest that Debian ships; and what the machine has, where it has one.
ON_PATH = "on the PATH"
KUSTOMIZE = ("4.5.4", "5.6.0", "5.8.1", *([ON_PATH] if shutil.which("kustomize") else []))

IMAGE = "localhost/kubevirt-render:test"
LATEST = "localhost/kubevirt-render:latest"  # the examples' name for it

FUNCTION = f"""\
#!/bin/sh
exec "{sys.executable}" -c 'import sys; from krm_fn.__main__ import main; sys.exit(main())' "$@"
"""


# Other work on the machine makes drawing examples slow, which says nothing about the tests. A pipeline draws the same ones for
# the same tests, so that its answer is about the commit; who works on the project, and the fuzzer, search on.
settings.register_profile(
    "shared", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="DRAW_ALIKE" in os.environ
)
settings.load_profile("shared")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="the first test of each module, and a sample of the measured cases")


def pytest_configure(config: pytest.Config) -> None:
    """What tests start and interrupt takes signals, though pytest was started to ignore them: in the background, by nohup.

    It does not compile the program anew each time, and no test waits for a disk.
    """
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)  # still of no effect here, but not passed on to what is started
    if "TMPDIR" not in os.environ and has_room(MEMORY):
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(ROOT / "krm_fn", quiet=2)


def has_room(folder: Path) -> bool:
    """True for a folder with room for what tests write, in which programs may be run."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize >= ROOM and not found.f_flag & os.ST_NOEXEC and os.access(folder, os.W_OK)


def pytest_collection_finish() -> None:
    """What was collected stays to the end: no collection of garbage looks through it again."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("quick"):
        first = {item.path: item for item in reversed(items)}
        kept = [item for item in items if item is first[item.path] or "cases" in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test finds in the user's folders what another run left there, and none leaves anything."""
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path_factory.getbasetemp() / "users" / secrets.token_hex(8)))


@pytest.fixture(scope="session")
def cases(pytestconfig: pytest.Config) -> measured.Cases:
    """The cases of a file of fixtures/parity, by its name; with `--quick`, a sample of them."""
    sample = measured.SAMPLE if pytestconfig.getoption("quick") else 1
    return lambda name, *, every=1: measured.cases(name, every=every * sample)


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a user who has installed this very code: `kubevirt-render` is on the PATH."""
    folder = tmp_path_factory.mktemp("bin")
    script = folder / "kubevirt-render"
    script.write_text(FUNCTION)
    script.chmod(0o755)
    git = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.com",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.com",
    }
    return {**os.environ, **git, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


@pytest.fixture(params=KUSTOMIZE)
def kustomize(request: pytest.FixtureRequest) -> str:
    """The kustomize binary of one release."""
    return on_path("kustomize") if request.param == ON_PATH else fetched(request.param)


@pytest.fixture
def kpt() -> str:
    """The kpt binary."""
    return on_path("kpt")


@pytest.fixture
def kubectl() -> str:
    """The kubectl binary."""
    return on_path("kubectl")


@pytest.fixture(scope="session")
def podman(environment: dict[str, str]) -> dict[str, str]:
    """The environment in which podman runs, and answers to `docker` too."""
    folder = HOSTS / "podman"
    if not (folder / "ready").exists() or not os.access(folder / "storage", os.W_OK):
        absent(PODMAN)
    return {
        **environment,
        "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"),
        "CONTAINERS_CONF": str(folder / "containers.conf"),
        "PATH": f"{folder / 'bin'}:{environment['PATH']}",
    }


@pytest.fixture(scope="session")
def image(podman: dict[str, str]) -> str:
    """The name of the image, built from the Dockerfile as it stands. Workers that build at once wait for each other."""
    with (HOSTS / "podman" / "ready").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        image_of(ROOT, podman, "-t", IMAGE, "-t", LATEST)
    return IMAGE


@pytest.fixture(scope="session")
def zipapp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program as one file, for this platform; the release's is for all of them."""
    return once(tmp_path_factory, "zipapp", "make_zipapp.py", "--platform", HERE)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A copy of the quickstart bundle."""
    return Path(shutil.copytree(BUNDLE, tmp_path / "bundle"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = terminalreporter.stats.get("passed", [])
    figures = [value for report in reports for name, value in getattr(report, "user_properties", ()) if name == "figure"]
    for figure in figures:
        terminalreporter.write_line(f"FIGURE {figure}")
