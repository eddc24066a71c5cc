"""Helm charts in folders: which are built, how helm is called, and where findings in what it makes stand."""

import json
import os
import stat
import sys

import pytest
import running
from checking import check
from trees import tree

from krm_fn.base import programs
from krm_fn.repositories import charts
from krm_fn.repositories.discovery import discover

CHART = "apiVersion: v2\nname: {}\nversion: 1.0.0\n"
VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: {{ .Release.Name }}-web
spec:
  runStrategy: {{ .Values.strategy }}
  instancetype:
    name: {{ .Values.size | default "u1.small" }}
  template: {spec: {domain: {devices: {}}}}
"""
WEB = {"web/Chart.yaml": CHART.format("web"), "web/values.yaml": "strategy: Always\n", "web/templates/vm.yaml": VM}
FLAG = "this Helm chart makes objects of KubeVirt and is not built; to have it checked, use --helm"
ABSENT = "this Helm chart makes objects of KubeVirt and is not built: helm is not on the PATH; install it"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return tree(tmp_path, WEB)


@pytest.fixture
def helm(monkeypatch):
    """The real helm, on the PATH."""
    found = running.helm()
    monkeypatch.setenv("PATH", os.path.dirname(found), prepend=os.pathsep)  # noqa: PTH120
    return found


@pytest.fixture
def without_helm(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("PATH", str(tmp_path_factory.mktemp("empty")))


def acting(folder, monkeypatch, *, out="", complaints="", code=0):
    """A program of helm's name on the PATH; gives the file into which it writes its words and its environment."""
    record = folder / "called.json"
    text = f"""\
import json, os, sys
json.dump([sys.argv[1:], dict(os.environ)], open({str(record)!r}, "w"))
sys.stdout.write({out!r})
sys.stderr.write({complaints!r})
sys.exit({code})
"""
    program = folder / "helm"
    program.write_text(programs.script(sys.executable, text))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return record


def found(*words, cwd):
    """Rule, severity, file, line and message of each finding."""
    _, out, _ = check("-o", "json", *words, ".", cwd=cwd)
    return [
        (each["tags"]["rule"], each["severity"], each["file"]["path"], each.get("line"), each["message"])
        for each in json.loads(out)["results"]
    ]


def folders(root):
    return [chart.folder for chart in discover([str(root)]).charts]


def test_charts_that_other_charts_or_kustomizations_contain_are_none_of_the_charts(here):
    tree(here, {"web/charts/db/Chart.yaml": CHART.format("db"), "web/charts/db/charts/x/Chart.yaml": CHART.format("x")})
    tree(here, {"web/other/Chart.yaml": CHART.format("other"), "a.b/Chart.yaml": CHART.format("a")})
    tree(here, {"k/kustomization.yaml": "helmCharts: [{name: used}]", "k/charts/used/Chart.yaml": CHART.format("used")})
    assert folders(".") == ["a.b", "web", "web/other"]
    assert [chart.folder for chart in discover(["."], excludes=lambda file: file.startswith("web/")).charts] == ["a.b"]


def test_the_folder_itself_may_be_a_chart(here, monkeypatch):
    monkeypatch.chdir(here / "web")
    assert folders(".") == ["."]
    assert discover(["."]).charts[0].inputs == ("Chart.yaml", "templates/vm.yaml", "values.yaml")


def test_without_the_flag_a_chart_with_vms_is_one_info(here, without_helm):
    tree(here, {"pods/Chart.yaml": CHART.format("pods"), "pods/templates/pod.yaml": "kind: Pod\n"})
    tree(here, {"lib/Chart.yaml": CHART.format("lib") + "type: library\n", "lib/templates/_vm.tpl": VM})
    assert found(cwd=here) == [("chart-not-built", "info", "web/Chart.yaml", None, FLAG)]
    assert found("--helm", cwd=here) == [("chart-not-built", "error", "web/Chart.yaml", None, ABSENT)]


@pytest.mark.parametrize("config", ["{helm: true}", "{clusters: [{name: a, targets: [web], helm: true}]}"])
def test_a_config_that_is_named_can_ask_for_charts(here, without_helm, config):
    tree(here, {"mine.yaml": f"kind: RenderVirtualMachines\nspec: {config}\n"})
    assert [message for *_, message in found("--config=mine.yaml", "--exclude=mine.yaml", cwd=here)] == [ABSENT]


def test_how_helm_is_called(here, monkeypatch, tmp_path_factory):
    monkeypatch.setenv("HELM_PLUGINS", "/plugins")
    monkeypatch.setenv("KUBECONFIG", "/cluster")
    monkeypatch.setenv("SECRET", "x")
    made = "---\n# Source: web/templates/vm.yaml\n" + VM.replace("{{ .Values.strategy }}", "Sometimes").replace(
        "{{ .Release.Name }}", "a"
    )
    record = acting(
        tmp_path_factory.mktemp("bin"), monkeypatch, out=made.replace('{{ .Values.size | default "u1.small" }}', "u1.small")
    )
    assert sorted(each[:4] for each in found("--helm", cwd=here)) == [
        ("refused-run-strategy", "error", "web/templates/vm.yaml", None)
    ]
    called, environment = json.loads(record.read_text())
    assert called[:3] == ["template", "release-name", str(here / "web")]
    assert called[3:5] == ["--include-crds", "--skip-tests"]
    assert set(called[5::2]) == {"--api-versions"}
    assert "kubevirt.io/v1/VirtualMachine" in called[6::2]
    assert environment["KUBECONFIG"] == os.devnull
    assert environment["HELM_PLUGINS"].startswith(environment["HOME"])
    assert environment["HTTPS_PROXY"] == "http://127.0.0.1:9"
    assert "SECRET" not in environment
    assert not any(word in called for word in ("--post-renderer", "--dependency-update", "--enable-dns", "--validate"))


@pytest.mark.parametrize(
    ("complaints", "expected"),
    [
        (
            "WARNING: x\nError: values are wrong\nmore",
            ("warning", "helm does not build this with its default values: values are wrong"),
        ),
        (
            "Error: token: abcdefgh12345678",
            (
                "warning",
                "helm does not build this with its default values: its message is not shown, since it may hold a secret",
            ),
        ),
        (
            "Error: An error occurred. You may need to run: found in Chart.yaml, but missing in charts/ directory: common, db",
            (
                "error",
                "not built: it depends on charts that are not there: common, db; fetch them with `helm dependency build`",
            ),
        ),
    ],
)
def test_a_chart_that_helm_does_not_build_is_one_finding(here, monkeypatch, tmp_path_factory, complaints, expected):
    acting(tmp_path_factory.mktemp("bin"), monkeypatch, complaints=complaints, code=1)
    tree(here, {"pods/Chart.yaml": CHART.format("pods"), "pods/templates/pod.yaml": "kind: Pod\n"})
    assert found("--helm", cwd=here) == [("chart-not-built", expected[0], "web/Chart.yaml", None, expected[1])]


def test_a_chart_with_a_link_out_of_the_repository_is_not_built(here, helm, tmp_path_factory):
    secret = tmp_path_factory.mktemp("elsewhere") / "secret"
    secret.write_text("kind: Secret\n")
    (here / "web/templates/secret.yaml").symlink_to(secret)
    spec = "{failOn: never, severity: {chart-not-built: info}}"
    tree(here, {".kubevirt-render.yaml": f"kind: RenderVirtualMachines\nspec: {spec}\n"})
    assert check("--helm", ".", cwd=here)[0] == 1
    assert [(*each[:2], each[-1]) for each in found("--helm", cwd=here) if each[0] == "chart-not-built"] == [
        (
            "chart-not-built",
            "error",
            "not built: web/templates/secret.yaml is a link out of the repository; replace it by what it leads to",
        )
    ]


def test_a_chart_that_takes_too_long_is_one_error(here, monkeypatch, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bin")
    (folder / "helm").write_text("#!/bin/sh\nexec sleep 60\n")
    (folder / "helm").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    ((rule, severity, *_, message),) = found("--helm", "--timeout", "0.2", cwd=here)
    assert (rule, severity) == ("chart-not-built", "error")
    assert "stopped after 0.2 s" in message


def test_a_good_chart_has_no_finding(here, helm):
    assert check("--helm", ".", cwd=here)[:2] == (0, "")


def test_a_finding_stands_at_the_template_that_makes_the_object(here, helm):
    tree(here, {"web/values.yaml": "strategy: Sometimes\nsize: u1.smal\n"})
    assert sorted(each[:4] for each in found("--helm", cwd=here)) == [
        ("refused-run-strategy", "error", "web/templates/vm.yaml", None),
        ("unresolved-instancetype", "error", "web/templates/vm.yaml", None),
    ]


def test_a_template_without_actions_gives_line_and_column(here, helm):
    tree(
        here,
        {
            "web/templates/vm.yaml": VM.replace("{{ .Release.Name }}", "a")
            .replace("{{ .Values.strategy }}", "Sometimes")
            .replace('{{ .Values.size | default "u1.small" }}', "u1.small")
        },
    )
    assert [each[:4] for each in found("--helm", cwd=here)] == [("refused-run-strategy", "error", "web/templates/vm.yaml", 6)]


DEFINED = """\
apiVersion: v1
kind: ResourceQuota
metadata: {{name: shops, labels: {{made: {}}}}}
"""


@pytest.mark.parametrize("folder", ["web/crds/", "web/charts/db/crds/"])
def test_a_definition_that_a_template_makes_too_is_compared_with_none_in_crds(here, helm, folder):
    files = {folder + "shop.yaml": DEFINED.format("before"), "web/templates/shop.yaml": DEFINED.format("now")}
    chart = CHART.format("web") + "dependencies: [{name: db, version: 1.0.0}]\n"
    tree(here, {**files, "web/Chart.yaml": chart, "web/charts/db/Chart.yaml": CHART.format("db")})
    assert found("--helm", cwd=here) == []
    tree(here, {"web/templates/crds/again.yaml": DEFINED.format("again")})
    assert [each[:2] for each in found("--helm", cwd=here)] == [("duplicate-object", "error")]


def test_subcharts_and_loops_lead_to_their_templates(here, helm):
    loop = "{{- range list 1 2 }}\n---\n" + VM.replace(".Release.Name }}-web", "$.Release.Name }}-{{ . }}").replace(
        "{{ .Values.strategy }}", "Always"
    )
    loop = (
        loop.replace('{{ .Values.size | default "u1.small" }}', "u1.{{ if eq . 2 }}smal{{ else }}small{{ end }}")
        + "{{- end }}\n"
    )
    files = {"web/charts/db/Chart.yaml": CHART.format("db"), "web/charts/db/templates/vms.yaml": loop}
    tree(here, {**files, "web/Chart.yaml": CHART.format("web") + "dependencies: [{name: db, version: 1.0.0}]\n"})
    assert [each[:3] for each in found("--helm", cwd=here)] == [
        ("unresolved-instancetype", "error", "web/charts/db/templates/vms.yaml")
    ]


def test_a_chart_uses_the_sizes_of_other_targets(here, helm):
    size = "apiVersion: instancetype.kubevirt.io/v1beta1\nkind: VirtualMachineClusterInstancetype\nmetadata: {name: own}\n"
    size += "spec: {cpu: {guest: 1}, memory: {guest: 1Gi}}\n"
    tree(here, {"web/values.yaml": "strategy: Always\nsize: own\n", "sizes/own.yaml": size})
    assert check("--helm", ".", cwd=here)[:2] == (0, "")


def test_a_document_that_cannot_be_read_is_reported_at_its_template(here, helm):
    tree(here, {"web/templates/twice.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, name: b}\n"})
    ((rule, _, file, line, message),) = found("--helm", cwd=here)
    assert (rule, file, line) == ("unreadable-document", "web/templates/twice.yaml", None)
    assert "the key 'name' is set twice" in message


def test_the_output_is_the_same_from_the_cache_and_with_several_processes(here, helm, tmp_path_factory):
    tree(
        here,
        {"web/values.yaml": "strategy: Sometimes\nsize: gone\n", "b/Chart.yaml": CHART.format("b"), "b/templates/vm.yaml": VM},
    )
    cache = str(tmp_path_factory.mktemp("cache"))
    outputs = [check("--helm", "--cache", cache, "-j", jobs, ".", cwd=here)[:2] for jobs in ("1", "2", "1")]
    outputs.append(check("--helm", "--no-cache", ".", cwd=here)[:2])
    assert len(set(outputs)) == 1
    tree(here, {"web/values.yaml": "strategy: Always\nsize: u1.small\n"})
    assert check("--helm", "--cache", cache, ".", cwd=here)[:2] != outputs[0]


def test_a_template_with_a_mark_of_a_source_in_its_text_leads_nowhere_else(here, helm):
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n    # Source: web/templates/vm.yaml\n"
    tree(here, {"web/templates/a.yaml": text, "web/values.yaml": "strategy: Sometimes\n"})
    assert {each[2] for each in found("--helm", cwd=here)} == {"web/templates/vm.yaml"}


def test_what_helm_is_called_with_for_a_folder_that_looks_like_a_flag(here):
    assert charts.words("/-x")[2] == "/-x"
