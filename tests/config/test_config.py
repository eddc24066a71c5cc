"""The function config: its two forms, its errors, and that the published schema says the same as the checks."""

import json
import subprocess
import sys

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import validators

from krm_fn import yamlio
from krm_fn.base.errors import ConfigError, InputError
from krm_fn.config import read
from krm_fn.config.keys import KEYS
from krm_fn.config.schema import schema
from krm_fn.kubevirt.releases import MINORS, Release
from krm_fn.kubevirt.settings import Config

RULE = "unresolved-instancetype"


def own(**spec):
    return {
        "apiVersion": "kubevirt-render.dev/v1alpha1",
        "kind": "RenderVirtualMachines",
        "metadata": {"name": "render"},
        "spec": spec,
    }


def config_map(data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "render"}, "data": data}


DEFAULTS = Config(
    mode="expand",
    release=None,
    catalogue="builtin",
    defaults="auto",
    presets="instance",
    instances="omit",
    configuration=None,
    provenance=False,
    pod_size=False,
    fail_on="error",
    severity={},
)


@pytest.mark.parametrize(
    "absent",
    [
        None,
        {},
        {"apiVersion": "v1", "kind": "ConfigMap"},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": None, "data": None},
        config_map({}),
        {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines"},
        {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "spec": None},
        own(),
        own(mode=None, kubevirtVersion="", configuration=None, severity=None),
        config_map({"mode": "", "provenance": "", "severity": "", "configuration": None}),
    ],
)
def test_unset_keys_have_the_default(absent):
    assert read(absent) == DEFAULTS


@pytest.mark.parametrize("given", [own(configuration={}), config_map({"configuration": "{}"})])
def test_an_empty_configuration_is_stated(given):
    assert read(given) == DEFAULTS.but(configuration={})


def test_every_key_of_the_own_kind_is_read():
    assert read(
        own(
            mode="snapshot",
            kubevirtVersion="1.6.3",
            catalogue="none",
            defaults="pinned",
            presets="fold",
            instances="include",
            configuration={"network": {"defaultNetworkInterface": "masquerade"}},
            provenance=True,
            failOn="never",
            severity={RULE: "warning"},
        )
    ) == Config(
        mode="snapshot",
        release=Release(version=(1, 6, 3)),
        catalogue="none",
        defaults="pinned",
        presets="fold",
        instances="include",
        configuration={"network": {"defaultNetworkInterface": "masquerade"}},
        provenance=True,
        fail_on="never",
        severity={RULE: "warning"},
    )


def test_a_config_map_says_the_same_in_strings():
    assert read(
        config_map(
            {
                "mode": "annotate",
                "kubevirtVersion": "1.4",
                "configuration": "network:\n  defaultNetworkInterface: masquerade\n",
                "provenance": "true",
                "failOn": "warning",
                "severity": "{" + RULE + ": off}",
            }
        )
    ) == DEFAULTS.but(
        mode="annotate",
        release=Release(version=(1, 4, 1)),
        configuration={"network": {"defaultNetworkInterface": "masquerade"}},
        provenance=True,
        fail_on="warning",
        severity={RULE: "off"},
    )


def test_nested_values_may_be_given_by_dotted_keys():
    data = {
        f"severity.{RULE}": "off",
        "configuration.network.defaultNetworkInterface": "masquerade",
        "configuration.developerConfiguration.cpuAllocationRatio": "10",
        "configuration.developerConfiguration.featureGates": "[Snapshot]",
    }
    assert read(config_map(data)) == DEFAULTS.but(
        severity={RULE: "off"},
        configuration={
            "network": {"defaultNetworkInterface": "masquerade"},
            "developerConfiguration": {"cpuAllocationRatio": 10, "featureGates": ["Snapshot"]},
        },
    )


@pytest.mark.parametrize("turn", [list, lambda keys: list(reversed(keys))])
def test_the_longer_of_two_keys_wins_whatever_the_order(turn):
    data = {
        "configuration": "{network: {defaultNetworkInterface: bridge}, cpuModel: host-model}",
        "configuration.network.defaultNetworkInterface": "masquerade",
        "configuration.network.permitSlirpInterface": "true",
    }
    shuffled = {key: data[key] for key in turn(list(data))}
    assert read(config_map(shuffled)).configuration == {
        "network": {"defaultNetworkInterface": "masquerade", "permitSlirpInterface": True},
        "cpuModel": "host-model",
    }


def test_a_plain_off_which_readers_take_for_false_is_off():
    assert read(own(severity={RULE: False})).severity == {RULE: "off"}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            own(mode="expnad"),
            "spec.mode: found 'expnad'; expected one of expand, validate, annotate, snapshot; did you mean expand",
        ),
        (
            config_map({"mode": "Validate"}),
            "data.mode: found 'Validate'; expected one of expand, validate, annotate, snapshot; did you mean validate",
        ),
        (own(mode=["expand"]), "spec.mode: found a list; expected one of expand, validate, annotate, snapshot"),
        (
            own(kubevirtVersion=1.9),
            ('spec.kubevirtVersion: found 1.9; expected a string in quotes: "1.9" (without quotes, 1.10 would be read as 1.1)'),
        ),
        (
            own(kubevirtVersion="1.99"),
            (
                f"spec.kubevirtVersion: unknown KubeVirt release 1.99; expected one of {', '.join(MINORS)}, or a patch "
                f"release of one; did you mean {MINORS[-1]}"
            ),
        ),
        (
            own(kubevirtVersion="v0.59.0"),
            (
                "spec.kubevirtVersion: unknown KubeVirt release v0.59.0; expected one of 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, "
                "1.7, 1.8, 1.9, or a patch release of one; did you mean 1.0"
            ),
        ),
        (
            own(kubevirtVersion="1.9.x"),
            (
                "spec.kubevirtVersion: unknown KubeVirt release '1.9.x'; expected one of 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, "
                "1.7, 1.8, 1.9, or a patch release of one such as 1.6.3; did you mean 1.9"
            ),
        ),
        (
            own(kubevirtVersion="1.09"),
            "spec.kubevirtVersion: found '1.09'; expected a release without leading zeros; did you mean 1.9.0",
        ),
        (
            own(kubevirtVersion=True),
            'spec.kubevirtVersion: found true; expected a KubeVirt release in quotes such as "1.9"',
        ),
        (
            own(kubeVirtVersion="1.9"),
            (
                "spec.kubeVirtVersion: unknown key; expected one of mode, kubevirtVersion, catalogue, defaults, "
                "presets, instances, configuration, provenance, podSize, patches, policies, "
                "schemaPolicies, rulePackages, failOn, severity; did you mean kubevirtVersion"
            ),
        ),
        (own(provenance="true"), "spec.provenance: found 'true'; expected true or false without quotes"),
        (
            config_map({"provenance": True}),
            "data.provenance: found true; expected a string, because the values of a ConfigMap are strings; put it in quotes",
        ),
        (config_map({"provenance": "yes"}), "data.provenance: found 'yes'; expected true or false"),
        (own(configuration=[]), "spec.configuration: found a list; expected a map"),
        (config_map({"configuration": "[1]"}), "data.configuration: found a list; expected a map"),
        (
            own(configuration={"developerConfiguration": {"featureGate": ["HostDevices"]}}),
            (
                "spec.configuration.developerConfiguration.featureGate: unknown setting 'featureGate' in KubeVirt 1.0 to 1.9; "
                "did you mean featureGates"
            ),
        ),
        (
            own(configuration={"permittedHostDevices": {"pciHostDevices": [{"resourceName": "a"}, {"resourcName": "b"}]}}),
            (
                "spec.configuration.permittedHostDevices.pciHostDevices[1].resourcName: unknown setting 'resourcName' in "
                "KubeVirt 1.0 to 1.9; did you mean resourceName"
            ),
        ),
        (
            own(configuration={"memoryOvercommit": 150}),
            (
                "spec.configuration.memoryOvercommit: unknown setting 'memoryOvercommit' in KubeVirt 1.0 to 1.9; "
                "it belongs below developerConfiguration"
            ),
        ),
        (
            own(configuration={"network": {"cpuModel": "a"}}),
            (
                "spec.configuration.network.cpuModel: unknown setting 'cpuModel' in KubeVirt 1.0 to 1.9; "
                "it belongs below configuration"
            ),
        ),
        (
            config_map({"configuration": "{developerConfiguration: {}, a: 1}"}),
            "data.configuration.a: unknown setting 'a' in KubeVirt 1.0 to 1.9; remove it",
        ),
        (
            config_map({"configuration.developerConfiguration": "{featureGate: []}"}),
            (
                "data[\"configuration.developerConfiguration\"].featureGate: unknown setting 'featureGate' in "
                "KubeVirt 1.0 to 1.9; did you mean featureGates"
            ),
        ),
        (
            config_map({"configuration.network.vlan": ""}),
            "data[\"configuration.network.vlan\"]: unknown setting 'vlan' in KubeVirt 1.0 to 1.9; remove it",
        ),
        (
            own(severity={"unresolved-instancetipe": "off"}),
            (
                "spec.severity.unresolved-instancetipe: unknown rule 'unresolved-instancetipe'; "
                "did you mean unresolved-instancetype; `kubevirt-render rules` lists all rules"
            ),
        ),
        (
            config_map({"severity.unresolved-instancetype": "eror"}),
            (
                "data[\"severity.unresolved-instancetype\"]: found 'eror'; expected one of error, warning, info, off; "
                "did you mean error"
            ),
        ),
        (
            {"apiVersion": "kubevirt-render.dev/v1", "kind": "RenderVirtualMachines"},
            "apiVersion: found 'kubevirt-render.dev/v1'; expected kubevirt-render.dev/v1alpha1 for a RenderVirtualMachines",
        ),
        (
            {"apiVersion": "v1", "kind": "Configmap"},
            (
                "kind: found 'Configmap'; expected RenderVirtualMachines (kubevirt-render.dev/v1alpha1) or ConfigMap (v1); "
                "did you mean ConfigMap"
            ),
        ),
        (
            {"spec": {}},
            "kind: found nothing; expected RenderVirtualMachines (kubevirt-render.dev/v1alpha1) or ConfigMap (v1)",
        ),
        (
            {**own(), "mode": "expand"},
            "mode: unknown key; expected one of apiVersion, kind, metadata, spec; it belongs below spec",
        ),
        ({**own(), "spec": "expand"}, "spec: found 'expand'; expected a map"),
        ([own()], "the function config is a list; expected a RenderVirtualMachines or a ConfigMap"),
    ],
)
def test_an_error_names_the_place_what_was_found_and_what_was_expected(config, message):
    with pytest.raises(ConfigError) as raised:
        read(config)
    assert str(raised.value) == message


def test_broken_yaml_in_a_config_map_is_an_error_of_its_key():
    with pytest.raises(ConfigError, match=r"^data\.severity: the text is not valid YAML: ") as raised:
        read(config_map({"severity": "{a: "}))
    assert "\n" not in str(raised.value)


def test_reading_a_config_imports_nothing_heavy():
    script = (
        "import sys; from krm_fn.config import read;"
        f"read({own(mode='validate', kubevirtVersion='1.8', provenance=True, configuration={'cpuModel': 'a'})!r});"
        "heavy = {'typing', 're', 'json', 'pathlib', 'dataclasses', 'yaml', 'jsonschema', 'krm_fn.rules.registry'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_settings_that_any_of_the_releases_has_are_taken():
    settings = {
        "additionalGuestMemoryOverheadRatio": "1",
        "confidentialCompute": {"tdx": {"attestation": {"qgsSocketPath": "/a"}}},
        "network": {"permitSlirpInterface": True, "binding": {"any-name": {"sidecarImage": "a"}}},
        "obsoleteCPUModels": {"any name": True},
    }
    assert read(own(configuration=settings)).configuration == settings


# ---- the schema and the checks accept and refuse the same


def _content(validator, content, instance, _):
    """`contentSchema` as an assertion: what the YAML text holds must fit."""
    if isinstance(instance, str) and instance:
        try:
            value = yamlio.read_value(instance)
        except InputError as error:
            yield jsonschema.ValidationError(str(error))
        else:
            yield from validator.descend(value, content)


PUBLISHED = schema()
VALIDATOR = validators.extend(jsonschema.Draft202012Validator, {"contentSchema": _content})(PUBLISHED)

WORDS = sorted({word for key in KEYS for word in key.words})
LEVELS = ["error", "warning", "info", "off", "fatal", "", None, False, True, 1]
VERSIONS = [
    "1.9",
    "1.4",
    "v1.8.1",
    "1.6.3",
    "1.9.0",
    "1.99",
    "1.3",
    "1.09",
    "1.9.00",
    "2",
    "",
    "1.9.x",
    "v",
    "1.9.99999",
    1.9,
    1,
]
SHAPES = [None, "", True, False, 0, 1.5, "x", [], ["a"], {}, {"a": 1}, {"network": {"defaultNetworkInterface": "bridge"}}]
SETTINGS = [
    {"cpuModel": "x", "network": {"defaultNetworkInterface": "bridge"}},
    {"cpumodel": "x"},
    {"network": {"binding": {"passt": {"networkAttachmentDefinition": "a"}}}},
    {"network": {"binding": {"passt": {"sidecar": "a"}}}},
    {"network": {"bindings": {}}},
    {"network": []},
    {"permittedHostDevices": {"pciHostDevices": [{"resourceName": "a"}, "x", None]}},
    {"permittedHostDevices": {"pciHostDevices": [{}, {"resourcName": "a"}]}},
    {"permittedHostDevices": {"pciHostDevices": {"resourcName": "a"}}},
    {"ksmConfiguration": {"nodeLabelSelector": {"matchLabels": {"example.com/a": "b"}}}},
    {"obsoleteCPUModels": {"any": {"thing": True}}},
]
NAMES = [key.name for key in KEYS]

levels = st.dictionaries(st.sampled_from([RULE, "no-such-rule", "null-item"]), st.sampled_from(LEVELS), max_size=2)
typed_values = st.one_of(st.sampled_from([*WORDS, *VERSIONS, *SHAPES]), st.sampled_from(SETTINGS), levels)
texts = st.one_of(
    st.sampled_from([*WORDS, "true", "True", "yes", "false", "", None, True, 3, [], "{a: ", "[1]", "network: {a: b}", "1"]),
    st.sampled_from([version for version in VERSIONS if isinstance(version, str)]),
    levels.map(json.dumps),
    st.sampled_from([json.dumps(given) for setting in SETTINGS for given in (setting, *setting.values())]),
    st.sampled_from([level for level in LEVELS if isinstance(level, str)]),
)
DOTTED = [
    f"severity.{RULE}",
    "severity.no-such-rule",
    "severity.",
    "severity.a.b",
    "configuration.a.b",
    "configuration.cpuModel",
    "configuration.cpuModel.a",
    "configuration.network",
    "configuration.network.defaultNetworkInterface",
    "configuration.network.defaultnetworkinterface",
    "configuration.network.binding.passt",
    "configuration.network.binding.passt.sidecarImage",
    "configuration.network.binding.passt.sidecar",
    "configuration.network.binding.passt.sidecarImage.a.b",
    "configuration.permittedHostDevices.pciHostDevices",
    "configuration.permittedHostDevices.pciHostDevices.resourcName",
    "configuration.obsoleteCPUModels.any",
    "configuration.obsoleteCPUModels.any.thing",
    "configuration..a",
    "mode.a",
]


def specs(names, values):
    return st.one_of(st.dictionaries(st.sampled_from(names), values, max_size=3), st.sampled_from([None, [], "x", 1]))


def objects(kind, version, form, names, values):
    exact = st.fixed_dictionaries({"apiVersion": st.just(version), "kind": st.just(kind), form: specs(names, values)})
    extra = st.dictionaries(
        st.sampled_from(["metadata", "data", "spec", "immutable", "binaryData", "mode", "apiVersion", "kind"]),
        st.sampled_from([None, {}, [], "v1", "x"]),
        max_size=1,
    )
    return st.one_of(exact, st.builds(lambda obj, more: {**obj, **more}, exact, extra))


configs = st.one_of(
    objects("RenderVirtualMachines", "kubevirt-render.dev/v1alpha1", "spec", [*NAMES, "fail_on", "Mode"], typed_values),
    objects("ConfigMap", "v1", "data", [*NAMES, *DOTTED, "fail_on"], texts),
    st.sampled_from([None, {}, [], "x", 1, False, {"kind": "ConfigMap"}]),
)


def accepted(config):
    try:
        read(config)
    except ConfigError:
        return False
    return True


@settings(max_examples=600, deadline=None)
@given(configs)
def test_schema_and_checks_agree(config):
    assert accepted(config) == VALIDATOR.is_valid(config)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(NAMES), typed_values)
def test_schema_and_checks_agree_on_each_key(name, value):
    assert accepted(own(**{name: value})) == VALIDATOR.is_valid(own(**{name: value}))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([*NAMES, *DOTTED]), texts)
def test_schema_and_checks_agree_on_each_key_of_a_config_map(name, text):
    assert accepted(config_map({name: text})) == VALIDATOR.is_valid(config_map({name: text}))


VALID = {
    "mode": st.sampled_from(["expand", "validate", "annotate", "snapshot"]),
    "kubevirtVersion": st.sampled_from(["1.4", "1.6.3", "v1.9"]),
    "catalogue": st.sampled_from(["builtin", "none"]),
    "defaults": st.sampled_from(["auto", "cluster", "none", "pinned"]),
    "presets": st.sampled_from(["instance", "fold", "ignore"]),
    "instances": st.sampled_from(["omit", "include"]),
    "configuration": st.one_of(
        st.dictionaries(st.sampled_from(["cpuModel", "machineType"]), st.sampled_from(["off", "1.10", 3, True, {"a": []}])),
        st.fixed_dictionaries({"obsoleteCPUModels": st.dictionaries(st.sampled_from(["y", "1e3", ".a"]), st.booleans())}),
    ),
    "provenance": st.booleans(),
    "podSize": st.booleans(),
    "failOn": st.sampled_from(["error", "warning", "never"]),
    "severity": st.dictionaries(st.sampled_from([RULE, "null-item"]), st.sampled_from(["error", "warning", "info", "off"])),
}


@settings(max_examples=200, deadline=None)
@given(st.fixed_dictionaries({}, optional=VALID), st.randoms())
def test_both_forms_lead_to_the_same_config(spec, random):
    texts = [(name, value if isinstance(value, str) else json.dumps(value)) for name, value in spec.items()]
    random.shuffle(texts)
    assert read(config_map(dict(texts))) == read(own(**spec))


def test_the_schema_is_a_schema_and_its_defaults_fit_it():
    jsonschema.Draft202012Validator.check_schema(PUBLISHED)
    assert read(own(**{key.name: key.default for key in KEYS})) == DEFAULTS
    assert VALIDATOR.is_valid(own(**{key.name: key.default for key in KEYS}))
