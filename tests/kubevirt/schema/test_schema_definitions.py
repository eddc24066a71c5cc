"""A CustomResourceDefinition that comes with the bundle leads to the same flaws as the package's own table.

The test writes the definitions from the table, word by word. So every word of the table has its keyword in a definition, too.
"""

from __future__ import annotations

from typing import Any

import measured
import pytest
from test_schema_answers import FILES

from krm_fn.kubevirt import releases
from krm_fn.kubevirt.schema import table
from krm_fn.kubevirt.schema.checking import check
from krm_fn.kubevirt.schema.crds import Crds
from krm_fn.kubevirt.schema.kinds import KINDS
from krm_fn.kubevirt.schema.scalars import FORMATS, INTEGERS, QUANTITY_FORM

EVERY = 4  # of the answers: enough to have all sorts of mutations in all kinds
EITHER = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
SAID: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "boolean": {"type": "boolean"},
    "number": {"type": "number"},
    "duration": {"type": "string"},
    "time": {"type": "string", "format": "date-time"},
    "int-or-string": EITHER,
    "quantity": {**EITHER, "pattern": f"^{QUANTITY_FORM}$"},
    "bare-quantity": {**EITHER, "pattern": f"^{QUANTITY_FORM}$"},
    "any": {"x-kubernetes-preserve-unknown-fields": True},
}
OF_LIST = ("maxItems", "minItems", "set", "keys")


class Writer:
    """The schemas of one release."""

    def __init__(self, release: releases.Release) -> None:
        self.version = release.version

    def structure(self, name: str) -> dict[str, Any]:
        properties, required = {}, []
        for marked, forms in table.forms(name).items():
            for first, last, word, constraints in forms:
                if table.knows(self.version, first, last):
                    field = marked.removesuffix("!")
                    properties[field] = self.schema(word, [each for each in constraints if not each.startswith("webhooks:")])
                    required += [field] if field != marked else []
        return {"type": "object", "properties": properties, "required": required}

    def schema(self, word: str, constraints: list[str]) -> dict[str, Any]:
        bare = word.removesuffix("?")
        return {**self.bare(bare, constraints), **({"nullable": True} if bare != word else {})}

    def bare(self, word: str, constraints: list[str]) -> dict[str, Any]:
        if word[0] == "[":
            own = [each for each in constraints if each.partition("=")[0] in OF_LIST]
            items = self.schema(word[1:-1], [each for each in constraints if each not in own])
            return {"type": "array", "items": items, **self.constraints(own)}
        if word[0] == "{":
            return {"type": "object", "additionalProperties": self.schema(word[1:-1], constraints)}
        if "." in word:
            closed = {"type": "object"} if constraints == ["free"] or word == "meta.ObjectMeta" else self.structure(word)
            return {**closed, "x-kubernetes-preserve-unknown-fields": True} if constraints else closed
        if word in INTEGERS:
            found = {"type": "integer", "format": FORMATS.get(word, ""), **self.constraints(constraints)}
            return {key: value for key, value in found.items() if value != ""}
        return {**SAID[word], **self.constraints(constraints)}

    def constraints(self, words: list[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for word in words:
            key, _, value = word.partition("=")
            if key == "set":
                found["x-kubernetes-list-type"] = "set"
            elif key == "keys":
                found |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": value.split(",")}
            elif key == "rule":
                found.setdefault("x-kubernetes-validations", []).append({"rule": value})
            elif key == "enum":
                found[key] = value.split("|")
            else:
                found[key] = value if key in ("pattern", "format") else int(value)
        return found


def definitions(release: releases.Release) -> Crds:
    found = []
    for row in KINDS:
        if release.within(since=row.since, until=row.until):
            schema = Writer(release).structure(row.type)
            subresources = {
                **({"status": {}} if row.status else {}),
                **({"scale": {"specReplicasPath": ".spec.replicas"}} if row.scale else {}),
            }
            versions = [
                {"name": name, "served": True, "schema": {"openAPIV3Schema": schema}, "subresources": subresources}
                for name in row.versions
            ]
            found.append(
                {
                    "apiVersion": "apiextensions.k8s.io/v1",
                    "kind": "CustomResourceDefinition",
                    "metadata": {"name": row.type},
                    "spec": {"group": row.group, "names": {"kind": row.kind}, "versions": versions},
                }
            )
    return Crds(found)


def reported(obj: Any, release: releases.Release, crds: Crds | None = None) -> set[tuple[Any, str]]:
    return {(flaw.path, flaw.upstream) for flaw in check(obj, release, crds)}


@pytest.mark.parametrize("release", ["1.4.1", "1.6.6", "1.8.4", "1.9.0"])
def test_a_definition_gives_the_same_findings_as_the_table(release: str) -> None:
    chosen = releases.parse(release)
    crds, differing, count = definitions(chosen), [], 0
    for file in FILES:
        for case in measured.cases(file, every=EVERY):
            own, by_definition = reported(case["object"], chosen), reported(case["object"], chosen, crds)
            # Of a VM's status the one says what the mutating webhook refuses, the other what the API server does not know.
            strange = {
                (path, by) for path, by in by_definition - own if path[0] == "status" and (path[:-1], "admission") in own
            }
            count += bool(own)
            differing += [case["id"]] if own != by_definition - strange else []
    assert differing == []
    assert count > 500
