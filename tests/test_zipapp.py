"""kubevirt-render.pyz: one file that runs with any Python of its platforms, from a folder in which it unpacks itself."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from importlib.util import cache_from_source
from pathlib import Path

import pytest
from building import HERE, copied, made, once
from make_zipapp import PLATFORMS, core
from running import ROOT, passed, run

from krm_fn import __version__

BUNDLE = ROOT / "kustomization-examples" / "quickstart" / "bundle"
OTHERS = tuple(platform for platform in PLATFORMS if platform != HERE)

# Flow style: libyaml reads it, the strict reader for plain block style does not.
SPEC = "{instancetype: {name: u1.small}, template: {spec: {domain: {}}}}"
FLOW = f"{{apiVersion: kubevirt.io/v1, kind: VirtualMachine, metadata: {{name: a}}, spec: {SPEC}}}\n"


@pytest.fixture(scope="session")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file for all platforms but this one: the locked packages exist for each of them."""
    platforms = (word for each in OTHERS for word in ("--platform", each))
    return once(tmp_path_factory, "zipapp-elsewhere", "make_zipapp.py", *platforms)


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python without any package."""
    folder = tmp_path_factory.mktemp("python")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return str(folder / "bin" / "python")


@pytest.fixture
def user(tmp_path: Path, python: str) -> dict[str, str]:
    """The environment of a user with an empty home, whose `python3` has no packages."""
    for name in ("home", "tmp"):
        (tmp_path / name).mkdir(mode=0o700)
    path = f"{Path(python).parent}:/usr/bin:/bin"
    return {"PATH": path, "HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "tmp")}


def cache(user: dict[str, str]) -> Path:
    return Path(user["HOME"]) / ".cache" / "kubevirt-render"


def everything(*folders: Path) -> list[Path]:
    return [path for folder in folders for path in folder.rglob("*")]


def test_it_runs_the_quickstart_as_the_installed_command_does(
    zipapp: Path, user: dict[str, str], environment: dict[str, str]
) -> None:
    expected = passed(run("kubevirt-render", "render", str(BUNDLE), cwd=ROOT, environment=environment))
    for _ in range(2):  # when it unpacks itself, and when it has
        assert passed(run(str(zipapp), "render", str(BUNDLE), cwd=ROOT, environment=user)) == expected


def test_it_writes_the_report_of_the_installed_command(zipapp: Path, user: dict[str, str], environment: dict[str, str]) -> None:
    given = ("report", str(BUNDLE), "-o", "-")
    expected = passed(run("kubevirt-render", *given, cwd=ROOT, environment=environment))
    assert passed(run(str(zipapp), *given, cwd=ROOT, environment=user)) == expected


def pythons() -> list[str]:
    """The Pythons of this machine that are new enough."""
    names = [sys.executable, *(f"python3.{minor}" for minor in range(11, 15))]
    found = [path for name in names if (path := shutil.which(name))]
    return [path for path in found if subprocess.run([path, "--version"], capture_output=True, check=False).returncode == 0]


def rendered(python: str, zipapp: Path, user: dict[str, str]) -> str:
    """What it makes of a VM in flow style, run by this Python."""
    command = [python, "-I", "-S", zipapp, "render", "-"]
    ran = subprocess.run(command, input=FLOW, env=user, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, ""), python
    return ran.stdout


def test_it_runs_with_every_python_there_is(zipapp: Path, user: dict[str, str]) -> None:
    for python in pythons():
        assert "guest: 2Gi" in rendered(python, zipapp, user)


def test_it_is_a_krm_function(zipapp: Path, user: dict[str, str]) -> None:
    given = f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {FLOW}"
    ran = subprocess.run([zipapp], input=given, env=user, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "guest: 2Gi" in ran.stdout


def test_only_the_first_start_unpacks_it(zipapp: Path, user: dict[str, str], python: str) -> None:
    command = [python, "-I", "-S", "-X", "importtime", zipapp, "--version"]
    first, second = (subprocess.run(command, env=user, capture_output=True, text=True, check=True).stderr for _ in range(2))
    assert re.search(r"\| +unpack$", first, re.MULTILINE)
    assert not re.search(r"\| +(unpack|zipfile|tempfile|shutil)$", second, re.MULTILINE)


def test_all_of_it_is_compiled_at_the_first_start_and_nothing_written_later(zipapp: Path, user: dict[str, str]) -> None:
    passed(run(str(zipapp), "--version", cwd=ROOT, environment=user))
    before = everything(cache(user))
    sources = [path for path in before if path.suffix == ".py"]
    assert len(sources) > 200
    assert [path for path in sources if not Path(cache_from_source(path)).exists()] == []
    passed(run(str(zipapp), "render", str(BUNDLE), cwd=ROOT, environment=user))
    assert everything(cache(user)) == before


def test_it_unpacks_into_a_folder_that_its_user_alone_can_change(zipapp: Path, user: dict[str, str]) -> None:
    passed(run(str(zipapp), "--version", cwd=ROOT, environment=user))
    (folder,) = cache(user).iterdir()
    with zipfile.ZipFile(zipapp) as archive:
        content = hashlib.sha256(archive.read("files.zip")).hexdigest()
    assert folder.name.startswith(content)
    for place in (folder, cache(user)):
        assert (place.stat().st_uid, oct(place.stat().st_mode & 0o777)) == (os.geteuid(), "0o700")


def test_it_takes_the_cache_that_the_user_has_chosen(zipapp: Path, user: dict[str, str], tmp_path: Path) -> None:
    chosen = {**user, "XDG_CACHE_HOME": str(tmp_path / "chosen")}
    passed(run(str(zipapp), "--version", cwd=ROOT, environment=chosen))
    assert len(list((tmp_path / "chosen" / "kubevirt-render").iterdir())) == 1
    assert everything(Path(user["HOME"])) == []


def test_a_cache_that_others_may_change_is_passed_over(zipapp: Path, user: dict[str, str], tmp_path: Path) -> None:
    shared = tmp_path / "open"
    shared.mkdir()
    shared.chmod(0o777)
    passed(run(str(zipapp), "--version", cwd=ROOT, environment={**user, "XDG_CACHE_HOME": str(shared / "cache")}))
    assert everything(shared) == []
    assert [path.name for path in Path(user["TMPDIR"]).iterdir()] == [f"kubevirt-render-{os.geteuid()}"]


def test_a_cache_that_others_may_change_since_is_not_run_from(zipapp: Path, user: dict[str, str]) -> None:
    passed(run(str(zipapp), "--version", cwd=ROOT, environment=user))
    cache(user).parent.chmod(0o777)
    passed(run(str(zipapp), "--version", cwd=ROOT, environment=user))
    assert [path.name for path in Path(user["TMPDIR"]).iterdir()] == [f"kubevirt-render-{os.geteuid()}"]


def test_a_temporary_folder_that_all_may_write_to_serves_where_it_is_sticky(zipapp: Path, user: dict[str, str]) -> None:
    Path(user["TMPDIR"]).chmod(0o1777)
    passed(run(str(zipapp), "--version", cwd=ROOT, environment={**user, "HOME": user["HOME"] + "/none"}))
    (folder,) = Path(user["TMPDIR"]).iterdir()
    assert oct(folder.stat().st_mode & 0o777) == "0o700"


def forged(place: Path, name: str) -> Path:
    """A folder of the name that the file looks for, with another program in it."""
    module = place / name / "krm_fn" / "__main__.py"
    module.parent.mkdir(parents=True)
    module.write_text("print('forged')\ndef main(): return 0\n")
    (module.parent / "__init__.py").touch()
    for folder in (place, place / name):
        folder.chmod(0o700)
    return place / name


def made_public(folder: Path) -> None:
    folder.chmod(0o777)


def made_readable(folder: Path) -> None:
    folder.chmod(0o750)


def made_a_link(folder: Path) -> None:
    other = folder.rename(folder.with_name("other"))
    folder.symlink_to(other)


def given_away(folder: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give a folder away")
    os.chown(folder, 65534, 65534)


@pytest.mark.parametrize("how", [made_public, made_readable, made_a_link, given_away])
def test_what_another_may_have_put_there_is_not_run(how, zipapp: Path, user: dict[str, str]) -> None:
    passed(run(str(zipapp), "--version", cwd=ROOT, environment=user))
    (name,) = [path.name for path in cache(user).iterdir()]
    shutil.rmtree(cache(user))
    how(forged(cache(user), name))
    ran = run(str(zipapp), "--version", cwd=ROOT, environment=user)
    assert (ran.returncode, ran.stdout) == (0, f"kubevirt-render {__version__}\n")


def test_what_a_pull_request_may_have_committed_is_not_run(zipapp: Path, user: dict[str, str], tmp_path: Path) -> None:
    """A pipeline may keep its caches in the checkout, and git makes folders for the user alone where the umask says so."""
    passed(run(str(zipapp), "--version", cwd=ROOT, environment=user))
    (name,) = [path.name for path in cache(user).iterdir()]
    (tmp_path / "checkout" / ".git").mkdir(parents=True)
    forged(tmp_path / "checkout" / ".cache" / "kubevirt-render", name)
    there = {**user, "XDG_CACHE_HOME": str(tmp_path / "checkout" / ".cache")}
    ran = run(str(zipapp), "--version", cwd=tmp_path / "checkout", environment=there)
    assert (ran.returncode, ran.stdout) == (0, f"kubevirt-render {__version__}\n")


def test_what_a_killed_start_has_left_is_removed_a_day_later(zipapp: Path, user: dict[str, str]) -> None:
    cache(user).mkdir(parents=True, mode=0o700)
    for name, age in ((".new-old", 2 * 86_400), (".new-now", 0)):
        (cache(user) / name).mkdir()
        os.utime(cache(user) / name, (time.time() - age,) * 2)
    passed(run(str(zipapp), "--version", cwd=ROOT, environment=user))
    assert [path.name for path in cache(user).iterdir() if path.name.startswith(".new-")] == [".new-now"]


def refused(ran: subprocess.CompletedProcess[str], *words: str) -> None:
    """The run ended with one line that has these words, before anything was done."""
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1), ran.stderr
    assert ran.stderr.startswith("kubevirt-render: error: ")
    assert [word for word in words if word not in ran.stderr] == []


def test_without_a_folder_to_unpack_into_it_says_so(zipapp: Path, user: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    shared = tmp_path / "open"
    shared.mkdir()
    shared.chmod(0o777)
    nowhere = {**user, "XDG_CACHE_HOME": str(tmp_path / "file"), "TMPDIR": str(shared)}
    ran = run(str(zipapp), "--version", cwd=ROOT, environment=nowhere)
    refused(ran, f"{tmp_path}/file/kubevirt-render: Not a directory", f"{shared}/kubevirt-render-", "set XDG_CACHE_HOME")
    assert everything(shared) == []


def test_on_another_platform_it_says_so_and_leaves_nothing(elsewhere: Path, user: dict[str, str]) -> None:
    ran = run(str(elsewhere), "--version", cwd=ROOT, environment=user)
    refused(ran, *OTHERS, f"cpython-3{sys.version_info.minor}", "install PyYAML for ")
    assert everything(Path(user["HOME"]), Path(user["TMPDIR"])) == []


def test_on_another_platform_it_takes_the_pyyaml_that_is_installed(elsewhere: Path, user: dict[str, str]) -> None:
    for _ in range(2):
        assert "guest: 2Gi" in rendered(sys.executable, elsewhere, user)


def test_an_old_python_gets_a_message(zipapp: Path, user: dict[str, str], python: str) -> None:
    old = "import runpy, sys; sys.version_info = (3, 9, 2, 'final', 0)"
    program = f"{old}; runpy.run_path({str(zipapp)!r}, run_name='__main__')"
    refused(run(python, "-c", program, cwd=ROOT, environment=user), "Python 3.9", "3.11 or newer")


def test_its_start_has_no_syntax_that_old_pythons_lack(zipapp: Path) -> None:
    with zipfile.ZipFile(zipapp) as archive:
        ast.parse(archive.read("__main__.py"), feature_version=(3, 6))


def test_a_damaged_file_is_named(zipapp: Path, user: dict[str, str], tmp_path: Path) -> None:
    data = bytearray(zipapp.read_bytes())
    with zipfile.ZipFile(zipapp) as archive:
        data[archive.getinfo("files.zip").header_offset + 100_000] ^= 1
    damaged = tmp_path / "damaged.pyz"
    damaged.write_bytes(data)
    damaged.chmod(0o755)
    refused(run(str(damaged), "--version", cwd=ROOT, environment=user), "damaged", "get it again")
    assert everything(Path(user["HOME"]), Path(user["TMPDIR"])) == []


def test_first_starts_at_once_get_along(zipapp: Path, user: dict[str, str]) -> None:
    running = [
        subprocess.Popen([zipapp, "--version"], env=user, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    said = [(*process.communicate(), process.returncode) for process in running]
    assert said == [(f"kubevirt-render {__version__}\n", "", 0)] * 4
    assert len(list(cache(user).iterdir())) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_first_start_leaves_nothing(number: signal.Signals, zipapp: Path, user: dict[str, str]) -> None:
    process = subprocess.Popen(
        [zipapp, "--version"],
        env=user,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # tests that run in the background ignore Ctrl-C, and so would this
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509
    )
    while process.poll() is None and not any(path.suffix == ".py" for path in everything(cache(user))):
        time.sleep(0.001)
    process.send_signal(number)
    said = process.communicate()
    assert (said, process.returncode) == (("", ""), 128 + number)
    assert list(cache(user).iterdir()) == []


def test_the_plugin_that_it_installs_outlives_its_cache(zipapp: Path, user: dict[str, str], tmp_path: Path) -> None:
    passed(run(str(zipapp), "install-plugin", str(tmp_path / "plugins"), cwd=ROOT, environment=user))
    shutil.rmtree(cache(user))
    (plugin,) = [path for path in everything(tmp_path / "plugins") if path.is_file()]
    config = tmp_path / "config"
    config.write_text("apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nmetadata: {name: r}\n")
    ran = subprocess.run(
        [plugin, config],
        input=FLOW,
        env={**user, "KUSTOMIZE_PLUGIN_CONFIG_ROOT": "/"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "guest: 2Gi" in ran.stdout


def test_it_holds_the_locked_packages_and_their_licences(zipapp: Path, user: dict[str, str]) -> None:
    passed(run(str(zipapp), "--version", cwd=ROOT, environment=user))
    (folder,) = cache(user).iterdir()
    about = [path.name.removesuffix(".dist-info") for path in folder.glob("*.dist-info")]
    locked = re.findall(r"^(\S+)==(\S+)", core((ROOT / "image" / "requirements.txt").read_text()), re.MULTILINE)
    expected = [f"kubevirt_render-{__version__}", *(f"{name.replace('-', '_')}-{version}" for name, version in locked)]
    assert sorted(about) == sorted(expected)
    assert len(list(folder.glob("*.dist-info/licenses/LICENSE*"))) == len(about)
    modules = {
        "krm_fn",
        "click",
        "yaml",
        "_yaml",
        "jsonpatch.py",
        "jsonpointer.py",
        "jsonpath",
        "jinja2",
        "markupsafe",
        "__pycache__",
    }
    assert {path.name for path in folder.iterdir() if path.suffix != ".dist-info"} == modules


def test_made_again_elsewhere_it_has_the_same_bytes(zipapp: Path, tmp_path: Path) -> None:
    again = made("make_zipapp.py", tmp_path / "again.pyz", "--platform", HERE, root=copied(tmp_path / "copy"), umask=0o077)
    assert hashlib.sha256(again.read_bytes()).hexdigest() == hashlib.sha256(zipapp.read_bytes()).hexdigest()
