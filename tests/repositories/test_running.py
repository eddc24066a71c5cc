"""Units judged by several processes, with and without a cache: the same output, whatever dies on the way."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest
from checking import run
from running import own_environment
from trees import tree

from krm_fn.repositories import loading
from krm_fn.repositories.cache import NAME

# In place of kustomize: prints one file of the target, notes that, and ends the process that started it where a file says so.
BUILD = """\
#!/bin/sh
[ "$1" = version ] && { echo v5.0.0; exit; }
cd "$2" || exit 1
cd "$(sed 's/.*"resources": \\["\\([^"]*\\)".*/\\1/' kustomization.yaml)" || exit 1
basename "$PWD" >> LOG
[ -e once ] && rm once && kill -9 $PPID
[ -e always ] && kill -9 $PPID
[ -e slow ] && sleep 0.1
[ -e refused ] && { echo "Error: refused" >&2; exit 1; }
cat all.yaml
"""
VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {{name: {name}, namespace: shop}}
spec:
  runStrategy: Always
  instancetype: {{name: {size}}}
  template: {{spec: {{domain: {{devices: {{}}}}, volumes: [{{name: a, secret: {{secretName: absent}}}}]}}}}
"""
SIZE = """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterInstancetype
metadata: {{name: small}}
spec: {{cpu: {{guest: {cpus}}}, memory: {{guest: 1Gi}}}}
"""
TARGETS = 12
# The command, where processes are not forked: on macOS, and since Python 3.14.
STARTING = """\
import multiprocessing, sys
from krm_fn.__main__ import main
if __name__ == "__main__":
    multiprocessing.set_start_method({method!r})
    sys.exit(main())
"""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with VMs in several targets, an instancetype in another one, and a program that builds them."""
    files = {f"vm-{n:02}/all.yaml": VM.format(name=f"v{n}", size="u1.small" if n % 2 else "small") for n in range(TARGETS)}
    files["types/all.yaml"] = SIZE.format(cpus=1)
    files |= {file.replace("all", "kustomization"): "resources: [all.yaml]\n" for file in files}
    files["loose/vm.yaml"] = VM.format(name="loose", size="small")
    root = tree(tmp_path / "repository", files)
    (root / ".git").mkdir()
    programs = tree(tmp_path / "bin", {"kustomize": BUILD.replace("LOG", str(tmp_path / "log"))})
    (programs / "kustomize").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    return root


def check(repository, *arguments, jobs=1, output="text"):
    return run("check", ".", "--summary", "--jobs", str(jobs), "-o", output, *arguments, cwd=repository)


def built(repository):
    """The targets that were built since the last call, sorted."""
    log = repository.parent / "log"
    names = sorted(log.read_text().split()) if log.exists() else []
    log.unlink(missing_ok=True)
    return names


@pytest.mark.parametrize("output", ["text", "junit", "json"])
def test_the_output_is_the_same_for_any_jobs_and_with_a_cache(repository, output):
    plain = check(repository, "--no-cache", output=output)
    assert "absent" in plain[1]
    assert all(check(repository, "--no-cache", jobs=jobs, output=output) == plain for jobs in (2, 8))
    built(repository)
    assert [check(repository, jobs=jobs, output=output) for jobs in (2, 1, 8)] == [plain] * 3
    assert len(built(repository)) == TARGETS + 1


def test_formats_share_a_cache(repository):
    plain = check(repository, "--no-cache", output="tap")
    check(repository)
    built(repository)
    assert check(repository, output="tap") == plain
    assert built(repository) == []


def test_one_changed_target_is_built_alone(repository):
    check(repository)
    built(repository)
    (repository / "vm-03/all.yaml").write_text(VM.format(name="other", size="nothing"))
    found = check(repository)
    assert built(repository) == ["vm-03"]
    assert found == check(repository, "--no-cache")
    assert "nothing" in found[1]


def test_what_takes_a_changed_object_of_another_target_is_judged_again(repository):
    check(repository)
    built(repository)
    (repository / "types/all.yaml").write_text(SIZE.format(cpus=0))
    found = check(repository)
    assert set(built(repository)) == {"types", *(f"vm-{n:02}" for n in range(0, TARGETS, 2))}
    assert found == check(repository, "--no-cache")


def test_a_changed_config_and_a_flag_miss(repository):
    check(repository)
    built(repository)
    (repository / ".kubevirt-render.yaml").write_text(
        "kind: RenderVirtualMachines\nspec: {severity: {missing-object: 'off'}}\n"
    )
    assert check(repository) == check(repository, "--no-cache")
    assert len(built(repository)) == 2 * (TARGETS + 1)
    assert check(repository, "--severity", "missing-object=info")[1].count("info") > 1
    assert len(built(repository)) == TARGETS + 1


def test_a_target_that_is_not_built_is_built_again(repository):
    (repository / "vm-01/refused").write_text("")
    first = check(repository)
    assert "kustomization-not-built" in first[1]
    built(repository)
    assert check(repository) == first
    assert built(repository) == ["vm-01"]
    (repository / "vm-01/refused").unlink()
    assert "kustomization-not-built" not in check(repository)[1]


def test_a_broken_cache_and_none_give_the_same(repository, tmp_path):
    plain = check(repository, "--no-cache")
    folder = tree(tmp_path / "cache", {NAME: "broken"})
    folder.chmod(0o700)
    (folder / NAME).chmod(0o600)
    assert check(repository, "--cache", str(folder)) == plain
    built(repository)
    assert check(repository, "--cache", str(folder)) == plain
    assert built(repository) == []
    code, out, err = check(repository, "--cache", "/dev/null/cache", "--verbose")
    assert (code, out) == plain[:2]
    assert "the cache /dev/null/cache" in err
    assert check(repository, "--cache", "/dev/null/cache") == plain


def test_a_cache_that_a_pull_request_can_commit_is_refused(repository):
    code, out, err = check(repository, "--cache", ".cache")
    fact = "the cache .cache is in a folder that is judged: whoever changes files there could write results"
    fix = "name a folder outside of the repository, or use --no-cache"
    assert (code, out, err) == (2, "", f"kubevirt-render: error: {fact}; {fix}\n")
    assert not (repository / ".cache").exists()


def test_the_users_own_cache_is_off_where_it_is_in_the_tree(repository, monkeypatch):
    plain = check(repository, "--no-cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(repository / ".cache"))
    assert check(repository) == plain
    assert "is in a folder that is judged" in check(repository, "--verbose")[2]
    assert not (repository / ".cache").exists()


def test_a_process_that_dies_loses_nothing(repository):
    plain = check(repository, "--no-cache")
    for number in (0, 5, 11):
        (repository / f"vm-{number:02}/once").write_text("")
    assert check(repository, jobs=2) == plain
    assert not list(repository.rglob("once"))


def test_a_target_whose_process_always_dies_is_named(repository):
    (repository / "vm-05/always").write_text("")
    code, out, err = check(repository, jobs=2)
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert "vm-05: the process that checked it died" in err


def started(repository, cache, jobs):
    words = ("check", ".", "--summary", "--jobs", str(jobs), "--cache", cache)
    return subprocess.Popen(
        [sys.executable, "-m", "krm_fn", *words], cwd=repository, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_no_process_that_is_started_imports_modules_of_the_folder(repository, tmp_path, method):
    written = tmp_path / "imported"
    names = ("__init__", "spawn", "forkserver", "resource_tracker")
    tree(repository / "multiprocessing", {f"{name}.py": f"open({str(written)!r}, 'w')\n" for name in names})
    program = tree(tmp_path / "program", {"start.py": STARTING.format(method=method)}) / "start.py"
    ran = subprocess.run(
        [sys.executable, str(program), "check", "--no-cache", "-j", "2", "."],
        cwd=repository,
        env=own_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (written.exists(), ran.returncode, ran.stderr) == (False, 0, "")


def test_two_runs_at_once_share_a_cache(repository, tmp_path):
    plain = check(repository, "--no-cache")
    runs = [started(repository, str(tmp_path / "cache"), 2) for _ in range(2)]
    assert [(*each.communicate(), each.returncode)[::2] for each in runs] == [(plain[1], plain[0])] * 2
    built(repository)
    assert check(repository, "--cache", str(tmp_path / "cache")) == plain
    assert built(repository) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_killed_run_leaves_a_cache_that_can_be_used(repository, tmp_path, jobs, monkeypatch):
    plain = check(repository, "--no-cache")
    built(repository)
    for folder in repository.glob("vm-*"):
        (folder / "slow").write_text("")
    killed = started(repository, str(tmp_path / "cache"), jobs)
    log = tmp_path / "log"
    while not (log.exists() and log.read_text().count("\n") > TARGETS // 2):
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()  # its processes end, too: they hold the pipes
    assert check(repository, "--cache", str(tmp_path / "cache")) == plain
    built(repository)
    assert check(repository, "--cache", str(tmp_path / "cache")) == plain
    assert built(repository) == []


def test_a_unit_that_is_alone_in_its_cluster_waits_for_nobody(tmp_path, monkeypatch) -> None:
    loaded = []
    real = loading.load
    monkeypatch.setattr(loading, "load", lambda *given, **named: loaded.append(given) or real(*given, **named))
    clusters = "".join(f"  - {{name: {name}, targets: [{name}]}}\n" for name in "abc")
    config = f"apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nspec:\n  clusters:\n{clusters}"
    vms = {f"{name}/vm.yaml": VM.format(name=name, size="absent") for name in "abc"}
    tree(tmp_path, {".kubevirt-render.yaml": config, **vms})
    _, out, _ = run("check", "--jobs", "1", "--no-cache", ".", cwd=tmp_path)
    assert out.count("(unresolved-instancetype)") == 3
    assert loaded == []
