"""What Argo CD applies of a repository is what commands judge: with what its Applications and ApplicationSets set."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import running
from checking import run
from committing import commit, git
from delivered import LISTS_VM, VM, check, vms
from jsonschema import Draft202012Validator
from trees import tree

from krm_fn import yamlio

pytestmark = pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)

WEB = VM % ("web", "1Gi")
URL = "https://example.com/me/cluster.git"


def indented(text: str, width: int) -> str:
    return "".join(f"{' ' * width}{line}\n" for line in text.splitlines())


def application(source: str = "path: app", spec: str = "", name: str = "web") -> str:
    return (
        f"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}, namespace: argocd}}\nspec:\n"
        f"  project: default\n  source:\n    repoURL: {URL}\n{indented(source, 4)}"
        + (spec and indented(spec, 2))
        + ("" if "destination" in spec else "  destination: {server: 'https://kubernetes.default.svc', namespace: shop}\n")
    )


def application_set(generators: str, source: str, name: str = "{{name}}", more: str = "") -> str:
    return (
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: all, namespace: argocd}\nspec:\n"
        f"{indented(more, 2)}  generators:\n{indented(generators, 2)}  template:\n    metadata: {{name: '{name}'}}\n    spec:\n"
        f"      project: default\n      source:\n        repoURL: {URL}\n{indented(source, 8)}"
        "      destination: {server: 'https://kubernetes.default.svc', namespace: shop}\n"
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kustomize: Path) -> Path:
    monkeypatch.setenv("PATH", f"{Path(kustomize).parent}:{os.environ['PATH']}")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "remote", "add", "origin", URL)
    return tmp_path


def rows(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run("deliveries", "-o", "json", cwd=folder)[1])["deliveries"]
    return [each for each in found if each["by"].startswith("Application")]


def applied(folder: Path, *words: str) -> list[str]:
    """The objects that are applied, without those of Argo CD itself."""
    out = run("render", ".", "--defaults", "none", *words, cwd=folder)[1]
    return told(yamlio.read_stream(out.encode()).items)


def told(items: Any, namespace: str = "") -> list[str]:
    kept = [each for each in items if each and not each["apiVersion"].startswith("argoproj.io")]
    for each in kept:
        if namespace and each["kind"] != "Namespace":
            each["metadata"] = {"namespace": namespace, **each["metadata"]}
    return sorted(json.dumps(each, sort_keys=True) for each in kept)


# ---- kustomize, compared with what its own commands make

SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web, labels: {a: b}}\nspec: {selector: {app: web}}\n"
DEPLOYMENT = (
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 1\n"
    "  selector: {matchLabels: {app: web}}\n"
    "  template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: c, image: 'nginx:1'}]}\n"
)
KUSTOMIZED = {
    "app/kustomization.yaml": "resources: [vm.yaml, service.yaml, deployment.yaml]\n",
    "app/vm.yaml": WEB,
    "app/service.yaml": SERVICE,
    "app/deployment.yaml": DEPLOYMENT,
    "part/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnameSuffix: -of-part\n",
}
PATCH = "patches:\n- target: {kind: VirtualMachine}\n  patch: |\n    - {op: replace, path: /spec/runStrategy, value: Halted}\n"
MERGED = (
    "patches:\n- patch: |\n    kind: Deployment\n    apiVersion: apps/v1\n    metadata: {name: web}\n    spec: {replicas: 9}\n"
)
# The options of a source, and what Argo CD does to the folder for them.
OPTIONS = {
    "namePrefix": ("namePrefix: a-", ["kustomize edit set nameprefix -- a-"]),
    "nameSuffix": ("nameSuffix: -b", ["kustomize edit set namesuffix -- -b"]),
    "namespace": ("namespace: own", ["kustomize edit set namespace -- own"]),
    "images": ("images: ['nginx=registry/nginx:2']", ["kustomize edit set image nginx=registry/nginx:2"]),
    "images, a tag": ("images: ['nginx:3']", ["kustomize edit set image nginx:3"]),
    "images, a variable": ("images: ['nginx:$ARGOCD_APP_NAME']", ["kustomize edit set image nginx:web"]),
    "replicas": ("replicas: [{name: web, count: 3}]", ["kustomize edit set replicas web=3"]),
    "replicas, a text": ("replicas: [{name: web, count: '4'}]", ["kustomize edit set replicas web=4"]),
    "commonLabels": ("commonLabels: {team: x}", ["kustomize edit add label team:x"]),
    "labels without selectors": (
        "commonLabels: {team: x}\nlabelWithoutSelector: true",
        ["kustomize edit add label --without-selector team:x"],
    ),
    "labels in templates": (
        "commonLabels: {team: x}\nlabelWithoutSelector: true\nlabelIncludeTemplates: true",
        ["kustomize edit add label --without-selector --include-templates team:x"],
    ),
    "labels with a variable": ("commonLabels: {team: '${ARGOCD_APP_NAME}-x'}", ["kustomize edit add label team:web-x"]),
    "commonAnnotations": ("commonAnnotations: {note: x}", ["kustomize edit add annotation note:x"]),
    "annotations without a variable": (
        "commonAnnotations: {note: $ARGOCD_APP_NAME}",
        ["kustomize edit add annotation note:$ARGOCD_APP_NAME"],
    ),
    "annotations with a variable": (
        "commonAnnotations: {note: $ARGOCD_APP_NAME}\ncommonAnnotationsEnvsubst: true",
        ["kustomize edit add annotation note:web"],
    ),
    "components": ("components: [../part]", ["kustomize edit add component ../part"]),
    "components that may be missing": (
        "components: [../part, ../none]\nignoreMissingComponents: true",
        ["kustomize edit add component ../part"],
    ),
    "a patch": (PATCH, [f"cat >> kustomization.yaml <<'E'\n{PATCH}E"]),
    "a merge patch": (MERGED, [f"cat >> kustomization.yaml <<'E'\n{MERGED}E"]),
    "a version": ("version: v5.0.0\nnamePrefix: v-", ["kustomize edit set nameprefix -- v-"]),
    "several": (
        f"namePrefix: a-\nnamespace: own\nimages: ['nginx:9']\n{PATCH}",
        [
            "kustomize edit set nameprefix -- a-",
            "kustomize edit set namespace -- own",
            "kustomize edit set image nginx:9",
            f"cat >> kustomization.yaml <<'E'\n{PATCH}E",
        ],
    ),
}


@pytest.mark.parametrize(("options", "commands"), OPTIONS.values(), ids=[*OPTIONS])
def test_kustomize_options_do_what_the_commands_of_kustomize_do(
    here: Path, tmp_path_factory: pytest.TempPathFactory, options: str, commands: list[str]
) -> None:
    tree(here, {**KUSTOMIZED, "argo/web.yaml": application(f"path: app\nkustomize:\n{indented(options, 2)}")})
    theirs = tmp_path_factory.mktemp("theirs") / "copy"
    shutil.copytree(here, theirs)
    for command in commands:
        subprocess.run(
            ["sh", "-c", command],
            cwd=theirs / "app",
            check=True,
            capture_output=True,
            env={**os.environ, "ARGOCD_APP_NAME": "$ARGOCD_APP_NAME"},
        )
    built = subprocess.run(["kustomize", "build", "app"], cwd=theirs, check=True, capture_output=True).stdout
    assert applied(here) == told(yamlio.read_stream(built).items, "shop")


WRONG = {
    "two kinds": (
        "path: app\nkustomize: {namePrefix: a-}\ndirectory: {recurse: true}",
        "a source is of one kind, but this one has kustomize and directory",
    ),
    "a label twice": (
        "path: app\nkustomize: {commonLabels: {a: b}}",
        "the kustomization has a already; force it, or remove it from one of them",
    ),
    "no number": (
        "path: app\nkustomize: {replicas: [{name: web, count: x}]}",
        "the count of replicas is 'x'; expected a whole number",
    ),
    "no kustomization": ("path: files\nkustomize: {namePrefix: a-}", "files has no kustomization.yaml"),
    "a glob of many": (
        "path: files\ndirectory: {include: '" + "{a,b,c}" * 9 + "'}",
        "a glob stands for more than 200 others; write a shorter one",
    ),
}


@pytest.mark.parametrize(("source", "message"), WRONG.values(), ids=[*WRONG])
def test_what_argo_cd_refuses_is_one_finding_at_the_application(here: Path, source: str, message: str) -> None:
    files = {"app/kustomization.yaml": f"{LISTS_VM}commonLabels: {{a: c}}\n", "app/vm.yaml": WEB, "files/vm.yaml": WEB}
    found = check(tree(here, {**files, "argo.yaml": f"# A comment\n---\n{application(source)}"}))
    assert found.count("Argo CD can't build this") == 1
    assert f"error: argo.yaml:3:1: Argo CD can't build this: {message}" in found


FAILING = {
    "a patch that is not there": "patches: [{path: none.yaml}]",
    "a patch that fails": "patches: [{target: {kind: VirtualMachine}, patch: '- {op: test, path: /spec/x, value: 1}'}]",
    "a component from outside": "components: [../../../../etc]",
}


@pytest.mark.parametrize("options", FAILING.values(), ids=[*FAILING])
def test_what_only_the_options_break_is_told_at_the_application(here: Path, options: str) -> None:
    source = f"path: app\nkustomize: {{{options}}}"
    found = check(tree(here, {"app/kustomization.yaml": LISTS_VM, "app/vm.yaml": WEB, "argo.yaml": application(source)}))
    assert found.startswith("error: argo.yaml:1:1: ")


def test_what_the_folder_breaks_itself_is_told_there(here: Path) -> None:
    own = f"{LISTS_VM}patches: [{{target: {{kind: VirtualMachine}}, patch: '- {{op: test, path: /spec/x, value: 1}}'}}]\n"
    files = {
        "app/kustomization.yaml": own,
        "app/vm.yaml": WEB,
        "argo.yaml": application("path: app\nkustomize: {namePrefix: a-}"),
    }
    assert check(tree(here, files)).startswith("error: app/kustomization.yaml: ")


# ---- directories

TREE = {
    "app/a.yaml": VM % ("a", "1Gi"),
    "app/b.json": json.dumps(yamlio.read_stream((VM % ("b", "1Gi")).encode()).items[0]),
    "app/c.txt": VM % ("c", "1Gi"),
    "app/below/d.yaml": VM % ("d", "1Gi"),
    "app/below/deep/e.yml": VM % ("e", "1Gi"),
    "app/skipped.yaml": "# +argocd:skip-file-rendering\n" + VM % ("s", "1Gi"),
}
DIRECTORIES = {
    "as it is": ("", "ab"),
    "recurse": ("directory: {recurse: true}", "abde"),
    "include": ("directory: {recurse: true, include: 'below/*'}", "de"),
    "include, a star crosses steps": ("directory: {recurse: true, include: '*.yml'}", "e"),
    "include, braces": ("directory: {recurse: true, include: '{a.yaml,*/d.*}'}", "ad"),
    "exclude": ("directory: {recurse: true, exclude: 'below/deep/*'}", "abd"),
    "exclude counts more": ("directory: {include: '*', exclude: '{a*,s*}'}", "b"),
    "letters": ("directory: {include: '[ab].*'}", "ab"),
    "no filter of endings": ("directory: {disableExtensionFilter: true, include: '*.txt'}", "c"),
}


@pytest.mark.parametrize(("directory", "names"), DIRECTORIES.values(), ids=[*DIRECTORIES])
def test_a_directory_has_the_files_that_its_globs_choose(here: Path, directory: str, names: str) -> None:
    found = vms(tree(here, {**TREE, "argo.yaml": application(f"path: app\n{directory}")}))
    assert "".join(name for namespace, name, _ in sorted(found, key=lambda each: each[1]) if namespace == "shop") == names


def test_jsonnet_is_named_and_not_read(here: Path) -> None:
    found = check(tree(here, {"app/vm.yaml": WEB, "app/x.jsonnet": "{}", "argo.yaml": application()}), "--verbose")
    assert "the Application argocd/web also takes app/x.jsonnet, which is not read here" in found


def test_the_namespace_of_the_destination_is_that_of_objects_without_one(here: Path) -> None:
    own = (VM % ("own", "1Gi")).replace("name: own", "name: own\n  namespace: other")
    size = "apiVersion: instancetype.kubevirt.io/v1beta1\nkind: VirtualMachineClusterInstancetype\nmetadata: {name: s}\n"
    files = {"app/vm.yaml": f"{WEB}---\n{own}---\n{size}spec: {{cpu: {{guest: 1}}, memory: {{guest: 1Gi}}}}\n"}
    folder = tree(here, {**files, "argo.yaml": application()})
    assert sorted(vms(folder)) == [("other", "own", "1Gi"), ("shop", "web", "1Gi")]
    names = [json.loads(each)["metadata"] for each in applied(folder)]
    assert [each for each in names if each["name"] == "s"] == [{"name": "s"}]


def test_a_file_of_the_folder_can_change_the_source(here: Path) -> None:
    files = {"app/vm.yaml": WEB, "app/kustomization.yaml": LISTS_VM, "argo.yaml": application()}
    files |= {
        "app/.argocd-source.yaml": "kustomize: {namePrefix: a-}\n",
        "app/.argocd-source-web.yaml": "kustomize: {nameSuffix: -b}\n",
    }
    assert vms(tree(here, files)) == [("shop", "a-web-b", "1Gi")]


def test_several_sources_are_all_applied(here: Path) -> None:
    app = (
        application()
        .replace("  source:\n", "  sources:\n  - ref: x\n")
        .replace(
            f"    repoURL: {URL}\n    path: app\n",
            f"    repoURL: {URL}\n  - repoURL: {URL}\n    path: app\n"
            f"  - repoURL: {URL}\n    path: more\n    kustomize: {{namePrefix: m-}}\n",
        )
    )
    files = {"app/vm.yaml": WEB, "more/vm.yaml": WEB, "more/kustomization.yaml": LISTS_VM, "argo.yaml": app}
    assert vms(tree(here, files)) == [("shop", "web", "1Gi"), ("shop", "m-web", "1Gi")]


def test_what_is_hydrated_is_read_from_its_dry_source(here: Path) -> None:
    hydrated = application().replace("  source:\n", "  sourceHydrator:\n   drySource:\n")
    assert vms(tree(here, {"app/vm.yaml": WEB, "argo.yaml": hydrated})) == [("shop", "web", "1Gi")]


def test_a_kustomization_counts_more_than_a_chart_beside_it(here: Path) -> None:
    files = {"app/vm.yaml": WEB, "app/kustomization.yaml": LISTS_VM, "app/Chart.yaml": CHART["chart/Chart.yaml"]}
    assert vms(tree(here, {**files, "argo.yaml": application()})) == [("shop", "web", "1Gi")]


def test_one_folder_that_is_applied_twice_is_two_units(here: Path) -> None:
    files = {"app/vm.yaml": WEB, "argo/a.yaml": application(name="a")}
    files["argo/b.yaml"] = application(name="b", spec="destination: {name: north, namespace: vms}")
    folder = tree(here, files)
    assert sorted(vms(folder)) == [("shop", "web", "1Gi"), ("vms", "web", "1Gi")]
    assert [(each["target"], each["cluster"]) for each in rows(folder)] == [
        ("app (argocd/a)", ""),
        ("app (argocd/b, north)", "north"),
    ]


def test_a_value_is_told_where_it_is_written(here: Path) -> None:
    patch = PATCH.replace("/spec/runStrategy, value: Halted", "/spec/template/spec/domain/memory/guest, value: 3Gj")
    options = application(f"path: k\nkustomize:\n{indented(patch, 2)}", name="k")
    folder = tree(
        here,
        {
            "app/vm.yaml": VM % ("web", "1Gj"),
            "k/vm.yaml": WEB,
            "k/kustomization.yaml": LISTS_VM,
            "argo.yaml": f"{application()}---\n{options}",
        },
    )
    found = check(folder)
    assert "error: app/vm.yaml:12:18: VirtualMachine shop/web: " in found
    line = next(number for number, each in enumerate((folder / "argo.yaml").read_text().splitlines(), 1) if "3Gj" in each)
    assert f"error: argo.yaml:{line}:" in found


def test_the_namespace_of_what_is_built_stands_at_the_destination(here: Path) -> None:
    folder = tree(here, {"app/vm.yaml": WEB, "app/kustomization.yaml": LISTS_VM, "argo.yaml": application()})
    line = next(number for number, each in enumerate(application().splitlines(), 1) if "destination" in each)
    assert f"argo.yaml:{line}:" in run("explain", ".", "web", "metadata.namespace", cwd=folder)[1]


SAME = {
    "the namespace": ({}, "metadata:\n  name: web\n", "metadata:\n  name: web\n  namespace: shop\n"),
    "a value": ({"app/kustomization.yaml": LISTS_VM}, "runStrategy: Always", "runStrategy: Halted"),
}


@pytest.mark.parametrize(("more", "before", "after"), SAME.values(), ids=[*SAME])
def test_writing_what_argo_cd_sets_anyway_changes_nothing(here: Path, more: dict[str, str], before: str, after: str) -> None:
    source = f"path: app\nkustomize:\n{indented(PATCH, 2)}" if more else "path: app"
    commit(here, {"app/vm.yaml": WEB, **more, "argo.yaml": application(source)})
    tree(here, {"app/vm.yaml": WEB.replace(before, after)})
    assert json.loads(run("diff", "--base", "HEAD", "-o", "json", cwd=here)[1])["vms"] == []


def test_another_namespace_of_the_destination_moves_the_vm(here: Path) -> None:
    pruned = application(spec="syncPolicy: {automated: {prune: true}}")
    commit(here, {"app/vm.yaml": WEB, "argo.yaml": pruned})
    tree(here, {"argo.yaml": pruned.replace("namespace: shop", "namespace: new")})
    found = json.loads(run("diff", "--base", "HEAD", "-o", "json", cwd=here)[1])["vms"]
    assert [(each["namespace"], each["change"]) for each in found] == [("new", "renamed")]


URLS = {
    "its remote": ("ssh://git@example.com/me/cluster", "shop"),
    "a fork of it": ("https://example.com/other/cluster.git", "shop"),
    "another repository": ("https://example.com/me/another", "default"),
}


@pytest.mark.parametrize(("url", "namespace"), URLS.values(), ids=[*URLS])
def test_only_this_repository_is_read_as_the_source(here: Path, url: str, namespace: str) -> None:
    found = vms(tree(here, {"app/vm.yaml": WEB, "argo.yaml": application().replace(URL, url)}))
    assert found == [(namespace, "web", "1Gi")]


def test_no_link_out_of_the_repository_is_followed(here: Path) -> None:
    outside = here.parent / f"outside-{here.name}"
    tree(outside, {"vm.yaml": VM % ("secret", "1Gi")})
    files = {"app/vm.yaml": WEB, "app/link.yaml": f"-> {outside}/vm.yaml", "linked": f"-> {outside}"}
    files |= {
        "argo.yaml": application(),
        "two.yaml": application("path: linked", name="two"),
        "three.yaml": application(f"path: ../outside-{here.name}", name="three"),
    }
    assert vms(tree(here, files)) == [("shop", "web", "1Gi")]
    assert "secret" not in applied(here)


def test_an_application_that_is_not_reconciled_is_not_applied(here: Path) -> None:
    off = application().replace(
        "namespace: argocd}", "namespace: argocd, annotations: {argocd.argoproj.io/skip-reconcile: 'true'}}"
    )
    folder = tree(here, {"app/vm.yaml": WEB, "argo.yaml": off})
    assert vms(folder) == []
    assert "the Application argocd/web is suspended, so Argo CD applies nothing of it" in check(folder, "--verbose")


# ---- Applications of Applications


def test_an_application_that_another_one_applies_is_changed_by_it(here: Path) -> None:
    patch = "kustomize:\n  patches:\n  - target: {kind: Application}\n    patch: |\n"
    patch += "      - {op: replace, path: /spec/destination/namespace, value: patched}\n"
    files = {"app/vm.yaml": WEB, "root.yaml": application(f"path: apps\n{patch}", name="root")}
    files |= {"apps/web.yaml": application(), "apps/kustomization.yaml": "resources: [web.yaml]\n"}
    assert vms(tree(here, files)) == [("patched", "web", "1Gi")]


def test_applications_are_as_the_kustomizations_make_them_that_nobody_delivers(here: Path) -> None:
    files = {
        "one/vm.yaml": WEB,
        "two/vm.yaml": WEB,
        "base/web.yaml": application("path: PATH"),
        "base/kustomization.yaml": "resources: [web.yaml]\n",
    }
    for name in ("one", "two"):
        patch = f"[{{target: {{kind: Application}}, patch: '- {{op: replace, path: /spec/source/path, value: {name}}}'}}]"
        files[f"over/{name}/kustomization.yaml"] = f"resources: [../../base]\nnameSuffix: -{name}\npatches: {patch}\n"
    folder = tree(here, files)
    assert [(each["delivery"], each["path"]) for each in rows(folder)] == [("argocd/web-one", "one"), ("argocd/web-two", "two")]
    assert vms(folder) == [("shop", "web", "1Gi"), ("shop", "web", "1Gi")]


def test_applications_that_apply_one_another_end(here: Path) -> None:
    files = {"a/vm.yaml": WEB, "a/b.yaml": application("path: b", name="b"), "b/a.yaml": application("path: a", name="a")}
    assert vms(tree(here, files)) == [("shop", "web", "1Gi")]


def test_what_several_apply_is_found_once_however_many_ways_lead_there(here: Path) -> None:
    levels = 40
    files = {f"d{levels}/vm.yaml": WEB}
    for level in range(levels):
        files |= {f"d{level}/{name}.yaml": application(f"path: d{level + 1}", name=f"{name}{level}") for name in "ab"}
    assert vms(tree(here, files)) == [("shop", "web", "1Gi"), ("shop", "web", "1Gi")]


# ---- ApplicationSets


def test_an_application_of_a_set_that_takes_another_revision_is_named(here: Path) -> None:
    listed = "- list: {elements: [{name: web, at: HEAD}, {name: old, at: v1.0.0}]}"
    files = {"app/vm.yaml": WEB, "sets.yaml": application_set(listed, "path: app\ntargetRevision: '{{at}}'")}
    folder = tree(here, files)
    found = [(each["delivery"], each["by"], each["revision"], each["path"]) for each in rows(folder)]
    assert found == [("argocd/web", "Application", "", "app"), ("argocd/old", "Application", "v1.0.0", "app")]
    assert vms(folder) == [("shop", "web", "1Gi")]


def test_an_application_set_delivers_each_folder(here: Path) -> None:
    generator = f"- git: {{repoURL: {URL}, directories: [{{path: apps/*}}, {{path: apps/idle, exclude: true}}]}}"
    files = {f"apps/{name}/vm.yaml": VM % (name, "1Gi") for name in ("one", "two", "idle")}
    folder = tree(here, {**files, "set.yaml": application_set(generator, "path: '{{path}}'", "{{path.basename}}")})
    assert sorted(vms(folder)) == [("default", "idle", "1Gi"), ("shop", "one", "1Gi"), ("shop", "two", "1Gi")]
    assert [(each["delivery"], each["file"]) for each in rows(folder)] == [
        ("argocd/one", "set.yaml"),
        ("argocd/two", "set.yaml"),
    ]


def test_what_a_set_cannot_know_is_told_once_and_is_no_error(here: Path) -> None:
    generator = "- pullRequest: {github: {owner: me, repo: x}}\n- pullRequest: {github: {owner: me, repo: y}}\n"
    found = check(tree(here, {"app/vm.yaml": WEB, "set.yaml": application_set(generator, "path: app")}))
    assert found.count("pullRequest") == 1
    assert "error" not in found


CLUSTERS = "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nspec:\n  clusters:\n"
CLUSTERS += "  - {name: old, targets: [none/old], kubevirtVersion: '1.1'}\n"
CLUSTERS += "  - {name: new, targets: [none/new], kubevirtVersion: '1.9'}\n"


def test_the_clusters_of_the_config_get_their_releases(here: Path) -> None:
    source = application_set("- clusters: {}", "path: app").replace(
        "server: 'https://kubernetes.default.svc'", "name: '{{name}}'"
    )
    folder = tree(here, {"app/vm.yaml": WEB, "set.yaml": source, ".kubevirt-render.yaml": CLUSTERS})
    assert [each["cluster"] for each in rows(folder)] == ["new", "old"]
    for name, release in (("old", "1.1"), ("new", "1.9")):
        _, out, _ = run("check", ".", "--no-cache", "--cluster", name, "--summary", "-o", "json", cwd=folder)
        assert json.loads(out)["summary"]["kubevirt"].startswith(release)


# ---- how it is applied

MANNERS = {
    "as Argo CD does by itself": ("", ("client-side apply", False, False)),
    "server-side": ("syncPolicy: {syncOptions: [ServerSideApply=true]}", ("server-side apply", False, False)),
    "replaced": ("syncPolicy: {syncOptions: [Replace=true, CreateNamespace=true]}", ("replace", False, True)),
    "pruned": ("syncPolicy: {automated: {prune: true}}", ("client-side apply", True, False)),
    "not pruned": ("syncPolicy: {automated: {prune: true}, syncOptions: [Prune=false]}", ("client-side apply", False, False)),
}


@pytest.mark.parametrize(("policy", "manner"), MANNERS.values(), ids=[*MANNERS])
def test_how_objects_are_applied_is_listed(here: Path, policy: str, manner: tuple[str, bool, bool]) -> None:
    (row,) = rows(tree(here, {"app/vm.yaml": WEB, "argo.yaml": application(spec=policy)}))
    assert (row["manner"], row["prune"], row["createsNamespace"]) == manner


# ---- charts, compared with helm

CHART = {
    "chart/Chart.yaml": "apiVersion: v2\nname: vms\nversion: 1.0.0\n",
    "chart/values.yaml": "memory: 1Gi\nlabel: a\nname: web\n",
    "chart/prod.yaml": "memory: 2Gi\n",
    "values/own.yaml": "memory: 3Gi\n",
    "values/text.txt": "text",
    "chart/templates/vm.yaml": (VM % ("{{ .Release.Name }}-{{ .Values.name }}", "{{ .Values.memory }}")).replace(
        "spec:\n  run", "  namespace: {{ .Release.Namespace }}\n  labels: {l: {{ .Values.label | quote }}}\nspec:\n  run"
    ),
    "chart/crds/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: crd, namespace: x}\n",
}
# The options of a source, and the words with which Argo CD calls helm for them.
HELM = {
    "nothing": ("{}", "web --namespace shop --include-crds"),
    "releaseName": ("{releaseName: own}", "own --namespace shop --include-crds"),
    "namespace": ("{namespace: else}", "web --namespace else --include-crds"),
    "valueFiles": ("{valueFiles: [prod.yaml]}", "web --namespace shop --include-crds --values chart/prod.yaml"),
    "valueFiles, from elsewhere": (
        "{valueFiles: [../values/own.yaml]}",
        "web --namespace shop --include-crds --values values/own.yaml",
    ),
    "valueFiles, from the root": (
        "{valueFiles: [prod.yaml, /values/own.yaml]}",
        "web --namespace shop --include-crds --values values/own.yaml",
    ),
    "valueFiles that may be missing": (
        "{valueFiles: [none.yaml], ignoreMissingValueFiles: true}",
        "web --namespace shop --include-crds",
    ),
    "values": ("{values: 'memory: 4Gi'}", "web --namespace shop --include-crds --set memory=4Gi"),
    "valuesObject": (
        "{valuesObject: {memory: 5Gi}, values: 'memory: 4Gi'}",
        "web --namespace shop --include-crds --set memory=5Gi",
    ),
    "parameters": (
        "{valuesObject: {memory: 5Gi}, parameters: [{name: memory, value: 6Gi}]}",
        "web --namespace shop --include-crds --set memory=6Gi",
    ),
    "parameters, text": (
        "{parameters: [{name: label, value: '1', forceString: true}]}",
        "web --namespace shop --include-crds --set-string label=1",
    ),
    "parameters, commas": (
        "{parameters: [{name: label, value: 'a,b'}]}",
        "web --namespace shop --include-crds --set label=a\\,b",
    ),
    "parameters, variables": (
        "{parameters: [{name: label, value: $ARGOCD_APP_NAME}]}",
        "web --namespace shop --include-crds --set label=web",
    ),
    "fileParameters": (
        "{fileParameters: [{name: label, path: ../values/text.txt}]}",
        "web --namespace shop --include-crds --set-file label=values/text.txt",
    ),
    "skipCrds": ("{skipCrds: true}", "web --namespace shop"),
}


@pytest.mark.parametrize(("options", "words"), HELM.values(), ids=[*HELM])
def test_helm_is_called_as_argo_cd_calls_it(here: Path, monkeypatch: pytest.MonkeyPatch, options: str, words: str) -> None:
    program = running.helm()
    monkeypatch.setenv("PATH", f"{Path(program).parent}:{os.environ['PATH']}")
    folder = tree(here, {**CHART, "argo.yaml": application(f"path: chart\nhelm: {options}")})
    name, *rest = words.split(" ")
    theirs = subprocess.run([program, "template", name, "chart", *rest], cwd=folder, check=True, capture_output=True).stdout
    assert applied(folder, "--helm") == told(yamlio.read_stream(theirs).items)


def test_values_of_a_source_that_is_only_referred_to(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(running.helm()).parent}:{os.environ['PATH']}")
    app = application("path: chart\nhelm: {valueFiles: [$own/values/own.yaml]}").replace(
        "  source:\n", "  sources:\n  - repoURL: a URL\n    ref: own\n  -\n".replace("a URL", URL)
    )
    assert vms(tree(here, {**CHART, "argo.yaml": app}), "--helm") == [("shop", "web-web", "3Gi")]


def test_a_chart_that_nobody_wants_built_is_told_as_everywhere(here: Path) -> None:
    found = check(tree(here, {**CHART, "argo.yaml": application("path: chart")}))
    assert "this Helm chart makes objects of KubeVirt and is not built; to have it checked, use --helm" in found


BAD = {
    "a file outside": "{valueFiles: [../../outside.yaml]}",
    "a link outside": "{valueFiles: [../values/link.yaml]}",
    "a list of files": "{valueFiles: ['prod.yaml,prod.yaml']}",
    "a flag": "{releaseName: --post-renderer=sh}",
    "a parameter from outside": "{fileParameters: [{name: label, path: ../../outside.yaml}]}",
}


@pytest.mark.parametrize("options", BAD.values(), ids=[*BAD])
def test_helm_gets_no_flag_and_no_file_from_outside(here: Path, monkeypatch: pytest.MonkeyPatch, options: str) -> None:
    monkeypatch.setenv("PATH", f"{Path(running.helm()).parent}:{os.environ['PATH']}")
    (here.parent / "outside.yaml").write_text("memory: 9Gi\nlabel: secret\n")
    files = {
        **CHART,
        "values/link.yaml": f"-> {here.parent}/outside.yaml",
        "argo.yaml": application(f"path: chart\nhelm: {options}"),
    }
    found = check(tree(here, files), "--helm")
    assert "error: argo.yaml:1:1: Argo CD can't build this: " in found
    assert vms(here, "--helm") == []


def test_applications_that_a_chart_makes_are_delivered(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(running.helm()).parent}:{os.environ['PATH']}")
    made = application("path: {{ .Values.path }}")
    files = {"root/Chart.yaml": CHART["chart/Chart.yaml"], "root/values.yaml": "path: none\n", "root/templates/web.yaml": made}
    files |= {"app/vm.yaml": WEB, "argo.yaml": application("path: root\nhelm: {valuesObject: {path: app}}", name="root")}
    assert vms(tree(here, files), "--helm") == [("shop", "web", "1Gi")]


def test_the_schema_of_the_list_fits_what_is_printed(here: Path) -> None:
    sets = application_set("- pullRequest: {}\n- list: {elements: [{name: x}]}", "path: app")
    folder = tree(here, {**KUSTOMIZED, **CHART, "set.yaml": sets, "argo.yaml": application(), "other.yaml": WEB})
    schema = json.loads(run("schema", "deliveries", cwd=folder)[1])
    Draft202012Validator.check_schema(schema)
    found = json.loads(run("deliveries", "--helm", "-o", "json", cwd=folder)[1])
    assert [error.message for error in Draft202012Validator(schema).iter_errors(found)] == []
    assert {each["by"] for each in found["deliveries"]} >= {"Application", "ApplicationSet", "chart", "files"}


LISTED = """\
TARGET   DELIVERED BY             CLUSTER   NAMESPACE   STEPS                      FILE
app      Application argocd/web   -         shop        build, prefix, namespace   argo.yaml
"""


def test_what_is_delivered_is_listed(here: Path) -> None:
    files = {
        "app/vm.yaml": WEB,
        "app/kustomization.yaml": LISTS_VM,
        "argo.yaml": application("path: app\nkustomize: {namePrefix: a-}"),
    }
    assert run("deliveries", cwd=tree(here, files))[1] == LISTED


# ---- how a change reaches the cluster

POLICY = "syncPolicy: {automated: {prune: true}, syncOptions: [%s]}"
KEEPS = "syncPolicy: {automated: {}}"
SYNC = "argocd.argoproj.io/sync-options"
FINAL = "finalizers: [resources-finalizer.argocd.argoproj.io]"


@pytest.mark.parametrize(
    ("policy", "gone", "effect"),
    [
        (POLICY % "", "the VM", "removed"),
        (POLICY % "Prune=false", "the VM", "left"),
        (POLICY % "Prune=confirm", "the VM", "left"),
        (KEEPS, "the VM", "left"),
        (POLICY % "", "the Application", "left"),
        (KEEPS, "the Application, which has a finalizer", "removed"),
        (KEEPS, "the set", "removed"),
    ],
)
def test_a_vm_that_goes_is_deleted_only_where_argo_cd_prunes(here: Path, policy: str, gone: str, effect: str) -> None:
    argo = application(spec=policy).replace("namespace: argocd}", f"namespace: argocd, {FINAL}}}" if "final" in gone else "}")
    if gone == "the set":
        argo = application_set("- list: {elements: [{name: web}]}", "path: app")
    before = {"app/vm.yaml": WEB, "app/other.yaml": "kind: ConfigMap\napiVersion: v1\nmetadata: {name: c}\n", "argo.yaml": argo}
    commit(here, before)
    (here / "app" / "vm.yaml").unlink()
    if gone != "the VM":
        (here / "argo.yaml").unlink()
        (here / "app" / "other.yaml").unlink()
    _, out, err = run("diff", "--base", "HEAD", "-o", "json", cwd=here)
    assert [each["effect"] for each in json.loads(out)["vms"]] == [[effect]], err


@pytest.mark.parametrize(
    ("options", "mark", "removed"),
    [("", "", False), ("Replace=true", "", True), ("ServerSideApply=true, Replace=true", "", True), ("", "Replace=true", True)],
)
def test_a_manifest_replaces_the_live_object_only_where_argo_cd_does_so(
    here: Path, options: str, mark: str, removed: bool
) -> None:
    """A replace takes away the firmware UUID that KubeVirt has drawn."""
    vm = WEB.replace("  name: web", f"  name: web\n  annotations: {{{SYNC}: {mark}}}") if mark else WEB
    commit(here, {"app/vm.yaml": vm, "argo.yaml": application(spec=POLICY % options)})
    tree(here, {"app/vm.yaml": vm.replace("1Gi", "2Gi")})
    _, out, _ = run("diff", "--base", "HEAD", "-o", "json", cwd=here)
    (record,) = json.loads(out)["vms"]
    assert any("firmware/uuid" in each for each in record["atRestart"]) is removed


def test_force_of_argo_cd_makes_what_is_refused_anew(here: Path) -> None:
    instance = (
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: web%s}\n"
        "spec: {domain: {devices: {}, memory: {guest: %s}}}\n"
    )
    for mark, expected in (("", ["refused"]), (f", annotations: {{{SYNC}: Force=true}}", ["recreated"])):
        commit(here, {"app/vm.yaml": instance % (mark, "1Gi"), "argo.yaml": application(spec=POLICY % "")})
        tree(here, {"app/vm.yaml": instance % (mark, "2Gi")})
        _, out, _ = run("diff", "--base", "HEAD", "-o", "json", cwd=here)
        assert [each["effect"] for each in json.loads(out)["vms"]] == [expected]
