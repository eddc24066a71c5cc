"""`--policy` and the paths in the config of a repository: which files are read, and how findings are shown in every format."""

import json
import os
from xml.etree import ElementTree as ET

import pytest
import yaml
from checking import run
from committing import commit, git
from trees import tree

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web
  namespace: shop
spec:
  runStrategy: Always
  instancetype: {name: u1.small}
  template: {spec: {domain: {devices: {}}}}
"""
POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: owned
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [kubevirt.io], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [virtualmachines]}
  validations:
  - expression: has(object.metadata.labels) && 'owner' in object.metadata.labels
    message: the VM has no owner
"""
BINDING = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: everywhere}
spec: {policyName: owned, validationActions: [Deny]}
"""
SHOP = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
LINE = "error: vms/vm.yaml:1:1: VirtualMachine shop/web: the VM has no owner (policy/owned)\n"


@pytest.fixture
def closed(tmp_path):
    """A folder with a policy that may not be read."""
    folder = tree(tmp_path, {"vm.yaml": VM, "policies/owned.yaml": POLICY})
    (folder / "policies" / "owned.yaml").chmod(0o000)
    if os.access(folder / "policies" / "owned.yaml", os.R_OK):
        pytest.skip("this user may read everything")
    return folder


@pytest.fixture
def here(tmp_path):
    return tree(tmp_path, {"vms/vm.yaml": VM, "vms/ns.yaml": SHOP, "policies/owned.yaml": POLICY, "policies/b.yaml": BINDING})


@pytest.mark.parametrize(
    "flags",
    [
        ("--policy", "policies"),
        ("--policy", "policies/"),
        ("--policy", "policies/owned.yaml"),
        ("--policy", "policies/owned.yaml", "--policy", "policies/b.yaml"),
        ("--policy", "policies", "--policy", "policies/owned.yaml"),
        ("--policy", "policies", "--isolated"),
    ],
)
def test_files_and_folders_are_read_once(here, flags):
    assert run("check", "vms", *flags, cwd=here) == (1, LINE, "")


def test_render_prints_no_policy(here):
    code, out, err = run("render", "vms/vm.yaml", "--policy", "policies", "--fail-on", "never", cwd=here)
    assert code == 0
    assert [each["kind"] for each in yaml.safe_load_all(out)] == ["VirtualMachine"]
    assert "the VM has no owner (policy/owned)" in err


def test_a_policy_in_the_bundle_and_in_the_flag_is_one(here):
    assert run("check", ".", "--policy", "policies", cwd=here) == (1, LINE, "")


def test_a_finding_points_to_the_line_of_the_field_that_the_validation_reads(here):
    rule = POLICY.replace(
        "has(object.metadata.labels) && 'owner' in object.metadata.labels", "object.spec.runStrategy != 'Always'"
    )
    tree(here, {"policies/owned.yaml": rule})
    line = "error: vms/vm.yaml:7:16: VirtualMachine shop/web: spec.runStrategy: the VM has no owner (policy/owned)\n"
    assert run("check", "vms", "--policy", "policies", cwd=here) == (1, line, "")


def test_cases_in_a_folder_of_policies_are_no_policies(here):
    bad = {"policies/bad/input.yaml": POLICY.replace("owned", "another"), "policies/bad/expected.yaml": "findings: []\n"}
    assert run("check", "vms", "--policy", "policies", cwd=tree(here, bad)) == (1, LINE, "")


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("absent", "absent: No such file or directory"),
        ("vms", "vms: there is no policy, binding or parameter in it; expected a ValidatingAdmissionPolicy, its binding or"),
        ("empty", "no Kubernetes object found in empty; expected YAML or JSON with policies"),
        ("cycle.yaml", "cycle.yaml:2:6: this alias is inside its own anchor"),
        ("broken.yaml", "broken.yaml:2:1: a ',' or a closing bracket is missing here"),
        ("wide.yaml", "wide.yaml:6:40: the aliases expand to more than 100,000 values"),
        ("deep.yaml", "deep.yaml:1:507: maps and lists are nested deeper than 500 levels"),
        ("dangling.yaml", "dangling.yaml: No such file or directory"),
        ("links", "links/dangling.yaml: No such file or directory"),
        ("cycle", "cycle: Too many levels of symbolic links"),
        ("pipes", "pipes/pipe.yaml: it is a named pipe; expected a file"),
        ("", "found an empty path; expected a file or a folder of policies"),
    ],
)
def test_what_has_no_policy_or_cannot_be_read_is_one_line_with_its_place(here, path, error):
    levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9))
    files = {
        "empty/notes.txt": "none\n",
        "cycle.yaml": "a: &a\n  b: *a\n",
        "broken.yaml": "kind: [a\n",
        "wide.yaml": f"a0: &a0 [x]\n{levels}",
        "deep.yaml": f"kind: x\nkind2: {'[' * 600}{']' * 600}\n".replace("kind: x\n", ""),
    }
    tree(here, files)
    (here / "links").mkdir()
    for link, target in (("dangling.yaml", "absent"), ("links/dangling.yaml", "absent"), ("cycle", "cycle")):
        (here / link).symlink_to(target)
    (here / "pipes").mkdir()
    os.mkfifo(here / "pipes" / "pipe.yaml")
    code, out, err = run("check", "vms", "--policy", path, cwd=here)
    assert (code, out) == (2, "")
    assert err.startswith(f"kubevirt-render: error: {error}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("path", ["policies", "policies/owned.yaml"])
@pytest.mark.parametrize("command", ["check", "render"])
def test_a_policy_that_may_not_be_read_is_one_line(closed, command, path):
    code, out, err = run(command, "vm.yaml", "--policy", path, cwd=closed)
    assert (code, out, err) == (2, "", "kubevirt-render: error: policies/owned.yaml: Permission denied\n")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("kind: [a\n", "own/b.yaml:2:1: a ',' or a closing bracket is missing here\n"),
        (VM, "own/b.yaml: there is no policy, binding or parameter in it; expected a Valid"),
    ],
)
def test_a_wrong_file_of_policies_of_the_config_is_named(here, text, error):
    config = "kind: RenderVirtualMachines\nspec: {policies: [own/b.yaml]}\n"
    tree(here, {".kubevirt-render.yaml": config, "own/b.yaml": text})
    git(here, "init", "-q")
    code, out, err = run("check", "vms", cwd=here)
    assert (code, out) == (2, "")
    assert err.startswith(f"kubevirt-render: error: {error}")


def test_a_link_out_of_a_folder_of_policies_is_an_error_and_not_a_policy_less(here, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "more.yaml"
    outside.write_text(POLICY)
    (here / "policies" / "more.yaml").symlink_to(outside)
    code, out, err = run("check", "vms", "--policy", "policies", cwd=here)
    assert (code, out) == (2, "")
    assert err.startswith("kubevirt-render: error: policies/more.yaml: ")


def test_a_huge_policy_is_one_finding(here):
    rows = "".join(f"  - {{expression: object.metadata.name != 'x{n}', message: m{n}}}\n" for n in range(40_000))
    huge = POLICY.replace("owned", "huge") + rows
    code, out, _ = run("check", "vms", "--policy", "huge.yaml", cwd=tree(here, {"huge.yaml": huge}))
    assert (code, out) == (
        0,
        (
            "warning: huge.yaml:6:3: ValidatingAdmissionPolicy huge: spec: the policy huge is not evaluated: it has more "
            "than 100,000 values, which no API server stores; split it (policy-not-evaluated)\n"
        ),
    )


def test_a_refused_expression_is_found_at_its_line(here):
    broken = POLICY.replace("has(object.metadata.labels) && 'owner' in object.metadata.labels", "objct.kind == 'x'")
    code, out, _ = run("check", "vms", "--policy", "broken.yaml", cwd=tree(here, {"broken.yaml": f"# one\n---\n{broken}"}))
    assert code == 1
    assert out.startswith("error: broken.yaml:12:17: ValidatingAdmissionPolicy owned: spec.validations[0].expression: the API ")


CONFIG = "kind: RenderVirtualMachines\nspec:\n  policies: [{}]\n"


def test_the_config_of_a_repository_names_files_relative_to_itself(here):
    tree(here, {".kubevirt-render.yaml": CONFIG.format("policies")})
    git(here, "init", "-q")
    assert run("check", "vms", cwd=here) == (1, LINE, "")
    assert run("check", ".", cwd=here / "vms")[1] == LINE.replace("vms/", "")
    assert run("check", "vms", "--isolated", cwd=here)[0] == 0


def test_the_config_may_hold_the_objects_themselves(here):
    inline = "\n".join(f"    {line}" for line in POLICY.splitlines())
    config = f"kind: RenderVirtualMachines\nspec:\n  policies:\n  -\n{inline}\n"
    assert run("check", "vms", cwd=tree(here, {".kubevirt-render.yaml": config}))[:2] == (
        0,
        "",
    )  # in no repository, and not named
    assert run("check", "vms", "--config", ".kubevirt-render.yaml", cwd=here)[:2] == (1, LINE)


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("polices", "spec.policies[0]: there is no polices; expected a path relative to this file"),
        (
            "../out",
            "spec.policies[0]: ../out is outside of the repository; move it into the repository, or name it with --policy",
        ),
        ("vms", ""),
    ],
)
def test_a_wrong_path_in_the_config_is_an_error_with_its_place(here, path, error):
    tree(here.parent, {"out/p.yaml": POLICY})
    tree(here, {".kubevirt-render.yaml": CONFIG.format(path)})
    git(here, "init", "-q")
    code, out, err = run("check", "vms", cwd=here)
    assert out == ""
    assert err.startswith(
        f"kubevirt-render: error: .kubevirt-render.yaml:3:14: {error}" if error else "kubevirt-render: error: vms: "
    )
    assert code == 2


def test_each_cluster_has_policies_of_its_own(here):
    clusters = "[{name: a, targets: [a], policies: [policies]}, {name: b, targets: [b]}]"
    config = f"kind: RenderVirtualMachines\nspec:\n  clusters: {clusters}\n"
    tree(here, {".kubevirt-render.yaml": config, "a/vm.yaml": f"{VM}---\n{SHOP}", "b/vm.yaml": VM})
    git(here, "init", "-q")
    assert run("check", ".", "--exclude", "vms", cwd=here)[1] == LINE.replace("vms/", "a/")


def formatted(here, form):
    code, out, err = run("check", "vms", "--policy", "policies", "-o", form, cwd=here)
    assert (code, err) == (1, "")
    return out


def test_json_has_the_tags(here):
    (result,) = json.loads(formatted(here, "json"))["results"]
    assert result["tags"] == {"rule": "policy/owned", "binding": "everywhere", "validation": "0", "upstream": "admission"}
    assert (result["file"], result["line"]) == ({"path": "vms/vm.yaml", "index": 0}, 1)


def test_sarif_has_an_entry_for_the_policy(here):
    (ran,) = json.loads(formatted(here, "sarif"))["runs"]
    (rule,) = ran["tool"]["driver"]["rules"]
    assert (rule["id"], rule["shortDescription"]["text"]) == ("policy/owned", "The policy owned")
    assert "helpUri" not in rule
    (result,) = ran["results"]
    assert (result["ruleId"], result["ruleIndex"], result["level"]) == ("policy/owned", 0, "error")
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "vms/vm.yaml"


def test_junit_and_tap_name_the_policy(here):
    (failure,) = ET.fromstring(formatted(here, "junit")).iter("failure")
    assert (failure.get("type"), failure.get("message")) == ("policy/owned", "the VM has no owner")
    assert "not ok 2 - policy/owned: VirtualMachine shop/web\n" in formatted(here, "tap")


@pytest.mark.parametrize(
    ("form", "part"),
    [
        ("github", "::error file=vms/vm.yaml,line=1,col=1,title=policy/owned::VirtualMachine shop/web: the VM has no owner\n"),
        ("gitlab", '"check_name": "policy/owned"'),
        ("markdown", "| :x: | `vms/vm.yaml:1:1` | `VirtualMachine shop/web` | the VM has no owner (policy/owned) |\n"),
    ],
)
def test_the_other_formats_name_place_and_policy(here, form, part):
    assert part in formatted(here, form)


def test_a_baseline_knows_findings_of_policies(here):
    flags = ("--policy", "policies", "--baseline", "known.yaml")
    assert run("check", "vms", *flags, "--update-baseline", cwd=here)[0] == 0
    assert run("check", "vms", *flags, cwd=here)[:2] == (0, "")
    _, out, _ = run("check", "vms", "--baseline", "known.yaml", cwd=here)
    assert "unused-baseline-entry" in out


def test_a_flag_turns_a_policy_off(here):
    assert run("check", "vms", "--policy", "policies", "--severity", "policy/owned=off", cwd=here) == (0, "", "")


def test_cached_targets_are_judged_again_when_a_policy_changes(here, tmp_path):
    tree(here, {"vms/kustomization.yaml": "resources: [vm.yaml, ns.yaml]\n"})
    flags = ("--policy", "policies", "--cache", str(tmp_path / "cache"))
    assert run("check", "vms", *flags, cwd=here)[0] == 1
    assert run("check", "vms", *flags, cwd=here)[0] == 1
    tree(here, {"policies/owned.yaml": POLICY.replace("has(object.metadata.labels) && ", "true || ")})
    assert run("check", "vms", *flags, cwd=here) == (0, "", "")


SAME = POLICY.replace("owned", "same-size").replace(
    "has(object.metadata.labels) && 'owner' in object.metadata.labels",
    "oldObject == null || object.spec.instancetype == oldObject.spec.instancetype",
)


@pytest.fixture
def repository(tmp_path):
    """A commit with a VM and policies; the working tree has a larger VM and a new one."""
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    rules = {
        "rules/same.yaml": SAME.replace("the VM has no owner", "the size stays"),
        "rules/b.yaml": BINDING.replace("owned", "same-size"),
    }
    once = POLICY.replace("owned", "once").replace(", UPDATE", "").replace("has(object.metadata.labels) &&", "false &&")
    commit(root, {"vms/vm.yaml": VM, "vms/ns.yaml": SHOP, **rules, "rules/once.yaml": once})
    return tree(root, {"vms/vm.yaml": VM.replace("u1.small", "u1.large"), "vms/new.yaml": VM.replace("web", "new")})


def test_an_object_of_the_base_is_updated_and_a_new_one_is_created(repository):
    code, out, err = run("check", "vms", "--base", "main", "--policy", "rules", cwd=repository)
    assert (code, err) == (1, "")
    assert out == (
        "error: vms/new.yaml:1:1: VirtualMachine shop/new: the VM has no owner (policy/once)\n"
        "error: vms/vm.yaml:1:1: VirtualMachine shop/web: the size stays (policy/same-size)\n"
    )


@pytest.mark.parametrize("flags", [(), ("--no-cache",), ("--jobs", "2")])
def test_the_objects_of_a_kustomization_are_updated(repository, flags):
    kustomized = {"vms/kustomization.yaml": "resources: [vm.yaml, ns.yaml]\n"}
    git(repository, "stash", "-q", "-u")
    commit(repository, kustomized)
    git(repository, "stash", "pop", "-q")
    for _ in range(2):
        _, out, _ = run("check", "vms", "--base", "main", "--policy", "rules", *flags, cwd=repository)
        assert "the size stays [target vms] (policy/same-size)" in out or "the size stays (policy/same-size)" in out
        assert "shop/web: the VM has no owner" not in out


def test_policies_of_the_bundle_compare_with_the_base(repository):
    _, out, _ = run("check", ".", "--base", "main", cwd=repository)
    assert "vms/vm.yaml:1:1: VirtualMachine shop/web: the size stays (policy/same-size)" in out


def test_diff_says_which_policy_refuses_the_update(repository):
    code, out, _ = run("diff", "--base", "main", "--policy", "rules", "vms", cwd=repository)
    assert code == 1
    assert "VirtualMachine shop/web in vms: a policy refuses the update\n  refused: the size stays (policy/same-size)\n" in out
    assert "  error: the VM has no owner (policy/once)\n" in out


def test_diff_without_policies_refuses_nothing(repository):
    code, out, _ = run("diff", "--base", "main", "vms", cwd=repository)
    assert (code, "policy" in out) == (0, False)


def test_diff_of_two_files_has_the_policies_in_its_answer(repository):
    tree(repository, {"old.yaml": VM + "---\n" + SHOP, "new.yaml": VM.replace("u1.small", "u1.large") + "---\n" + SHOP})
    code, out, _ = run("diff", "old.yaml", "new.yaml", "--policy", "rules", "-o", "json", cwd=repository)
    (record,) = json.loads(out)["vms"]
    assert (code, record["effect"], record["update"]["stage"]) == (1, ["refusedByPolicy"], "policy")
    assert record["policies"] == [
        {"rule": "policy/same-size", "severity": "error", "message": "the size stays", "binding": "everywhere"}
    ]


def test_diff_reports_a_rendered_policy_that_an_instancetype_breaks_and_refuses_nothing(repository):
    rendered = POLICY.replace("name: owned", "name: two\n  annotations: {kubevirt-render.dev/evaluate: rendered}").replace(
        "has(object.metadata.labels) && 'owner' in object.metadata.labels",
        "object.spec.template.spec.domain.?cpu.?sockets.orValue(1) < 2",
    )
    size = (
        "apiVersion: instancetype.kubevirt.io/v1beta1\nkind: VirtualMachineInstancetype\nmetadata: {name: s, namespace: shop}\n"
    )
    vm = VM.replace("{name: u1.small}", "{name: s, kind: VirtualMachineInstancetype}") + "---\n" + size
    old, new = (f"{vm}spec: {{cpu: {{guest: {count}}}, memory: {{guest: 1Gi}}}}\n" for count in (1, 4))
    tree(repository, {"old.yaml": old, "new.yaml": new, "two.yaml": rendered})
    code, out, _ = run("diff", "old.yaml", "new.yaml", "--policy", "two.yaml", cwd=repository)
    assert code == 1
    assert "  error: the VM has no owner (policy/two)\n" in out
    assert "a policy refuses" not in out
    assert run("diff", "old.yaml", "new.yaml", "--policy", "two.yaml", "--fail-on", "never", cwd=repository)[0] == 0
    assert "policy" not in run("diff", "new.yaml", "new.yaml", "--policy", "two.yaml", cwd=repository)[1]


BROKEN = POLICY.replace("has(object.metadata.labels) &&", "has(object.metadata.labels) &&&")
REFUSED = (
    "ValidatingAdmissionPolicy owned: spec.validations[0].expression: the API server refuses this expression: "
    "there is no CEL at character 31; correct it (refused-policy)\n"
)


def test_diff_says_that_a_new_policy_is_refused(repository):
    both = VM + "---\n" + SHOP
    tree(repository, {"old.yaml": both, "new.yaml": both + "---\n" + BROKEN})
    code, out, _ = run("diff", "old.yaml", "new.yaml", cwd=repository)
    assert (code, out) == (1, f"error: {REFUSED}\nnone of 1 VM changes\n")
    assert run("diff", "old.yaml", "new.yaml", "--fail-on", "never", cwd=repository)[0] == 0
    assert (
        "- error: ValidatingAdmissionPolicy owned: " in run("diff", "old.yaml", "new.yaml", "-o", "markdown", cwd=repository)[1]
    )
    assert run("diff", "new.yaml", "new.yaml", cwd=repository)[:2] == (0, "none of 1 VM changes\n")


def test_diff_names_the_target_of_a_policy_that_is_changed_so_that_it_is_refused(repository):
    git(repository, "stash", "-q", "-u")
    commit(repository, {"vms/policy.yaml": POLICY})
    tree(repository, {"vms/policy.yaml": BROKEN})
    code, out, _ = run("diff", "--base", "HEAD", "vms", cwd=repository)
    assert (code, out) == (1, f"error in vms: {REFUSED}\nnone of 1 VM changes\n")


def test_diff_says_which_policy_of_the_flag_it_does_not_evaluate(repository):
    tree(repository, {"who.yaml": POLICY.replace("has(object.metadata.labels)", "request.userInfo.username == 'a'")})
    _, out, _ = run("diff", "vms/vm.yaml", "vms/vm.yaml", "--policy", "who.yaml", "-o", "json", cwd=repository)
    assert json.loads(out)["policies"] == [
        {
            "rule": "policy-not-evaluated",
            "severity": "warning",
            "message": "ValidatingAdmissionPolicy owned: spec.validations[0].expression: the policy owned is not evaluated: "
            "request.userInfo is known to the cluster only",
        }
    ]


def test_a_rendered_policy_compares_objects_that_hold_no_vm_with_the_base(repository):
    rendered = SAME.replace("name: same-size", "name: same-size\n  annotations: {kubevirt-render.dev/evaluate: rendered}")
    _, out, _ = run(
        "check", "vms", "--base", "main", "--policy", tree(repository, {"r.yaml": rendered}) / "r.yaml", cwd=repository
    )
    assert "policy-not-evaluated" not in out
