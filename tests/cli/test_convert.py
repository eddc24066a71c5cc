"""`suggest` and `convert`: files and overlays that say sizes, before and after."""

import csv
import io
import json

import pytest
from checking import run
from jsonschema import Draft202012Validator
from trees import tree

BASE = """\
# the shop
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web
spec:
  runStrategy: Always  # it never closes
  template:
    spec:
      domain:
        cpu: {sockets: 2, cores: 1, threads: 1}
        memory:
          guest: 8Gi
        devices: {}
"""
CONVERTED = """\
# the shop
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web
spec:
  runStrategy: Always  # it never closes
  template:
    spec:
      domain:
        devices: {}
  instancetype:
    kind: VirtualMachineClusterInstancetype
    name: u1.large
"""
HEADROOM = BASE.replace("cpu: {sockets: 2, cores: 1, threads: 1}", "cpu: {cores: 2}")
ODD = BASE.replace("guest: 8Gi", "guest: 9Gi")
NOTE = "kubevirt-render: note: "


def patch(text):
    return f"apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {{name: web}}\nspec: {{template: {{spec: {text}}}}}\n"


def operations(*pairs):
    return "".join(f"- {{op: replace, path: /spec/template/spec/domain/{path}, value: {value}}}\n" for path, value in pairs)


def indented(text):
    return "".join(f"    {line}\n" for line in text.splitlines())


def inline(text):
    return f"resources: [../base]\npatches:\n- target: {{kind: VirtualMachine}}\n  patch: |-\n{indented(text)}"


def with_patch(text, key="patches: [{path: size.yaml}]"):
    return {"kustomization.yaml": f"resources: [../base]\n{key}\n", "size.yaml": text}


PLAIN = {"kustomization.yaml": "resources: [../base]\n"}
LARGE = patch("{domain: {cpu: {sockets: 4}, memory: {guest: 16Gi}}}")
MEMORY = patch("{domain: {memory: {guest: 4Gi}}}")
SOCKETS = patch("{domain: {cpu: {sockets: 1}}}")
TARGET = "patches: [{path: size.yaml, target: {kind: VirtualMachine, name: web}}]"
OLD_KEY, OLD_JSON = (
    "patchesStrategicMerge: [size.yaml]",
    "patchesJson6902: [{path: size.yaml, target: {group: kubevirt.io, version: v1, kind: VirtualMachine, name: web}}]",
)
BIG = operations(("cpu/sockets", 8), ("memory/guest", "32Gi"))
WHOLE = (
    "- {op: replace, path: /spec/template/spec/domain/cpu, value: {sockets: 4, cores: 1, threads: 1}}\n"
    "- {op: replace, path: /spec/template/spec/domain/memory, value: {guest: 16Gi}}\n"
)
MIXED = patch("{terminationGracePeriodSeconds: 5, domain: {cpu: {sockets: 4}, memory: {guest: 16Gi}}}")
SMALL = patch("{domain: {cpu: {sockets: 1}, memory: {guest: 4Gi}}}")
COMPONENT = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches: [{path: size.yaml}]\n"
# Overlays by name, and the instancetype that each gets.
OVERLAYS = {
    "no-patch": ({"a": PLAIN}, {"a": "u1.large"}),
    "two-without-a-patch": ({"a": PLAIN, "b": PLAIN}, {"a": "u1.large", "b": "u1.large"}),
    "a-merge-patch": ({"a": PLAIN, "b": with_patch(LARGE)}, {"a": "u1.large", "b": "u1.xlarge"}),
    "memory-alone": ({"a": PLAIN, "b": with_patch(MEMORY)}, {"a": "u1.large", "b": "u1.2xmedium"}),
    "a-merge-patch-with-a-target": ({"a": PLAIN, "b": with_patch(LARGE, TARGET)}, {"a": "u1.large", "b": "u1.xlarge"}),
    "an-inline-merge-patch": ({"a": PLAIN, "b": {"kustomization.yaml": inline(LARGE)}}, {"a": "u1.large", "b": "u1.xlarge"}),
    "the-old-key": ({"a": PLAIN, "b": with_patch(LARGE, OLD_KEY)}, {"a": "u1.large", "b": "u1.xlarge"}),
    "operations-in-a-file": ({"a": PLAIN, "b": with_patch(BIG, TARGET)}, {"a": "u1.large", "b": "u1.2xlarge"}),
    "inline-operations": ({"a": PLAIN, "b": {"kustomization.yaml": inline(BIG)}}, {"a": "u1.large", "b": "u1.2xlarge"}),
    "the-old-key-of-operations": ({"a": PLAIN, "b": with_patch(BIG, OLD_JSON)}, {"a": "u1.large", "b": "u1.2xlarge"}),
    "operations-on-blocks": ({"a": PLAIN, "b": with_patch(WHOLE, TARGET)}, {"a": "u1.large", "b": "u1.xlarge"}),
    "a-patch-with-other-values": ({"a": PLAIN, "b": with_patch(MIXED)}, {"a": "u1.large", "b": "u1.xlarge"}),
    "all-are-patched": ({"a": with_patch(LARGE), "b": with_patch(SMALL)}, {"a": "u1.xlarge", "b": "u1.medium"}),
    "all-are-patched-alike": ({"a": with_patch(LARGE), "b": with_patch(LARGE)}, {"a": "u1.xlarge", "b": "u1.xlarge"}),
    "a-patch-says-what-the-base-says": (
        {"a": PLAIN, "b": with_patch(patch("{domain: {memory: {guest: 8Gi}}}"))},
        {"a": "u1.large", "b": "u1.large"},
    ),
    "three-sizes": (
        {"a": PLAIN, "b": with_patch(LARGE), "c": with_patch(SMALL)},
        {"a": "u1.large", "b": "u1.xlarge", "c": "u1.medium"},
    ),
    "two-patches-of-one-overlay": (
        {
            "a": PLAIN,
            "b": {
                "kustomization.yaml": "resources: [../base]\npatches: [{path: cpu.yaml}, {path: memory.yaml}]\n",
                "cpu.yaml": SOCKETS,
                "memory.yaml": MEMORY,
            },
        },
        {"a": "u1.large", "b": "u1.medium"},
    ),
    "a-prefix": (
        {
            "a": PLAIN,
            "b": {**with_patch(LARGE), "kustomization.yaml": "namePrefix: b-\n" + with_patch(LARGE)["kustomization.yaml"]},
        },
        {"a": "u1.large", "b": "u1.xlarge"},
    ),
    "an-overlay-of-an-overlay": (
        {
            "mid": with_patch(LARGE),
            "a": {"kustomization.yaml": "resources: [../mid]\n"},
            "b": {"kustomization.yaml": "resources: [../mid]\npatches: [{path: more.yaml}]\n", "more.yaml": SMALL},
        },
        {"a": "u1.xlarge", "b": "u1.medium"},
    ),
    "a-component": (
        {
            "component": {
                "kustomization.yaml": COMPONENT,
                "size.yaml": LARGE,
            },
            "a": PLAIN,
            "b": {"kustomization.yaml": "resources: [../base]\ncomponents: [../component]\n"},
        },
        {"a": "u1.large", "b": "u1.xlarge"},
    ),
}


def repository(folder, overlays, base=BASE):
    files = {".git/HEAD": "ref: refs/heads/main\n", "base/vm.yaml": base, "base/kustomization.yaml": "resources: [vm.yaml]\n"}
    files |= {f"{name}/{file}": text for name, of in overlays.items() for file, text in of.items()}
    return tree(folder, files)


def sizes(folder):
    """The answer of `capacity` for each target, without the instancetypes; and these."""
    code, out, _ = run("capacity", ".", "-o", "json", cwd=folder)
    records = json.loads(out)["vms"]
    names = {record["target"]: record.pop("instancetype", "") for record in records}
    return code, records, names


@pytest.mark.parametrize("name", OVERLAYS)
def test_overlays_get_instancetypes_of_their_own_and_keep_their_pods(tmp_path, name):
    overlays, expected = OVERLAYS[name]
    root = repository(tmp_path, overlays)
    before = sizes(root)
    code, out, err = run("convert", ".", cwd=root)
    assert (code, out) == (0, ""), err
    after = sizes(root)
    assert before[:2] == after[:2]
    assert after[2] == expected
    assert "sockets" not in (root / "base/vm.yaml").read_text()


@pytest.mark.parametrize("name", OVERLAYS)
def test_overlays_lose_their_instancetypes_again(tmp_path, name):
    root = repository(tmp_path, OVERLAYS[name][0])
    before = sizes(root)
    run("convert", ".", cwd=root)
    code, _, err = run("convert", "--to", "flat", ".", cwd=root)
    assert code == 0
    assert sizes(root) == before, err


def test_comments_and_order_stay(tmp_path):
    file = tree(tmp_path, {"vm.yaml": BASE}) / "vm.yaml"
    assert run("convert", "vm.yaml", cwd=tmp_path) == (
        0,
        "",
        f"{NOTE}VirtualMachine web: u1.large (exact)\n{NOTE}1 VM converted, 0 left alone\n{NOTE}vm.yaml: written\n",
    )
    assert file.read_text() == CONVERTED


def test_a_second_conversion_changes_nothing(tmp_path):
    tree(tmp_path, {"vm.yaml": CONVERTED})
    assert run("convert", "--check", "vm.yaml", cwd=tmp_path) == (0, "", f"{NOTE}0 VMs converted, 0 left alone\n")


def test_check_names_the_files_and_writes_none(tmp_path):
    tree(tmp_path, {"vm.yaml": BASE})
    code, out, err = run("convert", "--check", ".", cwd=tmp_path)
    assert (code, out, err.splitlines()[-1]) == (1, "", f"{NOTE}vm.yaml: would change")
    assert (tmp_path / "vm.yaml").read_text() == BASE


def test_only_exact_conversions_are_made_unless_more_is_wanted(tmp_path):
    tree(tmp_path, {"vm.yaml": HEADROOM})
    code, out, err = run("convert", "--check", ".", cwd=tmp_path)
    reason = "u1.large changes cpu.cores 2 → 1, cpu.maxSockets - → 8, cpu.sockets - → 2; convert it with --only headroom"
    assert (code, out, err.splitlines()[0]) == (0, "", f"{NOTE}VirtualMachine web: left alone: {reason}")
    assert run("convert", "--check", "--only", "headroom", ".", cwd=tmp_path)[0] == 1


def test_a_larger_instancetype_is_only_taken_where_all_are_wanted(tmp_path):
    tree(tmp_path, {"vm.yaml": ODD})
    assert run("convert", "--check", "--only", "headroom", ".", cwd=tmp_path)[0] == 0
    code, _, err = run("convert", "--only", "all", ".", cwd=tmp_path)
    assert (code, err.splitlines()[0]) == (0, f"{NOTE}VirtualMachine web: u1.xlarge (differs)")


def test_a_vm_never_gets_less_unless_that_is_wanted(tmp_path):
    tree(tmp_path, {"vm.yaml": BASE.replace("devices: {}", "resources: {requests: {cpu: 2}}\n        devices: {}")})
    code, _, err = run("convert", "--check", "--only", "all", ".", cwd=tmp_path)
    assert code == 0
    assert "it has less: cpu requested by the pod; accept that with --allow-smaller" in err
    assert run("convert", "--check", "--only", "all", "--allow-smaller", ".", cwd=tmp_path)[0] == 1


def test_a_vm_that_does_not_start_is_converted_where_that_stays_so(tmp_path):
    gated = BASE.replace("devices: {}", "devices: {hostDevices: [{name: a, deviceName: x/y}]}")
    reversed_ = "{}\n        resources: {requests: {memory: 8Gi}, limits: {memory: 4Gi}}"
    wrong = BASE.replace("name: web", "name: db").replace("{}", reversed_)
    tree(tmp_path, {"web.yaml": gated, "db.yaml": wrong})
    code, _, err = run("convert", "--only", "all", ".", cwd=tmp_path)
    gate = "hostDevices needs the feature gate HostDevices, which is not enabled; enable it, or remove the field"
    limit = "requests.memory '8Gi' must be at most limits.memory '4Gi'; lower it"
    assert (code, err.splitlines()[:3]) == (
        0,
        [
            f"{NOTE}VirtualMachine web: u1.large (exact); KubeVirt starts no instance of it, before or after: {gate}",
            f"{NOTE}VirtualMachine db: left alone: KubeVirt starts no instance of it: {limit}",
            f"{NOTE}1 VM converted, 1 left alone",
        ],
    )
    assert (tmp_path / "db.yaml").read_text() == wrong


def test_the_selected_vms_are_converted_and_no_others(tmp_path):
    tree(tmp_path, {"web.yaml": BASE, "db.yaml": BASE.replace("name: web", "name: db\n  namespace: shop")})
    run("convert", "--select", "shop/*", ".", cwd=tmp_path)
    assert (tmp_path / "web.yaml").read_text() == BASE
    assert "u1.large" in (tmp_path / "db.yaml").read_text()


def test_a_base_stays_where_an_overlay_outside_of_the_paths_changes_it(tmp_path):
    root = repository(tmp_path, {"a": with_patch(LARGE)})
    code, _, err = run("convert", "base", cwd=root)
    reason = "a/size.yaml changes it, and is outside of the paths; name a folder that has both"
    assert (code, err.splitlines()[0]) == (0, f"{NOTE}base: VirtualMachine web: left alone: {reason}")
    assert (root / "base/vm.yaml").read_text() == BASE


def test_a_base_stays_where_one_of_its_overlays_can_not_be_converted(tmp_path):
    root = repository(tmp_path, {"a": PLAIN, "b": with_patch(patch("{domain: {memory: {guest: 9Gi}}}"))})
    _, _, err = run("convert", ".", cwd=root)
    assert err.splitlines()[-1] == f"{NOTE}0 VMs converted, 2 left alone"
    assert (root / "base/vm.yaml").read_text() == BASE


def test_a_kustomization_that_can_not_be_built_stops_no_other(tmp_path):
    root = repository(
        tmp_path, {"a": PLAIN, "broken": {"kustomization.yaml": "resources: [vm.yaml]\npatches: [{path: no.yaml}]\n"}}
    )
    tree(root, {"broken/vm.yaml": BASE})
    code, _, err = run("convert", ".", cwd=root)
    assert (code, err.splitlines()[-2:]) == (1, [f"{NOTE}1 VM converted, 1 left alone", f"{NOTE}base/vm.yaml: written"])
    assert (root / "broken/vm.yaml").read_text() == BASE


def test_files_with_the_same_text_get_what_their_own_cluster_has(tmp_path):
    own = (
        "apiVersion: instancetype.kubevirt.io/v1beta1\nkind: VirtualMachineClusterInstancetype\nmetadata: {name: ours}\n"
        "spec: {cpu: {guest: 2}, memory: {guest: 8Gi}}\n"
    )
    clusters = "kind: RenderVirtualMachines\nspec: {clusters: [{name: a, targets: [a]}, {name: b, targets: [b]}]}\n"
    tree(
        tmp_path, {".git/HEAD": "", ".kubevirt-render.yaml": clusters, "a/vm.yaml": BASE, "b/vm.yaml": BASE, "b/own.yaml": own}
    )
    tree(tmp_path, {"a/kustomization.yaml": "resources: [vm.yaml]\n"})
    tree(tmp_path, {"b/kustomization.yaml": "resources: [vm.yaml, own.yaml]\n"})
    code, _, err = run("convert", ".", cwd=tmp_path)
    names = [(tmp_path / name / "vm.yaml").read_text().splitlines()[-1].strip() for name in "ab"]
    assert (code, names) == (0, ["name: u1.large", "name: ours"]), err


def test_a_base_stays_where_a_replacement_would_bring_a_size_back(tmp_path):
    replacement = (
        "resources: [../base]\nconfigMapGenerator: [{name: size, literals: [sockets=4]}]\nreplacements:\n"
        "- source: {kind: ConfigMap, name: size, fieldPath: data.sockets}\n"
        "  targets: [{select: {kind: VirtualMachine}, fieldPaths: [spec.template.spec.domain.cpu.sockets]}]\n"
    )
    root = repository(tmp_path, {"a": {"kustomization.yaml": replacement}})
    before = sizes(root)
    err = run("convert", "--only", "all", ".", cwd=root)[2]
    assert err.splitlines()[-1] == f"{NOTE}0 VMs converted, 1 left alone"
    assert sizes(root) == before


def test_instancetypes_that_are_made_go_into_a_file_and_are_used_again(tmp_path):
    tree(tmp_path, {"vms/web.yaml": ODD, "vms/db.yaml": ODD.replace("name: web", "name: db")})
    words = ("convert", "--own", "vms/sizes.yaml", "--name-scheme", "{vcpus}x{memory}")
    assert run(*words, "--select", "web", "vms", cwd=tmp_path)[0] == 0
    made = (tmp_path / "vms/sizes.yaml").read_text()
    assert 'name: "2x9gi"' in made
    assert run(*words, "vms", cwd=tmp_path)[0] == 0
    assert (tmp_path / "vms/sizes.yaml").read_text() == made
    assert 'name: "2x9gi"' in (tmp_path / "vms/db.yaml").read_text()


def test_a_preference_is_given_where_its_changes_are_accepted(tmp_path):
    tree(tmp_path, {"vm.yaml": BASE})
    words = ("convert", "--preference", "linux", "--only", "headroom", ".")
    assert "annotations" in run(*words, cwd=tmp_path)[2]
    assert (tmp_path / "vm.yaml").read_text() == BASE
    accepted = [word for path in ("/annotations", "/spec/domain/devices") for word in ("--accept", path)]
    others = {"layout.yaml": HEADROOM.replace("name: web", "name: db"), "odd.yaml": ODD.replace("name: web", "name: odd")}
    tree(tmp_path, others)
    err = run(*words, *accepted, cwd=tmp_path)[2]
    assert "name: linux" in (tmp_path / "vm.yaml").read_text()
    assert "name: linux" in (tmp_path / "layout.yaml").read_text()
    assert "left alone: u1.xlarge changes annotations.vm.kubevirt.io~1os - → linux, cpu.maxSockets" in err


def test_a_pool_is_converted(tmp_path):
    pool = (
        "apiVersion: pool.kubevirt.io/v1beta1\nkind: VirtualMachinePool\nmetadata: {name: fleet}\nspec:\n  replicas: 2\n"
        "  selector: {matchLabels: {a: b}}\n  virtualMachineTemplate:\n    metadata: {labels: {a: b}}\n    spec:\n"
        "      runStrategy: Always\n      template:\n        metadata: {labels: {a: b}}\n        spec:\n          domain:\n"
        "            cpu: {sockets: 2, cores: 1, threads: 1}\n            memory: {guest: 8Gi}\n            devices: {}\n"
    )
    tree(tmp_path, {"pool.yaml": pool})
    assert run("convert", ".", cwd=tmp_path)[0] == 0
    assert (
        "      instancetype:\n        kind: VirtualMachineClusterInstancetype\n        name: u1.large\n"
        in (tmp_path / "pool.yaml").read_text()
    )


@pytest.mark.parametrize("flag", ["-k", "-"])
def test_what_has_no_file_is_not_converted(tmp_path, flag):
    words = ("-k", ".") if flag == "-k" else ("-",)
    code, out, err = run("convert", *words, cwd=tmp_path, stdin=BASE)
    assert (code, out) == (2, "")
    assert err.startswith("kubevirt-render: error: convert needs files")


def test_what_is_told_of_a_running_vm_is_what_diff_says(tmp_path):
    tree(tmp_path, {"old/vm.yaml": BASE + "---\n" + HEADROOM.replace("name: web", "name: db")})
    told = {each["name"]: each["effect"] for each in json.loads(run("suggest", "old", "-o", "json", cwd=tmp_path)[1])["vms"]}
    tree(tmp_path, {"new/vm.yaml": (tmp_path / "old/vm.yaml").read_text()})
    run("convert", "--only", "headroom", "new", cwd=tmp_path)
    diff = json.loads(run("diff", "old", "new", "-o", "json", cwd=tmp_path)[1])
    assert told == {each["name"]: each["effect"] for each in diff["vms"]}
    assert told == {"web": ["atNextStart"], "db": ["restartRequired", "atNextStart"]}


def test_a_smaller_instancetype_is_named_for_what_a_guest_uses(tmp_path):
    tree(tmp_path, {"vm.yaml": BASE, "use.csv": "namespace,name,vcpus,memory\ndefault,web,0.5,2Gi\ndefault,web,0.7,1Gi\n"})
    code, out, _ = run("suggest", "vm.yaml", "--usage", "use.csv", "-o", "json", cwd=tmp_path)
    (fit,) = json.loads(out)["usage"]
    assert code == 0
    assert fit["peak"] == {"vcpus": "0.7", "memory": 2147483648}
    assert fit["smaller"] == {
        "kind": "VirtualMachineClusterInstancetype",
        "name": "u1.medium",
        "saves": {"vcpus": 1, "memory": 4294967296},
    }


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("default,web,many,1Gi", "use.csv:2:1: vcpus is 'many'; expected a number of 0 or more"),
        ("default,web,1e999999999,1Gi", "use.csv:2:1: vcpus is '1e999999999'; expected a number of 0 or more"),
        (f"default,{'x' * 200_000},1,1Gi", "use.csv:2:1: field larger than field limit (131072); correct the file"),
        ("default,web,1,-1Gi", "use.csv:2:1: memory is '-1Gi'; expected a number of 0 or more"),
        ("default,,1,1Gi", "use.csv:2:1: name has no value; expected the columns namespace, name, vcpus, memory"),
    ],
)
def test_a_wrong_row_of_usage_is_named(tmp_path, row, message):
    tree(tmp_path, {"vm.yaml": BASE, "use.csv": f"namespace,name,vcpus,memory\n{row}\n"})
    code, out, err = run("suggest", "vm.yaml", "--usage", "use.csv", cwd=tmp_path)
    assert (code, out, err) == (1, "", f"kubevirt-render: error: {message}\n")


@pytest.mark.parametrize("head", ["", "namespace,name,cpu,memory\n"])
def test_a_table_of_usage_with_other_columns_is_refused(tmp_path, head):
    column = "vcpus" if head else "namespace"
    code, out, err = run("suggest", "vm.yaml", "--usage", "use.csv", cwd=tree(tmp_path, {"vm.yaml": BASE, "use.csv": head}))
    message = f"use.csv:1:1: the first line has no column {column}; expected namespace, name, vcpus, memory"
    assert (code, out, err) == (1, "", f"kubevirt-render: error: {message}\n")


@pytest.mark.parametrize("scheme", ["", "ABC", "../../{vcpus}", "a\nb", "{vcpus:>300}", "{vcpus.__class__}", "{0}", "{"])
@pytest.mark.parametrize("command", [("suggest", "--own"), ("convert", "--own", "sizes.yaml")])
def test_a_scheme_makes_names_that_a_cluster_takes(tmp_path, command, scheme):
    tree(tmp_path, {"vm.yaml": ODD})
    code, out, err = run(*command, "--name-scheme", scheme, ".", cwd=tmp_path)
    assert (code, out, [path.name for path in tmp_path.iterdir()]) == (2, "", ["vm.yaml"])
    assert "makes no name; expected text with {vcpus} and {memory}" in err


def test_what_is_made_is_not_written_through_a_link_out_of_the_repository(tmp_path):
    tree(tmp_path, {"here/vm.yaml": ODD, "here/.git/HEAD": ""})
    (tmp_path / "here/sizes.yaml").symlink_to(tmp_path / "outside.yaml")
    code, _, err = run("convert", "--own", "sizes.yaml", ".", cwd=tmp_path / "here")
    assert (code, (tmp_path / "outside.yaml").exists()) == (1, False)
    assert (tmp_path / "here/vm.yaml").read_text() == ODD
    assert "sizes.yaml: this symbolic link points outside the repository" in err


def test_what_is_made_goes_into_a_file_that_is_converted(tmp_path):
    tree(tmp_path, {"vm.yaml": ODD})
    assert run("convert", "--own", "vm.yaml", ".", cwd=tmp_path)[0] == 0
    found = (tmp_path / "vm.yaml").read_text()
    assert found.startswith(CONVERTED.replace("u1.large", '"2vcpu-9gi"'))
    assert "---\napiVersion: instancetype.kubevirt.io/v1beta1\n" in found


def test_what_is_made_keeps_the_line_ends_and_the_mark_of_its_file(tmp_path):
    tree(tmp_path, {"vm.yaml": ODD})
    (tmp_path / "sizes.yaml").write_bytes(b"\xef\xbb\xbf# ours\r\nkind: ConfigMap\r\napiVersion: v1\r\n")
    assert run("convert", "--own", "sizes.yaml", "vm.yaml", cwd=tmp_path)[0] == 0
    found = (tmp_path / "sizes.yaml").read_bytes()
    assert found.startswith(b"\xef\xbb\xbf# ours\r\nkind: ConfigMap\r\napiVersion: v1\r\n---\r\n")
    assert b'name: "2vcpu-9gi"\r\n' in found
    assert found.count(b"\n") == found.count(b"\r\n")


@pytest.mark.parametrize(
    ("file", "note"),
    [
        ("base/sizes.yaml", "base: add this line to the resources of its kustomization: - sizes.yaml"),
        ("base/more/sizes.yaml", "base: add this line to the resources of its kustomization: - more/sizes.yaml"),
        (
            "sizes.yaml",
            "base: its kustomization can list no file outside of it: apply sizes.yaml before, or name a file in base",
        ),
    ],
)
def test_the_kustomization_that_lacks_what_is_made_is_named(tmp_path, file, note):
    root = repository(tmp_path, {"a": PLAIN}, base=ODD)
    (root / "base/more").mkdir()
    assert f"{NOTE}{note}" in run("convert", "--own", file, ".", cwd=root)[2].splitlines()
    tree(root, {"base/kustomization.yaml": f"resources: [vm.yaml, {file.removeprefix('base/')}]\n", "base/vm.yaml": ODD})
    if file.startswith("base/"):
        assert "its kustomization" not in run("convert", "--own", file, ".", cwd=root)[2]


def test_what_is_made_is_not_appended_to_json(tmp_path):
    tree(tmp_path, {"vm.yaml": ODD, "sizes.json": "{}"})
    code, _, err = run("convert", "--own", "sizes.json", ".", cwd=tmp_path)
    assert (code, (tmp_path / "sizes.json").read_text(), (tmp_path / "vm.yaml").read_text()) == (2, "{}", ODD)
    assert "--own sizes.json is to get YAML; name a file that ends in .yaml" in err


def test_a_name_is_text_in_each_table(tmp_path):
    named = BASE.replace("name: web", 'name: "\\e[31mweb"')
    tree(tmp_path, {"vm.yaml": named, "use.csv": "namespace,name,vcpus,memory\ndefault,\x1b[31mweb,0.5,1Gi\n"})
    for form in ("text", "csv", "markdown"):
        out = run("suggest", "--own", "--usage", "use.csv", "-o", form, ".", cwd=tmp_path)[1]
        assert out.count("\\x1b[31mweb") == (1 if form == "csv" else 2)
        assert "\x1b" not in out


def test_vms_of_one_shape_are_one_group(tmp_path):
    vms = "---\n".join(ODD.replace("name: web", f"name: web{number}") for number in range(3))
    tree(tmp_path, {"vms.yaml": vms + "---\n" + BASE})
    found = json.loads(run("suggest", "vms.yaml", "--own", "-o", "json", cwd=tmp_path)[1])
    assert [(each["name"], each["vms"], each["nearest"]) for each in found["groups"]] == [
        (
            "2vcpu-9gi",
            3,
            {"kind": "VirtualMachineClusterInstancetype", "name": "u1.xlarge", "moreVcpus": 6, "moreMemoryBytes": 3 * 7 << 30},
        ),
        (
            "2vcpu-8gi",
            1,
            {"kind": "VirtualMachineClusterInstancetype", "name": "u1.large", "moreVcpus": 0, "moreMemoryBytes": 0},
        ),
    ]
    assert found["summary"] == {"exact": 4, "headroom": 0, "differs": 0, "none": 0}


def test_the_schema_fits_what_suggest_prints(tmp_path):
    vm = "\n".join(f"  {line}" for line in BASE.splitlines()[1:])
    template = f"apiVersion: template.openshift.io/v1\nkind: Template\nmetadata: {{name: t}}\nobjects:\n-{vm[1:]}\n"
    asking = BASE.replace("devices: {}", "resources: {requests: {cpu: 2}}\n        devices: {}")
    gated = BASE.replace("devices: {}", "devices: {hostDevices: [{name: a, deviceName: x/y}]}")
    shapes = {"web": ODD, "huge": BASE.replace("8Gi", "9Ti"), "asking": asking, "layout": HEADROOM, "gated": gated}
    vms = "---\n".join(text.replace("name: web", f"name: {name}") for name, text in shapes.items())
    tree(tmp_path, {"t.yaml": template, "vms.yaml": vms, "k/vm.yaml": BASE, "k/kustomization.yaml": "resources: [vm.yaml]\n"})
    tree(tmp_path, {"use.csv": "namespace,name,vcpus,memory\ndefault,web,0.5,2Gi\ndefault,huge,0.5,9Ti\n"})
    schema = json.loads(run("schema", "suggest", cwd=tmp_path)[1])
    Draft202012Validator.check_schema(schema)
    seen = set()
    for words in ((), ("--own",), ("--own", "--allow-smaller"), ("--usage", "use.csv"), ("--own", "--preference", "linux")):
        found = json.loads(run("suggest", ".", "-o", "json", *words, cwd=tmp_path)[1])
        assert [error.message for error in Draft202012Validator(schema).iter_errors(found)] == []
        seen |= {*found, *(key for each in found["vms"] for key in each), *(key for each in found["groups"] for key in each)}
    parts = schema["properties"]
    assert seen == {*parts, *(key for part in ("vms", "groups") for key in parts[part]["items"]["properties"])}


def test_a_row_of_csv_has_the_class_and_the_file(tmp_path):
    tree(tmp_path, {"vm.yaml": BASE})
    (row,) = csv.DictReader(io.StringIO(run("suggest", "vm.yaml", "-o", "csv", cwd=tmp_path)[1]))
    assert row == {
        "target": "",
        "file": "vm.yaml",
        "namespace": "default",
        "name": "web",
        "class": "exact",
        "instancetype": "u1.large",
        "preference": "",
        "changes": "",
        "if_it_runs": "changes at the next start",
    }


def test_a_vm_in_a_template_is_suggested_and_not_converted(tmp_path):
    vm = "\n".join(f"  {line}" for line in BASE.splitlines()[1:])
    template = f"apiVersion: template.openshift.io/v1\nkind: Template\nmetadata: {{name: t}}\nobjects:\n-{vm[1:]}\n"
    tree(tmp_path, {"t.yaml": template})
    (found,) = json.loads(run("suggest", ".", "-o", "json", cwd=tmp_path)[1])["vms"]
    assert (found["template"], found["class"], found["instancetype"]["name"]) == ("t", "exact", "u1.large")
    assert "left alone: it stands in a template" in run("convert", ".", cwd=tmp_path)[2]
    assert (tmp_path / "t.yaml").read_text() == template
