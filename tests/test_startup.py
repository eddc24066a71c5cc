"""Modules load from their compiled files, and from nothing that wasn't made from the source beside it."""

import marshal
import os
import re
import runpy
import shutil
import subprocess
import sys
from importlib.util import MAGIC_NUMBER
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BUNDLE = runpy.run_path(str(ROOT / "bench" / "generate.py"))["bundle"](20)
PROGRAM = """\
import sys
sys.path.insert(0, sys.argv.pop())
from krm_fn import startup
from krm_fn.__main__ import run
startup.install()
run([])
ready = [name for name, module in sys.modules.items() if type(module.__loader__).__name__ == "Ready"]
sys.stderr.write(" ".join(ready) + "\\n" + sys.modules["krm_fn.kubevirt.releases"].__doc__)
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the package, compiled."""
    shutil.copytree(ROOT / "krm_fn", tmp_path / "krm_fn", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(tmp_path / "krm_fn")], check=True, env=environment())
    return tmp_path


def compile_unchecked(package):
    """Compile the copy as the image's build does: nothing compares the sources at start."""
    again = [sys.executable, "-m", "compileall", "-q", "-f", "--invalidation-mode", "unchecked-hash", str(package / "krm_fn")]
    subprocess.run(again, check=True, env=environment())


def environment(**given):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", **given}


def ran(folder, *options, **variables):
    """What a run writes, the modules that were loaded from compiled files, and the docstring of one of them."""
    command = [sys.executable, *options, "-c", PROGRAM, str(folder)]
    done = subprocess.run(command, input=BUNDLE, capture_output=True, check=True, env=environment(**variables), cwd="/")
    loaded, _, doc = done.stderr.decode().partition("\n")
    return done.stdout, set(loaded.split()), doc


def test_what_a_run_needs_comes_from_compiled_files(package):
    _, loaded, _ = ran(package)
    assert {
        "krm_fn.hosts.function",
        "krm_fn.kubevirt.fields",
        "krm_fn.kubevirt.fields.verbs",
        "krm_fn.pipeline.stages",
    } <= loaded


def test_changed_modules_are_read_again(package):
    before, _, doc = ran(package)
    source = package / "krm_fn" / "kubevirt" / "releases.py"
    source.write_text(source.read_text().replace('"""', '"""Changed. ', 1))
    after, loaded, changed = ran(package)
    assert (before, f"Changed. {doc}") == (after, changed)
    assert "krm_fn.kubevirt.releases" not in loaded
    assert "krm_fn.hosts.function" in loaded


@pytest.mark.parametrize("head", [b"", b"\0\0\0\0", b"%s\3\0\0\0" % MAGIC_NUMBER], ids=["empty", "other magic", "by hash"])
def test_files_of_another_form_are_left_to_python(package, head):
    wanted = ran(package)[0]
    for file in (package / "krm_fn").rglob("releases.*.pyc"):
        file.write_bytes(head and head + file.read_bytes()[len(head) :])
    found, loaded, _ = ran(package)
    assert found == wanted
    assert "krm_fn.kubevirt.releases" not in loaded


def test_files_that_are_not_to_be_checked_are_not(package):
    compile_unchecked(package)
    for source in (package / "krm_fn").rglob("*.py"):
        os.utime(source, (1, 1))
    assert "krm_fn.kubevirt.releases" in ran(package)[1]


def test_without_compiled_files_all_is_left_to_python(package):
    wanted = ran(package)[0]
    for folder in list((package / "krm_fn").rglob("__pycache__")):
        shutil.rmtree(folder)
    assert ran(package)[:2] == (wanted, set())


@pytest.mark.parametrize(("options", "variables"), [(["-O"], {}), ([], {"PYTHONPYCACHEPREFIX": "/nowhere"})])
def test_where_compiled_files_have_other_names_all_is_left_to_python(package, options, variables):
    assert ran(package, *options, **variables)[:2] == (ran(package)[0], set())


def test_an_unknown_module_is_not_found(package):
    program = f"import sys; sys.path.insert(0, {str(package)!r})\nfrom krm_fn import startup; startup.install()\n"
    done = subprocess.run(
        [sys.executable, "-c", program + "import krm_fn.nothing"], capture_output=True, text=True, check=False
    )
    assert "ModuleNotFoundError: No module named 'krm_fn.nothing'" in done.stderr


ATTRIBUTES = """\
import sys
sys.path.insert(0, sys.argv.pop())
from krm_fn import startup
import krm_fn.__main__
startup.install()
if sys.argv.pop() == "at once":
    startup.load()
import krm_fn.hosts.function, krm_fn.pipeline.stages, krm_fn.pipeline.modes.expand
import krm_fn.yamlio.plain.text, krm_fn.yamlio.writing
for name in sorted(startup.MODULES):
    module = sys.modules["krm_fn." + name]
    told = {key: getattr(module, key, None) for key in ("__name__", "__package__", "__file__", "__cached__", "__path__")}
    parent = sys.modules[module.__name__.rpartition(".")[0]]
    print(told, module.__spec__, sorted(vars(module)), getattr(parent, name.rpartition(".")[2]) is module)
print(sys.modules["krm_fn.hosts.function"].__loader__.code.co_filename)
"""


def attributes(folder, how):
    command = [sys.executable, "-c", ATTRIBUTES, how, str(folder)]
    said = subprocess.run(command, capture_output=True, check=True, text=True, env=environment(), cwd="/").stdout
    return re.sub("0x[0-9a-f]+", "", said)


def test_what_is_loaded_at_once_is_as_if_imported(package):
    assert attributes(package, "at once") == attributes(package, "one by one")


def join(package):
    """Write the one file for the modules that a run needs."""
    assert joining(package).returncode == 0
    return joined_file(package)


def joining(package):
    command = [sys.executable, "-m", "krm_fn.startup"]
    return subprocess.run(
        command, check=False, capture_output=True, text=True, env=environment(PYTHONPATH=str(package)), cwd=package
    )


def test_what_one_file_holds_is_as_if_imported(package):
    wanted, one_by_one = ran(package)[0], attributes(package, "one by one")
    compile_unchecked(package)
    join(package)
    for file in (package / "krm_fn").rglob("*/__pycache__/*.pyc"):
        file.unlink()  # shows that the one file is read
    assert (ran(package)[0], attributes(package, "at once")) == (wanted, one_by_one)
    source = package / "krm_fn" / "kubevirt" / "releases.py"
    source.write_text(source.read_text().replace('"""', '"""Changed. ', 1))
    assert "Changed. " not in ran(package)[2]


def test_the_first_run_writes_the_one_file_and_the_next_reads_it(package):
    first, joined = ran(package, PYTHONDONTWRITEBYTECODE="")[:2], joined_file(package)
    for file in (package / "krm_fn").rglob("*/__pycache__/*.pyc"):
        file.unlink()
    written = joined.stat().st_mtime_ns
    assert ran(package, PYTHONDONTWRITEBYTECODE="")[:2] == first
    assert joined.stat().st_mtime_ns == written


def test_a_changed_source_makes_the_one_file_invalid_until_it_is_written_again(package):
    wanted = ran(package, PYTHONDONTWRITEBYTECODE="")[0]
    before = joined_file(package).read_bytes()
    source = package / "krm_fn" / "kubevirt" / "releases.py"
    source.write_text(source.read_text().replace('"""', '"""Changed. ', 1))
    for _ in range(3):  # Python compiles the source, the one file is written, the one file is read
        output, _, doc = ran(package, PYTHONDONTWRITEBYTECODE="")
        assert (output, doc.startswith("Changed. ")) == (wanted, True)
    assert b"Changed. " not in before
    assert b"Changed. " in joined_file(package).read_bytes()


def test_the_one_file_is_not_written_where_python_writes_no_compiled_files(package):
    ran(package)
    assert list((package / "krm_fn" / "__pycache__").glob("modules.*")) == []


def test_a_run_that_cannot_write_the_one_file_renders_and_leaves_nothing(package):
    wanted = ran(package)[0]
    joined = package / "krm_fn" / "__pycache__" / f"modules.{sys.implementation.cache_tag}.bin"
    (joined / "a folder in its place").mkdir(parents=True)
    assert ran(package, PYTHONDONTWRITEBYTECODE="")[0] == wanted
    assert list(joined.parent.glob("modules.*")) == [joined]
    assert "can't be written" in joining(package).stderr


def joined_file(package):
    """The one file; fails if a part of another is left."""
    (joined,) = (package / "krm_fn" / "__pycache__").glob("modules.*")
    return joined


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 100, MAGIC_NUMBER + b"\1\0\0\0" + bytes(8), MAGIC_NUMBER + b"\1\0\0\0" + bytes(8) + marshal.dumps([1])],
    ids=["empty", "other magic", "cut short", "another form"],
)
def test_one_file_of_another_form_is_left(package, content):
    wanted = ran(package)[0]
    join(package).write_bytes(content)
    assert ran(package)[0] == wanted


def test_one_file_needs_compiled_modules(package):
    for folder in list((package / "krm_fn").rglob("__pycache__")):
        shutil.rmtree(folder)
    done = joining(package)
    assert (done.returncode, done.stderr.count("\n"), "python -m compileall" in done.stderr) == (1, 1, True)


def test_what_is_loaded_at_once_is_what_rendering_needs():
    script = runpy.run_path(str(ROOT / "scripts" / "make_startup.py"))
    source = (ROOT / "krm_fn" / "startup.py").read_text()
    assert script["written"](source) == source, "run scripts/make_startup.py"


def test_nothing_is_loaded_at_once_where_a_module_was_changed(package):
    source = package / "krm_fn" / "pipeline" / "facts.py"
    source.write_text(source.read_text() + "# changed\n")
    code = ATTRIBUTES.partition("import krm_fn.hosts.function")[0] + "print([name for name in sys.modules if 'krm_fn' in name])"
    command = [sys.executable, "-c", code, "at once", str(package)]
    said = subprocess.run(command, capture_output=True, check=True, text=True, env=environment(), cwd="/").stdout
    assert (
        said == "['krm_fn', 'krm_fn.startup', 'krm_fn.base', 'krm_fn.base.console', 'krm_fn.base.errors', 'krm_fn.__main__']\n"
    )
