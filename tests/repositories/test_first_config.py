"""The first config of a repository: its clusters by the layout of folders, the settings of a cluster by its objects."""

import re
from pathlib import Path

import jsonschema
import pytest

import krm_fn
from krm_fn import yamlio
from krm_fn.base.errors import InputError
from krm_fn.config import repository
from krm_fn.config.repository_schema import schema
from krm_fn.repositories.first_config import SETTINGS, ClusterSettings, clusters_in, deciding, settings_of, text

PACKAGE = Path(krm_fn.__file__).parent


def kubevirt(version="v1.8.1", name="kubevirt", **configuration):
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": name, "namespace": "kubevirt"},
        "spec": {"configuration": configuration},
        "status": {"observedKubeVirtVersion": version},
    }


OPERATOR = {
    "apiVersion": "hco.kubevirt.io/v1beta1",
    "kind": "HyperConverged",
    "metadata": {"name": "kubevirt-hyperconverged"},
    "spec": {"defaultCPUModel": "Cascadelake-Server"},
}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            ["clusters/north/kustomization.yaml", "clusters/south/apps/vm.yaml", "clusters/base/vm.yaml", "apps/vm.yaml"],
            {"north": ["clusters/north"], "south": ["clusters/south"]},
        ),
        (
            ["web/overlays/prod/a.yaml", "web/overlays/test/a.yaml", "db/overlays/prod/a.yaml", "web/base/a.yaml"],
            {"prod": ["**/overlays/prod"], "test": ["**/overlays/test"]},
        ),
        (
            ["deploy/environments/a/x.yaml", "deploy/environments/b/x.yaml", "overlays/c/x.yaml"],
            {"a": ["deploy/environments/a"], "b": ["deploy/environments/b"]},
        ),
        (["clusters/north/vm.yaml", "overlays/a/x.yaml", "overlays/b/x.yaml"], {"a": ["overlays/a"], "b": ["overlays/b"]}),
        (["clusters/north/vm.yaml", "clusters/vm.yaml"], {}),
        ([], {}),
    ],
)
def test_the_layout_shows_the_clusters(files, expected):
    assert clusters_in(files) == expected


def test_release_and_configuration_come_from_the_kubevirt_object():
    gates = {"featureGates": ["Snapshot"], "logVerbosity": {"virtAPI": 9}}
    found = settings_of([OPERATOR, kubevirt(developerConfiguration=gates, imagePullPolicy="Always", cpuModel="Skylake")])
    assert found.release == "1.8.1"
    assert found.configuration == {"developerConfiguration": {"featureGates": ["Snapshot"]}, "cpuModel": "Skylake"}


def test_without_it_they_come_from_the_hyperconverged_object():
    found = settings_of([{"apiVersion": "v1", "kind": "List", "items": [OPERATOR]}])
    assert found.release == ""
    assert found.configuration["cpuModel"] == "Cascadelake-Server"


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([{"apiVersion": "v1", "kind": "Secret"}], "no KubeVirt and no HyperConverged object found; save what .*"),
        (
            [kubevirt(), kubevirt(name="other")],
            "several KubeVirt or HyperConverged objects found; .*",
        ),
    ],
)
def test_other_objects_are_refused(items, message):
    with pytest.raises(InputError, match=message):
        settings_of(items)


def test_an_unknown_release_and_unknown_settings_are_left_out():
    devices = {"pciHostDevices": [{"resourceName": "a", "new": 1}]}
    found = settings_of([kubevirt("v9.1.0", network={"binding": {}, "new": {}}, permittedHostDevices=devices)])
    assert found.release == ""
    assert found.configuration == {
        "network": {"binding": {}},
        "permittedHostDevices": {"pciHostDevices": [{"resourceName": "a"}]},
    }
    assert devices["pciHostDevices"][0]["new"] == 1


def test_every_setting_that_the_renderer_reads_is_kept():
    read = re.compile(r'\.(?:setting|pointer)\("(\w+)"')
    named = {name for file in PACKAGE.rglob("*.py") for name in read.findall(file.read_text())}
    assert len(named) > 10
    assert named - {path[0] for path in SETTINGS} == set()


@pytest.mark.parametrize("found", [ClusterSettings(), ClusterSettings(release="1.8.1", configuration={"cpuModel": "a"})])
@pytest.mark.parametrize("clusters", [{}, {"north": ["clusters/north"], "1.0": ["**/overlays/1.0"]}])
@pytest.mark.parametrize("at_root", [True, False])
def test_the_text_is_a_config_and_fits_its_schema(found, clusters, at_root):
    written = text({"": found}, clusters if at_root else {}, at_root=at_root)
    value = yamlio.read_value(written)
    jsonschema.validate(value, schema(), cls=jsonschema.Draft202012Validator)
    read = repository.read(value)
    assert {each.name: list(each.targets) for each in read.clusters} == (clusters if at_root else {})
    assert read.stated.get("configuration") == found.configuration
    assert str(read.stated.get("release", "")) == found.release
    assert ("clusters:" in written) is at_root
    assert max(map(len, written.splitlines())) <= 128


def test_the_examples_in_comments_are_right_too():
    shown = re.sub(r"^  # (exclude|external|clusters|-|  )(.*)", r"  \1\2", text({}, {}), flags=re.MULTILINE)
    read = repository.read(yamlio.read_value(shown))
    assert (len(read.exclude), len(read.external), len(read.clusters)) == (1, 1, 1)


def test_deciding_changes_nothing_of_its_argument():
    given = {"network": {"new": 1}}
    deciding(given)
    assert given == {"network": {"new": 1}}
