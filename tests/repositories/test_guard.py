"""What a tree makes builds do: it starts no program, reads nothing outside of the repository, and reaches no server."""

import os
import socket
import subprocess
import sys
import threading

import pytest
import running
from checking import run
from trees import tree

from krm_fn.base import programs
from krm_fn.lsp.session import Session
from krm_fn.repositories import guard

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web}
spec: {runStrategy: Always, template: {spec: {}}}
"""
INLINE = "apiVersion: builtin, kind: HelmChartInflationGenerator, metadata: {name: x}"
SECRET = "Canary7Bird"
OPEN = "kind: RenderVirtualMachines\nspec: {kustomizeBuildFlags: [--load-restrictor=LoadRestrictionsNone]}\n"
HELM, ANYWHERE = "--kustomize-build-flag=--enable-helm", "--kustomize-build-flag=--load-restrictor=LoadRestrictionsNone"
CHART = {
    "charts/c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
    "charts/c/values.yaml": "a: 1\n",
    "charts/c/templates/vm.yaml": VM,
}


class Server:
    """A server on this machine that counts who comes."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.came = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                self.socket.accept()[0].close()
            except OSError:
                return
            self.came += 1


@pytest.fixture
def server():
    found = Server()
    yield found
    found.socket.close()


@pytest.fixture
def release(request):
    return running.fetched(getattr(request, "param", "5.8.1"))


@pytest.fixture
def here(tmp_path, monkeypatch, release):
    """A repository, with the real programs on the PATH, and a git there that leaves a canary."""
    folder = tmp_path / "repository"
    tree(folder, {".git/HEAD": "ref: refs/heads/main\n", "vm.yaml": VM, **CHART})
    tools = tmp_path / "tools"
    tree(tools, {"git": programs.script(sys.executable, f"open({str(tmp_path / 'started')!r}, 'w')\n")})
    (tools / "git").chmod(0o755)
    (tools / "kustomize").symlink_to(release)
    (tools / "helm").symlink_to(running.helm())
    (tmp_path / "outside").write_text(f"{SECRET}\n")
    monkeypatch.setenv("PATH", str(tools), prepend=os.pathsep)
    monkeypatch.setenv("CANARY", SECRET)
    return folder


def evil(here):
    """A program of the tree that leaves a canary."""
    tree(here, {"evil.sh": f"#!/bin/sh\ntouch {here.parent}/started\ncat\n"})
    (here / "evil.sh").chmod(0o755)


def started(here):
    return (here.parent / "started").exists()


RELEASES = ["4.5.4", "5.8.1"]
COMMANDS = [
    ("check", "."),
    ("render", "."),
    ("capacity", "."),
    ("explain", "."),
    ("report", ".", "-o", "report.html"),
    ("diff", "vm.yaml", "."),
    ("check", "-k", "."),
    ("render", "-k", "."),
    ("migrate", "-k", "."),
]


@pytest.mark.parametrize("words", COMMANDS[:6], ids=" ".join)
@pytest.mark.parametrize(
    ("config", "place"),
    [
        ('{kustomizeBuildFlags: ["--enable-helm"]}', "spec.kustomizeBuildFlags[0]: found --enable-helm"),
        ('{clusters: [{name: a, targets: ["*"], kustomizeBuildFlags: ["--enable-helm"]}]}', "spec.clusters[0].kustomizeB"),
        ("{helm: true}", "spec.helm: found true"),
    ],
)
def test_a_config_of_the_tree_that_starts_helm_is_an_error(here, words, config, place):
    evil(here)
    tree(here, {".kubevirt-render.yaml": f"kind: RenderVirtualMachines\nspec: {config}\n"})
    tree(here, {"kustomization.yaml": "helmCharts: [{name: c, releaseName: --post-renderer=./evil.sh}]\n"})
    code, out, err = run(*words, cwd=here)
    assert (code, out, started(here)) == (2, "", False), err
    assert err.startswith("kubevirt-render: error: .kubevirt-render.yaml:2:"), err
    assert place in err
    assert "--config" in err


@pytest.mark.parametrize("words", COMMANDS[:2] + COMMANDS[6:8], ids=" ".join)
@pytest.mark.parametrize(
    "chart",
    [
        "helmCharts: [{name: c, releaseName: --post-renderer=./evil.sh}]",
        "helmCharts: [{name: c, releaseName: r, namespace: '--post-renderer=./evil.sh'}]",
        "helmChartInflationGenerator: [{chartName: c, releaseName: --post-renderer=./evil.sh}]",
        "HelmCharts: [{name: c, releaseName: --post-renderer=./evil.sh}]",
        "helmCharts: [{name: c, ReleaseName: --post-renderer=./evil.sh}]",
        f"generators: ['{{{INLINE}, name: c, releaseName: --post-renderer=./evil.sh}}']",
        "generators: [generator.yaml]",
        "generators: [plugins]",
        "generators: [made]",
    ],
)
def test_no_text_of_a_kustomization_is_a_flag_of_helm(here, words, chart):
    evil(here)
    generator = "apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: x}\nname: c\n"
    flagged = {"generator.yaml": f"{generator}releaseName: --post-renderer=./evil.sh\n"}
    patch = "patches: [{target: {kind: HelmChartInflationGenerator}, patch: '[{op: add, path: /releaseName, value: %s}]'}]\n"
    made = {"made/kustomization.yaml": f"resources: [g.yaml]\n{patch % '--post-renderer=./evil.sh'}", "made/g.yaml": generator}
    tree(here, {**flagged, **made, "plugins/kustomization.yaml": "resources: [g.yaml]\n"})
    tree(here, {"plugins/g.yaml": flagged["generator.yaml"], "kustomization.yaml": f"{chart}\n"})
    for word in words[:1] if words[1] == "-k" else ():
        assert run(word, "-k", ".", HELM, cwd=here)[0] == 1
    if words[1] != "-k":
        _, out, err = run(words[0], ".", HELM, "--exclude=plugins", "--exclude=made", cwd=here)
        assert "not built: " in out + err
    assert not started(here)


def test_a_chart_is_built_where_the_command_line_allows_it(here):
    tree(here, {"kustomization.yaml": "helmCharts: [{name: c, releaseName: r}]\n"})
    code, out, err = run("render", "-k", ".", HELM, cwd=here)
    assert (code, "VirtualMachine" in out) == (0, True), err


@pytest.mark.parametrize(
    "text",
    [
        "resources: ['{url}/a.yaml']",
        "Resources: ['{url}/a.yaml']",
        "components: ['{url}/a.yaml']",
        "bases: ['{url}//base?ref=v1']",
        "patches: [{{path: '{url}/a.yaml'}}]",
        "patchesStrategicMerge: ['{url}/a.yaml?x: y']",
        "openapi: {{path: '{url}/a.json'}}",
        "configMapGenerator: [{{name: a, files: ['a={url}/a']}}]",
        "configMapGenerator: [{{name: a, envs: ['{url}/a']}}]",
        "generators: ['{url}/a.yaml']",
        "generators: ['{url}/a.yaml?x: y']",
        "generators: ['{{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {{name: x}}, files: [\"{url}/a\"]}}']",
        "generators: ['{{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {{name: x}}, ENVS: [\"{url}/a\"]}}']",
        'generators: [\'!!map {{"apiVersion":"builtin","kind":"SecretGenerator","metadata":{{"name":"x"}},"env":"{url}"}}\']',
        "transformers: ['{{apiVersion: builtin, kind: PatchTransformer, metadata: {{name: x}}, path: \"{url}/a\"}}']",
        "transformers: [transformer.yaml]",
        "validators: [plugins]",
        "transformers: [made]",
        "resources: [linked]",
    ],
)
@pytest.mark.parametrize("release", RELEASES, indirect=True)
def test_a_kustomization_reaches_no_server(here, server, text):
    url = f"https://127.0.0.1:{server.port}"
    plugin = "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: x}\n"
    tree(here, {"transformer.yaml": f"{plugin}path: {url}/a\n", "plugins/kustomization.yaml": "resources: [t.yaml]\n"})
    tree(here, {"plugins/t.yaml": f"{plugin}path: {url}/a\n", "made/t.yaml": plugin})
    patch = f"[{{target: {{kind: PatchTransformer}}, patch: '[{{op: add, path: /path, value: {url}/a}}]'}}]"
    tree(
        here,
        {"made/kustomization.yaml": f"resources: [t.yaml]\npatches: {patch}\n"},
    )
    tree(here, {"deep/er/base/kustomization.yaml": "resources: [../evil]\n", "evil/kustomization.yaml": "namePrefix: a-\n"})
    tree(here, {"deep/er/evil/kustomization.yaml": f"resources: ['{url}/a.yaml']\n"})
    (here / "linked").symlink_to("deep/er/base")
    tree(here, {"kustomization.yaml": text.format(url=url) + "\n"})
    for words in (("check", "."), ("render", "-k", ".", HELM), ("argocd", "generate")):
        run(*words, cwd=here)
        assert (server.came, started(here)) == (0, False), words


@pytest.mark.parametrize(
    "place",
    [
        "git::http://127.0.0.1:{}/a",
        "http://127.0.0.1:{}/a.git",
        "git@127.0.0.1:a/b",
        "ssh://127.0.0.1:{}/a",
        "https://127.0.0.1:{}",
    ],
)
def test_an_address_is_built_only_with_network(here, server, place):
    code, out, err = run("render", "-k", place.format(server.port), cwd=here)
    assert (code, out, server.came, started(here)) == (1, "", 0, False)
    assert "--network" in err


@pytest.mark.parametrize("place", ["http://127.0.0.1:{}/a.git", "git@127.0.0.1:a/b"])
def test_with_network_an_address_is_built_as_kustomize_does(here, server, place):
    run("render", "-k", place.format(server.port), "--network", "--timeout", "5", cwd=here)
    assert server.came or started(here)


@pytest.mark.parametrize("command", ["check", "render", "capacity"])
def test_with_network_a_kustomization_in_a_folder_may_fetch(here, server, command):
    tree(here, {"kustomization.yaml": f"resources: ['http://127.0.0.1:{server.port}/a.yaml']\n"})
    run(command, ".", "--network", "--timeout", "5", cwd=here)
    assert server.came or started(here)


def test_a_config_of_the_tree_does_not_allow_the_network(here, server):
    tree(here, {".kubevirt-render.yaml": "kind: RenderVirtualMachines\nspec: {network: true}\n"})
    tree(here, {"kustomization.yaml": f"resources: ['http://127.0.0.1:{server.port}/a.yaml']\n"})
    assert run("check", ".", cwd=here)[0] == 2
    assert server.came == 0


def test_a_schema_of_a_charts_values_reaches_no_server(here, server):
    tree(here, {"charts/c/values.schema.json": f'{{"$ref": "http://127.0.0.1:{server.port}/a"}}'})
    tree(here, {"kustomization.yaml": "helmCharts: [{name: c, releaseName: r}]\n"})
    for words in (("render", "-k", ".", HELM), ("check", "charts", "--helm")):
        _, out, err = run(*words, cwd=here)
        assert server.came == 0, out + err


@pytest.mark.parametrize(
    ("name", "schema", "flags"),
    [
        ("values.schema.json", '{"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a"}', []),
        ("values.schema.json", '{"$schema": "https://example.com/schema"}', ["--skip-schema-validation"]),
        ("values.schema.json", '{"allOf": [{"$ref": "other.json"}]}', ["--skip-schema-validation"]),
        ("charts/db/values.schema.json", '{"\\u0024ref": "file:///a"}', ["--skip-schema-validation"]),
        ("values.schema.json", "{", ["--skip-schema-validation"]),
        ("charts/db.tgz", "", ["--skip-schema-validation"]),
    ],
)
def test_values_are_held_against_a_schema_only_if_it_needs_nothing_else(tmp_path, name, schema, flags):
    tree(tmp_path, {name: schema})
    assert guard.unfetched(str(tmp_path)) == flags


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    "text",
    [
        "generators: ['{{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {{name: x}}, files: [\"a={outside}\"]}}']",
        "transformers: ['{{apiVersion: builtin, kind: PatchTransformer, metadata: {{name: x}}, path: {outside}}}']",
        "configMapGenerator: [{{name: x, files: ['a={outside}']}}]",
        "configMapGenerator: [{{name: x, envs: [link]}}]",
        "configMapGenerator: [{{name: x, files: [below/link/outside]}}]",
        "generators: [generator.yaml]",
    ],
)
def test_files_from_anywhere_in_the_repository_are_none_outside_of_it(here, words, text):
    outside = here.parent / "outside"
    (here / "link").symlink_to(outside)
    tree(
        here,
        {
            "below/x": "",
            "generator.yaml": f"apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {{name: x}}\nfiles: [{outside}]\n",
        },
    )
    (here / "below/link").symlink_to(here.parent)
    tree(
        here,
        {".kubevirt-render.yaml": OPEN},
    )
    tree(here, {"kustomization.yaml": "resources: [vm.yaml]\n" + text.format(outside=outside) + "\n"})
    flags = [ANYWHERE] if words[0] in ("check", "render", "report") else []
    _, out, err = run(*words, *flags, cwd=here)
    page = (here / "report.html").read_text() if (here / "report.html").exists() else ""
    assert SECRET not in out + err + page


def test_files_from_anywhere_in_the_repository_are_read_with_their_places(here):
    tree(
        here,
        {".kubevirt-render.yaml": OPEN},
    )
    tree(here, {"common/vm.yaml": VM.replace("web", "other").replace("spec: {", "spec: {instancetype: {name: gone}, ")})
    tree(
        here,
        {
            "common/labels": "a=b\n",
            "app/kustomization.yaml": "resources: [../common/vm.yaml]\n"
            "configMapGenerator: [{name: x, envs: [../common/labels], files: [k=../common/labels, ../common/labels]}]\n",
        },
    )
    _, out, err = run("check", "app", cwd=here)
    assert "common/vm.yaml:4" in out, out + err
    code, out, err = run("render", "-k", "app", ANYWHERE, "--severity=unresolved-instancetype=off", cwd=here)
    assert (code, out.count("labels: |"), "k: |" in out) == (0, 1, True), out + err


def test_the_input_of_a_case_is_no_link_to_a_file_elsewhere(here):
    (here.parent / "secret.yaml").write_text(VM.replace("web", SECRET.lower()))
    tree(here, {"case/expected.yaml": "findings: []\n"})
    (here / "case/input.yaml").symlink_to("../../secret.yaml")
    code, out, err = run("test", "case", cwd=here)
    assert (code, SECRET.lower() in out + err, "lies outside of the folder" in out + err) == (1, False, True), out + err


@pytest.mark.parametrize("release", RELEASES, indirect=True)
def test_a_build_gets_no_variable_of_ours(here):
    tree(
        here,
        {
            "a.env": "CANARY\nPATH\n",
            "kustomization.yaml": "resources: [vm.yaml]\nconfigMapGenerator: [{name: x, envs: [a.env]}]\n",
        },
    )
    for words in (("render", "-k", "."), ("render", "."), ("render", "-k", ".", "--network"), ("argocd", "generate")):
        _, out, err = run(*words, cwd=here)
        assert SECRET not in out + err, words


def test_the_config_of_an_earlier_commit_starts_no_program_either(here):
    evil(here)
    (here.parent / "tools/git").unlink()
    (here / ".git/HEAD").unlink()
    config = here / ".kubevirt-render.yaml"
    config.write_text('kind: RenderVirtualMachines\nspec: {kustomizeBuildFlags: ["--enable-helm"]}\n')
    tree(here, {"kustomization.yaml": "helmCharts: [{name: c, releaseName: --post-renderer=./evil.sh}]\n"})
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", *words], cwd=here, check=True)
    config.unlink()
    for words in (("diff", "--base", "HEAD", "."), ("check", "--base", "HEAD", ".")):
        code, out, err = run(*words, cwd=here)
        assert (code, out, started(here)) == (2, "", False), err
        assert "found --enable-helm" in err


def test_a_config_of_a_case_names_no_policy_outside_of_the_repository(here):
    policy = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: p}\n"
    tree(here.parent, {"policy.yaml": policy})
    config = "kind: RenderVirtualMachines\napiVersion: kubevirt-render.dev/v1alpha1\nspec: {policies: [../../policy.yaml]}\n"
    tree(here, {"case/input.yaml": VM, "case/expected.yaml": "findings: []\n", "case/config.yaml": config})
    _, out, err = run("test", "case", cwd=here)
    assert "is outside of the repository" in out + err


def test_the_language_server_starts_no_program_of_the_tree(here, monkeypatch):
    evil(here)
    tree(here, {".kubevirt-render.yaml": 'kind: RenderVirtualMachines\nspec: {kustomizeBuildFlags: ["--enable-helm"]}\n'})
    tree(here, {"kustomization.yaml": "helmCharts: [{name: c, releaseName: --post-renderer=./evil.sh}]\n"})
    monkeypatch.chdir(here)
    session = Session()
    found = session.begin()
    assert not started(here)
    assert "found --enable-helm" in f"{found} {session.workspace.error}"


def shell(tmp_path, *words):
    (scratch := tmp_path / "scratch").mkdir()
    return guard.run("/bin/sh", ["-c", *words], scratch=scratch, roots=(), timeout=60)


def test_a_program_that_prints_very_much_has_failed(tmp_path):
    ran = shell(tmp_path, f"head -c {guard.PRINTED + 1} /dev/zero")
    assert (ran.code, ran.out) == (1, b"")
    assert ran.complaints == b"Error: it makes more than 64,000,000 bytes; build less at once\n"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of another process")
def test_a_program_gets_no_more_memory_than_it_may_have(tmp_path):
    ran = shell(tmp_path, f'exec "$0" -c "import time; time.sleep(1); bytearray({guard.MEMORY})"', sys.executable)
    assert (ran.code, ran.complaints.splitlines()[-1:]) == (1, [b"MemoryError"])
