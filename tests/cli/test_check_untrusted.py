"""Nothing in the files that are checked says how they are judged, unless the caller lets it."""

import json
import os
from pathlib import Path

import pytest
from checking import CONFLICT, IGNORED, SIZE, check, run, write
from running import helm
from trees import tree

RULE = "instancetype-conflict"
SPEC = 'failOn: never, severity: {instancetype-conflict: "off"}'
CONFIG = "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nmetadata: {name: render}\nspec: {%s}\n"
LIST = f"""\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
functionConfig:
  apiVersion: kubevirt-render.dev/v1alpha1
  kind: RenderVirtualMachines
  metadata: {{name: render}}
  spec: {{{SPEC}}}
items:
- {"".join(f"  {line}" for line in CONFLICT.splitlines(keepends=True))[2:]}"""
CLUSTER_WIDE = LIST.replace("kind: VirtualMachineInstancetype, name: small", "name: u1.small")
# A definition that lets everything pass.
LAX = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: virtualmachines.kubevirt.io}
spec:
  group: kubevirt.io
  names: {kind: VirtualMachine, plural: virtualmachines}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
MISSPELT = CONFLICT.replace("cpu: {cores: 4}", "cpuu: {cores: 4}")


def found(*arguments, cwd, **more):
    """The exit code, and the rules that said something."""
    code, out, _ = check(*arguments, "-o", "json", cwd=cwd, **more)
    return code, [each["tags"]["rule"] for each in json.loads(out)["results"]] if out else out


@pytest.fixture
def folder(tmp_path):
    """A repository with a conflict, and no config."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "vms").mkdir()
    write(tmp_path / "vms", size=SIZE, web=CONFLICT)
    return tmp_path


# ---- function configs


def test_the_function_config_of_a_list_in_a_folder_configures_nothing(folder):
    write(folder / "vms", extra=LIST)
    (folder / "vms" / "web.yaml").unlink()
    assert found("vms", cwd=folder) == (1, [RULE])
    assert found("vms", "--fail-on", "error", cwd=folder) == (1, [RULE])


def test_the_function_config_of_a_list_beside_other_paths_configures_nothing(folder):
    write(folder, extra=LIST)
    assert found("extra.yaml", "vms/size.yaml", cwd=folder) == (1, [RULE])


def test_the_config_of_the_repository_counts_in_its_place(folder):
    write(folder / "vms", extra=LIST)
    (folder / "vms" / "web.yaml").unlink()
    (folder / ".kubevirt-render.yaml").write_text(CONFIG % "severity: {instancetype-conflict: warning}, failOn: warning")
    assert found("vms", cwd=folder) == (1, [RULE])
    assert found("vms", "--fail-on", "error", cwd=folder) == (0, [RULE])


def test_the_function_config_of_the_one_path_and_of_stdin_configures(folder):
    write(folder, extra=CLUSTER_WIDE)
    assert found("extra.yaml", cwd=folder) == (0, [])
    assert found("-", cwd=folder, stdin=CLUSTER_WIDE) == (0, [])


def test_flags_beat_the_function_config_that_counts(folder):
    write(folder, extra=CLUSTER_WIDE)
    flags = ("--fail-on", "error", "--severity", "instancetype-conflict=error")
    assert found("extra.yaml", *flags, cwd=folder) == (1, [RULE])
    assert found("extra.yaml", "vms/size.yaml", cwd=folder)[0] == 1


def test_a_function_config_that_counts_for_nothing_is_named_on_stderr(folder):
    write(folder / "vms", extra=LIST, more=LIST.replace("name: web", "name: db"))
    _, _, err = check("vms", cwd=folder)
    fact = "a functionConfig is used only from stdin, or from a list that is the only path; name a config with --config"
    assert err == f"kubevirt-render: note: vms/extra.yaml and 1 other file: {fact}\n"


def test_expanded_beats_a_config_that_turns_its_rule_off(folder):
    (folder / ".kubevirt-render.yaml").write_text(CONFIG % 'severity: {unexpanded-vm: "off", instancetype-conflict: "off"}')
    assert found("vms", cwd=folder) == (0, [])
    assert found("vms", "--expanded", cwd=folder) == (1, ["unexpanded-vm"])
    assert found("vms", "--expanded", "--severity", "unexpanded-vm=warning", cwd=folder) == (0, ["unexpanded-vm"])
    assert found("vms", "--expanded", "--severity", "unexpanded-vm=off", cwd=folder) == (0, [])


# ---- --isolated


def test_isolated_reads_no_config_of_the_tree(folder):
    (folder / "vms" / ".kubevirt-render.yaml").write_text(CONFIG % SPEC)
    assert found("vms", cwd=folder) == (0, [])
    assert found("vms", "--isolated", cwd=folder) == (1, [RULE])
    assert run("render", "vms", "--isolated", cwd=folder)[0] == 1


def test_isolated_reads_no_function_config(folder):
    write(folder, extra=CLUSTER_WIDE)
    assert found("extra.yaml", "--isolated", cwd=folder) == (1, [RULE])
    assert found("-", "--isolated", cwd=folder, stdin=CLUSTER_WIDE) == (1, [RULE])


def test_isolated_does_not_stop_at_a_config_of_the_tree_that_is_wrong(folder):
    (folder / ".kubevirt-render.yaml").write_text("kind: nonsense")
    assert found("vms", "--isolated", cwd=folder) == (1, [RULE])


def test_a_config_that_is_named_and_flags_count_in_isolation(folder):
    (folder / "own.yaml").write_text(CONFIG % "severity: {instancetype-conflict: warning}")
    (folder / ".kubevirt-render.yaml").write_text(CONFIG % SPEC)
    assert found("vms", "--isolated", "--config", "own.yaml", cwd=folder) == (0, [RULE])
    assert found("vms", "--isolated", "--fail-on", "never", cwd=folder) == (0, [RULE])


def test_isolated_holds_machines_against_the_release_and_no_definition_of_the_tree(folder):
    write(folder / "vms", web=MISSPELT, lax=LAX)
    assert found("vms", cwd=folder) == (0, [])
    assert found("vms", "--isolated", cwd=folder) == (1, ["unknown-field"])
    assert found("vms", "--isolated", "--schemas", "vms/lax.yaml", cwd=folder) == (0, [])


def test_isolated_still_holds_other_kinds_against_their_definitions(folder):
    gadget = "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: a}\nspec: {size: big}\n"
    schema = "{type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}"
    definition = (
        LAX.replace("kubevirt.io\nspec", "example.com\nspec")
        .replace("group: kubevirt.io", "group: example.com")
        .replace("kind: VirtualMachine,", "kind: Gadget,")
        .replace("{type: object, x-kubernetes-preserve-unknown-fields: true}", schema)
    )
    write(folder / "vms", web=gadget, gadgets=definition)
    assert found("vms", "--isolated", cwd=folder) == (1, ["wrong-type"])


# ---- --no-ignores


def test_no_ignores_tells_what_annotations_silence(folder):
    write(folder / "vms", web=IGNORED)
    silent = found("vms", cwd=folder)
    assert (silent[0], RULE in silent[1]) == (0, False)
    loud = found("vms", "--no-ignores", cwd=folder)
    assert (loud[0], RULE in loud[1]) == (1, True)
    assert run("render", "vms", cwd=folder)[0] == 0
    assert run("render", "vms", "--no-ignores", cwd=folder)[0] == 1


def test_no_ignores_calls_no_ignore_unused_that_would_silence_something(folder):
    write(folder / "vms", web=IGNORED)
    assert "unused-ignore" not in found("vms", "--no-ignores", cwd=folder)[1]
    write(folder / "vms", web=IGNORED.replace("instancetype-conflict:", "missing-object:"))
    assert "unused-ignore" in found("vms", "--no-ignores", cwd=folder)[1]


# ---- files that pass for something else


def test_a_machine_in_a_file_that_is_named_like_a_kustomization_is_checked(folder):
    (folder / "vms" / "web.yaml").rename(folder / "vms" / "kustomization.yaml")
    assert found("vms", cwd=folder) == (1, [RULE])


# ---- what was silenced


def figures(*arguments, cwd):
    return check("vms", "--summary", *arguments, cwd=cwd)[1].splitlines()[-1]


def test_the_summary_says_how_many_findings_were_silenced_and_by_what(folder):
    write(folder / "vms", old=IGNORED)
    read = "in 4 objects of 3 files, KubeVirt 1.9.0"
    assert figures(cwd=folder) == f"1 error, 1 warning, 0 info {read}, 1 suppressed (1 by an ignore)"
    check("vms", "--baseline", "known.yaml", "--update-baseline", cwd=folder)
    suppressed = "3 suppressed (1 by an ignore, 2 by the baseline)"
    assert figures("--baseline", "known.yaml", cwd=folder) == f"0 errors, 0 warnings, 0 info {read}, {suppressed}"
    (folder / ".kubevirt-render.yaml").write_text(CONFIG % 'severity: {instancetype-conflict: "off"}')
    assert figures(cwd=folder) == f"0 errors, 1 warning, 0 info {read}, 2 suppressed (2 by the config)"
    flag, suppressed = "deprecated-field=off", "3 suppressed (2 by the config, 1 by --severity)"
    assert figures("--severity", flag, cwd=folder) == f"0 errors, 0 warnings, 0 info {read}, {suppressed}"
    assert figures("--isolated", "--no-ignores", cwd=folder) == f"2 errors, 1 warning, 0 info {read}"


def test_a_rule_that_nobody_asked_for_is_not_counted_as_silenced(folder):
    write(folder / "vms", web=CONFLICT.replace("cpu: {cores: 4}", "machine: {type: q35}"))
    counted = "0 errors, 0 warnings, 0 info in 2 objects of 2 files, KubeVirt 1.9.0"
    assert figures("--severity", "unexpanded-vm=off", cwd=folder) == counted


def test_a_rule_that_is_off_explains_no_other_finding(folder):
    nets = "devices: {interfaces: [{name: default, masquerade: {}}]}\n        networks: [{name: default, pod: {}}]"
    write(folder / "vms", web=CONFLICT.replace("cpu: {cores: 4}\n        devices: {}", nets))
    assert found("vms", cwd=folder)[1] == ["unknown-field"]
    assert set(found("vms", "--severity", "unknown-field=off", cwd=folder)[1]) == {"refused-network"}


def test_json_counts_what_was_silenced_by_its_cause(folder):
    write(folder / "vms", old=IGNORED)
    _, out, _ = check("vms", "-o", "json", "--severity", "deprecated-field=off", cwd=folder)
    assert json.loads(out)["summary"]["suppressed"] == {"ignore": 1, "baseline": 0, "config": 0, "flag": 1}


OUT_OF_SIGHT = {
    "hidden/.vm.yaml": {},
    ".hidden/vm.yaml": {},
    "node_modules/a/vm.json": {},
    "vendor/vm.yaml": {"vendor/modules.txt": ""},
    "chart/crds/vm.yaml": {"chart/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n"},
    "chart/values-vm.yaml": {"chart/Chart.yaml": "x: y\n"},
    "data/vm.yaml": {"data/kustomization.yaml": "configMapGenerator: [{name: a, files: [vm.yaml]}]\n"},
    "more/vm.yaml": {"more/kustomization.yaml": "openapi: {path: vm.yaml}\n"},
    "old/vm.yaml": {".kubevirt-render.yaml": "kind: RenderVirtualMachines\nspec: {exclude: [old]}\n"},
}


@pytest.mark.parametrize("file", OUT_OF_SIGHT)
def test_the_summary_names_a_file_that_nothing_judges(folder, file):
    for name, text in {file: CONFLICT, **OUT_OF_SIGHT[file], "other/.x.yaml": "a: b\n"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "vms" / "web.yaml").unlink()
    code, _, err = check(".", "--summary", cwd=folder)
    assert (code, f"note: not judged: 1 file that may have objects of KubeVirt: {file}\n" in err) == (0, True)


def test_no_file_that_is_judged_is_named_as_unjudged(folder):
    patch = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web, namespace: shop}\nspec: {running: null}\n"
    kustomization = "resources: [size.yaml, web.yaml]\npatches: [{path: patch.yaml}]\n"
    write(folder / "vms", kustomization=kustomization, patch=patch)
    (folder / "linked").symlink_to("vms")
    assert "not judged" not in check(".", "--summary", cwd=folder)[2]


def test_what_a_built_chart_makes_is_not_named_as_unjudged(folder, monkeypatch):
    monkeypatch.setenv("PATH", f"{Path(helm()).parent}{os.pathsep}{os.environ['PATH']}")
    chart = "apiVersion: v2\nname: %s\nversion: 1.0.0\n"
    files = {"Chart.yaml": chart % "c", "templates/a.yaml": CONFLICT, "crds/b.yaml": CONFLICT.replace("web", "b")}
    files |= {"charts/d/Chart.yaml": chart % "d", "charts/d/templates/c.yaml": CONFLICT.replace("web", "c")}
    tree(folder / "vms" / "chart", files)
    _, out, err = check(".", "--helm", "--summary", cwd=folder)
    assert ("in 5 objects of 5 files" in out, "not judged" in err) == (True, False)


# ---- Argo CD


def test_isolated_reads_no_config_of_an_application(folder):
    (folder / "vms" / ".kubevirt-render.yaml").write_text(CONFIG % SPEC)
    calm = run("argocd", "generate", cwd=folder / "vms")
    assert calm[0] == 0
    assert run("argocd", "generate", "--isolated", cwd=folder / "vms")[:2] == (1, "")
    parameters = json.dumps([{"name": "config", "string": ".kubevirt-render.yaml"}])
    code, out, err = run("argocd", "generate", "--isolated", cwd=folder / "vms", ARGOCD_APP_PARAMETERS=parameters)
    said = "parameter config: the parameter config cannot be combined with --isolated; remove one of them"
    assert (code, out, err) == (2, "", f"kubevirt-render: error: {said}\n")


# ---- names that no file can have


def test_a_path_with_a_null_byte_names_no_policy(folder):
    write(folder, **{".kubevirt-render": CONFIG % 'policies: ["a\\0"]'})
    code, out, err = check(".", cwd=folder)
    assert (code, out) == (2, "")
    assert err.startswith("kubevirt-render: error: .kubevirt-render.yaml:4:")
    assert r"spec.policies[0]: found 'a\x00'; expected an object with apiVersion, kind and metadata.name" in err


def test_a_path_with_a_null_byte_is_no_place_of_an_object(folder):
    named = CONFLICT.replace("metadata:\n", 'metadata:\n  annotations: {config.kubernetes.io/path: "a\\0"}\n', 1)
    assert found("-", cwd=folder, stdin=f"{named}---\n{SIZE}") == (1, [RULE])


def test_a_path_with_a_null_byte_is_no_input_of_a_case(folder):
    (folder / "vms" / "expected.yaml").write_text('inputs: ["a\\0"]\nfindings: []\n')
    code, out, _ = run("test", ".", cwd=folder)
    assert (code, "internal error" in out) == (1, False)
    assert "lies outside of the folder that is tested" in out


DEEP = CONFLICT.replace("apiVersion", '"api\\x56ersion"').replace("kind:", '"\\x6bind":') + f"x: {'[' * 600}{']' * 600}\n"


@pytest.mark.parametrize("text", [CONFLICT.encode("utf-16"), DEEP.encode(), DEEP.replace("\\x56", "\\u0056").encode()])
def test_no_file_that_kubectl_reads_is_passed_over(tmp_path, text):
    (tmp_path / "vm.yaml").write_bytes(text)
    (tmp_path / "other.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    code, out, _ = run("check", "--isolated", "--no-ignores", ".", cwd=tmp_path)
    assert (code, "(unreadable-document)" in out) == (1, True)


# ---- what only something takes away of which nobody knows that it is applied

WRONG = MISSPELT.replace("name: web}", "name: web, namespace: shop}")
FIXED = '[{"op": "replace", "path": "/spec/template/spec/domain", "value": {"devices": {}}}]'
DELETED = "{$patch: delete, apiVersion: kubevirt.io/v1, kind: VirtualMachine, metadata: {name: x}}"
OF_VMS = "target: {kind: VirtualMachine}"
APPLYING = (
    "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: dead, namespace: flux-system}\n"
    "spec: {path: ./app, sourceRef: {kind: GitRepository, name: flux-system}, %s}\n"
)
APPLICATION = (
    "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: dead, namespace: argocd}\n"
    "spec: {source: {repoURL: 'https://example.com/a.git', path: app, kustomize: {%s}}}\n"
)
PATCHES = f"patches: [{{{OF_VMS}, patch: '{DELETED}'}}]"
OF_WEB = PATCHES.replace("Machine}", "Machine, name: web}")
REMOVING = {
    "a patch": {"dead/kustomization.yaml": f"resources: [../app]\n{PATCHES}\n"},
    "a patch in a component": {
        "dead/kustomization.yaml": "resources: [../app]\ncomponents: [part]\n",
        "dead/part/kustomization.yaml": f"kind: Component\n{PATCHES}\n",
    },
    "a patch of the kind": {
        "dead/kustomization.yaml": (
            f"resources: [../app]\npatches: [{{{OF_VMS}, options: {{allowKindChange: true}}, "
            'patch: \'[{"op": "replace", "path": "/kind", "value": "Foo"}]\'}]\n'
        ),
    },
    "a patch among decoys": {
        "dead/kustomization.yaml": f"resources: [../app, vm.yaml]\nnamePrefix: web-\n{OF_WEB}\n",
        "dead/vm.yaml": CONFLICT.replace("name: web", "name: other").replace("cpu: {cores: 4}", ""),
    },
    "a transformer": {
        "dead/kustomization.yaml": "resources: [../app]\ntransformers: [t.yaml]\n",
        "dead/t.yaml": f"apiVersion: builtin\nkind: PatchTransformer\nmetadata: {{name: t}}\npatch: '{DELETED}'\n{OF_VMS}\n",
    },
    "Flux": {"dead/k.yaml": APPLYING % PATCHES},
    "Flux, suspended": {"dead/k.yaml": APPLYING % f"suspend: true, patches: [{{{OF_VMS}, patch: '{FIXED}'}}]"},
    "Argo CD": {"dead/k.yaml": APPLICATION % PATCHES},
}


def removed(folder: Path, files: dict[str, str]) -> list[str]:
    """The places of unknown fields in a repository with these files, beside an application whose VM has one."""
    tree(folder, {".git/HEAD": "", "app/kustomization.yaml": "resources: [vm.yaml]\n", "app/vm.yaml": WRONG, **files})
    _, out, _ = check("-o", "json", ".", cwd=folder)
    named = [each for each in json.loads(out)["results"] if each["tags"]["rule"] == "unknown-field"]
    return [f"{each['file']['path']}:{each['tags'].get('line', '')}" for each in named]


@pytest.mark.parametrize("files", REMOVING.values(), ids=[*REMOVING])
def test_no_object_goes_unjudged_because_everything_that_includes_it_removes_it(
    tmp_path: Path, files: dict[str, str], kustomize: Path
) -> None:
    assert [each.partition(":")[0] for each in removed(tmp_path, files)] == ["app/vm.yaml"]


KEEPING = {
    "another overlay": {**REMOVING["a patch"], "all/kustomization.yaml": "resources: [../app]\nnameSuffix: -1\n"},
    "a delivery": {**REMOVING["a patch"], "k.yaml": APPLYING % "namePrefix: x-"},
    "a rename": {
        "new/kustomization.yaml": (
            f"resources: [../app]\npatches: [{{{OF_VMS}, options: {{allowNameChange: true}}, "
            'patch: \'[{"op": "replace", "path": "/metadata/name", "value": "a"}]\'}]\n'
        )
    },
}


@pytest.mark.parametrize("files", KEEPING.values(), ids=[*KEEPING])
def test_what_another_target_has_is_judged_as_that_has_it(tmp_path: Path, files: dict[str, str], kustomize: Path) -> None:
    assert len(removed(tmp_path, files)) == 1


OF_FILES = [
    *(("capacity", "--nodes"), ("capacity", "--prices"), ("suggest", "--usage"), ("check", "--variables")),
    *(("check", "--config"), ("check", "--configuration"), ("check", "--baseline"), ("check", "--policy")),
]


@pytest.mark.parametrize("words", OF_FILES, ids=lambda words: words[1])
def test_no_flag_reads_a_link_out_of_the_repository(tmp_path: Path, words: tuple[str, str]) -> None:
    tree(tmp_path, {"secret.yaml": "a: b\n", "r/.git/HEAD": "", "r/vm.yaml": CONFLICT, "r/link.yaml": "-> ../secret.yaml"})
    code, _, err = run(*words, "link.yaml", "vm.yaml", cwd=tmp_path / "r")
    assert code
    assert "link.yaml: this symbolic link points outside the repository" in err


def test_one_large_file_is_not_applied_again_and_again(tmp_path: Path, kustomize: Path) -> None:
    elements = ", ".join(f"{{a: x{number}}}" for number in range(1_900))
    template = (
        "{metadata: {name: '{{a}}'}, spec: {destination: {namespace: shop}, "
        "source: {repoURL: 'https://example.com/a.git', path: app}}}"
    )
    made = (
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: s, namespace: argocd}\n"
        f"spec: {{generators: [{{list: {{elements: [{elements}]}}}}], template: {template}}}\n"
    )
    tree(tmp_path, {".git/HEAD": "", "as.yaml": made, "app/vm.yaml": CONFLICT + f"# {'a' * 40_000}\n"})
    code, _, err = check(".", cwd=tmp_path)
    assert code == 1
    assert "deliveries apply the same very often" in err
