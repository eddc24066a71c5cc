"""`check` of templates: the objects in each are judged by themselves, and findings stand at the value in the template."""

import json

import pytest
from checking import check, run
from trees import tree

TEMPLATE = """\
apiVersion: template.openshift.io/v1
kind: Template
metadata:
  name: {name}
objects:
- apiVersion: v1
  kind: Secret
  metadata:
    name: ${{NAME}}
- apiVersion: kubevirt.io/v1
  kind: VirtualMachine
  metadata:
    name: ${{NAME}}
  spec:
    runStrategy: {strategy}
    instancetype:
      name: ${{SIZE}}
    template:
      spec:
        domain:
          devices:
            disks: []
            autoattachSerialConsole: ${{{{CONSOLE}}}}
            interfaces:
            - name: default
              macAddress: 02:00:00:00:00:01
              masquerade: {{}}
        networks:
        - name: default
          pod: {{}}
parameters:
- name: NAME
  generate: expression
  from: "[a-z]{{8}}"
- name: SIZE
  value: {size}
- name: CONSOLE
  value: {console}
"""
OF_KUBEVIRT = """\
apiVersion: template.kubevirt.io/v1beta1
kind: VirtualMachineTemplate
metadata:
  name: fedora
spec:
  parameters:
  - name: NAME
    required: true
  - name: SIZE
    value: {size}
  virtualMachine:
    metadata:
      name: ${{NAME}}
    spec:
      runStrategy: Always
      instancetype:
        name: ${{SIZE}}
      template:
        spec:
          domain:
            devices: {{}}
"""
SIZE = """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterInstancetype
metadata:
  name: tiny
spec:
  cpu:
    guest: 1
  memory:
    guest: 1Gi
"""


def template(name="web", *, strategy="Always", size="u1.small", console='"true"'):
    return TEMPLATE.format(name=name, strategy=strategy, size=size, console=console)


def found(root, *words):
    """Rule, file, line and column of each finding."""
    _, out, _ = check("-o", "json", *(words or (".",)), cwd=root)
    results = json.loads(out)["results"]
    return [(each["tags"]["rule"], each["file"]["path"], each.get("line"), each.get("column")) for each in results]


def test_a_good_template_has_no_finding_and_its_open_values_are_counted(tmp_path):
    tree(tmp_path, {"web.yaml": template(), "fedora.yaml": OF_KUBEVIRT.format(size="u1.small")})
    assert check(".", cwd=tmp_path) == (0, "", "")
    noted = check("-v", ".", cwd=tmp_path)[2]
    assert "2 values depend on parameters without a default in 1 template of web.yaml, and are not judged" in noted
    assert "1 value depends on parameters without a default in 1 template of fedora.yaml, and is not judged" in noted


@pytest.mark.parametrize(
    ("changed", "rule", "line", "column"),
    [
        ({"strategy": "Sometimes"}, "refused-run-strategy", 15, 18),
        ({"size": "u1.smal"}, "unresolved-instancetype", 17, 13),
        ({"console": '"1"'}, "wrong-type", 23, 38),
    ],
)
def test_a_finding_stands_at_the_value_in_the_template(tmp_path, changed, rule, line, column):
    tree(tmp_path, {"web.yaml": template(**changed)})
    assert found(tmp_path) == [(rule, "web.yaml", line, column)]


def test_a_finding_in_a_template_of_kubevirt(tmp_path):
    tree(tmp_path, {"fedora.yaml": OF_KUBEVIRT.format(size="u1.smal")})
    assert found(tmp_path) == [("unresolved-instancetype", "fedora.yaml", 17, 15)]


def test_a_template_in_a_list_and_in_one_of_many_documents(tmp_path):
    one = {"apiVersion": "v1", "kind": "Template", "metadata": {"name": "a"}}
    vm = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "a"}, "spec": {"x": 1}}
    listed = {"apiVersion": "v1", "kind": "List", "items": [{**one, "objects": [vm]}]}
    tree(tmp_path, {"list.yaml": json.dumps(listed, indent=1), "many.yaml": f"{SIZE}---\n{template(size='u1.smal')}"})
    assert ("unknown-field", "list.yaml", 19, 7) in found(tmp_path)
    assert ("unresolved-instancetype", "many.yaml", 27, 13) in found(tmp_path)


def test_objects_of_templates_clash_neither_with_one_another_nor_with_others(tmp_path):
    vm = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web}\nspec: {runStrategy: Halted, "
    vm += "template: {spec: {domain: {memory: {guest: 1Gi}, devices: {}}}}}\n"
    named = template().replace("${NAME}", "web")
    other = named.replace("name: web\nobjects", "name: b\nobjects").replace("u1.small", "u1.large")
    (tmp_path / "all.yaml").write_text(f"{named}---\n{other}---\n{vm}")
    assert check("all.yaml", cwd=tmp_path)[:2] == (0, "")


def test_two_objects_of_one_template_clash(tmp_path):
    twice = template().replace(
        "parameters:", "- {apiVersion: v1, kind: LimitRange, metadata: {name: '${SIZE}', labels: {a: b}}}\n" * 2 + "parameters:"
    )
    tree(tmp_path, {"web.yaml": twice.replace("a: b", "a: c", 1)})
    assert [rule for rule, *_ in found(tmp_path)] == ["duplicate-object"]


def test_a_template_uses_the_instancetypes_beside_it_and_what_only_it_uses_is_not_unused(tmp_path):
    vm = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: db}\n"
    vm += "spec: {runStrategy: Halted, instancetype: {name: u1.small}, template: {spec: {domain: {devices: {}}}}}\n"
    other = SIZE.replace("name: tiny", "name: other")
    (tmp_path / "all.yaml").write_text(f"{template(size='tiny')}---\n{SIZE}---\n{vm}---\n{other}")
    _, out, _ = check("all.yaml", cwd=tmp_path)
    assert [line.partition("(")[2] for line in out.splitlines()] == ["unused-instancetype)"]
    assert "VirtualMachineClusterInstancetype other" in out


def test_what_has_a_namespace_may_be_where_the_template_is_used(tmp_path):
    kind = "instancetype:\n      kind: VirtualMachineInstancetype"
    volumes = (
        "networks:\n        - name: default\n          pod: {}\n        volumes:\n        - {name: a, dataVolume: {name: gone}}"
    )
    text = (
        template(size="own")
        .replace("instancetype:", kind)
        .replace("networks:\n        - name: default\n          pod: {}", volumes)
    )
    tree(tmp_path, {"web.yaml": text.replace("disks: []", "disks: [{name: a, disk: {}}]")})
    assert check(".", cwd=tmp_path)[:2] == (0, "")


def test_an_annotation_of_an_object_in_a_template_silences(tmp_path):
    ignoring = "  metadata:\n    annotations: {kubevirt-render.dev/ignore: 'refused-run-strategy: as an example'}\n"
    text = template(strategy="Sometimes").replace("VirtualMachine\n  metadata:\n", "VirtualMachine\n" + ignoring)
    tree(tmp_path, {"web.yaml": text})
    assert check(".", cwd=tmp_path)[:2] == (0, "")


def test_every_object_of_a_template_is_a_case(tmp_path):
    tree(tmp_path, {"web.yaml": template(strategy="Sometimes")})
    _, out, _ = check("-o", "tap", "--summary", ".", cwd=tmp_path)
    assert "1..3" in out
    assert sum(line.startswith("not ok") for line in out.splitlines()) == 1


@pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
def test_a_template_in_a_target_leads_home(tmp_path, monkeypatch, kustomize):
    monkeypatch.setenv("PATH", kustomize.rpartition("/")[0], prepend=":")
    files = {"base/kustomization.yaml": "resources: [web.yaml]\n", "base/web.yaml": template(size="u1.smal")}
    tree(tmp_path, {**files, "over/kustomization.yaml": "resources: [../base]\nnamespace: shop\n"})
    assert found(tmp_path) == [("unresolved-instancetype", "base/web.yaml", 17, 13)]


def test_nothing_is_proposed_in_place_of_a_parameter(tmp_path):
    def proposed(text):
        tree(tmp_path, {"web.yaml": text})
        _, out, _ = check("-o", "json", ".", cwd=tmp_path)
        return [each["field"].get("proposedValue") for each in json.loads(out)["results"]]

    assert proposed(template(size="u1.smal")) == [None]
    assert proposed(template().replace("${SIZE}", "u1.smal")) == ["u1.small"]


def test_what_is_not_known_of_the_cluster_is_reported_once(tmp_path):
    gated = "volumes: [{name: a, hostDisk: {path: /a, type: Disk}}]\n        networks:"
    one = template().replace("networks:", gated).replace("disks: []", "disks: [{name: a, disk: {}}]")
    tree(tmp_path, {"web.yaml": f"{one}---\n{one.replace('name: web', 'name: other', 1)}"})
    assert [rule for rule, *_ in found(tmp_path)].count("unknown-configuration") == 1


@pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
def test_a_template_is_judged_with_the_instancetype_of_another_target(tmp_path, monkeypatch, kustomize):
    monkeypatch.setenv("PATH", kustomize.rpartition("/")[0], prepend=":")
    text = OF_KUBEVIRT.format(size="tiny").replace("devices: {}", "devices: {}\n            cpu: {cores: 4}")
    tree(tmp_path, {"a/kustomization.yaml": "resources: [t.yaml]\n", "a/t.yaml": text})
    tree(tmp_path, {"b/kustomization.yaml": "resources: [size.yaml]\n", "b/size.yaml": SIZE})
    assert found(tmp_path) == [("instancetype-conflict", "a/t.yaml", 22, 26)]


def test_vms_inside_other_objects_are_counted(tmp_path):
    vm = json.loads(
        json.dumps({"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "a"}, "spec": {}})
    )
    as_yaml = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: a}\nspec: {}\n"
    pool = {"apiVersion": "pool.kubevirt.io/v1beta1", "kind": "VirtualMachinePool", "metadata": {"name": "a"}, "spec": {}}
    objects = [
        ("ManifestWork", "work.open-cluster-management.io/v1", {"workload": {"manifests": [vm, pool, vm]}}),
        ("Task", "tekton.dev/v1", {"steps": [{"script": f"cat <<EOF | kubectl apply -f -\n{as_yaml}EOF\n"}]}),
        (
            "Kustomization",
            "kustomize.toolkit.fluxcd.io/v1",
            # without a path, it would apply this very folder, and each note would name that
            {"path": "./elsewhere", "patches": [{"patch": as_yaml, "target": {"kind": "VirtualMachine"}}]},
        ),
        ("Policy", "kyverno.io/v1", {"rules": [{"match": {"kinds": ["VirtualMachine"]}}]}),
        ("Instance", "x.org/v1", {"owner": {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "a"}}),
    ]
    texts = [json.dumps({"apiVersion": v, "kind": k, "metadata": {"name": "a"}, "spec": spec}) for k, v, spec in objects]
    data = {
        "a": f"{as_yaml}---\n{as_yaml}",
        "b": json.dumps(vm),
        "c": as_yaml.replace("VirtualMachine", "VirtualMachineInstance"),
    }
    texts.append(json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}))
    tree(tmp_path, {f"{number}.yaml": text for number, text in enumerate(texts)})
    assert check(".", cwd=tmp_path) == (0, "", "")
    noted = check("-v", ".", cwd=tmp_path)[2]
    assert "note: 1 VirtualMachine inside Task objects is not judged" in run("capacity", ".", cwd=tmp_path)[2]
    assert "note: 1 VirtualMachine inside Task objects is not judged" in run("diff", ".", ".", cwd=tmp_path)[2]
    assert [line.partition("note: ")[2] for line in noted.splitlines() if " inside " in line] == [
        "3 VirtualMachines inside ConfigMap objects are not judged",
        "1 VirtualMachine inside Kustomization objects is not judged",
        "2 VirtualMachines inside ManifestWork objects are not judged",
        "1 VirtualMachinePool inside ManifestWork objects is not judged",
        "1 VirtualMachine inside Task objects is not judged",
    ]


def test_of_hundreds_of_templates_the_one_with_a_mistake_is_named(tmp_path):
    many = [template(f"t{number}", size="u1.smal" if number == 250 else "u1.small") for number in range(300)]
    tree(tmp_path, {"web.yaml": "---\n".join(many)})
    lines = len(template().splitlines()) + 1
    assert found(tmp_path) == [("unresolved-instancetype", "web.yaml", 250 * lines + 17, 13)]


def test_equal_templates_have_their_findings_each_in_its_file(tmp_path):
    broken = TEMPLATE.format(name="web", strategy="Sometimes", size="u1.small", console="true")
    tree(tmp_path, {"one/old.yaml": broken, "two/new.yaml": f"# a line more\n{broken}"})
    out = check(".", "-o", "json", "--no-cache", cwd=tmp_path)[1]
    errors = [each for each in json.loads(out)["results"] if each["severity"] == "error"]
    assert [(each["file"]["path"], each["line"]) for each in errors] == [("one/old.yaml", 15), ("two/new.yaml", 16)]


MACHINES = """\
apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1
kind: {kind}
metadata: {{name: workers, namespace: lab}}
spec:{around}
    virtualMachineTemplate:
      metadata: {{namespace: tenants}}
      spec:
        runStrategy: Always
        template:
          spec:
            domain:
              cpu: {{core: 2}}
              memory: {{guest: 1Gi}}
              devices: {{}}
"""


@pytest.mark.parametrize(
    ("kind", "around", "line"),
    [("KubevirtMachineTemplate", "\n  template:\n   spec:", 14), ("KubevirtMachine", "", 12)],
)
def test_what_cluster_api_makes_vms_of_is_judged_in_a_kustomization_and_alone(tmp_path, kind, around, line):
    tree(tmp_path, {"web.yaml": MACHINES.format(kind=kind, around=around)})
    alone = [each[:3] for each in found(tmp_path)]
    (tmp_path / "kustomization.yaml").write_text("resources: [web.yaml]\n")
    built = [each[:3] for each in found(tmp_path)]
    assert (alone, built) == ([("unknown-field", "web.yaml", line)],) * 2
