"""What Flux applies of a repository is what commands judge: with what its Kustomizations set."""

import json
import os
import sys
from pathlib import Path

import pytest
import running
from checking import run
from committing import commit, git
from delivered import LISTS_VM, VM, check, vms
from trees import tree

pytestmark = pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)

FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %s, namespace: flux-system}
spec:
  interval: 1h
  prune: true
  path: ./%s
  sourceRef: {kind: GitRepository, name: flux-system}
%s"""


def flux(path: str, spec: str = "", name: str = "web") -> str:
    return FLUX % (name, path, "".join(f"  {line}\n" for line in spec.splitlines()))


def app(spec: str = "", vm: str = VM % ("web", "1Gi"), listing: str = LISTS_VM) -> dict[str, str]:
    """A folder with a VM, and the Kustomization that applies it."""
    return {"app/vm.yaml": vm, "app/kustomization.yaml": listing, "clusters/a/web.yaml": flux("app", spec)}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kustomize: Path) -> Path:
    monkeypatch.setenv("PATH", f"{Path(kustomize).parent}:{os.environ['PATH']}")
    git(tmp_path, "init", "-q", "-b", "main")
    return tmp_path


def changes(folder: Path, files: dict[str, str]) -> list[tuple[str, str, str]]:
    """What `diff` says of the VMs when these files are written."""
    tree(folder, files)
    _, out, _ = run("diff", "--base", "HEAD", "-o", "json", cwd=folder)
    return [(each["namespace"], each["name"], each["change"]) for each in json.loads(out)["vms"]]


PATCH = """\
patches:
- target: {kind: VirtualMachine}
  patch: |
    - {op: replace, path: /spec/template/spec/domain/memory/guest, value: 3Gi}
"""
STEPS = {
    "a namespace": ("targetNamespace: vms", ("vms", "web", "1Gi")),
    "a prefix and a suffix": ("namePrefix: a-\nnameSuffix: -b", ("default", "a-web-b", "1Gi")),
    "a patch": (PATCH, ("default", "web", "3Gi")),
    "a component": ("components: [../more]", ("default", "web", "4Gi")),
}
COMPONENT = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" + PATCH.replace("3Gi", "4Gi")


@pytest.mark.parametrize(("spec", "vm"), STEPS.values(), ids=[*STEPS])
def test_a_kustomization_of_flux_changes_what_is_judged(here: Path, spec: str, vm: tuple[str, str, str]) -> None:
    assert vms(tree(here, {**app(spec), "more/kustomization.yaml": COMPONENT})) == [vm]


def test_a_folder_without_a_kustomization_is_applied_whole(here: Path) -> None:
    files = {
        "app/vm.yaml": VM % ("web", "1Gi"),
        "app/below/vm.yaml": VM % ("db", "2Gi"),
        "ks.yaml": flux("app", "targetNamespace: vms"),
    }
    assert vms(tree(here, files)) == [("vms", "db", "2Gi"), ("vms", "web", "1Gi")]


def test_files_that_the_source_ignores_are_not_applied(here: Path) -> None:
    files = {"app/vm.yaml": VM % ("web", "1Gi"), "app/old/vm.yaml": VM % ("old", "2Gi"), ".sourceignore": "old/\n"}
    found = vms(tree(here, {**files, "ks.yaml": flux("app", "targetNamespace: vms")}))
    assert ("vms", "web", "1Gi") in found
    assert ("vms", "old", "2Gi") not in found


def test_files_from_elsewhere_in_the_repository_are_read(here: Path) -> None:
    files = app("targetNamespace: vms", listing="resources: [../base/vm.yaml]\n")
    assert vms(tree(here, {**files, "base/vm.yaml": VM % ("web", "2Gi")})) == [("vms", "web", "2Gi")]


def test_files_outside_of_the_repository_are_not_read(here: Path) -> None:
    outside = here.parent / "outside.yaml"
    outside.write_text(VM % ("secret", "2Gi"))
    found = check(tree(here, app("targetNamespace: vms", listing="resources: [vm.yaml, ../../outside.yaml]\n")))
    assert "which is outside the repository" in found
    assert "secret" not in found


VARIABLES = """\
postBuild:
  substitute: {NAME: web}
  substituteFrom: [{kind: ConfigMap, name: sizes}, {kind: Secret, name: more}]
"""
SIZES = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sizes, namespace: flux-system}\ndata: {MEMORY: 2Gi}\n"
MORE = "apiVersion: v1\nkind: Secret\nmetadata: {name: more, namespace: flux-system}\nstringData: {CORES: '4'}\n"
SUBSTITUTED = VM % ("${NAME}", '"${MEMORY}"')


def test_variables_get_the_values_that_git_has(here: Path) -> None:
    files = {**app(VARIABLES, SUBSTITUTED), "clusters/a/sizes.yaml": SIZES, "clusters/a/more.yaml": MORE}
    assert vms(tree(here, files)) == [("default", "web", "2Gi")]


def test_the_values_of_the_nearest_folder_count(here: Path) -> None:
    files = {**app(VARIABLES, SUBSTITUTED), "clusters/a/sizes.yaml": SIZES, "clusters/a/more.yaml": MORE}
    files |= {"clusters/b/sizes.yaml": SIZES.replace("2Gi", "5Gi"), "clusters/b/web.yaml": flux("app", VARIABLES)}
    assert sorted(vms(tree(here, files))) == [("default", "web", "2Gi"), ("default", "web", "5Gi")]


ENCRYPTED = (
    "apiVersion: v1\nkind: Secret\nmetadata: {name: more, namespace: flux-system}\ndata: {MEMORY: 'ENC[x]'}\nsops: {mac: x}\n"
)


def test_variables_without_a_known_value_are_named_and_stay(here: Path) -> None:
    files = {**app(VARIABLES.replace("{kind: ConfigMap, name: sizes}, ", ""), SUBSTITUTED), "more.yaml": ENCRYPTED}
    found = check(tree(here, files), "--verbose")
    assert "git has no value for MEMORY, which Flux takes from Secret more" in found
    assert "domain.memory.guest: ${MEMORY} is a placeholder" in found
    assert "kustomization-not-built" not in found


def test_values_from_outside_git_can_be_stated(here: Path) -> None:
    files = app(VARIABLES, SUBSTITUTED)
    config = "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nspec: {variables: {MEMORY: 6Gi}}\n"
    assert vms(tree(here, {**files, ".kubevirt-render.yaml": config})) == [("default", "web", "6Gi")]


def test_a_variable_without_a_value_is_an_error_and_the_files_are_judged(here: Path) -> None:
    spec = "targetNamespace: vms\npostBuild:\n  substitute: {NAME: web}\n"
    found = check(tree(here, app(spec, VM % ("${NAME}", "${MEMORY}") + "  wrong: 1\n")))
    assert (
        "error: clusters/a/web.yaml:1:1: Flux can't build this: VirtualMachine ${NAME}: the variable MEMORY has no value"
        in found
    )
    assert "app/vm.yaml:13:3: VirtualMachine vms/${NAME}: spec.wrong" in found


INSTANCE = """\
apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
metadata: {name: flux}
spec:
  distribution:
    registry: ghcr.io/fluxcd
    artifact: "oci://ghcr.io/controlplaneio-fluxcd/flux-operator-manifests%s"
    version: "%s"
"""
BOOTSTRAPPED = """\
apiVersion: v1
kind: Namespace
metadata:
  labels:
    app.kubernetes.io/part-of: flux
    app.kubernetes.io/version: v2.3.0
  name: flux-system
# kustomize.toolkit.fluxcd.io
"""
MANIFESTS = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: flux-manifests}
spec:
  interval: 10m
  url: oci://ghcr.io/fluxcd/flux-manifests
  ref:
    tag: v2.8.1
"""
VERSIONS = {  # of Flux, where it is written
    "flux bootstrap": (BOOTSTRAPPED, True),
    "a release": ("resources: ['github.com/fluxcd/flux2/manifests/install?ref=v2.2.3']\n", True),
    "a new release": ("resources: ['https://github.com/fluxcd/flux2/releases/download/v2.9.4/install.yaml']\n", False),
    "its manifests": (MANIFESTS, True),
    "an instance": (INSTANCE % ("", "2.7.x"), True),
    "the newest of an older operator": (INSTANCE % (":v0.52.0", "2.x"), True),
    "the newest of an operator": (INSTANCE % (":v0.53.0", "2.x"), False),
    "the newest of all": (INSTANCE % (":latest", "2.x"), False),
}


@pytest.mark.parametrize(("text", "is_empty"), VERSIONS.values(), ids=[*VERSIONS])
def test_an_older_flux_takes_it_as_empty(here: Path, text: str, *, is_empty: bool) -> None:
    files = app("postBuild:\n  substitute: {NAME: web}\n", VM % ("${NAME}", "1Gi${MORE}"))
    found = check(tree(here, {**files, "clusters/a/flux-system/flux.yaml": text}))
    assert ("the variable MORE has no value" in found) is not is_empty


WRONG = {
    "a base": (app(), "app/vm.yaml:12:18"),
    "a patch of the Kustomization": (app(PATCH.replace("3Gi", "3Gj"), VM % ("web", "1Gi")), "clusters/a/web.yaml:12:77"),
    "a patch of the folder": (
        app("targetNamespace: x", listing=LISTS_VM + PATCH.replace("3Gi", "3Gj")),
        "app/kustomization.yaml:5:75",
    ),
}


@pytest.mark.parametrize(("files", "place"), WRONG.values(), ids=[*WRONG])
def test_findings_keep_the_place_of_the_value(here: Path, files: dict[str, str], place: str) -> None:
    files = {**files, "app/vm.yaml": files["app/vm.yaml"].replace("1Gi", "1Gj")}
    assert f"error: {place}: VirtualMachine " in check(tree(here, files))


CHILD = """\
patches:
- target: {kind: Kustomization, group: kustomize.toolkit.fluxcd.io}
  patch: |
    apiVersion: kustomize.toolkit.fluxcd.io/v1
    kind: Kustomization
    metadata: {name: any}
    spec: {targetNamespace: "${WHERE}", postBuild: {substitute: {MEMORY: 7Gi}}}
postBuild: {substitute: {WHERE: apps}}
"""


def test_a_kustomization_that_another_one_applies_is_changed_by_it(here: Path) -> None:
    files = {**app(vm=VM % ("web", '"$${MEMORY}"'.replace("$$", "$"))), "root.yaml": flux("clusters/a", CHILD, "root")}
    assert vms(tree(here, files)) == [("apps", "web", "7Gi")]


def test_one_folder_that_is_applied_twice_is_two_units(here: Path) -> None:
    files = {"app/vm.yaml": VM % ("web", '"${MEMORY}"'), "app/kustomization.yaml": LISTS_VM}
    for name, memory in (("a", "1Gi"), ("b", "2Gi")):
        spec = f"targetNamespace: {name}\npostBuild: {{substitute: {{MEMORY: {memory}}}}}"
        files[f"clusters/{name}/web.yaml"] = flux("app", spec)
    assert vms(tree(here, files)) == [("a", "web", "1Gi"), ("b", "web", "2Gi")]
    commit(here, {})
    changed = flux("app", "targetNamespace: b\npostBuild: {substitute: {MEMORY: 3Gi}}")
    assert changes(here, {"clusters/b/web.yaml": changed}) == [("b", "web", "changed")]


SAME = {
    "the namespace": ("targetNamespace: vms", VM % ("web", "1Gi"), VM % ("web\n  namespace: vms", "1Gi")),
    "the name": ("postBuild: {substitute: {NAME: web}}", VM % ("${NAME}", "1Gi"), VM % ("web", "1Gi")),
    "a value": ("postBuild: {substitute: {SIZE: 1Gi}}", VM % ("web", '"${SIZE}"'), VM % ("web", "1Gi")),
    "a default": ("postBuild: {substitute: {X: x}}", VM % ("web", "${SIZE:=1Gi}"), VM % ("web", "1Gi")),
}


@pytest.mark.parametrize(("spec", "before", "after"), SAME.values(), ids=[*SAME])
def test_writing_what_flux_sets_anyway_changes_nothing(here: Path, spec: str, before: str, after: str) -> None:
    commit(here, app(spec, before))
    assert changes(here, {"app/vm.yaml": after}) == []


def test_a_namespace_that_flux_no_longer_sets_moves_the_vm(here: Path) -> None:
    commit(here, app("targetNamespace: vms"))
    assert changes(here, app("targetNamespace: new")) == [("new", "web", "renamed")]


def test_what_is_suspended_is_not_applied(here: Path) -> None:
    files = app("targetNamespace: vms\nsuspend: true")
    commit(here, files)
    assert vms(here) == []
    assert changes(here, {"app/vm.yaml": VM % ("web", "2Gi")}) == []


def test_what_is_suspended_is_checked(here: Path) -> None:
    found = check(tree(here, app("suspend: true", VM % ("web", "1Gj"))), "--verbose")
    assert "app/vm.yaml:12:18" in found
    assert "the Kustomization flux-system/web is suspended" in found


SOURCE = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: x, namespace: flux-system}
spec: {url: %s}
"""
URLS = {
    "its remote": ("ssh://git@example.com/me/cluster", "vms"),
    "a fork of it": ("https://example.com/other/cluster.git", "vms"),
    "another repository": ("https://example.com/me/another", "default"),
}


@pytest.mark.parametrize(("url", "namespace"), URLS.values(), ids=[*URLS])
def test_only_this_repository_is_read_as_the_source(here: Path, url: str, namespace: str) -> None:
    git(here, "remote", "add", "origin", "https://example.com/me/cluster.git")
    files = {**app("targetNamespace: vms"), "source.yaml": SOURCE % url}
    files["clusters/a/web.yaml"] = files["clusters/a/web.yaml"].replace("name: flux-system}\n  target", "name: x}\n  target")
    assert vms(tree(here, files)) == [(namespace, "web", "1Gi")]


@pytest.mark.parametrize(("path", "namespace"), [("apps", "vms"), ("other", "default"), (".", "default")])
def test_the_source_whose_folder_has_what_applies_it_is_this_repository(here: Path, path: str, namespace: str) -> None:
    git(here, "remote", "add", "origin", "https://example.com/me/renamed.git")
    files = {**app("targetNamespace: vms"), "apps/source.yaml": SOURCE % "https://example.org/before.git", "other/x.yaml": "{}"}
    files["apps/root.yaml"] = flux(path, name="root")
    files["apps/web.yaml"] = files.pop("clusters/a/web.yaml")
    files = {name: text.replace("name: flux-system}\n", "name: x}\n") for name, text in files.items()}
    assert vms(tree(here, files)) == [(namespace, "web", "1Gi")]


def test_a_path_gets_the_values_of_what_applies_it(here: Path) -> None:
    files = {
        **app(),
        "clusters/a/web.yaml": flux("${FOLDER}/vms", "targetNamespace: vms"),
        "app/x/vms/vm.yaml": VM % ("x", "1Gi"),
    }
    files["root.yaml"] = flux("clusters/a", "postBuild: {substitute: {FOLDER: app/x}}", "root")
    assert vms(tree(here, files)) == [("default", "web", "1Gi"), ("vms", "x", "1Gi")]


def test_a_path_without_a_value_is_no_folder(here: Path) -> None:
    files = {**app(), "clusters/a/web.yaml": flux("${FOLDER}", "targetNamespace: vms")}
    assert vms(tree(here, {**files, "root.yaml": flux("clusters/a", "", "root")})) == [("default", "web", "1Gi")]


def test_the_cache_sees_a_change_of_what_is_applied(here: Path) -> None:
    folder = tree(here, app("postBuild: {substitute: {SIZE: 1Gj}}", VM % ("web", '"${SIZE}"')))
    cache = ("--cache", str(here.parent / "cache"))
    assert "wrong-type" in run("check", ".", *cache, cwd=folder)[1]
    tree(folder, {"clusters/a/web.yaml": flux("app", "postBuild: {substitute: {SIZE: 1Gi}}")})
    assert run("check", ".", *cache, cwd=folder)[1] == ""


# What a Kustomization does to those that it applies.
ABOVE = """\
patches:
- target: {kind: Kustomization}
  patch: |
    - {op: add, path: /spec/targetNamespace, value: vms}
"""


OF_FAR = """\
patches:
- patch: '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "b"}}'
"""


def test_git_is_not_asked_for_what_flux_would_fetch(here: Path) -> None:
    found = check(tree(here, app(listing="resources: [vm.yaml, 'https://example.com/x.yaml']\n")))
    assert "which is not fetched" in found


def test_what_flux_would_fetch_beside_a_kustomization_leaves_what_is_applied_to_it(here: Path) -> None:
    files = {**app(), "apps/web.yaml": flux("app"), "clusters/a/apps.yaml": flux("apps", ABOVE, name="apps")}
    del files["clusters/a/web.yaml"]
    files["apps/kustomization.yaml"] = "resources: [web.yaml, far]\n"
    files["apps/far/kustomization.yaml"] = "resources: ['https://example.com/x.yaml']\n" + OF_FAR
    assert vms(tree(here, files)) == [("vms", "web", "1Gi")]


def test_manifests_that_flux_cannot_read_are_told_and_judged(here: Path) -> None:
    files = {
        "app/vm.yaml": VM % ("web", "1Gj"),
        "app/other.yaml": "kind: ConfigMap\n",
        "ks.yaml": flux("app", "targetNamespace: vms"),
    }
    found = check(tree(here, files))
    assert "error: ks.yaml:1:1: Flux can't build this: other.yaml has an object without a name" in found
    assert "app/vm.yaml:12:18" in found


# The measured case of a repository where Flux sets the namespace: its variables are wrong only where a manifest uses them.
CASE = {
    "app/vm.yaml": VM % ("web\n  namespace: vms", "1Gi"),
    "app/kustomization.yaml": LISTS_VM,
    "ks.yaml": flux("app", "targetNamespace: vms\npostBuild: {substitute: {APP: web, MEM: 2Gii}}"),
}


def test_values_that_no_manifest_uses_are_not_judged(here: Path) -> None:
    commit(here, CASE)
    assert check(here) == ""
    assert vms(here) == [("vms", "web", "1Gi")]
    assert changes(here, {"app/vm.yaml": VM % ("web", "1Gi")}) == []


def test_values_that_a_manifest_uses_are_judged(here: Path) -> None:
    found = check(tree(here, {**CASE, "app/vm.yaml": VM % ("web", "${MEM}")}))
    assert "app/vm.yaml:12:18: VirtualMachine vms/web: spec.template.spec.domain.memory.guest" in found


CLUSTERS = {
    f"clusters/{name}/{file}": text.replace("memory", memory)
    for name, memory in (("a", "1Gi"), ("b", "2Gi"))
    for file, text in (
        ("flux-system/gotk-sync.yaml", flux(f"clusters/{name}", name="flux-system")),
        ("web.yaml", flux("app", "targetNamespace: vms\npostBuild: {substitute: {MEMORY: memory}}")),
    )
}
BOTH = {"app/vm.yaml": VM % ("web", "${MEMORY}"), "app/kustomization.yaml": LISTS_VM, **CLUSTERS}


def clusters(folder: Path) -> list[tuple[str, str]]:
    """The target and the cluster of each delivery."""
    rows = json.loads(run("deliveries", "-o", "json", cwd=folder)[1])["deliveries"]
    return [(row["target"], row["cluster"]) for row in rows if row["by"] == "Kustomization"]


def test_the_folder_of_flux_bootstrap_is_the_cluster(here: Path) -> None:
    found = [("app (flux-system/web, a)", "a"), ("app (flux-system/web, b)", "b")]
    assert clusters(tree(here, BOTH)) == found


@pytest.mark.parametrize("base", ["clusters/", ""])
def test_each_cluster_takes_its_own_source_and_values_for_what_they_share(here: Path, base: str) -> None:
    settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: flux-system}\ndata: {SIZE: %s}\n"
    ignore = "  ignore: |\n    /*\n    !/%s\n    !/shared\n    !/app\n"
    asks = "postBuild:\n  substituteFrom: [{kind: ConfigMap, name: settings}]"
    files = {**app(vm=VM % ("web", '"${SIZE}"')), "shared/web.yaml": flux("app", asks)}
    del files["clusters/a/web.yaml"]
    for cluster, size in (("a", "1Gi"), ("b", "2Gi")):
        folder = f"{base}{cluster}"
        source = SOURCE.replace("spec: {url: %s}", "spec:\n  url: https://example.com/me/cluster") + ignore % (base or cluster)
        root = flux(f"{folder}/flux", name="root") + "---\n" + flux("shared", name="shared")
        files |= {f"{folder}/flux/root.yaml": source + "---\n" + root, f"{folder}/settings.yaml": settings % size}
    git(here, "remote", "add", "origin", "https://example.com/me/cluster.git")
    files = {name: text.replace("name: flux-system}\n", "name: x}\n") for name, text in files.items()}
    assert vms(tree(here, files)) == [("default", "web", "1Gi"), ("default", "web", "2Gi")]


def test_one_cluster_alone_can_be_judged(here: Path) -> None:
    folder = tree(here, BOTH)
    _, out, _ = run("capacity", ".", "--cluster", "b", "-o", "json", cwd=folder)
    assert [each["memory"] for each in json.loads(out)["vms"]] == ["2Gi"]


def test_the_config_says_which_cluster_a_kustomization_is_for(here: Path) -> None:
    config = "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nspec:\n  clusters:\n"
    config += "  - {name: east, targets: [clusters/a]}\n  - {name: west, targets: [clusters/b]}\n"
    found = clusters(tree(here, {**BOTH, ".kubevirt-render.yaml": config}))
    assert [cluster for _, cluster in found] == ["east", "west"]


def test_a_kustomization_with_a_kubeconfig_is_for_another_cluster(here: Path) -> None:
    other = flux("app", "kubeConfig: {secretRef: {name: edge-kubeconfig}}\npostBuild: {substitute: {MEMORY: 3Gi}}", "edge")
    found = clusters(tree(here, {**BOTH, "clusters/a/edge.yaml": other}))
    assert ("app (flux-system/edge, edge)", "edge") in found


@pytest.mark.parametrize("words", [("migrate", "--in-place"), ("render", "--in-place")])
def test_commands_that_write_files_take_the_files_themselves(here: Path, words: tuple[str, ...]) -> None:
    size = "apiVersion: instancetype.kubevirt.io/v1beta1\nkind: VirtualMachineInstancetype\nmetadata: {name: s}\n"
    size += "spec: {cpu: {guest: 3}, memory: {guest: 1Gi}}\n"
    vm = VM.replace("  runStrategy: Always\n", "  running: true\n  instancetype: {kind: VirtualMachineInstancetype, name: s}\n")
    vm = (
        (vm % ("web", "x"))
        .replace("kubevirt.io/v1", "kubevirt.io/v1alpha3")
        .replace("        memory:\n          guest: x\n", "")
    )
    folder = tree(here, {"app/vm.yaml": vm, "app/size.yaml": size, "ks.yaml": flux("app", "targetNamespace: vms")})
    run(*words, ".", cwd=folder)
    assert (folder / "app/vm.yaml").read_text() != vm
    assert "namespace" not in (folder / "app/vm.yaml").read_text()


LISTED = """\
TARGET   DELIVERED BY                    CLUSTER   NAMESPACE   STEPS                            FILE
app      Kustomization flux-system/web   -         vms         build, namespace, substitution   ks.yaml
other    kustomization                   -         -           build                            other/kustomization.yaml
"""


def test_what_is_delivered_is_listed(here: Path) -> None:
    files = {**CASE, "other/vm.yaml": VM % ("other", "1Gi"), "other/kustomization.yaml": LISTS_VM}
    assert run("deliveries", cwd=tree(here, files))[1] == LISTED


def test_a_file_states_values_from_outside_git(here: Path) -> None:
    folder = tree(here, {**app(VARIABLES, SUBSTITUTED), "values.yml": "MEMORY: 8Gi\n"})
    _, out, _ = run("capacity", ".", "--variables", "values.yml", "-o", "json", cwd=folder)
    assert [each["memory"] for each in json.loads(out)["vms"]] == ["8Gi"]


@pytest.mark.parametrize("text", ["${DB_PASSWORD}", "${DB_PASSWORD/h/xh}", "${DB_PASSWORD:1}"])
@pytest.mark.parametrize(
    "words",
    [("check", "--no-cache", "-o", "json"), ("explain", "-o", "json"), ("capacity", "-o", "json"), ("report", "-o", "-")],
)
def test_a_secret_from_outside_git_is_shown_by_no_command_but_render(here: Path, text: str, words: tuple[str, ...]) -> None:
    vm = (VM % ("web", "1Gi")).replace("devices: {}", f"devices: {{disks: [{{name: a, disk: {{bus: '{text}'}}}}]}}")
    tree(here, app("postBuild: {substitute: {A: b}}", vm) | {"values.yaml": "DB_PASSWORD: hunter2\nBUS: virtio\n"})
    told = run(*words, ".", "--variables", "values.yaml", cwd=here)
    assert told[0] in (0, 1)
    assert "unter2" not in f"{told[1]}{told[2]}"
    assert "unter2" in run("render", ".", "--variables", "values.yaml", cwd=here)[1]


SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: flux-system}\n"
COMMANDS = {
    "check": ("check", "--no-cache", "-o", "json"),
    "check, all": ("check", "--no-cache", "--verbose"),
    "explain": ("explain", "-o", "json"),
    "capacity": ("capacity", "-o", "json"),
    "diff": ("diff", "--base", "HEAD", "-o", "json"),
    "patches": ("diff", "--base", "HEAD", "-o", "patch"),
    "suggest": ("suggest",),
    "convert": ("convert", "--diff"),
    "report": ("report", "-o", "-"),
    "deliveries": ("deliveries", "-o", "json"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_value_of_a_secret_in_git_is_shown_by_no_command_but_render(here: Path, command: str) -> None:
    vm = (VM % ("web", "${SIZE}")).replace("devices: {}", "devices: {disks: [{name: a, disk: {bus: '${PASS:1}'}}]}")
    spec = "postBuild:\n  substituteFrom: [{kind: Secret, name: s}]"
    commit(
        here, {**app(spec, vm), "clusters/a/secret.yaml": SECRET + "data: {PASS: aHVudGVyMg==}\nstringData: {SIZE: hunter2}\n"}
    )
    tree(here, {"clusters/a/secret.yaml": SECRET + "data: {PASS: aHVudGVyMw==}\nstringData: {SIZE: hunter3}\n"})
    told = run(*COMMANDS[command], *([] if "--base" in COMMANDS[command] else ["."]), cwd=here)
    assert told[0] in (0, 1), told
    assert "unter" not in f"{told[1]}{told[2]}"
    assert "unter3" in run("render", ".", cwd=here)[1]


def test_a_value_that_is_no_text_is_refused(here: Path) -> None:
    folder = tree(here, {**app(VARIABLES, SUBSTITUTED), "values.yml": "CORES: 8\n"})
    code, out, err = run("capacity", ".", "--variables", "values.yml", cwd=folder)
    assert (code, out) == (2, "")
    assert "CORES: found 8; expected text, so quote it" in err


def test_a_file_of_variables_in_another_form_is_named(tmp_path: Path, kustomize: Path) -> None:
    tree(tmp_path, {"values.yaml": "- MEMORY\n", "vm.yaml": ""})
    code, _, err = run("check", "--variables", "values.yaml", ".", cwd=tmp_path)
    assert (code, err) == (2, "kubevirt-render: error: values.yaml: found a list; expected a map\n"), kustomize


def test_kustomizations_that_apply_one_another_are_followed_once_each(
    here: Path, kustomize: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, tools = here / "log", here / ".tools"
    tools.mkdir()
    (tools / "kustomize").write_text(f'#!/bin/sh\necho started >>{log}\nexec {kustomize} "$@"\n')
    (tools / "kustomize").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    tree(
        here,
        {f"all/k{number}.yaml": flux("all", name=f"k{number}") for number in range(5)} | {"all/vm.yaml": VM % ("web", "1Gi")},
    )
    assert run("deliveries", cwd=here)[0] == 0
    assert log.read_text().count("started") < 5 * 5


def test_kustomizations_that_apply_one_another_in_a_long_row_are_an_error(here: Path) -> None:
    row = {f"k{number}/k.yaml": flux(f"k{number + 1}", name=f"k{number}") for number in range(100)}
    tree(here, {**row, "k100/vm.yaml": VM % ("web", "1Gi")})
    told = "k0/k.yaml:1:1: deliveries apply the same very often, or more than 64 in a row; apply each once"
    assert run("deliveries", cwd=here)[::2] == (1, f"kubevirt-render: error: {told}\n")


@pytest.mark.parametrize("spec", ["", "ignoreMissingComponents: true\ncomponents: [%s]"])
def test_a_path_that_is_too_long_for_the_system_is_not_there(here: Path, spec: str) -> None:
    name = "x" * 5000
    files = app(spec % name) if spec else app() | {"clusters/a/web.yaml": flux(name)}
    tree(here, files)
    assert run("check", ".", "--no-cache", cwd=here)[::2] == (0, "")


@pytest.mark.parametrize(
    "ignored", ["*\n!clusters\n", "kustomization.yaml\napp/vm.yaml\n", "app/kustomization.yaml\nvm.yaml\n"]
)
def test_what_flux_leaves_out_of_the_source_is_judged(here: Path, ignored: str) -> None:
    wrong = VM % ("web", "4Gb")
    tree(here, app(vm=wrong) | {".sourceignore": ignored, "app/other.yaml": VM % ("other", "1Gi")})
    assert "guest is '4Gb'" in check(here, "--isolated")


@pytest.mark.parametrize("named", [".", "web.yaml"])
def test_files_that_nothing_delivers_are_listed(here: Path, named: str) -> None:
    tree(here, {"web.yaml": VM % ("web", "1Gi"), "notes.yaml": "a: 1\n"})
    told = json.loads(run("deliveries", named, "-o", "json", cwd=here)[1])["deliveries"]
    assert [(each["by"], each["target"], each["steps"]) for each in told] == [("files", ".", [])]


def test_a_folder_that_flux_can_not_build_is_listed_once(here: Path) -> None:
    files = {"app/vm.yaml": VM % ("web", "1Gi"), "app/bad.yaml": "a: [\n", "clusters/a/web.yaml": flux("app")}
    _, out, _ = run("deliveries", "-o", "json", cwd=tree(here, files))
    (row,) = json.loads(out)["deliveries"]
    assert (row["target"], row["by"], row["unknown"]) == ("app", "Kustomization", ["bad.yaml is no YAML"])


WAYS = ("x", "../git"), ("x", ""), ("git/app", "."), ("git/app", ".."), ("git/clusters", "../app"), (".", "git"), (".", "l")


@pytest.mark.parametrize(("at", "named"), WAYS)
def test_what_is_applied_does_not_depend_on_the_name_of_the_folder(
    tmp_path: Path, kustomize: Path, at: str, named: str
) -> None:
    patch = (
        "patches:\n- target: {kind: Kustomization, name: web}\n  patch: |\n"
        "    - {op: add, path: /spec/targetNamespace, value: shop}\n"
    )
    files = {**app(), "clusters/a/all.yaml": flux("clusters/a", patch, "all"), "other/vm.yaml": VM % ("other", "4Gb")}
    here = tree(tmp_path / "git", {**files, "app/vm.yaml": VM % ("web", "4Gb")})
    tree(tmp_path, {"x/file": "", "l": "-> git"})
    git(here, "init", "-q", "-b", "main")
    environment = {**os.environ, "PATH": f"{Path(kustomize).parent}:{os.environ['PATH']}"}
    command = (sys.executable, "-m", "krm_fn", "check", named or str(here), "--no-cache")
    out = running.run(*command, cwd=tmp_path / at, environment=environment).stdout
    found = [line for line in out.splitlines() if "app/vm.yaml" in line or line.startswith("error: vm.yaml")]
    assert [("VirtualMachine shop/web" in line, "(wrong-type)" in line) for line in found] == [(True, True)]


def test_a_part_of_a_repository_belongs_to_the_cluster_that_it_is_applied_to(here: Path) -> None:
    size = (
        "apiVersion: instancetype.kubevirt.io/v1beta1\nkind: VirtualMachineClusterInstancetype\nmetadata: {name: house}\n"
        "spec: {cpu: {guest: 1}, memory: {guest: %s}}\n"
    )
    vm = VM % ("web", "1Gi") + "  instancetype: {name: house}\n"
    vm = vm.replace("        memory:\n          guest: 1Gi\n", "")
    files = {
        **{f"infra/{each}/size.yaml": size % memory for each, memory in (("a", "2Gi"), ("b", "3Gi"))},
        **{f"clusters/{each}/infra.yaml": flux(f"infra/{each}", "", "infra") for each in "ab"},
        **app(vm=vm),
    }
    tree(here, files)
    _, out, _ = run("capacity", "app", "-o", "json", cwd=here)
    assert [each["memory"] for each in json.loads(out)["vms"]] == ["2Gi"]


# ---- how a change reaches the cluster

INSTANCE = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata: {name: web}
spec: {domain: {devices: {}, memory: {guest: %s}}}
"""
WRONG = VM % ("web", "2Gi") + "  preference: {name: none, kind: VirtualMachinePreference, inferFromVolume: a}\n"
FORCED = "kustomize.toolkit.fluxcd.io/force: enabled"


def effects(folder: Path, before: dict[str, str], after: dict[str, str]) -> list[list[str]]:
    """The effects of each record of `diff`."""
    commit(folder, before)
    for name in before.keys() - after.keys():
        (folder / name).unlink()
    tree(folder, after)
    _, out, err = run("diff", "--base", "HEAD", "-o", "json", cwd=folder)
    assert out, err
    return [each["effect"] for each in json.loads(out)["vms"]]


@pytest.mark.parametrize(
    ("spec", "head", "expected"),
    [
        ("", INSTANCE % "2Gi", ["refused"]),
        ("force: true", INSTANCE % "2Gi", ["recreated"]),
        ("", (INSTANCE % "2Gi").replace("name: web", f"name: web, annotations: {{{FORCED}}}"), ["recreated"]),
        ("", WRONG, ["refused"]),
        ("force: true", WRONG, ["refused", "removed"]),
        ("force: true", VM % ("web", "[]"), ["refused", "removed"]),
        ("force: true", VM % ("web", "2Gi"), ["restartRequired", "atNextStart"]),
    ],
    ids=["an instance", "with force", "with an annotation", "a VM", "that can't be created", "of no type", "that is let in"],
)
def test_what_the_api_server_refuses_is_made_anew_by_force_alone(here: Path, spec: str, head: str, expected: list[str]) -> None:
    base = INSTANCE % "1Gi" if "Instance\n" in head else VM % ("web", "1Gi")
    assert effects(here, app(spec, vm=base), app(spec, vm=head)) == [expected]


TEMPLATES = "  dataVolumeTemplates: [{metadata: {name: root}, spec: {source: {blank: {}}, storage: {}}}]\n"


@pytest.mark.parametrize(("prune", "effect"), [("true", "removed"), ("false", "left")])
@pytest.mark.parametrize("gone", ["the VM", "the Kustomization"])
def test_a_vm_that_goes_is_deleted_only_where_flux_prunes(here: Path, prune: str, effect: str, gone: str) -> None:
    files = app(vm=VM % ("web", "1Gi") + TEMPLATES)
    before = {each: text.replace("prune: true", f"prune: {prune}") for each, text in files.items()}
    before["app/other.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
    after = {**before, "app/kustomization.yaml": "resources: [other.yaml]\n"}
    if gone == "the Kustomization":
        after = {"other/vm.yaml": VM % ("other", "1Gi")}
    assert [effect] in effects(here, before, after)
    _, out, _ = run("diff", "--base", "HEAD", cwd=here)
    assert ("deletes DataVolume/root" in out) is (effect == "removed")
    assert ("stays because of: Kustomization flux-system/web, which does not prune" in out) is (effect == "left")


REFS = {
    "no source in git": ("", "shop"),
    "the branch at hand": ("ref: {branch: main}", "shop"),
    "a tag": ("ref: {tag: v1.0}", "default"),
    "a range of tags": ("ref: {semver: '>=1.0'}", "default"),
    "a commit": ("ref: {branch: main, commit: 0123456789abcdef0123456789abcdef01234567}", "default"),
    "another branch": ("ref: {branch: stable}", "default"),
}


@pytest.mark.parametrize("case", REFS)
def test_another_revision_is_named_and_never_judged_as_applied(here: Path, case: str) -> None:
    ref, space = REFS[case]
    source = (
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: %s, namespace: flux-system}\n"
        "spec:\n  url: https://git.example.com/team/vms.git\n%s"
    )
    git(here, "remote", "add", "origin", "https://git.example.com/team/vms.git")
    files = {
        **app("targetNamespace: shop"),
        "clusters/a/source.yaml": source % ("vms", f"  {ref}\n"),
        "clusters/a/main.yaml": source % ("main", "  ref: {branch: main}\n"),
    }
    files["clusters/a/web.yaml"] = files["clusters/a/web.yaml"].replace("name: flux-system}\n", "name: vms}\n")
    assert vms(tree(here, files)) == [(space, "web", "1Gi")]
    row = json.loads(run("deliveries", "-o", "json", cwd=here)[1])["deliveries"][-1]
    told = "app: the Kustomization flux-system/web applies" in check(here, "--verbose")
    assert (bool(row.get("revision")), told) == (space == "default", space == "default")


IN_VALUES = "resources: [{apiVersion: kubevirt.io/v1, kind: VirtualMachine, metadata: {name: web}}]"
OF_HELM = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: apps}
spec:
  targetNamespace: vms
  %s
  values: {%s}
"""
OF_ARGO = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web, namespace: argocd}
spec:
  destination: {namespace: vms}
  source: {repoURL: "https://me:secret@charts.example.com", %s, helm: {valuesObject: {%s}}}
"""
FROM_AFAR = {
    "a chart of a HelmRelease": (
        OF_HELM % ("chart: {spec: {chart: raw, version: 0.3.2, sourceRef: {kind: HelmRepository, name: far}}}", IN_VALUES),
        "HelmRelease apps/web (of the chart raw 0.3.2 in the HelmRepository far)",
    ),
    "a reference to a chart": (
        OF_HELM % ("chartRef: {kind: OCIRepository, name: far, namespace: flux-system}", IN_VALUES),
        "HelmRelease apps/web (of the chart in the OCIRepository flux-system/far)",
    ),
    "a chart of an Application": (
        OF_ARGO % ("chart: raw, targetRevision: 1.0.0", IN_VALUES),
        "Application argocd/web (of the chart raw 1.0.0 in https://charts.example.com)",
    ),
    "a folder of another repository": (
        OF_ARGO % ("path: charts/raw", IN_VALUES),
        "Application argocd/web (of charts/raw in https://charts.example.com)",
    ),
    "no VM": (OF_HELM % ("chartRef: {kind: OCIRepository, name: far}", "size: 1"), ""),
}


@pytest.mark.parametrize(("text", "by"), FROM_AFAR.values(), ids=[*FROM_AFAR])
def test_what_is_made_of_values_elsewhere_is_named(here: Path, text: str, by: str) -> None:
    git(here, "remote", "add", "origin", "https://git.example.com/me/cluster.git")
    folder = tree(here, {**app("targetNamespace: vms"), "clusters/a/far.yaml": text})
    lines = [" ".join(line.split()) for line in run("deliveries", cwd=folder)[1].splitlines() if "far.yaml" in line]
    assert lines == ([f"clusters/a/far.yaml {by} - vms - clusters/a/far.yaml"] if by else [])
    assert (f"clusters/a/far.yaml: the {by.partition(' (')[0]} applies" in check(here, "--verbose")) is bool(by)
    assert vms(folder) == [("vms", "web", "1Gi")]


HELD_VALUES = """\
apiVersion: v1
kind: %s
metadata: {name: values, namespace: %s}
%s:
  values.yaml: |
    %s
"""
REFERS = "chart: {spec: {chart: raw, sourceRef: {kind: HelmRepository, name: far}}}\n  valuesFrom: [{kind: %s, name: values%s}]"
BY = "HelmRelease apps/web (of the chart raw in the HelmRepository far)"
IN_GIT = {
    "in a ConfigMap": ("ConfigMap", "", ("ConfigMap", "apps", "data", IN_VALUES), BY),
    "in a Secret": ("Secret", "", ("Secret", "apps", "stringData", IN_VALUES), BY),
    "no VM": ("ConfigMap", "", ("ConfigMap", "apps", "data", "size: 1"), ""),
    "another kind": ("Secret", "", ("ConfigMap", "apps", "data", IN_VALUES), ""),
    "another namespace": ("ConfigMap", "", ("ConfigMap", "other", "data", IN_VALUES), ""),
    "another key": ("ConfigMap", ", valuesKey: none.yaml", ("ConfigMap", "apps", "data", IN_VALUES), ""),
}


@pytest.mark.parametrize(("kind", "key", "held", "by"), IN_GIT.values(), ids=[*IN_GIT])
def test_what_is_made_elsewhere_of_values_in_other_files_is_named(
    here: Path, kind: str, key: str, held: tuple[str, ...], by: str
) -> None:
    files = {"clusters/a/far.yaml": OF_HELM % (REFERS % (kind, key), "size: 1"), "clusters/a/values.yaml": HELD_VALUES % held}
    folder = tree(here, {**app("targetNamespace: vms"), **files})
    lines = [" ".join(line.split()) for line in run("deliveries", cwd=folder)[1].splitlines() if "HelmRelease" in line]
    assert lines == ([f"clusters/a/far.yaml {by} - vms - clusters/a/far.yaml"] if by else [])
    assert ("clusters/a/far.yaml: the HelmRelease apps/web applies" in check(here, "--verbose")) is bool(by)


def test_a_branch_that_is_called_like_a_release_is_at_hand_where_it_is_checked_out(here: Path) -> None:
    git(here, "symbolic-ref", "HEAD", "refs/heads/2026.1")
    source = (
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: flux-system, namespace: flux-system}\n"
        "spec: {url: 'https://git.example.com/team/vms.git', ref: {branch: '2026.1'}}\n"
    )
    git(here, "remote", "add", "origin", "https://git.example.com/team/vms.git")
    assert vms(tree(here, {**app("targetNamespace: shop"), "clusters/a/source.yaml": source})) == [("shop", "web", "1Gi")]


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap", "nothing"])
def test_a_value_that_nobody_may_show_or_know_is_no_drift(here: Path, kind: str) -> None:
    spec = "postBuild:\n  substitute: {A: b}\n  substituteFrom: [{kind: %s, name: s}]" % (
        "Secret" if kind == "nothing" else kind
    )
    files = app(spec, VM % ("web", "${SIZE}"))
    held = {"Secret": SECRET + "stringData: {SIZE: 2Gi}\n", "ConfigMap": SIZES.replace("sizes", "s").replace("MEMORY", "SIZE")}
    files["clusters/a/held.yaml"] = held.get(kind, "")
    marks = "  name: web\n  namespace: default\n  uid: a-b\n  resourceVersion: '1'\n  generation: 1\n"
    tree(here.parent / f"{here.name}-live", {"live.yaml": (VM % ("web", "2Gi")).replace("  name: web\n", marks)})
    known = run("drift", f"../{here.name}-live/live.yaml", ".", "-o", "json", cwd=tree(here, files))[1]
    assert [each["effect"] for each in json.loads(known)["vms"] if "refused" in each["effect"]] == []
