"""The constraints of the releases' CustomResourceDefinitions, and those of definitions that come with a bundle."""

from __future__ import annotations

from typing import Any

import pytest
from test_schema import VM, changed, instance, kubevirt, replica_set, told
from test_schema_crds import definition, thing
from test_schema_crds import told as told_by

from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.schema.constraints import matches
from krm_fn.kubevirt.schema.flaws import COUNT, DUPLICATE, LENGTH, MISSING, RANGE, TYPE, UNKNOWN, VALUE
from krm_fn.kubevirt.schema.formats import FORMATS, is_date_time, is_go_time

SPEC = ("spec", "template", "spec")
BASE = "spec.template.spec."


def pool(version: str = "v1beta1", **spec: Any) -> dict[str, Any]:
    template = {"spec": {"runStrategy": "Always", "template": {"spec": {"domain": {"devices": {}}}}}}
    return {
        "apiVersion": f"pool.kubevirt.io/{version}",
        "kind": "VirtualMachinePool",
        "metadata": {"name": "web"},
        "spec": {"selector": {}, "virtualMachineTemplate": template, **spec},
    }


def sorting(policy: str) -> dict[str, Any]:
    return {"proactive": {"selectionPolicy": {"sortPolicy": policy}}}


@pytest.mark.parametrize(
    ("obj", "release", "path"),
    [
        (changed(VM, (*SPEC, "domain", "rebootPolicy"), "terminate"), "1.9", BASE + "domain.rebootPolicy"),
        (pool(updateStrategy=sorting("")), "1.9", "spec.updateStrategy.proactive.selectionPolicy.sortPolicy"),
        (kubevirt(configuration={"vmRolloutStrategy": "stage"}), "1.4", "spec.configuration.vmRolloutStrategy"),
        (kubevirt(configuration={"vmRolloutStrategy": None}), "1.4", "spec.configuration.vmRolloutStrategy"),
        (
            kubevirt(configuration={"tlsConfiguration": {"minTLSVersion": "1.3"}}),
            "1.9",
            "spec.configuration.tlsConfiguration.minTLSVersion",
        ),
    ],
)
def test_a_word_has_to_be_one_of_those_that_the_definition_lists(obj: dict[str, Any], release: str, path: str) -> None:
    assert told(obj, release) == [(VALUE, path, "")]


def test_no_webhook_minds_a_word_that_only_the_definition_lists() -> None:
    template = changed(VM, ("spec", "dataVolumeTemplates", 0, "spec", "contentType"), "qcow2")
    assert told(template, "1.4") == [(VALUE, "spec.dataVolumeTemplates[0].spec.contentType", "")]


@pytest.mark.parametrize(
    ("obj", "release", "path"),
    [
        (pool(replicas=-1), "1.9", "spec.replicas"),
        (pool("v1alpha1", replicas=-1), "1.4", "spec.replicas"),  # by the scale subresource
        (replica_set(replicas=-1), "1.4", "spec.replicas"),
        (pool(autohealing={"startUpFailureThreshold": 0}), "1.9", "spec.autohealing.startUpFailureThreshold"),
        (
            kubevirt(configuration={"migrations": {"maxDowntimeMs": 2_000_001}}),
            "1.9",
            "spec.configuration.migrations.maxDowntimeMs",
        ),
        (
            kubevirt(configuration={"developerConfiguration": {"memoryOvercommit": 9}}),
            "1.6.4",
            "spec.configuration.developerConfiguration.memoryOvercommit",
        ),
    ],
)
def test_a_number_has_the_bounds_of_the_definition(obj: dict[str, Any], release: str, path: str) -> None:
    assert told(obj, release) == [(RANGE, path, "")]


def test_bounds_may_come_with_a_patch_release() -> None:
    assert told(kubevirt(configuration={"developerConfiguration": {"memoryOvercommit": 9}}), "1.6.3") == []


def test_an_integer_is_as_wide_as_the_definition_says() -> None:
    cores = changed(VM, (*SPEC, "domain", "cpu", "cores"), 2**31)
    assert told(cores) == [(RANGE, BASE + "domain.cpu.cores", "")]  # Go has 32 bits without a sign
    assert told(changed(VM, (*SPEC, "domain", "cpu", "cores"), 2**31 - 1)) == []
    assert told(kubevirt(workloads={"replicas": 256})) == [(RANGE, "spec.workloads.replicas", "admission")]  # and here eight
    checksum = {"kernelBootStatus": {"kernelInfo": {"checksum": 2**32 - 1}}}
    assert told({**instance(), "status": checksum}, "1.8.3") == [(RANGE, "status.kernelBootStatus.kernelInfo.checksum", "")]
    assert told({**instance(), "status": checksum}, "1.8.4") == []


LISTS = [
    (*SPEC, "accessCredentials"),
    (*SPEC, "networks"),
    (*SPEC, "volumes"),
    (*SPEC, "domain", "devices", "disks"),
    (*SPEC, "domain", "devices", "interfaces"),
]


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path[-1])
def test_some_lists_have_at_most_256_entries(path: tuple[Any, ...]) -> None:
    assert [flaw for flaw in told(changed(VM, path, [{"name": str(number)} for number in range(257)])) if flaw[0] == COUNT] == [
        (COUNT, ".".join(path), "")
    ]
    assert COUNT not in {flaw[0] for flaw in told(changed(VM, path, [{"name": str(number)} for number in range(256)]))}


def test_entries_of_a_set_are_different() -> None:
    users = {"sshPublicKey": {"source": {}, "propagationMethod": {"qemuGuestAgent": {"users": ["a", "b", "a", "a"]}}}}
    path = BASE + "accessCredentials[0].sshPublicKey.propagationMethod.qemuGuestAgent.users[2]"
    assert told(changed(VM, (*SPEC, "accessCredentials"), [users])) == [(DUPLICATE, path, "")]


def spread(key: str, when: str = "DoNotSchedule") -> dict[str, Any]:
    return {"topologyKey": key, "whenUnsatisfiable": when, "maxSkew": 1}


def test_entries_of_a_list_with_keys_have_different_keys() -> None:
    path = (*SPEC, "topologySpreadConstraints")
    assert told(changed(VM, path, [spread("a"), spread("b"), spread("a", "ScheduleAnyway")])) == []
    assert told(changed(VM, path, [spread("a"), spread("b"), spread("a")])) == [
        (DUPLICATE, BASE + "topologySpreadConstraints[2]", "")
    ]


def test_entries_without_a_key_are_equal() -> None:
    (first, second) = told(instance(resourceClaims=[{}, {}]), "1.9")[:2], told(instance(resourceClaims=[{}, {}]), "1.9")[2:]
    assert first == [(MISSING, "spec.resourceClaims[0].name", ""), (MISSING, "spec.resourceClaims[1].name", "")]
    assert second == [(DUPLICATE, "spec.resourceClaims[1]", "")]


def container(path: Any = "/data", **more: Any) -> dict[str, Any]:
    return instance(volumes=[{"name": "a", "containerPath": {"path": path, **more}}])


@pytest.mark.parametrize(
    ("obj", "flaw"),
    [
        (container(), None),
        (container("data"), (VALUE, "path")),
        (container("/data/../etc"), (VALUE, "path")),
        (container("/" + 4095 * "\u00e4"), None),
        (container("/" + 4096 * "a"), (LENGTH, "path")),
        (container(readOnly=True), None),
        (container(readOnly=False), (VALUE, "readOnly")),
        (container(5), (TYPE, "path")),
    ],
)
def test_the_rules_of_definitions_are_evaluated(obj: dict[str, Any], flaw: tuple[str, str] | None) -> None:
    wanted = [(flaw[0], f"spec.volumes[0].containerPath.{flaw[1]}")] if flaw else []
    assert [(kind, path) for kind, path, _ in told(obj)] == wanted


def test_nobody_but_the_webhooks_looks_into_the_metadata_of_a_template() -> None:
    for metadata in ({"x": 1}, {"labels": ["a"]}, {"labels": {"a": 5}}):
        (flaw,) = told(changed(VM, ("spec", "template", "metadata"), metadata))
        assert flaw[2] == "admission"
        assert all(
            flaw[2] != "" for flaw in told(replica_set(template={**replica_set()["spec"]["template"], "metadata": metadata}))
        )
    assert told(changed(VM, ("spec", "template", "metadata"), ["a"])) == [(TYPE, "spec.template.metadata", "admission")]


def test_the_webhooks_refuse_null_that_the_api_server_keeps() -> None:
    for path in (("spec", "template", "metadata"), ("spec", "template", "metadata", "labels")):
        assert told(changed(VM, path, None)) == [(TYPE, ".".join(path), "admission")]
    assert told(changed(VM, ("spec", "dataVolumeTemplates", 0), None)) == [(TYPE, "spec.dataVolumeTemplates[0]", "admission")]
    assert told(pool(virtualMachineTemplate={"metadata": None, "spec": pool()["spec"]["virtualMachineTemplate"]["spec"]})) == []


def test_strange_keys_of_a_clock_pass_the_definition_and_not_the_webhooks() -> None:
    assert told(changed(VM, (*SPEC, "domain", "clock"), {"zone": "UTC"})) == [
        (UNKNOWN, BASE + "domain.clock.zone", "admission")
    ]
    assert told(changed(VM, (*SPEC, "domain", "clock"), {"timezone": 5})) == [
        (TYPE, BASE + "domain.clock.timezone", "admission")
    ]


@pytest.mark.parametrize(
    ("text", "definition", "go"),
    [
        ("2024-05-01T12:00:00Z", True, True),
        ("2024-05-01T12:00:00.5+02:00", True, True),
        ("2024-02-30T12:00:00Z", False, False),
        ("2024-05-01t12:00:00z", True, False),
        ("2024-05-01T12:00:00,5Z", True, True),
        ("2024-05-01T12:00:00", False, False),
        ("2024-05-01T24:00:00Z", False, False),
        ("2024-05-01T12:00:60Z", False, False),
        ("2024-05-01T12:00:00+99:99", True, False),
        ("0000-02-29T00:00:00Z", True, True),
        ("", False, False),
    ],
)
def test_a_time_has_a_form(text: str, *, definition: bool, go: bool) -> None:
    assert (is_date_time(text), is_go_time(text)) == (definition, go)


def test_a_list_in_the_place_of_a_time_passes_the_definition() -> None:
    assert told({**instance(), "status": {"conditions": [{"type": "a", "status": "b", "lastProbeTime": []}]}}) == [
        (TYPE, "status.conditions[0].lastProbeTime", "admission")
    ]


# Definitions that come with the bundle.


def by(schema: Any, value: Any) -> list[tuple[str, str]]:
    """What a definition says of a value that its schema is about."""
    whole = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {}, "x": schema}}}}
    return told_by(thing(x=value), definition(whole))


STRING, WORDS = {"type": "string"}, {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize(
    ("schema", "good", "bad", "kind"),
    [
        ({**STRING, "maxLength": 2}, "\u00e4b", "abc", LENGTH),
        ({**STRING, "minLength": 2}, "ab", "a", LENGTH),
        ({**STRING, "enum": ["a", ""]}, "", "b", VALUE),
        ({**STRING, "format": "date-time"}, "2024-05-01T12:00:00Z", "2024-05-01", VALUE),
        ({**STRING, "format": "uuid"}, "1D5C3B2A-1111-4222-8333-444455556666", "1", VALUE),
        ({**STRING, "format": "nobody-knows"}, "a", None, ""),
        ({"type": "integer", "format": "int32"}, 2**31 - 1, 2**31, RANGE),
        ({"type": "integer", "format": "int64"}, 2**63 - 1, 2**63, RANGE),
        ({"type": "integer"}, 2.0, 2.5, TYPE),
        ({"type": "integer", "minimum": 3, "exclusiveMinimum": True}, 4, 3, RANGE),
        ({"type": "integer", "maximum": 3, "exclusiveMaximum": True}, 2, 3, RANGE),
        ({"type": "integer", "multipleOf": 4}, 8, 6, RANGE),
        ({"type": "number", "multipleOf": 0.1}, 0.3, 0.35, RANGE),
        ({"type": "number", "multipleOf": 3}, 10**400, 10, RANGE),
        ({"type": "integer", "enum": [1, 2]}, 1, True, TYPE),
        ({"type": "boolean", "enum": [True]}, True, False, VALUE),
        ({**WORDS, "maxItems": 1}, ["a"], ["a", "b"], COUNT),
        ({**WORDS, "minItems": 1}, ["a"], [], COUNT),
        ({**WORDS, "uniqueItems": True}, ["a", "b"], ["a", "a"], DUPLICATE),
        ({**WORDS, "x-kubernetes-list-type": "set"}, ["a", "b"], ["a", "a"], DUPLICATE),
        ({"type": "object", "maxProperties": 1, "additionalProperties": STRING}, {"a": "b"}, {"a": "b", "c": "d"}, COUNT),
        ({"type": "object", "minProperties": 1, "additionalProperties": STRING}, {"a": "b"}, {}, COUNT),
        ({**STRING, "x-kubernetes-validations": [{"rule": "self.startsWith( '/' )"}]}, "/a", "a", VALUE),
        ({**STRING, "x-kubernetes-validations": [{"rule": "self.nobodyKnows()"}]}, "a", None, ""),
        ({**STRING, "anyOf": [{"pattern": "^a"}, {"maxLength": 1}]}, "b", "bc", VALUE),
        ({**STRING, "allOf": [{"pattern": "^a"}, {"maxLength": 1}]}, "a", "ab", VALUE),
        ({**STRING, "oneOf": [{"pattern": "^a"}, {"maxLength": 1}]}, "ab", "a", VALUE),
        ({**STRING, "not": {"enum": ["a"]}}, "b", "a", VALUE),
        (
            {"type": "object", "properties": {"a": STRING, "b": STRING}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"a": "x"},
            {"a": "x", "b": "y"},
            VALUE,
        ),
    ],
)
def test_every_keyword_of_a_definition_is_read(schema: Any, good: Any, bad: Any, kind: str) -> None:
    assert by(schema, good) == []
    if kind:
        assert [found for found, _ in by(schema, bad)] == [kind]


def test_a_list_with_keys_takes_their_defaults() -> None:
    port = {"type": "object", "properties": {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}}}
    keys = ["port", "protocol"]
    ports = {"type": "array", "items": port, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}
    assert by(ports, [{"port": 1}, {"port": 1, "protocol": "UDP"}]) == []
    assert by(ports, [{"port": 1}, {"port": 1, "protocol": "TCP"}]) == [(DUPLICATE, "spec.x[1]")]


def test_replicas_of_a_scale_subresource_are_no_less_than_none() -> None:
    whole = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"count": {"type": "integer"}}}}}
    crd = definition({**whole, "properties": {**whole["properties"], "status": {"type": "object"}}})
    crd["spec"]["versions"][0]["subresources"] = {"status": {}, "scale": {"specReplicasPath": ".spec.count"}}
    obj = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}}
    assert told_by({**obj, "spec": {"count": -1}, "status": "x"}, crd) == [(RANGE, "spec.count")]
    assert told_by({**obj, "spec": {"count": 0}, "status": {"x": 1}}, crd) == [(UNKNOWN, "status.x")]


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^a$|^b$", "a\n", False),
        ("^a$|^b$", "b", True),
        (r"\d", "\u0663", False),
        (r"a\$", "a$", True),
        ("[$]$", "$", True),
        (r"a\z", "a", True),
        (r"[\]$]x", "$x", True),
    ],
)
def test_a_pattern_is_read_as_go_reads_it(pattern: str, text: str, *, found: bool) -> None:
    judge = matches(pattern)
    assert judge is not None
    assert (judge(text, ()) is None) is found


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("byte", "YWI=", "YWI"),
        ("cidr", "10.0.0.0/8", "10.0.0.0"),
        ("date", "2024-02-29", "2023-02-29"),
        ("hexcolor", "#ffF", "#ff"),
        ("ipv4", "010.0.0.1", "::1"),
        ("ipv6", "::1", "10.0.0.1"),
        ("k8slongname", "a.b", "A"),
        ("k8sshortname", "a-b", "a.b"),
        ("mac", "02:00:00:00:00:0a", "02:00:00:00:00"),
        ("uuid4", "1d5c3b2a-1111-4222-8333-444455556666", "1d5c3b2a-1111-3222-8333-444455556666"),
    ],
)
def test_a_format_is_read_as_the_api_server_reads_it(name: str, good: str, bad: str) -> None:
    assert (FORMATS[name](good), FORMATS[name](bad)) == (True, False)


def test_a_map_that_is_not_allowed_is_not_shown() -> None:
    from krm_fn.kubevirt import releases
    from krm_fn.kubevirt.schema.checking import check
    from krm_fn.kubevirt.schema.crds import Crds

    schema = {"type": "object", "properties": {"spec": {"type": "object", "not": {"required": ["size"]}}}}
    (flaw, _) = check(thing(), releases.NEWEST, Crds([definition(schema)]))
    assert flaw.current is UNSET or flaw.kind == UNKNOWN
