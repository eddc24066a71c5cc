"""The config of a repository: its keys, its errors, and that the published schema says the same as the checks."""

import re

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krm_fn.base.errors import ConfigError
from krm_fn.base.external import External, Externals
from krm_fn.config import read as read_function_config
from krm_fn.config.repository import ClusterSection, RepositoryConfig, read
from krm_fn.config.repository_schema import schema
from krm_fn.kubevirt.releases import Release


def file(**spec):
    return {"kind": "RenderVirtualMachines", "spec": spec}


NORTH = {"name": "north", "targets": ["clusters/north/*"]}


def test_every_key_is_read():
    north = {
        **NORTH,
        "exclude": ["clusters/north/old"],
        "kubevirtVersion": "1.8.4",
        "configuration": {"vmRolloutStrategy": "LiveUpdate"},
        "external": [{"kind": "DataSource", "namespace": "openshift-*"}, {"kind": "NetworkAttachmentDefinition"}],
    }
    read_config = read(
        file(
            exclude=["**/testdata/**"],
            kustomizeBuildFlags=["--enable-helm"],
            helm=True,
            external=[{"kind": "PersistentVolumeClaim", "name": "golden"}],
            claims=[{"namespace": "vms", "name": "*-root", "accessModes": ["ReadWriteOnce"]}],
            storageProfiles=[{"name": "ceph", "volumeMode": "Block", "accessModes": ["ReadWriteMany"], "default": True}],
            failOn="warning",
            clusters=[north],
        )
    )
    assert read_config == RepositoryConfig(
        stated={"fail_on": "warning"},
        exclude=("**/testdata/**",),
        external=(External(kind="PersistentVolumeClaim", name="golden"),),
        claims=(External(kind="PersistentVolumeClaim", namespace="vms", name="*-root", access_modes=("ReadWriteOnce",)),),
        profiles=(
            External(kind="StorageProfile", name="ceph", volume_mode="Block", access_modes=("ReadWriteMany",), is_default=True),
        ),
        build_flags=("--enable-helm",),
        helm=True,
        clusters=(
            ClusterSection(
                name="north",
                targets=("clusters/north/*",),
                exclude=("clusters/north/old",),
                external=(
                    External(kind="DataSource", namespace="openshift-*"),
                    External(kind="NetworkAttachmentDefinition"),
                ),
                stated={"release": Release(version=(1, 8, 4)), "configuration": {"vmRolloutStrategy": "LiveUpdate"}},
            ),
        ),
    )


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        {"kind": "RenderVirtualMachines"},
        file(exclude=None, external="", clusters=None, kustomizeBuildFlags=None, helm=None, mode=""),
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {}},
    ],
)
def test_what_is_absent_is_not_stated(value):
    assert read(value) == RepositoryConfig()


def test_a_config_map_states_the_function_configs_keys():
    value = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"failOn": "never", "severity.null-item": "off"}}
    assert read(value) == RepositoryConfig(stated={"fail_on": "never", "severity": {"null-item": "off"}})


@pytest.mark.parametrize("key", ["exclude", "external", "clusters", "kustomizeBuildFlags", "helm", "rendered"])
def test_the_function_config_has_none_of_these_keys(key):
    with pytest.raises(ConfigError, match="unknown key; expected one of mode, ") as caught:
        read_function_config({"apiVersion": "kubevirt-render.dev/v1alpha1", **file(**{key: []})})
    assert caught.value.path == f"spec.{key}"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (file(cluster=[]), "spec.cluster: unknown key; expected one of mode, .*; did you mean clusters"),
        ({"kind": "RenderVirtualMachines", "exclude": []}, "exclude: unknown key; .*; it belongs below spec"),
        (file(exclude="a"), "spec.exclude: found 'a'; expected a list of globs such as .*"),
        (file(exclude=["a", "/b"]), r"spec.exclude\[1\]: found '/b'; expected a glob such as .*"),
        (file(exclude=["a/../b"]), r"spec.exclude\[0\]: found 'a/../b'; .* without \"\.\.\""),
        (file(kustomizeBuildFlags=["--enable-hlm"]), r"spec.kustomizeBuildFlags\[0\]: .*; did you mean --enable-helm"),
        (file(kustomizeBuildFlags=["--enable-exec"]), r"spec.kustomizeBuildFlags\[0\]: found '--enable-exec'; expected one .*"),
        (file(helm="yes"), "spec.helm: found 'yes'; expected true or false"),
        (file(external=[{"kind": "DataSorce"}]), r"spec.external\[0\].kind: found 'DataSorce'; .*; did you mean DataSource"),
        (file(external=[{"name": "a"}]), r"spec.external\[0\].kind: found nothing; expected a kind .*"),
        (file(external=[{"kind": "Secret", "nam": "a"}]), r"spec.external\[0\].nam: is no key .*; did you mean name"),
        (file(external=[{"kind": "Secret", "name": 1}]), r"spec.external\[0\].name: found 1; expected text, so quote it"),
        (
            file(external=[{"kind": "VirtualMachineClusterPreference", "namespace": "a"}]),
            r"spec.external\[0\].namespace: a VirtualMachineClusterPreference has no namespace; remove this key",
        ),
        (file(claims=[{"name": "a"}]), r"spec.claims\[0\].accessModes: found nothing; expected a list of ReadWriteOnce, .*"),
        (file(claims=[{"accessModes": []}]), r"spec.claims\[0\].accessModes: found nothing; name at least one of .*"),
        (file(claims=[{"accessModes": ["RWX"]}]), r"spec.claims\[0\].accessModes\[0\]: found 'RWX'; expected one of .*"),
        (file(claims=[{"nam": "a"}]), r"spec.claims\[0\].nam: is no key of a claim; .*; did you mean name"),
        (
            file(storageProfiles=[{"accessModes": ["ReadWriteMany"]}]),
            r"spec.storageProfiles\[0\].name: found nothing; each storage profile needs the name of its storage class",
        ),
        (
            file(storageProfiles=[{"name": "a", "accessModes": ["ReadWriteMany"], "volumeMode": "block"}]),
            r"spec.storageProfiles\[0\].volumeMode: found 'block'; expected one of Block, Filesystem; did you mean Block",
        ),
        (file(clusters={}), "spec.clusters: found a map; expected a list of clusters, each with name and targets"),
        (file(clusters=[{"name": "a"}]), r"spec.clusters\[0\].targets: found nothing; each cluster needs name and targets"),
        (file(clusters=[{"targets": ["a"]}]), r"spec.clusters\[0\].name: found nothing; .*"),
        (file(clusters=[{**NORTH, "mod": "x"}]), r"spec.clusters\[0\].mod: unknown key; .*; did you mean mode"),
        (file(clusters=[{**NORTH, "failOn": "eror"}]), r"spec.clusters\[0\].failOn: .*; did you mean error"),
        (file(clusters=[{**NORTH, "severity": {"nul-item": "off"}}]), r"spec.clusters\[0\].severity.nul-item: .*null-item.*"),
        (file(clusters=[NORTH, NORTH]), r"spec.clusters\[1\].name: another cluster is named north; give each its own name"),
    ],
)
def test_what_is_wrong_is_named_with_its_path(value, message):
    with pytest.raises(ConfigError) as caught:
        read(value)
    assert re.fullmatch(message, str(caught.value))


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (External(kind="DataSource"), True),
        (External(kind="DataSource", namespace="images"), True),
        (External(kind="DataSource", namespace="im*", name="fed*"), True),
        (External(kind="DataSource", namespace="shop"), False),
        (External(kind="DataSource", name="centos"), False),
        (External(kind="PersistentVolumeClaim"), False),
    ],
)
def test_an_entry_covers_objects_by_kind_namespace_and_name(entry, expected):
    assert bool(Externals([External(kind="Secret"), entry]).covering("DataSource", "images", "fedora")) is expected


# ---- the schema and the checks accept and refuse the same

VALIDATOR = jsonschema.Draft202012Validator(schema())

GLOBS = st.sampled_from([None, "", [], ["a/*"], ["a", ""], ["/a"], ["../a"], ["a/.."], ["a..b"], [1], "a", {}])
FLAGS = st.sampled_from([None, "", [], ["--enable-helm"], ["--load-restrictor=LoadRestrictionsNone"], ["--enable-exec"], "x"])
NAMES = st.sampled_from([None, "", "a*", 1, []])
EXTERNAL = st.one_of(
    st.sampled_from([None, "", {}, "x"]),
    st.lists(
        st.one_of(
            st.sampled_from([None, "x", {}]),
            st.fixed_dictionaries(
                {"kind": st.sampled_from(["DataSource", "VirtualMachineClusterInstancetype", "Sevret", None])},
                optional={"namespace": NAMES, "name": NAMES, "extra": st.none()},
            ),
        ),
        max_size=2,
    ),
)
MODES = st.sampled_from([None, [], ["ReadWriteMany"], ["ReadWriteOnce", "RWX"], "ReadWriteMany"])
STATED = st.one_of(
    st.sampled_from([None, "", {}, "x", ["x"], [{}]]),
    st.fixed_dictionaries(
        {},
        optional={
            "namespace": NAMES,
            "name": NAMES,
            "accessModes": MODES,
            "volumeMode": st.sampled_from(["Block", "Filesystem", "block", "", None]),
            "default": st.sampled_from([True, False, None, "", "true", 1]),
        },
    ).map(lambda one: [one]),
)
COMMON = {
    "exclude": GLOBS,
    "external": EXTERNAL,
    "claims": STATED,
    "storageProfiles": STATED,
    "kustomizeBuildFlags": FLAGS,
    "helm": st.sampled_from([True, False, None, "", "true", 1]),
    "rendered": st.sampled_from([True, False, None, "", "true", 1]),
    "kubevirtVersion": st.sampled_from(["1.9", 1.9, None]),
    "severity": st.sampled_from([{"null-item": "off"}, {"nul": "off"}]),
    "configuration": st.sampled_from([{"cpuModel": "a"}, {"cpumodel": "a"}]),
    "clustered": st.none(),
}
CLUSTER = st.one_of(
    st.sampled_from([None, "x"]),
    st.fixed_dictionaries({}, optional={"name": st.sampled_from(["a", "", None, 1]), "targets": GLOBS, **COMMON}),
    st.fixed_dictionaries({"name": st.just("a"), "targets": st.just(["a"])}, optional=COMMON),
)
CLUSTERS = st.one_of(st.sampled_from([None, "", {}]), st.lists(CLUSTER, max_size=1))
FILES = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["RenderVirtualMachines", "RenderVirtualMachines", "ConfigMap"]),
        "spec": st.fixed_dictionaries({}, optional={**COMMON, "clusters": CLUSTERS}),
    },
    optional={
        "apiVersion": st.sampled_from(["kubevirt-render.dev/v1alpha1", "v1", None]),
        "metadata": st.sampled_from([None, {}, []]),
        "clusters": st.none(),
    },
)


def accepted(value):
    try:
        read(value)
    except ConfigError:
        return False
    return True


@settings(max_examples=400, deadline=None)
@given(FILES)
def test_schema_and_checks_agree(value):
    assert accepted(value) == VALIDATOR.is_valid(value)


@settings(max_examples=300, deadline=None)
@given(st.one_of(*[st.fixed_dictionaries({key: values}) for key, values in {**COMMON, "clusters": CLUSTERS}.items()]))
def test_schema_and_checks_agree_on_each_key(spec):
    assert accepted(file(**spec)) == VALIDATOR.is_valid(file(**spec))


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(schema())
