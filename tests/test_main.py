"""The program as hosts and shells start it: streams, signals, exit codes."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from running import wait_until_it_reads

from krm_fn.__main__ import guarded

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = [sys.executable, "-m", "krm_fn"]
EMPTY = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"
MANY = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n" + (
    "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n" * 20_000
)


def environment(**more):
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def run(*arguments, stdin="", **more):
    return subprocess.run(
        [*PROGRAM, *arguments], input=stdin, capture_output=True, text=True, env=environment(**more), check=False, timeout=60
    )


def started(*arguments):
    pipe = subprocess.PIPE
    return subprocess.Popen([*PROGRAM, *arguments], stdin=pipe, stdout=pipe, stderr=pipe, env=environment())


def test_without_arguments_it_is_the_function():
    done = run(stdin=EMPTY)
    assert (done.returncode, done.stdout, done.stderr) == (0, EMPTY, "")


def test_on_a_terminal_it_shows_its_usage_and_does_not_wait():
    ours, theirs = pty.openpty()
    done = subprocess.run(PROGRAM, stdin=theirs, capture_output=True, text=True, env=environment(), check=False, timeout=60)
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: kubevirt-render [OPTIONS] COMMAND [ARGS]...\n")
    assert done.stderr == ""


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_the_help_flag_prints_the_help(flag):
    done = run(flag, stdin=EMPTY)
    assert done.returncode == 0
    assert "\n  render " in done.stdout
    assert done.stderr == ""


def test_doc_is_the_metadata_that_kpt_reads():
    done = run("--doc", stdin=EMPTY)
    assert done.returncode == 0
    assert list(json.loads(done.stdout)) == [
        "short",
        "long",
        "examples",
        "image",
        "description",
        "tags",
        "sourceURL",
        "examplePackageURLs",
        "license",
        "hidden",
    ]


def test_version():
    assert run("--version").stdout == "kubevirt-render 0.1.0\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["rendr"], "'rendr' is not a command; did you mean render"),
        (
            ["xyz"],
            "'xyz' is not a command; expected one of render, check, diff, drift, plan, adopt, dump, capacity, explain, report",
        ),
        (
            [str(ROOT / "pyproject.toml")],
            f"'{ROOT}/pyproject.toml' is not a command; to render it, run `kubevirt-render render {ROOT}/pyproject.toml`",
        ),
        (["render"], "nothing to read; name files or folders, -k DIR, or - for stdin"),
        (
            ["check", "--sumary", "x"],
            "there is no option --sumary; did you mean --summary; see `kubevirt-render check --help`",
        ),
        (["check", "-o", "jsn", "x"], "-o: unknown format 'jsn'; expected one of "),
        (["rules", "null-itm"], "unknown rule 'null-itm'; did you mean null-item; `kubevirt-render rules` lists all rules"),
    ],
)
def test_wrong_usage_is_one_line_that_names_the_nearest_word(arguments, line):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"kubevirt-render: error: {line}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("text", ["a: [", "- 1\n", "\tx: 1", "\x00", "kind: Other\n", "a: &a [*a]\n", "[" * 100_000])
def test_input_that_is_no_resource_list_is_one_line_and_no_output(text):
    done = run(stdin=text)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("kubevirt-render: error: ")
    assert "internal error" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_flags_in_the_environment_change_nothing():
    done = run(stdin=EMPTY, LOG_TO_STDERR="true", STRUCTURED_RESULTS="true")
    assert (done.returncode, done.stdout, done.stderr) == (0, EMPTY, "")


@pytest.mark.parametrize("arguments", [[], ["catalogue", "list"]])
def test_a_reader_that_goes_away_ends_it_quietly(arguments):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*PROGRAM, *arguments],
        input=MANY.encode(),
        stdout=write,
        stderr=subprocess.PIPE,
        env=environment(),
        check=False,
        timeout=60,
    )
    os.close(write)
    assert done.returncode == 1
    assert done.stderr == b""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_it_quietly_though_stdin_is_open(number, code):
    process = started()
    wait_until_it_reads(process)
    process.send_signal(number)
    assert process.wait(60) == code
    assert process.communicate() == (b"", b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_one_line():
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(PROGRAM, input=MANY.encode(), stdout=full, stderr=subprocess.PIPE, env=environment(), check=False)
    assert (done.returncode, done.stderr) == (1, b"kubevirt-render: error: stdout: No space left on device\n")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (MemoryError(), "the input needs more memory than is available"),
        (RecursionError(), "the input is nested too deeply"),
        (ZeroDivisionError("secret"), "internal error: ZeroDivisionError at test_main.py:LINE; please report it"),
    ],
)
def test_what_nobody_foresaw_is_one_line_without_the_users_data(error, line, capsys):
    def fails():
        raise error

    assert guarded(fails) == 1
    said = capsys.readouterr().err.replace(f":{fails.__code__.co_firstlineno + 1};", ":LINE;")
    assert said == f"kubevirt-render: error: {line}\n"


def test_closed_streams_are_borne():
    done = subprocess.run(["sh", "-c", '"$@" <&- >&- 2>&-', "sh", *PROGRAM], env=environment(), check=False, timeout=60)
    assert done.returncode == 1


def test_the_function_imports_nothing_heavy():
    script = (
        "import sys; before = set(sys.modules);"
        "from krm_fn.__main__ import run; run([]);"
        "heavy = {'typing', 'json', 'pathlib', 'dataclasses', 'copy', 'logging', 'click', 'jsonschema', 'signal'};"
        "print(sorted(heavy & set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input=EMPTY, capture_output=True, text=True, env=environment(), check=True
    )
    assert done.stdout == EMPTY + "[]\n"
