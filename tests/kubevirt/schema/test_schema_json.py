"""The JSON Schema of a release accepts what the release's own schema accepts, and knows its fields."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from checking import run

from krm_fn.kubevirt import releases
from krm_fn.kubevirt.schema.checking import check
from krm_fn.kubevirt.schema.json_schema import schema
from krm_fn.kubevirt.schema.kinds import kind_known

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted((ROOT / "kustomization-examples").rglob("*.yaml"))
VM = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "spec": {"template": {"spec": {"domain": {}}}}}


@pytest.fixture(scope="module", params=releases.MINORS)
def release(request):
    return releases.parse(request.param)


@pytest.fixture(scope="module")
def validator(release):
    found = schema(release)
    jsonschema.Draft7Validator.check_schema(found)
    return jsonschema.Draft7Validator(found)


def test_what_the_release_accepts_is_valid(release, validator):
    objects = [each for file in FILES for each in yaml.safe_load_all(file.read_text()) if isinstance(each, dict)]
    own = [each for each in objects if kind_known(each, release) and not list(check(each, release))]
    assert own
    assert [error.message for each in own for error in validator.iter_errors(each)] == []


@pytest.mark.parametrize(
    "spec",
    [
        {"template": {"spec": {"domain": {"cpus": {}}}}},
        {"template": {"spec": {"domain": {"cpu": {"cores": "2"}}}}},
        {"template": {"spec": {"domain": {"memory": {"guest": "4 gigs"}}}}},
        {"template": {"spec": {"volumes": {}}}},
        {"instancetype": {"inferFromVolumeFailurePolicy": 3}},
    ],
)
def test_what_no_release_accepts_is_not(validator, spec):
    assert list(validator.iter_errors({**VM, "spec": spec}))


def test_a_field_is_known_in_the_releases_that_have_it():
    spec = {"template": {"spec": {"domain": {"rebootPolicy": "Reboot"}}}}

    def accepts(release):
        return not list(jsonschema.Draft7Validator(schema(releases.parse(release))).iter_errors({**VM, "spec": spec}))

    assert [accepts(release) for release in ("1.6", "1.9")] == [False, True]


def test_objects_of_other_kinds_and_parts_of_objects_are_valid(validator):
    for obj in ({"kind": "ConfigMap", "apiVersion": "v1", "data": {}}, {**VM, "spec": {}}, {"kind": "VirtualMachine"}):
        assert not list(validator.iter_errors(obj))


def test_the_command_prints_the_schema_of_a_release(tmp_path):
    code, output, _ = run("schema", "--editor", "--kubevirt-version", "1.6", cwd=tmp_path)
    assert (code, json.loads(output)) == (0, schema(releases.parse("1.6")))
    code, _, error = run("schema", "--kubevirt-version", "1.6", cwd=tmp_path)
    assert (code, "add --editor" in error) == (2, True)
