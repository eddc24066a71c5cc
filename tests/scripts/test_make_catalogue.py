"""The builtin catalogue, made from the bundles that releases embed."""

from __future__ import annotations

import make_catalogue
import pytest
from cloning import clone

from krm_fn.kubevirt import catalogue
from krm_fn.kubevirt.catalogue import INSTANCETYPE, PREFERENCE

EMBEDDING = """\
package components

//go:embed data/types.yaml
var types []byte

//go:embed data/preferences.yaml
var preferences []byte
"""
BUNDLED = """\
---
apiVersion: instancetype.kubevirt.io/v1beta1
kind: {kind}
metadata:
  name: {name}
  labels: {{instancetype.kubevirt.io/common-instancetypes-version: v{version}, instancetype.kubevirt.io/size: {name}{more}}}
spec: {spec}
"""


def bundles(*objects, version="1.7.0"):
    """The files that a release embeds, of (kind, name, spec, labels)."""
    texts = [BUNDLED.format(kind=kind, name=name, spec=spec, more=more, version=version) for kind, name, spec, more in objects]
    folder = make_catalogue.COMPONENTS
    return {
        f"{folder}/instancetypes.go": EMBEDDING,
        f"{folder}/data/types.yaml": "".join(text for text in texts if "Instancetype" in text),
        f"{folder}/data/preferences.yaml": "".join(text for text in texts if "Preference" in text),
    }


def test_what_a_release_embeds_is_read(tmp_path):
    old = ', instancetype.kubevirt.io/deprecated: "true"'
    objects = (
        (INSTANCETYPE, "m", "{cpu: {guest: 2}}", ""),
        (INSTANCETYPE, "old", "{}", old),
        (PREFERENCE, "p", "{a: 'true'}", ""),
    )
    source = clone(tmp_path, {"v1.9.0": bundles(*objects)})
    assert make_catalogue.read(source, (1, 9, 0)) == (
        {INSTANCETYPE: {"m": ({"cpu": {"guest": 2}}, False), "old": ({}, True)}, PREFERENCE: {"p": ({"a": "true"}, False)}},
        "1.7.0",
    )


def test_a_release_that_embeds_two_versions_is_an_error(tmp_path):
    files = bundles((INSTANCETYPE, "m", "{}", "")) | {
        path: text for path, text in bundles((PREFERENCE, "p", "{}", ""), version="1.8.0").items() if "preferences" in path
    }
    with pytest.raises(
        ValueError, match=r"^KubeVirt 1\.9\.0 embeds common-instancetypes \['v1\.7\.0', 'v1\.8\.0'\]; expected one"
    ):
        make_catalogue.read(clone(tmp_path, {"v1.9.0": files}), (1, 9, 0))


def test_the_table_comes_out_as_it_went_in():
    kept = {version: make_catalogue.of_table(version) for version in catalogue.releases()}
    assert make_catalogue.make(kept) == make_catalogue.FILE.read_text(encoding="utf-8")
    assert make_catalogue.make_names(kept) == make_catalogue.NAMES_FILE.read_text(encoding="utf-8")


def test_a_release_that_deploys_something_else_changes_the_lines_of_its_names_only():
    kept = {version: make_catalogue.of_table(version) for version in catalogue.releases()}
    kinds, common = kept[1, 6, 3]
    names = {name: of_name for name, of_name in kinds[INSTANCETYPE].items() if name != "u1.medium"}
    made = make_catalogue.make(kept | {(1, 6, 3): ({**kinds, INSTANCETYPE: names}, common)})
    before, after = make_catalogue.make(kept).splitlines(), made.splitlines()
    assert [line for line in before if line not in after] == ["u1.medium 1.1.0 - cpu:guest=1 memory:guest=4Gi"]
    assert [line for line in after if line not in before] == [
        "u1.medium 1.1.0 1.6.2 cpu:guest=1 memory:guest=4Gi",
        "u1.medium 1.6.4 - cpu:guest=1 memory:guest=4Gi",
    ]


def test_a_release_without_a_catalogue_is_left_out(tmp_path, monkeypatch, capsys):
    source = clone(tmp_path, {"v1.0.0": {"a": "b"}})
    monkeypatch.setattr("sys.argv", ["make_catalogue.py", "--source", str(source.clone), "--release", "1.0.0", "--check"])
    make_catalogue.main()
    assert [line.rpartition(": ")[2] for line in capsys.readouterr().out.splitlines()] == ["as before", "as before"]
