"""The builtin catalogue, made from the bundles that releases embed."""

from __future__ import annotations

import make_catalogue
import pytest
from cloning import clone

from krm_fn import catalogue
from krm_fn.catalogue import INSTANCETYPE, PREFERENCE

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
        SystemExit, match=r"^KubeVirt 1\.9\.0 embeds common-instancetypes \['v1\.7\.0', 'v1\.8\.0'\]; expected one"
    ):
        make_catalogue.read(clone(tmp_path, {"v1.9.0": files}), (1, 9, 0))


def test_a_release_that_is_made_again_gives_the_same_file():
    kept = {version: make_catalogue.of_table(version) for version in catalogue.releases()}
    text = make_catalogue.FILE.read_text(encoding="utf-8")
    empty = {kind: {} for kind in catalogue.KINDS}
    assert make_catalogue.make(kept | {(1, 6, 6): (empty, "1.4.1")}) != text
    assert make_catalogue.make(kept) == text
