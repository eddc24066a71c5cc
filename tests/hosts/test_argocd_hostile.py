"""What an application controls of its build: parameters, env, file names, kustomizations. None of it may run a program.

Whoever can push into an application's folder can set all of these (`.argocd-source.yaml`), and one sidecar builds for all.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from checking import run
from running import ROOT

from krm_fn.repositories import guard

OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: built\n"
RECORDER = f'#!/bin/sh\nfor word; do printf "%s\\n" "$word" >>"$RECORD"; done\ncat <<E\n{OBJECT}E\n'


class Ran(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


class App:
    """An application's folder in a repository, and the programs of a sidecar that note their arguments."""

    def __init__(self, folder: Path) -> None:
        self.repository = folder / "repository"
        self.folder = self.repository / "apps" / "shop"
        self.folder.mkdir(parents=True)
        self.tools = folder / "tools"
        self.tools.mkdir()
        self.record = folder / "record"
        for name in ("kustomize", "helm"):
            self.program(name, RECORDER)

    def program(self, name: str, text: str) -> None:
        (self.tools / name).write_text(text.replace("$RECORD", str(self.record)))  # a build gets no variable of ours
        (self.tools / name).chmod(0o755)

    def file(self, name: str, text: str = "") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def generate(self, *arguments: str, options: object = None, **environment: str) -> Ran:
        """What the plugin does with the application; `options` are its parameter buildOptions."""
        form = "array" if isinstance(options, list) else "string"
        given = [] if options is None else [{"name": "buildOptions", form: options}]
        return self.run("argocd", "generate", *arguments, **{"ARGOCD_APP_PARAMETERS": json.dumps(given), **environment})

    def run(self, *arguments: str, **environment: str) -> Ran:
        found = {"PATH": f"{self.tools}:/usr/bin:/bin", "ARGOCD_APP_SOURCE_PATH": "apps/shop"}
        return Ran(*run(*arguments, cwd=self.folder, **{**found, **environment}))

    @property
    def words(self) -> list[str] | None:
        """The arguments of the program that built, None where none was started."""
        return self.record.read_text().splitlines() if self.record.exists() else None


@pytest.fixture
def app(tmp_path: Path) -> App:
    return App(tmp_path)


@pytest.fixture
def kustomization(app: App) -> App:
    app.file("kustomization.yaml", "resources: []\n")
    return app


@pytest.fixture
def chart(app: App) -> App:
    app.file("Chart.yaml", "apiVersion: v2\nname: shop\nversion: 1.0.0\n")
    app.file("values.yaml")
    return app


def refused(ran: Ran, app: App) -> str:
    """The one line that a refusal is; nothing was built."""
    assert (ran.returncode, ran.stdout, app.words) == (2, "", None), ran.stderr
    assert ran.stderr.count("\n") == 1
    assert "internal error" not in ran.stderr
    return ran.stderr


@pytest.mark.parametrize(
    ("given", "reaches"),
    [
        (["--enable-helm"], ["--enable-helm"]),
        (["--enable-helm=false"], ["--enable-helm=false"]),
        (["--helm-kube-version", "1.33"], ["--helm-kube-version=1.33"]),
        (["--helm-api-versions=kubevirt.io/v1", "--helm-debug"], ["--helm-api-versions=kubevirt.io/v1", "--helm-debug"]),
        ("--enable-helm --reorder none", ["--enable-helm", "--reorder=none"]),
        (["--helm-kube-version", "--enable-exec"], ["--helm-kube-version=--enable-exec"]),
    ],
)
def test_harmless_flags_of_an_application_reach_kustomize(kustomization: App, given: object, reaches: list[str]) -> None:
    assert kustomization.generate(options=given).returncode == 0
    assert kustomization.words == ["build", *reaches, "."]


@pytest.mark.parametrize(
    ("given", "reaches"),
    [
        (["--values", "prod.yaml"], ["--values=prod.yaml"]),
        (["--values=../common.yaml", "-f", "prod.yaml"], ["--values=../common.yaml", "--values=prod.yaml"]),
        (["--set", "a=b,c=d", "--set-string=e=-f"], ["--set=a=b,c=d", "--set-string=e=-f"]),
        (["--set-json", "a={}", "--set-literal", "b=,"], ["--set-json=a={}", "--set-literal=b=,"]),
        (["--set", "--post-renderer=/bin/sh"], ["--set=--post-renderer=/bin/sh"]),
        (["-n", "other", "-a", "v1", "--kube-version=1.33"], ["--namespace=other", "--api-versions=v1", "--kube-version=1.33"]),
        (["--include-crds=false", "--skip-crds", "--no-hooks"], ["--include-crds=false", "--skip-crds", "--no-hooks"]),
    ],
)
def test_harmless_flags_of_an_application_reach_helm(chart: App, given: object, reaches: list[str]) -> None:
    chart.file("prod.yaml")
    chart.file("../common.yaml")
    assert chart.generate(options=given).returncode == 0
    assert (chart.words or [])[-len(reaches) :] == reaches


HOSTILE = [
    ["--enable-exec"],
    ["--enable-exec=true"],
    ["-enable-exec"],
    ["--enable-alpha-plugins", "--enable-exec"],
    ["--enable-helm", "--enable-alpha-plugins"],
    ["--enable-alpha-plugin"],
    ["--ENABLE-EXEC"],
    [" --enable-exec"],
    ["--enable-helm\n--enable-exec"],
    ["--enable-helm=true=x"],
    ["--enable-helm="],
    ["--helm-command=./evil.sh"],
    ["--helm-command", "./evil.sh"],
    ["--load-restrictor=LoadRestrictionsNone"],
    ["--load-restrictor", "LoadRestrictionsNone"],
    ["--mount", "type=bind,src=/,dst=/host"],
    ["--env", "SECRET"],
    ["-e", "SECRET"],
    ["-eSECRET"],
    ["--as-current-user"],
    ["--network"],
    ["--network-name=host"],
    ["--output", "/tmp/out.yaml"],
    ["-o", "/tmp/out.yaml"],
    ["-o/tmp/out.yaml"],
    ["-o=/tmp/out.yaml"],
    ["--enable-star"],
    ["--kubeconfig=/home/app/.kube/config"],
    ["--stack-trace"],
    ["--help"],
    ["-h"],
    ["--"],
    ["-"],
    ["."],
    [""],
    ["https://example.com/evil"],
    ["../../other"],
    ["--helm-kube-version"],
    ["--enable-helm", "/etc"],
]


@pytest.mark.parametrize("given", HOSTILE, ids=" ".join)
def test_no_other_flag_of_an_application_reaches_kustomize(kustomization: App, given: list[str]) -> None:
    said = refused(kustomization.generate(options=given), kustomization)
    assert "parameter buildOptions: " in said


@pytest.mark.parametrize(
    "given",
    [
        *HOSTILE,
        ["--post-renderer=/bin/sh"],
        ["--post-renderer", "/bin/sh"],
        ["--post-renderer-args=-c"],
        ["--set-file", "a=/etc/passwd"],
        ["--set-file=a=values.yaml,b=/etc/passwd"],
        ["--values=/etc/passwd"],
        ["--values", "/etc/passwd"],
        ["-f", "/etc/passwd"],
        ["-f/etc/passwd"],
        ["-f=/etc/passwd"],
        ["--values=../../../outside.yaml"],
        ["--values=values.yaml,/etc/passwd"],
        ['--values="/etc/passwd"'],
        ["--values=link.yaml"],
        ["--values=https://example.com/values.yaml"],
        ["--values=file:///etc/passwd"],
        ["--values=-"],
        ["--values= -"],
        ["--values="],
        ["--values"],
        ["--values=gone.yaml"],
        ["--values=templates"],
        ["--repo=https://example.com/charts"],
        ["--ca-file=/etc/passwd"],
        ["--keyring=/etc/passwd"],
        ["--name-template={{ env `HOME` }}"],
        ["--output-dir=/tmp"],
        ["--validate"],
        ["--dry-run=server"],
        ["--enable-dns"],
        ["--dependency-update"],
        ["--registry-config=/tmp/x"],
        ["--kube-apiserver=https://example.com"],
        ["--skip-crds", "oci://example.com/evil"],
    ],
    ids=" ".join,
)
def test_no_other_flag_of_an_application_reaches_helm(chart: App, given: list[str]) -> None:
    chart.file("https:/example.com/values.yaml")  # a file whose path reads as the address
    chart.file("values.yaml,/etc/passwd")
    (chart.folder / "templates").mkdir()
    (chart.folder / "link.yaml").symlink_to("/etc/passwd")
    (chart.repository.parent / "outside.yaml").write_text("")
    said = refused(chart.generate(options=given), chart)
    assert "parameter buildOptions: " in said


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({"ARGOCD_ENV_BUILD_OPTIONS": "--enable-exec"}, "ARGOCD_ENV_BUILD_OPTIONS: "),
        ({"ARGOCD_APP_PARAMETERS": '[{"name": "buildOptions", "string": "--enable-exec"}]'}, "parameter buildOptions: "),
    ],
)
def test_every_way_of_an_application_is_held_to_the_list(kustomization: App, environment: dict[str, str], place: str) -> None:
    assert place in refused(kustomization.generate(**environment), kustomization)


def test_single_variables_of_an_application_are_held_to_the_list(kustomization: App) -> None:
    ran = kustomization.run("argocd", "generate", PARAM_BUILDOPTIONS_0="--enable-exec")
    assert "PARAM_BUILDOPTIONS: " in refused(ran, kustomization)


def test_a_refusal_says_what_is_allowed_and_who_may_more(kustomization: App) -> None:
    said = refused(kustomization.generate(options=["--enable-exec"], ARGOCD_APP_NAME="shop"), kustomization)
    assert said == (
        "kubevirt-render: error: application shop: parameter buildOptions: found '--enable-exec'; an application may pass "
        "only these flags to kustomize: --enable-helm, --helm-api-versions, --helm-debug, --helm-kube-version or --reorder; an "
        "administrator can pass others as --build-option in plugin.yaml\n"
    )


def test_the_administrators_flags_reach_kustomize_as_they_are(kustomization: App) -> None:
    ran = kustomization.generate(
        "--build-option=--enable-exec", "--build-option", "-e", "--build-option", "A", options=["--enable-helm"]
    )
    assert ran.returncode == 0
    assert kustomization.words == ["build", "--enable-exec", "-e", "A", "--enable-helm", "."]


def test_an_applications_name_is_no_flag(chart: App) -> None:
    ran = chart.generate(ARGOCD_APP_NAME="--post-renderer=/bin/sh")
    assert (ran.returncode, ran.stdout, chart.words) == (1, "", None)
    assert "internal error" not in ran.stderr


def test_a_program_of_the_applications_folder_is_not_started(kustomization: App) -> None:
    (kustomization.tools / "kustomize").unlink()
    kustomization.file("kustomize", RECORDER).chmod(0o755)
    ran = kustomization.generate(PATH=f".::{kustomization.tools}")
    assert (ran.returncode, ran.stdout, kustomization.words) == (1, "", None)
    assert "neither kustomize nor kubectl" in ran.stderr


@pytest.mark.parametrize("form", ["array", "string", "map"])
@pytest.mark.parametrize("text", ["a\0b", "\ud800", "--enable-helm\0", "'", '"a', "\\"])
@pytest.mark.parametrize("name", ["buildOptions", "config", "kubevirtVersion", "severity", "allowEmpty"])
def test_no_text_of_a_parameter_is_an_internal_error(kustomization: App, form: str, text: str, name: str) -> None:
    value = {"array": [text], "string": text, "map": {text: text}}[form]
    refused(kustomization.generate(ARGOCD_APP_PARAMETERS=json.dumps([{"name": name, form: value}])), kustomization)


@pytest.mark.parametrize("name", ["buildOptions", "a\0b", "\ud800", None, 1, [], {}])
@pytest.mark.parametrize("value", [None, 1, True, [1], {"a": 1}, [[]], "\0"])
def test_no_form_of_the_parameters_is_an_internal_error(kustomization: App, name: object, value: object) -> None:
    given = [{"name": name, "array": value}]
    ran = kustomization.generate(ARGOCD_APP_PARAMETERS=json.dumps(given))
    assert "internal error" not in ran.stderr
    assert ran.returncode in (0, 2)


def test_a_variable_that_is_no_text_is_one_line(kustomization: App) -> None:
    for variable in ("ARGOCD_ENV_BUILD_OPTIONS", "ARGOCD_ENV_CONFIG", "ARGOCD_ENV_MODE", "ARGOCD_APP_PARAMETERS"):
        refused(kustomization.generate(**{variable: os.fsdecode(b"--enable-helm \xff")}), kustomization)


def test_a_config_that_links_to_itself_is_one_line(kustomization: App) -> None:
    (kustomization.folder / "loop").symlink_to("loop")
    given = json.dumps([{"name": "config", "string": "loop"}])
    refused(kustomization.generate(ARGOCD_APP_PARAMETERS=given), kustomization)


REAL = [
    pytest.param(release, marks=pytest.mark.skipif(not path.exists(), reason=f"no kustomize {release}: .ci/hosts fetches it"))
    for release in ("4.5.4", "5.6.0", "5.8.1")
    for path in [ROOT / ".hosts" / release / "kustomize"]
]


@pytest.fixture(params=REAL)
def built(request: pytest.FixtureRequest, app: App) -> App:
    """An application that a real kustomize builds, with a helm that notes its arguments."""
    (app.tools / "kustomize").unlink()
    (app.tools / "kustomize").symlink_to(ROOT / ".hosts" / request.param / "kustomize")
    app.program(
        "helm",
        f'#!/bin/sh\n[ "$1" = version ] && echo v3.14.0 && exit\nfor word; do printf "%s\\n" "$word" >>"$RECORD"; done\n'
        f'env | grep ^HELM_ >>"$RECORD.env"\ncat <<E\n{OBJECT}E\n',
    )
    app.file("charts/web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n")
    app.file("charts/web/values.yaml", "a: 1\n")
    return app


def helm_charts(app: App, chart: str, before: str = "") -> None:
    app.file("kustomization.yaml", f"{before}helmCharts:\n- {chart}\n")


def test_a_kustomization_still_gets_its_charts(built: App) -> None:
    helm_charts(built, "{name: web, releaseName: shop, namespace: ns, includeCRDs: true, valuesInline: {b: 2}}")
    ran = built.generate(options=["--enable-helm"])
    assert (ran.stdout, ran.returncode) == (OBJECT, 0), ran.stderr
    assert (built.words or [])[0] == "template"
    assert {"shop", "--namespace", "ns", "--include-crds", str(built.folder / "charts/web")} <= set(built.words or [])


def test_a_kustomization_pulls_charts_only_if_the_administrator_allows_it(built: App) -> None:
    helm_charts(built, "{name: api, repo: 'https://charts.example.com', version: 1.2.3, releaseName: shop}")
    assert (built.generate(options=["--enable-helm"]).returncode, built.words) == (1, None)
    built.generate("--network", options=["--enable-helm"])
    assert (built.words or [])[0] == "pull"
    assert {"--repo", "https://charts.example.com", "--version", "1.2.3", "api"} <= set(built.words or [])


@pytest.mark.parametrize(
    "chart",
    [
        "{name: web, releaseName: '--post-renderer=/bin/sh'}",
        "{name: web, releaseName: '-f'}",
        "{name: web, nameTemplate: '{{ env `RECORD` }}'}",
        "{name: web, nameTemplate: '{{ expandenv `$RECORD` }}'}",
        "{name: '--post-renderer=/bin/sh', repo: 'https://charts.example.com'}",
        "{name: '--registry-config=x', repo: 'https://charts.example.com'}",
        "{name: ../../../../outside}",
    ],
)
def test_no_text_of_a_kustomization_is_a_flag_of_helm(built: App, chart: str) -> None:
    outside = built.repository.parent / "outside"
    outside.mkdir()
    (outside / "values.yaml").write_text("")
    helm_charts(built, chart)
    for flags in ((), ("--network",)):
        ran = built.generate(*flags, options=["--enable-helm"])
        assert (ran.returncode, ran.stdout, built.words) == (1, "", None)


def test_a_kustomization_does_not_say_where_charts_are_unpacked(built: App, tmp_path: Path) -> None:
    helm_charts(built, "{name: api, repo: 'https://charts.example.com'}", f"helmGlobals: {{chartHome: {tmp_path}/plugins}}\n")
    ran = built.generate(options=["--enable-helm"])
    assert (ran.returncode, ran.stdout, built.words) == (1, "", None)


def test_a_kustomization_does_not_say_where_helm_finds_its_plugins(built: App) -> None:
    helm_charts(built, "{name: web, releaseName: shop}", f"helmGlobals: {{configHome: {built.folder}/home}}\n")
    assert built.generate(options=["--enable-helm"]).returncode == 0
    places = Path(f"{built.record}.env").read_text()
    assert "HELM_DATA_HOME=" in places
    assert str(built.folder) not in places


def test_the_administrators_helm_is_guarded_too(built: App) -> None:
    shutil.move(built.tools / "helm", built.tools / "helm3")
    helm_charts(built, "{name: web, releaseName: shop}")
    command = f"--build-option=--helm-command={built.tools}/helm3"
    assert built.generate(command, options=["--enable-helm"]).returncode == 0
    assert (built.words or [])[:2] == ["template", "shop"]
    built.record.unlink()
    helm_charts(built, "{name: web, releaseName: '--post-renderer=/bin/sh'}")
    assert built.generate(command, options=["--enable-helm"]).returncode == 1
    assert built.words is None


@pytest.mark.parametrize("place", ["helm/data/plugins", "bin", ".", "..", "tmp/../helm/data", "tmp/link/data/plugins"])
def test_a_chart_is_not_unpacked_into_the_folder_of_the_guards_files(app: App, place: str, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    (scratch / "tmp").mkdir(parents=True)
    (scratch / "tmp" / "link").symlink_to("../helm")
    script = tmp_path / "guarded"
    script.write_text(guard.guarded(str(app.tools / "helm"), folders=[str(app.repository)], scratch=scratch, network=True))
    script.chmod(0o755)
    for folder, code in ((f"{scratch}/{place}", 1), (f"{scratch}/tmp/clone/charts", 0), (str(app.folder), 0)):
        words = ["pull", "--untar", "--untardir", folder, "--repo", "https://charts.example.com", "api"]
        assert subprocess.run([script, *words], capture_output=True, check=False).returncode == code


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def remote(built: App, tmp_path: Path) -> str:
    """A kustomization that fetches a repository with a program from it, and the file that the program would create."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "kustomization.yaml").write_text("resources: [a.yaml]\n")
    (other / "a.yaml").write_text(OBJECT)
    git(other, "init", "-q")
    git(other, "add", ".")
    git(other, "commit", "-q", "-m", "a")
    command = f"touch%20{built.record}%3Bgit-upload-pack"
    built.file("kustomization.yaml", f'resources:\n- "file://{other}?ref=--upload-pack={command}"\n')
    return str(built.record)


def test_a_remote_base_runs_no_program(built: App, remote: str) -> None:
    for flags in ((), ("--network",)):
        ran = built.generate(*flags)
        assert not Path(remote).exists()
        assert (ran.returncode, ran.stdout) == (1, "")


def test_a_remote_base_of_a_named_kustomization_runs_no_program(built: App, remote: str) -> None:
    for flags in ((), ("--network",)):
        ran = built.run("render", "-k", str(built.folder), *flags)
        assert not Path(remote).exists()
        assert (ran.returncode, ran.stdout) == (1, "")
