"""The rules about objects that VMs name: what is missing, what was renamed, and the table of the places that name them."""

from io import BytesIO, StringIO

import measured
import pytest
import yaml
from functions import instancetype, resource_list, run, vm
from linting import GROUP, about, claim, machine, on_claim, pool, said, thing
from make_name_references import FILE, fields, text

from krm_fn.base.paths import EACH
from krm_fn.hosts import function
from krm_fn.rules.shared.object_references import DATA_VOLUME, INSTANCE

VOLUMES = "spec.template.spec.volumes[0]"


def secret(name, **metadata):
    return thing("v1", "Secret", name, **metadata)


def missing(*items, **spec):
    return about("missing-object", *items, **spec)


def seeded(name):
    return machine(volumes={"seed": {"cloudInitNoCloud": {"secretRef": {"name": name}, "userData": "password: hunter2"}}})


@pytest.mark.parametrize(
    ("source", "place", "kind"),
    [
        (on_claim("x"), "persistentVolumeClaim.claimName", "PersistentVolumeClaim"),
        ({"ephemeral": on_claim("x")}, "ephemeral.persistentVolumeClaim.claimName", "PersistentVolumeClaim"),
        ({"memoryDump": {"claimName": "x"}}, "memoryDump.claimName", "PersistentVolumeClaim"),
        ({"dataVolume": {"name": "x"}}, "dataVolume.name", "DataVolume"),
        ({"secret": {"secretName": "x"}}, "secret.secretName", "Secret"),
        ({"configMap": {"name": "x"}}, "configMap.name", "ConfigMap"),
        ({"serviceAccount": {"serviceAccountName": "x"}}, "serviceAccount.serviceAccountName", "ServiceAccount"),
        ({"sysprep": {"secret": {"name": "x"}}}, "sysprep.secret.name", "Secret"),
        ({"sysprep": {"configMap": {"name": "x"}}}, "sysprep.configMap.name", "ConfigMap"),
        ({"cloudInitNoCloud": {"secretRef": {"name": "x"}}}, "cloudInitNoCloud.secretRef.name", "Secret"),
        (
            {"cloudInitConfigDrive": {"networkDataSecretRef": {"name": "x"}}},
            "cloudInitConfigDrive.networkDataSecretRef.name",
            "Secret",
        ),
        ({"containerDisk": {"image": "i", "imagePullSecret": "x"}}, "containerDisk.imagePullSecret", "Secret"),
    ],
)
def test_a_volume_names_an_object_that_is_missing(source, place, kind):
    assert said("missing-object", machine(volumes={"a": source})) == [
        (
            "info",
            "web",
            f"{VOLUMES}.{place}",
            f"{kind} default/x is not in the bundle; correct the name, or add the object, unless it is created elsewhere",
        )
    ]


def test_credentials_and_networks_are_looked_at_too():
    given = machine(networks=[{"name": "a", "multus": {"networkName": "infra/lan"}}])
    source = {"secret": {"secretName": "keys"}}
    given["spec"]["template"]["spec"]["accessCredentials"] = [{"sshPublicKey": {"source": source}}]
    assert [path for _, _, path, _ in said("missing-object", given)] == [
        "spec.template.spec.accessCredentials[0].sshPublicKey.source.secret.secretName",
        "spec.template.spec.networks[0].multus.networkName",
    ]


def test_others_of_the_kind_make_it_a_warning_with_the_nearest_name():
    assert said("missing-object", claim("web-root"), machine(volumes={"a": on_claim("web-rot")})) == [
        (
            "warning",
            "web",
            f"{VOLUMES}.persistentVolumeClaim.claimName",
            "PersistentVolumeClaim default/web-rot is not in the bundle, but web-root is; correct the name, or add the object",
        )
    ]


def proposed(*items):
    """What is proposed for each missing object, and how severe its finding is."""
    _, results = run(*items, mode="validate")
    told = [each for each in results if each["tags"]["rule"] == "missing-object"]
    return [(each["severity"], each["field"].get("proposedValue")) for each in told]


def test_another_name_is_proposed_by_its_distance_and_not_by_a_suffix():
    legacy = machine("legacy", volumes={"a": on_claim("legacy-root")})
    assert proposed(claim("pg-root"), legacy) == [("info", None)]
    assert proposed(claim("legcay-root"), legacy) == [("warning", "legcay-root")]
    assert proposed(claim("legacy-rot"), claim("legacy-roots"), legacy) == [("info", None)]


@pytest.mark.parametrize(
    "user",
    [
        machine("pg", volumes={"a": on_claim("pg-root")}),
        machine("pg", volumes={"a": {"dataVolume": {"name": "pg-root"}}}, strategy="Halted"),
        machine("pg", volumes={"a": {"ephemeral": on_claim("pg-root")}}),
        pool(machine(volumes={"a": on_claim("pg-root")})),
        {**machine("pg"), "spec": {**machine("pg")["spec"], "dataVolumeTemplates": [{"metadata": {"name": "pg-root"}}]}},
        thing("apps/v1", "StatefulSet", "pg", {"template": {"spec": {"volumes": [{"name": "a", **on_claim("pg-root")}]}}}),
        thing("v1", "Pod", "pg", {"volumes": [{"name": "a", **on_claim("pg-root")}]}),
    ],
)
def test_a_claim_that_a_machine_or_workload_uses_is_never_proposed(user):
    assert proposed(claim("pg-root"), user, machine(volumes={"a": on_claim("pg-rooot")})) == [("info", None)]
    (found,) = said("missing-object", claim("pg-root"), user, machine(volumes={"a": on_claim("pg-rooot")}))
    assert "pg-root " not in found[3]


def test_a_claim_that_the_vm_itself_uses_elsewhere_is_not_proposed():
    both = machine(volumes={"a": on_claim("web-root"), "b": on_claim("web-rot")})
    assert proposed(claim("web-root"), both) == [("info", None)]


def test_a_user_in_another_namespace_changes_nothing():
    other = machine("pg", volumes={"a": on_claim("web-root")}, namespace="lab")
    there = claim("web-root", namespace="lab")
    assert proposed(there, other, claim("web-root"), machine(volumes={"a": on_claim("web-rot")})) == [("warning", "web-root")]


def test_a_secret_that_another_vm_reads_is_not_proposed():
    other = machine("pg", volumes={"seed": {"secret": {"secretName": "seed-data"}}})
    assert proposed(secret("seed-data"), other, seeded("sed-data")) == [("info", None)]
    assert proposed(secret("seed-data"), seeded("seed-dta")) == [("warning", "seed-data")]


def test_what_names_an_object_and_what_it_makes_are_not_proposed():
    clone = {"source": {"kind": "VirtualMachine", "name": "golden"}, "target": {"kind": "VirtualMachine", "name": "goldens"}}
    copy = thing("clone.kubevirt.io/v1beta1", "VirtualMachineClone", "golden-copy", clone)
    data_volume = thing("cdi.kubevirt.io/v1beta1", "DataVolume", "images", {"source": {"pvc": {"name": "image"}}})
    assert proposed(machine("web"), copy) == [("info", None)]
    assert proposed(data_volume) == [("info", None)]


def test_clones_are_no_evidence_that_their_source_was_meant_to_be_here():
    source = {"source": {"pvc": {"name": "fedora-golden"}}}
    template = machine()
    template["spec"]["dataVolumeTemplates"] = [{"metadata": {"name": "web-root"}, "spec": source}]
    given = thing("cdi.kubevirt.io/v1beta1", "DataVolume", "copy", source)
    assert proposed(given) == proposed(given, claim("other"), template) == [("info", None)]
    clone = {"source": {"kind": "VirtualMachine", "name": "golden"}, "target": {"kind": "VirtualMachine", "name": "web"}}
    assert proposed(thing("clone.kubevirt.io/v1beta1", "VirtualMachineClone", "copy", clone)) == []


def test_a_snapshot_of_another_vm_is_not_proposed_for_a_restore():
    snapshot = thing("snapshot.kubevirt.io/v1beta1", "VirtualMachineSnapshot", "nightly", {"source": {"name": "web"}})

    def restore(target):
        spec = {"target": {"kind": "VirtualMachine", "name": target}, "virtualMachineSnapshotName": "nigthly"}
        return thing("snapshot.kubevirt.io/v1beta1", "VirtualMachineRestore", "back", spec)

    assert proposed(machine("web"), snapshot, restore("web")) == [("warning", "nightly")]
    assert proposed(machine("web"), machine("db"), snapshot, restore("db")) == [("info", None)]


def test_the_name_that_is_proposed_is_that_of_the_place_and_has_no_prefix_of_an_overlay():
    renamed = claim("dev-web-root", annotations={"internal.config.kubernetes.io/previousNames": "web-root"})
    assert proposed(renamed, machine("dev-web", volumes={"a": on_claim("web-rot")})) == [("warning", "web-root")]
    assert proposed(renamed, machine("dev-web", volumes={"a": on_claim("dev-web-rot")})) == [("warning", "dev-web-root")]
    taken = machine("dev-pg", volumes={"a": on_claim("web-root")})
    assert proposed(renamed, taken, machine("dev-web", volumes={"a": on_claim("dev-web-rot")})) == [("info", None)]


def test_others_in_another_namespace_do_not():
    assert missing(claim("a", namespace="lab"), machine(volumes={"a": on_claim("b")})) == [("info", "web")]


def test_many_that_name_one_object_are_told_once():
    (found,) = said("missing-object", *(machine(f"vm{number}", volumes={"a": on_claim("x")}) for number in range(3)))
    assert found[3].startswith("PersistentVolumeClaim default/x is not in the bundle (2 more references); ")


def test_a_network_may_be_qualified_or_not():
    networks = [{"name": "a", "multus": {"networkName": "lan"}}, {"name": "b", "multus": {"networkName": "infra/lan"}}]
    lan = "k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", "lan"
    assert missing(thing(*lan, namespace="infra"), thing(*lan), machine(networks=networks)) == []


@pytest.mark.parametrize(
    "maker",
    [
        thing("bitnami.com/v1alpha1", "SealedSecret", "seed"),
        thing("bitnami.com/v1alpha1", "SealedSecret", "x", {"template": {"metadata": {"name": "seed"}}}),
        thing("external-secrets.io/v1", "ExternalSecret", "seed"),
        thing("external-secrets.io/v1", "ExternalSecret", "x", {"target": {"name": "seed"}}),
        thing("cert-manager.io/v1", "Certificate", "x", {"secretName": "seed"}),
        thing("secrets.hashicorp.com/v1beta1", "VaultStaticSecret", "x", {"destination": {"name": "seed"}}),
    ],
)
def test_what_makes_the_secret_counts_as_the_secret(maker):
    assert missing(maker, seeded("seed")) == []


@pytest.mark.parametrize(
    "maker",
    [
        thing("k8s.ovn.org/v1", "UserDefinedNetwork", "lan", namespace="shop"),
        thing("k8s.ovn.org/v1", "ClusterUserDefinedNetwork", "lan"),
        thing("sriovnetwork.openshift.io/v1", "SriovNetwork", "lan", {"networkNamespace": "shop"}, namespace="operator"),
    ],
)
def test_what_makes_the_network_counts_where_it_makes_it(maker):
    assert missing(maker, machine(networks=[{"name": "a", "multus": {"networkName": "shop/lan"}}])) == []


def test_a_template_without_a_name_makes_nothing():
    owner = machine("owner", volumes={"a": {"dataVolume": {"name": "root"}}})
    owner["spec"]["dataVolumeTemplates"] = [{"spec": {"source": {"blank": {}}}}]
    assert missing(owner) == [("info", "owner")]


def test_a_claim_stands_for_the_data_volume_that_filled_it_and_the_reverse():
    data_volume = thing("cdi.kubevirt.io/v1beta1", "DataVolume", "b", {"source": {"blank": {}}})
    volumes = {"a": {"dataVolume": {"name": "a"}}, "b": on_claim("b")}
    assert missing(claim("a"), data_volume, machine(volumes=volumes)) == []


def test_the_templates_of_a_vm_count_for_every_vm_of_the_namespace():
    owner = machine("owner", volumes={"a": {"dataVolume": {"name": "root"}}})
    owner["spec"]["dataVolumeTemplates"] = [{"metadata": {"name": "root"}, "spec": {"source": {"blank": {}}}}]
    assert missing(owner, machine("other", volumes={"a": on_claim("root")}, strategy="Halted")) == []


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"source": {"pvc": {"name": "x", "namespace": "img"}}}, "source.pvc.name"),
        ({"source": {"snapshot": {"name": "x", "namespace": "img"}}}, "source.snapshot.name"),
        ({"sourceRef": {"kind": "DataSource", "name": "x", "namespace": "img"}}, "sourceRef.name"),
        ({"source": {"http": {"url": "u", "secretRef": "x"}}}, "source.http.secretRef"),
        ({"source": {"http": {"url": "u", "secretExtraHeaders": ["x"]}}}, "source.http.secretExtraHeaders[0]"),
    ],
)
def test_the_sources_of_a_template_are_looked_at(spec, path):
    given = machine()
    given["spec"]["dataVolumeTemplates"] = [{"metadata": {"name": "root"}, "spec": spec}]
    assert [found[2] for found in said("missing-object", given)] == [f"spec.dataVolumeTemplates[0].spec.{path}"]


def test_a_source_is_looked_up_in_the_namespace_it_names():
    source = thing("cdi.kubevirt.io/v1beta1", "DataSource", "fedora", {"source": {}}, namespace="img")
    given = machine()
    reference = {"kind": "DataSource", "name": "fedora", "namespace": "img"}
    given["spec"]["dataVolumeTemplates"] = [{"metadata": {"name": "root"}, "spec": {"sourceRef": reference}}]
    assert missing(source, given) == []


def test_a_source_reference_of_another_kind_is_none_of_ours():
    given = machine()
    reference = {"kind": "VolumeUpload", "name": "x"}
    given["spec"]["dataVolumeTemplates"] = [{"metadata": {"name": "root"}, "spec": {"sourceRef": reference}}]
    assert missing(given) == []


def test_an_optional_object_and_what_every_namespace_has_may_be_absent():
    volumes = {
        "a": {"secret": {"secretName": "x", "optional": True}},
        "b": {"serviceAccount": {"serviceAccountName": "default"}},
        "c": {"configMap": {"name": "kube-root-ca.crt"}},
    }
    assert missing(machine(volumes=volumes)) == []


def test_a_pool_that_numbers_its_secrets_names_none():
    generation = {"appendIndexToSecretRefs": True}
    assert missing(pool(seeded("seed"), generation=generation)) == []
    assert missing(pool(seeded("seed"))) == [("info", "pool")]


def test_no_message_holds_what_cloud_init_is_told():
    assert all("hunter2" not in message for *_, message in said("missing-object", seeded("x")))


def test_a_claim_that_kustomize_renamed_is_not_missing_but_misnamed():
    renamed = claim("lab-root", annotations={"internal.config.kubernetes.io/previousNames": "root"})
    given = machine(volumes={"a": on_claim("root")})
    assert missing(renamed, given) == []
    fact = "kustomize renamed PersistentVolumeClaim root to lab-root, but not this reference to it"
    field = "the field spec/template/spec/volumes/persistentVolumeClaim/claimName of VirtualMachine"
    assert said("former-name", renamed, given) == [
        (
            "warning",
            "web",
            f"{VOLUMES}.persistentVolumeClaim.claimName",
            f"{fact}; add a nameReference for PersistentVolumeClaim with {field} to the kustomization",
        )
    ]


def through_function(*items, **spec):
    """As `run`, of the function that reads what kustomize writes."""
    out = BytesIO()
    function.run(yaml.dump(resource_list(*items, **spec)).encode(), out, StringIO())
    return None, yaml.safe_load(out.getvalue())["results"]


@pytest.mark.parametrize("mode", ["expand", "annotate", "snapshot"])
@pytest.mark.parametrize("through", [run, through_function])
def test_a_renamed_data_volume_is_told_in_every_mode_and_the_new_name_is_not_proposed(mode, through):
    old = {"internal.config.kubernetes.io/previousNames": "root"}
    renamed = thing("cdi.kubevirt.io/v1beta1", "DataVolume", "dev-root", {"source": {"blank": {}}}, annotations=old)
    _, results = through(renamed, machine(volumes={"a": {"dataVolume": {"name": "root"}}}), mode=mode)
    told = [each for each in results if each["tags"]["rule"] == "former-name"]
    assert [(each["severity"], each["field"]) for each in told] == [
        ("warning", {"path": f"{VOLUMES}.dataVolume.name", "currentValue": "root"})
    ]


def test_an_expanded_vm_is_told_nothing_of_a_renamed_size():
    renamed = instancetype("dev-small", annotations={"internal.config.kubernetes.io/previousNames": "small"})
    _, results = run(renamed, vm(instancetype="small"))
    assert results == []


def test_the_name_references_to_copy_are_those_of_the_table():
    assert FILE.read_text() == text()
    assert ("VirtualMachine", "kubevirt.io", "spec/template/spec/volumes/dataVolume/name") in fields()["DataVolume"]


def test_a_present_name_goes_before_a_former_one():
    renamed = claim("lab-root", annotations={"internal.config.kubernetes.io/previousNames": "root"})
    assert about("former-name", renamed, claim("root"), machine(volumes={"a": on_claim("root")})) == []


def test_the_hash_of_a_generator_is_seen_through_for_secrets_and_config_maps_only():
    assert about("former-name", secret("seed-9d8t4bmkf2"), seeded("seed")) == [("warning", "web")]
    assert about("former-name", secret("seed-production"), seeded("seed")) == []
    assert about("former-name", claim("root-9d8t4bmkf2"), machine(volumes={"a": on_claim("root")})) == []


def test_a_pools_matcher_is_blamed_from_the_pools_root():
    old = {"internal.config.kubernetes.io/previousNames": "small"}
    spec = {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}
    small = thing(f"{GROUP}/v1beta1", "VirtualMachineInstancetype", "lab-small", spec, annotations=old)
    given = machine()
    given["spec"]["instancetype"] = {"kind": "VirtualMachineInstancetype", "name": "small"}
    (found,) = said("former-name", small, pool(given))
    assert found[2] == "spec.virtualMachineTemplate.spec.instancetype.name"
    assert found[3].endswith(
        "with the field spec/virtualMachineTemplate/spec/instancetype/name of VirtualMachinePool to the kustomization"
    )


@pytest.mark.parametrize(
    ("rows", "root"), [(INSTANCE, "v1.VirtualMachineInstanceSpec"), (DATA_VOLUME, "v1beta1.DataVolumeSpec")]
)
def test_every_place_of_the_table_is_one_of_the_api(rows, root):
    types = measured.fields()["types"]

    def forms(node):
        return [form["type"] if isinstance(form, dict) else form for form in (node if isinstance(node, list) else [node])]

    def below(kind, place):
        if not place:
            return True
        if isinstance(kind, list):
            return place[0] == EACH and below(kind[0], place[1:])
        field = types.get(kind, {}).get("fields", {}).get(place[0])
        return field is not None and any(below(form, place[1:]) for form in forms(field))

    assert [row.place for row in rows if not below(root, row.place)] == []
