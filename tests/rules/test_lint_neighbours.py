"""The rules about what stands beside VMs: Services, Secrets, DataVolumes."""

import pytest
from linting import about, machine, said, thing


def service(selector, name="front", **spec):
    return thing("v1", "Service", name, {"selector": selector, "ports": [{"port": 22}], **spec})


def with_labels(labels, **more):
    made = machine(**more)
    made["spec"]["template"]["metadata"] = {"labels": labels}
    return made


@pytest.mark.parametrize(
    ("selector", "labels"),
    [({"app": "web"}, {"app": "${NAME}"}), ({"app": "${NAME}"}, {"tier": "web"}), ({"app": "web"}, {"${KEY}": "web"})],
    ids=["the label", "the selector", "the key of a label"],
)
def test_a_label_with_a_placeholder_may_be_the_one_that_is_selected(selector, labels):
    assert about("service-without-vm", service(selector, name="web"), with_labels(labels)) == []


def test_a_service_of_a_copy_in_a_pool_selects_the_name_that_the_pool_gives():
    made = {"replicas": 2, "selector": {}, "virtualMachineTemplate": {"spec": machine()["spec"]}}
    pool = thing("pool.kubevirt.io/v1beta1", "VirtualMachinePool", "web", made)
    assert about("service-without-vm", service({"vm.kubevirt.io/name": "web-0"}, name="web"), pool) == []


def test_the_pod_is_called_like_the_host():
    made = machine("web.example")
    assert about("service-without-vm", service({"vm.kubevirt.io/name": "web"}), made) == []
    made["spec"]["template"]["spec"]["hostname"] = "other"
    assert about("service-without-vm", service({"vm.kubevirt.io/name": "web"}), made) == [("info", "front")]
    assert about("service-without-vm", service({"vm.kubevirt.io/name": "other"}), made) == []


@pytest.mark.parametrize("selector", [{"app": 1}, {"app": None}, "app", [], {}, {"app": {"a": "b"}}])
def test_a_selector_of_another_shape_is_left_to_others(selector):
    assert about("service-without-vm", service(selector, name="web"), machine()) == []


def test_a_label_that_several_vms_have_says_nothing_of_which_is_meant():
    asked = service({"team": "blue", "app": "front"})
    assert about("service-without-vm", asked, with_labels({"team": "blue"})) == [("warning", "front")]
    others = [with_labels({"team": "blue"}, name=name) for name in ("a", "b")]
    assert about("service-without-vm", asked, *others) == []


def test_a_port_with_a_placeholder_may_be_forwarded():
    interface = {"name": "default", "masquerade": {}, "ports": [{"port": 80}]}
    made = with_labels({"app": "web"}, interfaces=[interface], networks=[{"name": "default", "pod": {}}])
    ports = [{"port": 22, "targetPort": "${PORT}"}, {"port": "${PORT}"}]
    assert said("unforwarded-port", service({"app": "web"}, ports=ports), made) == []
    interface["ports"].append({"port": "${PORT}"})
    assert said("unforwarded-port", service({"app": "web"}), made) == []


def seeded(name="init"):
    return machine(volumes={"seed": {"cloudInitNoCloud": {"secretRef": {"name": name}}}})


def secret(*keys, name="init", **more):
    return {**thing("v1", "Secret", name, **more), "stringData": dict.fromkeys(keys, "x")}


def lacking(*items):
    return about("missing-data-key", *items)


def test_sops_keeps_the_keys_of_what_it_encrypts():
    encrypted = {"stringData": {"userdata": "ENC[AES256_GCM,data:x]"}, "sops": {"mac": "ENC[AES256_GCM,data:x]"}}
    assert lacking({**secret(), **encrypted}, seeded()) == []
    encrypted["stringData"] = {"user-data": "ENC[AES256_GCM,data:x]"}
    assert lacking({**secret(), **encrypted}, seeded()) == [("error", "web")]


@pytest.mark.parametrize(
    "others",
    [
        [secret("user-data"), secret("userdata")],
        [secret("user-data", namespace="lab")],
        [secret("${KEY}")],
        [
            secret("user-data"),
            thing("secrets.hashicorp.com/v1beta1", "VaultStaticSecret", "x", {"destination": {"name": "init"}}),
        ],
        [secret()],
        [],
    ],
    ids=[
        "one of two variants",
        "another namespace",
        "a placeholder",
        "a maker whose keys are not known",
        "no key",
        "no Secret",
    ],
)
def test_nothing_is_said_of_a_secret_that_may_have_the_key(others):
    assert lacking(*others, seeded()) == []


def test_a_name_with_a_placeholder_is_the_name_of_a_secret_that_has_the_same():
    assert lacking(secret("user-data", name="${NAME}"), seeded("${NAME}")) == [("error", "web")]


def test_a_key_that_may_be_a_secret_itself_is_not_shown():
    (found,) = said("missing-data-key", secret("hunter2", "userdata1"), seeded())
    assert found[3].startswith("Secret init has no key userdata or userData (it has userdata1), so")


def namesakes(*items, release):
    return about("duplicate-firmware-uuid", *items, kubevirtVersion=release)


def test_vms_of_one_name_have_one_uuid_up_to_1_5():
    one, other = machine("db", namespace="a"), machine("db", namespace="b")
    assert namesakes(one, other, release="1.5.3") == [("info", "db"), ("info", "db")]
    assert namesakes(one, other, release="1.6") == []


@pytest.mark.parametrize(
    "other",
    [
        machine("web", namespace="b"),
        machine("db"),
        machine("db", namespace="b", firmware={"uuid": "5d307ca9-b3ef-428c-8861-06e72d69f223"}),
        thing("kubevirt.io/v1", "VirtualMachineInstance", "db", {"domain": {"devices": {}}}, namespace="b"),
    ],
    ids=["another name", "a namespace that is not written", "a UUID of its own", "an instance, whose UUID is random"],
)
def test_what_gets_a_uuid_of_its_own_is_not_told(other):
    assert namesakes(machine("db", namespace="a"), other, release="1.5") == []


@pytest.mark.parametrize(
    ("data", "mac"),
    [
        ("version: 2\nethernets: {a: {match: {macaddress: '${MAC}'}}}", "02:00:00:00:00:01"),
        ("version: 2\nethernets: {a: {match: {macaddress: '02:00:00:00:00:09'}}}", "${MAC}"),
        ("ethernets: [broken: macaddress", "02:00:00:00:00:01"),
        ("version: 2\nethernets: {a: {match: {macaddress: [x]}}}", "02:00:00:00:00:01"),
    ],
    ids=["a placeholder in the data", "a placeholder in an interface", "broken YAML", "another shape"],
)
def test_an_address_that_is_not_known_may_be_the_one(data, mac):
    source = {"cloudInitNoCloud": {"networkData": data}}
    made = machine(volumes={"seed": source}, interfaces=[{"name": "lan", "bridge": {}, "macAddress": mac}])
    assert about("unmatched-mac-address", made) == []


def test_hardware_that_is_passed_through_has_addresses_of_its_own():
    data = "version: 2\nethernets: {a: {match: {macaddress: '02:00:00:00:00:09'}}}"
    made = machine(volumes={"seed": {"cloudInitNoCloud": {"networkData": data}}})
    assert about("unmatched-mac-address", made) == [("warning", "web")]
    made["spec"]["template"]["spec"]["domain"]["devices"]["hostDevices"] = [{"name": "nic", "deviceName": "intel.com/nic"}]
    assert about("unmatched-mac-address", made) == []


def test_a_password_with_a_placeholder_is_filled_in_later_and_none_is_shown():
    made = machine(volumes={"seed": {"cloudInitNoCloud": {"userData": "#cloud-config\npassword: ${PASSWORD}\n"}}})
    assert about("clear-text-password", made, severity={"clear-text-password": "info"}) == []
    made["spec"]["template"]["spec"]["volumes"][0]["cloudInitNoCloud"]["userData"] = "#cloud-config\npassword: hunter2\n"
    (found,) = said("clear-text-password", made, severity={"clear-text-password": "warning"})
    assert (found[0], "hunter2" in str(found)) == ("warning", False)
    assert about("clear-text-password", made) == []
