"""The cache: what it keeps and gives back, whatever happens to its file; and what makes a unit another one."""

import json
import os
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from committing import commit, git
from trees import tree

from krm_fn.base.errors import UsageError
from krm_fn.base.external import External
from krm_fn.base.objects import Ref
from krm_fn.findings.finding import Finding, Related, Suppressed
from krm_fn.kubevirt.releases import NEWEST
from krm_fn.kubevirt.settings import Config
from krm_fn.repositories import cache, keys
from krm_fn.repositories.building import Builder
from krm_fn.repositories.cache import NAME, VARIABLE, Cache
from krm_fn.repositories.clusters import TargetSettings
from krm_fn.repositories.discovery import discover
from krm_fn.repositories.judging import CheckedObject, UnitResult
from krm_fn.repositories.keys import Keys
from krm_fn.repositories.loading import Loaded, Options, Unit
from krm_fn.repositories.sharing import Offer, Reach, Taken
from krm_fn.sources.reading import Given, Texts

KEY = b"k" * 32
REF = Ref(api_version="v1", kind="Secret", name="s", namespace="n")
FINDING = Finding(
    rule="r",
    severity="error",
    message="m \udc80 ✓",
    ref=REF,
    path=("spec", 0, "a"),
    current=[1, {"x": (None, True, 1.5)}, {1: "number"}],
    proposed={},
    related=(Related(ref=REF, path=("a",)),),
)
JUDGED = UnitResult(
    release=NEWEST,
    fail_on="error",
    name="a",
    findings=(FINDING,),
    suppressed=(Suppressed(finding=FINDING, by="ignore"),),
    off={"r": 2},
    subjects=(CheckedObject(ref=REF, inside=("items", 3)),),
    lines={("f", 1): "text"},
    external=(REF,),
    wants=frozenset("ab"),
)
OFFER = Offer(kind="K", group="g", namespace="", name="n", text="{}", digest="d", target="a")
REACH = Reach(namespaces=frozenset(("", "n")), words=frozenset("ab"), known=frozenset((("K", "g", "", "n"),)))
LOADED = Loaded(offers=(OFFER,), reach=REACH)
FILES = {
    "base/kustomization.yaml": "resources: [vm.yaml]\n",
    "base/vm.yaml": "apiVersion: v1\nkind: A\nmetadata: {name: a}\n",
    "over/kustomization.yaml": "resources: [../base]\npatches: [{path: patch.yaml}]\n",
    "over/patch.yaml": "apiVersion: v1\nkind: A\nmetadata: {name: a}\n",
    "loose.yaml": "apiVersion: v1\nkind: A\nmetadata: {name: b}\n",
}


@pytest.fixture
def notes():
    return []


@pytest.fixture
def opened(tmp_path, notes):
    """Opens the cache in a folder."""

    def open_cache(folder=tmp_path / "cache", **how):
        return Cache(str(folder), note=notes.append, **how)

    return open_cache


def kept(opened, value=JUDGED, key=KEY):
    """The cache's folder, with a value in it."""
    found = opened()
    found.put(key, value)
    found.close()


@pytest.mark.parametrize("value", [JUDGED, LOADED, REACH, UnitResult(release=NEWEST, fail_on="never")])
def test_a_later_run_gets_what_was_kept(opened, value):
    kept(opened, value)
    assert opened().get(KEY) == value
    assert opened().get(b"other") is None


def test_what_is_not_plain_is_not_kept(opened):
    kept(opened, JUDGED.but(notes=(object(),)))
    assert opened().get(KEY) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"Path": {"a": 1}}',
        '{"UnitResult": {}}',
        '{"UnitResult": 1}',
        "{",
        "[" * 100_000,
        '{"a": 1, "b": 2}',
        '{"{": [1]}',
        "{}",
        '{"(": [{"[": []}]}',
    ],
)
def test_no_other_text_becomes_a_value(text):
    with pytest.raises(cache.UnstorableError):
        cache.loads(text)


def test_equal_values_have_the_same_text():
    assert cache.dumps(frozenset("abc")) == cache.dumps(frozenset("cba"))
    assert cache.dumps(Config()) == cache.dumps(Config(mode="expand"))


@pytest.mark.parametrize("data", [b"", b"no database at all", b"SQLite format 3\0" + b"x" * 5000])
def test_a_broken_file_is_replaced(opened, tmp_path, data, notes):
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    (folder / NAME).write_bytes(data)
    (folder / NAME).chmod(0o600)
    kept(opened)
    assert opened().get(KEY) == JUDGED
    assert notes == []


def test_a_file_that_breaks_later_is_replaced_by_the_next_run(opened, tmp_path, notes):
    for number in range(200):
        kept(opened, key=bytes([number]) * 32)
    file = tmp_path / "cache" / NAME
    data = bytearray(file.read_bytes())
    data[8192:] = os.urandom(len(data) - 8192)
    file.write_bytes(data)
    for _ in range(2):
        found = opened()
        assert all(found.get(bytes([number]) * 32) in (JUDGED, None) for number in range(200))
        kept(opened)
    assert opened().get(KEY) == JUDGED


def changed(tmp_path, statement, *values):
    with sqlite3.connect(tmp_path / "cache" / NAME) as found:
        found.execute(statement, values)


def test_a_text_that_was_changed_does_not_count(opened, tmp_path):
    kept(opened)
    changed(tmp_path, "UPDATE entries SET value = ?", cache.dumps(JUDGED.but(findings=())).encode())
    assert opened().get(KEY) is None


def test_what_another_user_has_written_does_not_count(opened, tmp_path, monkeypatch):
    """Whoever knows the program can make a whole cache, but not the codes."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "theirs"))
    kept(opened)
    assert opened().get(KEY) == JUDGED
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "ours"))
    assert opened().get(KEY) is None
    kept(opened)
    assert opened().get(KEY) == JUDGED


def test_the_code_of_one_key_is_none_for_another(opened, tmp_path):
    kept(opened)
    changed(tmp_path, "UPDATE entries SET key = ?", b"o" * 32)
    assert opened().get(b"o" * 32) is None


def test_the_key_of_the_cache_is_the_users_alone(opened, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    kept(opened)
    file = tmp_path / "state" / "kubevirt-render" / "cache.key"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent)] == [0o600, 0o700]
    assert len(file.read_bytes()) == 32
    assert file.read_bytes() not in (tmp_path / "cache" / NAME).read_bytes()


def test_a_key_that_a_killed_run_left_half_written_is_made_again(opened, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    kept(opened)
    (tmp_path / "state" / "kubevirt-render" / "cache.key").write_bytes(b"short")
    kept(opened)
    assert opened().get(KEY) == JUDGED


def test_without_a_place_for_its_key_there_is_no_cache(opened, tmp_path, monkeypatch, notes):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    kept(opened)
    assert not opened().is_on
    assert f"its key {tmp_path}/file/kubevirt-render/cache.key can't be kept: Not a directory; set {VARIABLE}" in notes[0]
    monkeypatch.setenv(VARIABLE, "s" * 32)
    kept(opened)
    assert opened().get(KEY) == JUDGED
    monkeypatch.setenv(VARIABLE, "t" * 32)
    assert opened().get(KEY) is None
    monkeypatch.setenv(VARIABLE, "short")
    with pytest.raises(UsageError, match="has 5 characters; expected at least 32"):
        opened()


@pytest.mark.parametrize("place", ["cache", "below/cache", ".", "link", "link/cache"])
def test_a_cache_in_the_tree_that_is_judged_is_refused(repository, tmp_path_factory, place):
    (repository / "link").symlink_to(tmp_path_factory.mktemp("elsewhere"))
    for judged in (".", "over", "loose.yaml"):
        with pytest.raises(UsageError, match=f"the cache {place} is in a folder that is judged"):
            cache.check_apart(place, [judged])
    cache.check_apart(str(tmp_path_factory.mktemp("outside")), ["."])


def test_a_key_in_the_tree_that_is_judged_is_refused(repository, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(repository / "state"))
    outside = str(tmp_path_factory.mktemp("outside"))
    with pytest.raises(
        UsageError, match=f"the key of the cache would be in {repository}/state/kubevirt-render, which is judged"
    ):
        cache.check_apart(outside, ["."])
    monkeypatch.setenv(VARIABLE, "s" * 32)
    cache.check_apart(outside, ["."])


def test_a_cache_that_git_tracks_is_refused(repository, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    git(other, "init", "-q")
    cache.check_apart(str(other / "cache"), ["."])
    commit(other, {"cache/notes": ""})
    with pytest.raises(UsageError, match=f"git tracks files in the cache {other}/cache: "):
        cache.check_apart(str(other / "cache"), ["."])


def test_a_file_of_another_program_is_left_alone(opened, tmp_path, notes):
    (tmp_path / "cache").mkdir(mode=0o700)
    changed(tmp_path, "CREATE TABLE entries (other TEXT)")
    before = (tmp_path / "cache" / NAME).read_bytes()
    kept(opened)
    assert (tmp_path / "cache" / NAME).read_bytes() == before
    assert len(notes) == 1
    assert "is not used: no such column: key" in notes[0]


@pytest.mark.parametrize(
    "statement", ["CREATE TRIGGER t AFTER INSERT ON entries BEGIN SELECT 1; END", "CREATE VIEW v AS SELECT 1"]
)
def test_a_file_that_runs_statements_of_its_own_does_not_count(opened, tmp_path, notes, statement):
    kept(opened)
    changed(tmp_path, statement)
    assert opened().get(KEY) is None
    assert "is not used: it has a trigger or a view, which may run without end" in notes[0]


def test_what_others_may_write_to_does_not_count(opened, tmp_path, notes):
    kept(opened)
    for path in (tmp_path / "cache", tmp_path / "cache" / NAME):
        before = path.stat().st_mode
        path.chmod(0o777)
        assert opened().get(KEY) is None
        assert f"others may write to {path}" in notes.pop()
        path.chmod(before)
    assert opened().get(KEY) == JUDGED


def test_a_link_in_place_of_the_file_does_not_count(opened, tmp_path, notes):
    kept(opened)
    file = tmp_path / "cache" / NAME
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert opened().get(KEY) is None
    assert "neither a folder nor a file" in notes[0]


def test_a_folder_that_can_not_be_made_turns_the_cache_off(opened, tmp_path, notes):
    (tmp_path / "file").write_text("")
    found = opened(tmp_path / "file" / "cache")
    found.put(KEY, JUDGED)
    found.close()
    assert not found.is_on
    assert len(notes) == 1
    assert "Not a directory" in notes[0]


def test_a_full_disk_turns_the_cache_off(opened, notes):
    kept(opened)
    found = opened()
    found._store._open.execute("PRAGMA max_page_count = 1")
    for number in range(300):
        found.put(bytes([number % 256, number // 256]) * 16, JUDGED)
    assert not found.is_on
    assert "full" in notes[0]
    assert opened().get(KEY) == JUDGED


def test_two_runs_share_a_cache(opened):
    one, other = opened(), opened()
    for number in range(200):
        (one, other)[number % 2].put(bytes([number]) * 32, JUDGED)
    one.close()
    other.close()
    assert all(opened().get(bytes([number]) * 32) == JUDGED for number in range(200))


def test_what_was_not_used_for_the_longest_time_makes_room(opened, tmp_path, monkeypatch):
    now = 1_000_000
    monkeypatch.setattr("time.time", lambda: now)
    big = JUDGED.but(notes=("x" * 10_000,))
    for number in range(50):
        now += 100
        kept(opened, big, bytes([number]) * 32)
    now += 100_000
    found = opened()
    assert found.get(bytes(32)) == big  # used again
    found.close()
    opened(limit=300_000).close()
    left = [number for number in range(50) if opened().get(bytes([number]) * 32)]
    assert left == [0, *range(left[1], 50)]
    assert 10 < len(left) < 30
    assert (tmp_path / "cache" / NAME).stat().st_size <= 300_000


def test_the_folder_is_the_users(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert cache.users_folder() == "/caches/kubevirt-render"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/me")
    assert cache.users_folder() == "/home/me/.cache/kubevirt-render"


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tree(tmp_path, FILES))
    (tmp_path / ".git").mkdir()
    return tmp_path


def units(**settings):
    found = discover(["."])
    own = TargetSettings(**{"config": Config(), **settings})
    return [*(Unit(settings=own, name=each.name, target=each) for each in found.targets), Unit(settings=own, files=found.files)]


def made(options=None, **settings):
    """The keys of all units."""
    known = Keys(options or Options())
    return [known.of(unit) for unit in units(**settings)]


def test_a_key_stays_while_nothing_changes(repository):
    target, files = made()
    assert (target, files) == tuple(made())
    assert target != files


@pytest.mark.parametrize("file", ["base/kustomization.yaml", "base/vm.yaml", "over/kustomization.yaml", "over/patch.yaml"])
def test_a_key_changes_with_each_input(repository, file):
    target, files = made()
    (repository / file).write_text(FILES[file] + "# changed\n")
    changed_target, same_files = made()
    assert changed_target != target
    assert same_files == files
    (repository / file).write_text(FILES[file])
    assert made() == [target, files]


def test_a_file_that_is_gone_is_a_state_too(repository):
    before = made()[0]
    (repository / "over/patch.yaml").unlink()
    gone = made()[0]
    (repository / "over/patch.yaml").write_text("")
    assert len({before, gone, made()[0]}) == 3


@pytest.mark.parametrize(
    "settings",
    [
        {"config": Config(severity={"r": "off"})},
        {"cluster": "north"},
        {"external": (External(kind="Secret"),)},
        {"build_flags": ("--enable-helm",)},
    ],
)
def test_a_key_changes_with_the_settings(repository, settings):
    assert not set(made(**settings)) & set(made())


@pytest.mark.parametrize(
    "options",
    [
        {"quoted": True},
        {"listed": False},
        {"ignores": False},
        {"definitions": False},
        {"follow": True},
        {"schemas": ({"a": 1},)},
    ],
)
def test_a_key_changes_with_the_options(repository, options):
    assert not set(made(Options(**options))) & set(made())


def test_texts_have_no_key(repository):
    texts = Texts(given=(Given(data=b"a: 1"),))
    assert Keys(Options()).of(Unit(settings=TargetSettings(config=Config()), texts=texts)) is None


def test_a_key_changes_with_the_program_that_builds(repository, tmp_path):
    programs = []
    for version in ("v1", "v2"):
        file = tmp_path / f"kustomize-{version}"
        file.write_text(f"#!/bin/sh\necho {version}\n")
        file.chmod(0o755)
        programs.append(Builder(str(file), ("build",)))
    targets, files = zip(*(made(Options(using=each)) for each in (None, *programs)), strict=True)
    assert (len(set(targets)), len(set(files))) == (3, 1)


def test_files_alone_start_no_program_that_builds(repository, tmp_path):
    program = tmp_path / "kustomize"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    program.chmod(0o755)
    keys, (target, files) = Keys(Options(using=Builder(str(program), ("build",)))), units()
    assert (bool(keys.of(files)), (tmp_path / "started").exists()) == (True, False)
    assert (bool(keys.of(target)), (tmp_path / "started").exists()) == (True, True)


def test_a_key_changes_with_our_version(repository, monkeypatch):
    before = made()
    monkeypatch.setattr("krm_fn.__version__", "99")
    assert not set(made()) & set(before)


def test_a_file_that_changed_since_is_noticed(repository):
    known, (target, _) = Keys(Options()), units()
    known.of(target)
    assert known.is_current(target)
    (repository / "base/vm.yaml").write_text("changed")
    assert not known.is_current(target)


def test_what_a_unit_takes_makes_another_key():
    one, other = Taken(), Taken(offers=(OFFER,))
    assert len({keys.second(KEY, one), keys.second(KEY, other), KEY}) == 3


def test_values_are_kept_as_json():
    assert json.loads(cache.dumps(REF)) == {"Ref": {"api_version": "v1", "kind": "Secret", "name": "s", "namespace": "n"}}


def test_runs_that_begin_at_once_have_one_secret(tmp_path, monkeypatch):
    for number in range(40):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / str(number)))
        with ThreadPoolExecutor(8) as pool:
            made = {each.result() for each in [pool.submit(cache._secret) for _ in range(8)]}
        assert len(made) == 1
        assert len([*(tmp_path / str(number) / "kubevirt-render").iterdir()]) == 1


def test_what_another_run_compiles_at_this_moment_is_no_part_of_the_code():
    made = Path(keys.__file__).parent / "__pycache__" / "keys.cpython.pyc.1"  # where Python writes before it renames
    made.parent.mkdir(exist_ok=True)
    made.touch()
    try:
        assert str(made) not in {*keys._code()}
    finally:
        made.unlink()
