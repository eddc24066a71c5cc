"""Where the answer itself compares two numbers of objects, a run beyond the limit ends with one line."""

import pytest
from checking import run
from growing import WAYS, files_of, prepare

MOST = {
    ("quotas", "capacity"): "quotas count VMs more than ",
    ("limit-ranges", "capacity"): "LimitRanges limit VMs more than ",
    ("types-and-preferences", "matrix"): "make more than 5,500 pairs; give fewer files",
    ("presets-for-all", "explain"): "presets match instances so often that explain has more than 50,000 of their sections",
    ("globs-of-any-beginning", "folder"): "these globs take too many comparisons with the paths of this run; use fewer",
    ("external-of-any-beginning", "folder"): "spec.external: these globs take too many comparisons with the names in this run",
}


@pytest.mark.parametrize(("shape", "way"), MOST)
def test_a_run_beyond_a_limit_says_in_one_line_what_is_too_much(shape, way, tmp_path):
    arguments, _ = prepare(files_of(shape, WAYS[way], 1_000_000), WAYS[way], tmp_path / "run")
    _, out, err = run(*arguments, cwd=tmp_path / "run")
    assert MOST[shape, way] in err
    assert (out, err.count("\n")) == ("", 1)
