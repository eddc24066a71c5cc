"""What the watch reads of Go and of our own modules, what it says of two commits, and the lock with what was reviewed."""

from __future__ import annotations

from pathlib import Path

import pytest
from cloning import clone
from upstream import ROOT, text_of
from watch_upstream import (
    LOCK,
    SAME,
    UNREVIEWED,
    Commit,
    Lock,
    Pointer,
    Row,
    coverage,
    dated,
    differences,
    pointers,
    read_lock,
    recorded,
    write_lock,
)

from krm_fn.kubevirt.releases import NEWEST_PATCH, UNMEASURED

KVM = "pkg/hypervisor/kvm"
OVERHEAD = """\
package kvm

import (
	"strings"
	other "kubevirt.io/kubevirt/pkg/size"
)

const (
	// MonitorOverhead is the monitor's.
	MonitorOverhead = "25Mi"
	QemuOverhead    = "30Mi"
	Unused          = "1Mi"
)

type Backend struct{ name string }

// GetMemoryOverhead sums. It doesn't use Unused.
func (b *Backend) GetMemoryOverhead(vmi string) int {
	return total(vmi, MonitorOverhead, strings.Trim(QemuOverhead, " ")) + other.Size()
}

func total(words ...string) int {
	return len(words) // one for each
}

func (b *Backend) Size() int { return 3 }

func Calculate() int {
	return 1
}
"""
POINTER = Pointer(f"{KVM}/backend.go", "GetMemoryOverhead")


def commit(folder: Path, text: str = OVERHEAD, *others: Pointer) -> Commit:
    folder.mkdir(exist_ok=True)
    return Commit(clone(folder, {"v1.5.0": {f"{KVM}/backend.go": text}}), "v1.5.0", [POINTER, *others])


def module(folder: Path, text: str) -> dict[Pointer, list[str]]:
    file = folder / "kubevirt" / "row.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return pointers(folder)


# Pointers


def test_a_docstring_points_to_functions_of_files(tmp_path: Path) -> None:
    text = '"""Rows.\n\nupstream: pkg/a/b.go:One, Two, c.go:Three;\nuntil 1.8 pkg/d/e.go:Four, which is prose\n"""\n'
    assert list(module(tmp_path, text)) == [
        Pointer("pkg/a/b.go", "One"),
        Pointer("pkg/a/b.go", "Two"),
        Pointer("pkg/a/c.go", "Three"),
        Pointer("pkg/d/e.go", "Four", (1, 8)),
    ]


def test_a_name_alone_is_of_the_first_file_of_the_module(tmp_path: Path) -> None:
    text = '"""upstream: pkg/a/b.go:One"""\nfrom __future__ import x\ndef f():\n    """It sums. upstream: sum until 1.5.2"""\n'
    assert module(tmp_path, text)[Pointer("pkg/a/b.go", "sum", (1, 5, 2))] == ["kubevirt/row.py:4"]


def test_texts_of_rows_point_with_the_end_of_their_row(tmp_path: Path) -> None:
    text = 'HERE = "pkg/a/b.go:"\nROWS = (\n    row(upstream=HERE + "One"),\n    row(upstream=HERE + "Two", until=(1, 8)),\n)\n'
    assert module(tmp_path, text) == {
        Pointer("pkg/a/b.go", "One"): ["kubevirt/row.py:3"],
        Pointer("pkg/a/b.go", "Two", (1, 8)): ["kubevirt/row.py:4"],
    }


@pytest.mark.parametrize("text", ["k8s.io/api pkg/a/b.go:One", "containerized-data-importer pkg/a/b.go:One", "a word.go One"])
def test_what_leads_to_another_project_is_no_pointer(text: str, tmp_path: Path) -> None:
    assert module(tmp_path, f'"""upstream: {text}"""\n') == {}


# Go


def test_a_pointer_leads_to_what_its_function_uses_of_its_package(tmp_path: Path) -> None:
    leads = commit(tmp_path).leads(POINTER)
    assert [name.partition(":")[2] for name in leads] == [
        "Backend.GetMemoryOverhead",
        "MonitorOverhead",
        "QemuOverhead",
        "total",
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [("// one for each", "// two"), ("	return len", "	return  len"), ('Unused          = "1Mi"', 'Unused = "2Mi"')],
)
def test_comments_blanks_and_what_is_not_used_do_not_count(before: str, after: str, tmp_path: Path) -> None:
    assert before in OVERHEAD
    changed = commit(tmp_path / "b", OVERHEAD.replace(before, after))
    assert commit(tmp_path / "a").hash(POINTER) == changed.hash(POINTER)


@pytest.mark.parametrize(("before", "after"), [('"30Mi"', '"50Mi"'), ("len(words)", "2 * len(words)")])
def test_a_constant_or_a_function_below_counts(before: str, after: str, tmp_path: Path) -> None:
    changed = commit(tmp_path / "b", OVERHEAD.replace(before, after))
    assert commit(tmp_path / "a").hash(POINTER) != changed.hash(POINTER)


def test_what_has_a_pointer_of_its_own_is_not_followed(tmp_path: Path) -> None:
    leads = commit(tmp_path, OVERHEAD, Pointer(f"{KVM}/backend.go", "total")).leads(POINTER)
    assert f"{KVM}:total" not in leads


def test_an_umbrella_stands_for_its_own_text(tmp_path: Path) -> None:
    pointer = Pointer(f"{KVM}/backend.go", "Admit")
    found = commit(tmp_path, OVERHEAD.replace("Calculate() int {\n", "Admit() int {\n\ttotal()\n"), pointer)
    assert list(found.leads(pointer)) == [f"{KVM}:Admit"]


# Two commits


def said(folder: Path, after: dict[str, str]) -> list[str]:
    source = clone(folder, {"v1.5.0": {f"{KVM}/backend.go": OVERHEAD}, "v1.6.0": after})
    return list(differences(source, "v1.5.0", "v1.6.0", {POINTER: ["kubevirt/pods/overhead.py:3"]}))


def test_a_change_is_said_with_the_rows_that_lead_to_it(tmp_path: Path) -> None:
    after = {f"{KVM}/backend.go": OVERHEAD.replace('"30Mi"', '"50Mi"')}
    assert said(tmp_path, after) == [f"CHANGED {KVM}: QemuOverhead <- kubevirt/pods/overhead.py:3"]


def test_a_function_that_moved_is_stale_with_its_new_place(tmp_path: Path) -> None:
    after = {f"{KVM}/backend.go": "package kvm\n", "pkg/hypervisor/all.go": OVERHEAD}
    stale = f"STALE {POINTER} (kubevirt/pods/overhead.py:3): gone; a function of that name is in pkg/hypervisor/all.go"
    assert said(tmp_path, after)[0] == stale


def test_a_change_that_nobody_points_to_is_said_by_its_package(tmp_path: Path) -> None:
    assert said(tmp_path, {f"{KVM}/backend.go": OVERHEAD.replace("return 1", "return 2")}) == [f"NEW {KVM}: Calculate"]


# The rows that the watch finds


def test_the_rows_that_begin_with_a_release_are_listed_by_it(tmp_path: Path) -> None:
    row = tmp_path / "kubevirt" / "row.py"
    row.parent.mkdir()
    row.write_text(
        "A_SINCE = (1, 8)\nROWS = (\n    row(\n        since=((1, 8, 3), (1, 9)),\n    ),\n    row(since=(1, 7)),\n)\n"
    )
    in_row = [Row("kubevirt/row.py", 3, 5)]
    assert dated((1, 7, 4), tmp_path) == {(1, 8, 0): [Row("kubevirt/row.py", 1, 1)], (1, 8, 3): in_row, (1, 9, 0): in_row}


def test_a_row_is_found_if_its_own_pointers_or_else_those_of_its_module_lead_to_a_change(tmp_path: Path) -> None:
    changed = {f"{KVM}/backend.go": OVERHEAD.replace('"30Mi"', '"50Mi"')}
    source = clone(tmp_path, {"v1.7.4": {f"{KVM}/backend.go": OVERHEAD}, "v1.8.0": changed})
    ours = {POINTER: ["kubevirt/row.py:3"], Pointer(f"{KVM}/backend.go", "Calculate"): ["kubevirt/row.py:9", "kubevirt/b.py:1"]}
    rows = [
        Row("kubevirt/row.py", 2, 4),
        Row("kubevirt/row.py", 5, 6),
        Row("kubevirt/row.py", 8, 9),
        Row("kubevirt/b.py", 7, 7),
    ]
    missed = ["    kubevirt/row.py:8", "    kubevirt/b.py:7"]
    assert list(coverage(source, {(1, 8, 0): rows}, ours)) == ["1.8.0: 2 of 4 rows", *missed]


# The lock

ONE: Lock = {(1, 8, 4): {"a": ("11", "measured"), "b": ("22", "measured")}}


def test_the_lock_is_read_as_it_was_written() -> None:
    lock = recorded(ONE, (1, 9, 0), {"a": "33", "b": "22"})
    assert lock[1, 9, 0] == {"a": ("33", "measured"), "b": ("22", "")}
    assert read_lock(write_lock(lock)) == lock


def test_what_differs_in_an_unmeasured_release_has_to_be_reviewed() -> None:
    assert recorded(ONE, (1, 10, 0), {"a": "33", "b": "22"})[1, 10, 0] == {"a": ("33", UNREVIEWED), "b": ("22", "")}


def test_a_review_is_kept_for_the_same_hash_alone() -> None:
    reviewed = {**ONE, (1, 10, 0): {"a": ("33", SAME)}}
    assert recorded(reviewed, (1, 10, 0), {"a": "33"})[1, 10, 0] == {"a": ("33", SAME)}
    assert recorded(reviewed, (1, 10, 0), {"a": "44"})[1, 10, 0] == {"a": ("44", UNREVIEWED)}


def test_a_release_in_between_changes_no_later_one() -> None:
    lock = recorded(recorded(ONE, (1, 9, 0), {"a": "11", "b": "22"}), (1, 8, 5), {"a": "33", "b": "22"})
    assert {name: row[0] for name, row in read_lock(write_lock(lock))[1, 9, 0].items()} == {"a": "11", "b": "22"}


def test_every_pointer_and_every_release_is_recorded_and_reviewed() -> None:
    lock = read_lock(LOCK.read_text(encoding="utf-8"))
    oldest = min(lock)
    wanted = {(*minor, patch) for minor, patch in NEWEST_PATCH.items() if (*minor, patch) >= oldest} | set(UNMEASURED)
    assert wanted - lock.keys() == set(), "run scripts/watch_upstream.py --record for the release, and review it"
    ours = {str(pointer) for pointer in pointers()}
    for release, rows in lock.items():
        assert rows.keys() == ours, f"run scripts/watch_upstream.py --record: the pointers at {text_of(release)}"
        open_ = [pointer for pointer, (_, review) in rows.items() if review == UNREVIEWED]
        assert open_ == [], f"review these of {text_of(release)} as CONTRIBUTING.md says"


def test_a_review_names_files_of_ours_or_that_nothing_changes() -> None:
    for line in LOCK.read_text(encoding="utf-8").splitlines()[2:]:
        review = line.split(" ", 3)[3]
        assert review in ("measured", SAME) or all((ROOT / "krm_fn" / file).exists() for file in review.split(", ")), line
