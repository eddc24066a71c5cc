"""One edit of an instancetype that half of the 400 VMs of a repository share."""

import json

import pytest
from checking import run
from measuring import calls
from trees import tree

TARGETS, VMS = 20, 20
TYPE = """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterInstancetype
metadata: {{name: shared}}
spec: {{cpu: {{guest: {cpus}}}, memory: {{guest: 4Gi}}}}
"""
VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {{name: vm-{number:03}, namespace: team-{target:02}, labels: {{app: vm-{number:03}}}}}
spec:
  runStrategy: Always
  instancetype: {{name: {size}}}
  preference: {{name: fedora}}
  dataVolumeTemplates:
    - metadata: {{name: vm-{number:03}-root}}
      spec:
        source: {{registry: {{url: "docker://quay.io/containerdisks/fedora:42"}}}}
        storage: {{resources: {{requests: {{storage: 30Gi}}}}}}
  template:
    metadata: {{labels: {{app: vm-{number:03}}}}}
    spec:
      domain:
        devices:
          disks: [{{name: root, disk: {{bus: virtio}}}}, {{name: init, disk: {{bus: virtio}}}}]
          interfaces: [{{name: default, masquerade: {{}}, macAddress: "02:01:00:00:{target:02x}:{number:02x}"}}]
      networks: [{{name: default, pod: {{}}}}]
      volumes:
        - name: root
          dataVolume: {{name: vm-{number:03}-root}}
        - name: init
          cloudInitNoCloud:
            userData: |
              #cloud-config
              hostname: vm-{number:03}
"""
POLICY = """\
apiVersion: kubevirt.io/v1
kind: KubeVirt
metadata: {{name: kubevirt, namespace: kubevirt}}
spec: {{configuration: {{instancetype: {{referencePolicy: {policy}}}}}}}
"""
USERS = {(f"team-{target:02}", f"vm-{number:03}") for target in range(TARGETS) for number in range(0, VMS, 2)}


def repository(folder, cpus, policy="reference"):
    """A folder of files for each team, each with all that its VMs refer to."""
    files = {}
    for target in range(TARGETS):
        vms = [VM.format(number=number, target=target, size="u1.medium" if number % 2 else "shared") for number in range(VMS)]
        texts = [TYPE.format(cpus=cpus), POLICY.format(policy=policy), *vms]
        files[f"team-{target:02}.yaml"] = "---\n".join(texts)
    return tree(folder, {f"teams/{name.removesuffix('.yaml')}/{name}": text for name, text in files.items()})


@pytest.fixture
def folder(tmp_path):
    repository(tmp_path / "base", 2)
    repository(tmp_path / "head", 4)
    return tmp_path


def counted(folder, *words):
    """What a command prints, and how many functions it calls."""
    printed = []
    count = calls(lambda: printed.append(run(*words, "--jobs", "1", cwd=folder)[1]))
    return printed[0], count


def records(folder, *words):
    """The records by namespace and name, and the calls. Files without kustomizations are one bundle for each folder."""
    printed, count = counted(folder, "diff", "base", "head", *words, "-o", "json", "--fail-on", "never")
    return {(vm["namespace"], vm["name"]): vm for vm in json.loads(printed)["vms"]}, count


def test_under_an_expanding_policy_the_manifests_are_refused(folder):
    repository(folder / "base", 2, "expand")
    repository(folder / "head", 4, "expand")
    found, _ = records(folder)
    told = {key for key, vm in found.items() if any(kept["change"] == "edited" for kept in vm.get("keeps", ()))}
    assert told == USERS
    assert {(*found[key]["effect"], found[key]["keeps"][0]["policy"]) for key in USERS} == {("refused", "expand")}


def test_exactly_the_users_are_listed_with_few_calls(folder, record_property):
    _, check = counted(folder, "check", "base", "--no-cache")
    kept, of_kept = records(folder)
    assert kept.keys() == USERS
    assert {(*vm["effect"], vm["keeps"][0]["change"]) for vm in kept.values()} == {("nothing", "edited")}
    new, of_new = records(folder, "--assume", "new")
    assert new.keys() == USERS
    assert {json.dumps(vm["guest"]) for vm in new.values()} == {'{"vcpus": {"old": 2, "new": 4}}'}
    ratios = [count / check for count in (of_kept, of_new)]
    record_property("figure", "diff of 400 VMs: {:.2f} and, of new ones, {:.2f} times the calls of check".format(*ratios))
    assert max(ratios) <= 4  # two bundles are rendered and compared; how much each command finds loaded differs between runs
