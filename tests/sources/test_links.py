"""Links that lead out of the given paths, broken links, and entries that are no files."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from checking import CONFLICT, SIZE, check, run, write
from measuring import measure

TOKEN = "c2VjcmV0LXRva2Vu"
KUBECONFIG = f"apiVersion: v1\nkind: Config\nusers:\n- name: admin\n  user: {{token: {TOKEN}}}\n"
VM = CONFLICT.replace("cpu: {cores: 4}", "machine: {type: q35}")
OUTSIDE = (
    "this link points outside the given paths, so it is not followed; "
    "pass its target as a path, or, in a folder that you trust, use --follow-links (outside-link)"
)


@pytest.fixture
def folder(tmp_path):
    """A folder with a VM and its size; beside it lie a kubeconfig and another VM."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "kubeconfig.yaml").write_text(KUBECONFIG)
    (tmp_path / "home" / "other.yaml").write_text(VM.replace("name: web", "name: other"))
    (tmp_path / "vms").mkdir()
    return write(tmp_path / "vms", size=SIZE, web=VM)


def rules(folder, *arguments):
    """The exit code of a check, and (file, rule) of each finding."""
    code, out, err = check(".", "-o", "json", *arguments, cwd=folder)
    assert err == ""
    return code, [(each["file"]["path"], each["tags"]["rule"]) for each in json.loads(out)["results"]]


# ---- links out of the paths


@pytest.mark.parametrize("target", ["../home/kubeconfig.yaml", "../home"])
def test_what_a_link_leads_to_outside_is_not_printed(folder, target):
    (folder / "link.yaml").symlink_to(target)
    code, out, err = run("render", ".", cwd=folder)
    assert (code, err) == (0, f"kubevirt-render: warning: link.yaml: {OUTSIDE}\n")
    assert out == run("render", "size.yaml", "web.yaml", cwd=folder)[1]
    for form in ("json", "resourcelist", "patch"):
        assert TOKEN not in "".join(map(str, run("render", ".", "-o", form, cwd=folder)))


def test_a_link_to_a_folder_outside_is_reported_with_any_name(folder):
    (folder / "more").symlink_to("../home")
    assert rules(folder) == (0, [("more", "outside-link")])


def test_in_place_writes_no_file_outside(folder):
    (folder / "link.yaml").symlink_to("../home/other.yaml")
    before = (folder.parent / "home" / "other.yaml").read_bytes()
    assert run("render", "--in-place", ".", cwd=folder)[0] == 0
    assert (folder.parent / "home" / "other.yaml").read_bytes() == before
    assert "sockets" in (folder / "web.yaml").read_text()


def test_migrate_follows_no_link_out_of_the_folder(folder):
    (folder / "link.yaml").symlink_to("../home/kubeconfig.yaml")
    code, out, err = run("migrate", ".", cwd=folder)
    assert (code, TOKEN in out, err) == (0, False, f"kubevirt-render: warning: link.yaml: {OUTSIDE}\n")


def test_links_are_followed_for_who_wants_that(folder):
    (folder / "link.yaml").symlink_to("../home/kubeconfig.yaml")
    (folder / "more").symlink_to("../home")
    code, out, err = run("render", ".", "--follow-links", cwd=folder)
    assert (code, err, out.count(TOKEN), "name: other" in out) == (0, "", 1, True)
    run("render", "--in-place", "--follow-links", ".", cwd=folder)
    assert "sockets" in (folder.parent / "home" / "other.yaml").read_text()


def test_a_link_that_is_named_is_followed(folder):
    (folder / "link.yaml").symlink_to("../home/other.yaml")
    assert "name: other" in run("render", "link.yaml", "size.yaml", cwd=folder)[1]
    (folder.parent / "linked").symlink_to("vms")
    assert run("render", "linked/", cwd=folder.parent)[0] == 0
    (folder / "link.yaml").unlink()
    assert run("check", "linked", cwd=folder.parent) == (0, "", "")


NAMED = (
    *(
        ("check", "linked"),
        ("check", "linked/"),
        ("check", "-k", "linked"),
        ("check", "linked/other.yaml"),
        ("check", "link.yaml"),
    ),
    *(("render", "linked"), ("render", "link.yaml"), ("render", "--in-place", "link.yaml"), ("render", "--in-place", "linked")),
    *(("migrate", "--in-place", "linked"), ("migrate", "link.yaml"), ("explain", "linked"), ("capacity", "linked")),
    *(("diff", "linked", "."), ("report", "linked", "-o", "-"), ("check", "--fix", "linked")),
)


@pytest.mark.parametrize("words", NAMED)
@pytest.mark.parametrize("is_repository", [False, True])
def test_a_link_out_of_the_repository_is_not_followed_where_it_is_named(folder, words, is_repository):
    (folder / ".git").mkdir()
    (folder / "link.yaml").symlink_to("../home/other.yaml")
    (folder / "linked").symlink_to("../home")
    (folder.parent / "home" / "kustomization.yaml").write_text("resources: [kubeconfig.yaml]\n")
    if is_repository:
        (folder.parent / "home" / ".git").mkdir()
    before = (folder.parent / "home" / "other.yaml").read_bytes()
    code, out, err = run(*words, cwd=folder)
    assert (code, out, "this symbolic link points outside the repository; name its target" in err) == (1, "", True)
    assert (folder.parent / "home" / "other.yaml").read_bytes() == before


def test_a_link_out_of_the_repository_is_followed_for_who_wants_that(folder):
    (folder / ".git").mkdir()
    (folder / "linked").symlink_to("../home")
    assert "name: other" in run("render", "--follow-links", "linked", "size.yaml", cwd=folder)[1]


def test_a_link_to_another_path_that_is_named_is_no_link_out(folder):
    (folder / "link.yaml").symlink_to("../home/other.yaml")
    assert check(".", "../home/other.yaml", cwd=folder) == (0, "", "")
    assert check(".", "../home", cwd=folder) == (0, "", "")


def test_links_inside_the_folder_are_followed_once(folder):
    (folder / "a").mkdir()
    (folder / "a" / "link.yaml").symlink_to("../web.yaml")
    (folder / "a" / "up").symlink_to("..")
    (folder / "a" / "self").symlink_to(".")
    assert run("render", ".", "--follow-links", cwd=folder)[1].count("name: web") == 1
    assert check(".", cwd=folder) == (0, "", "")


def test_a_link_through_a_link_that_leads_out_leads_out(folder):
    (folder / "b.yaml").symlink_to("a.yaml")
    (folder / "a.yaml").symlink_to("../home/kubeconfig.yaml")
    assert rules(folder) == (0, [("a.yaml", "outside-link"), ("b.yaml", "outside-link")])


def test_a_folder_of_nothing_but_links_out_is_an_error(folder):
    (folder / "links").mkdir()
    (folder / "links" / "vm.yaml").symlink_to("../web.yaml")
    fix = "to follow links, use --follow-links"
    said = f"no Kubernetes object found in links; links/vm.yaml is a link to a place outside of it; {fix}"
    for command in ("render", "check"):
        assert run(command, "links", cwd=folder) == (1, "", f"kubevirt-render: error: {said}\n")


def test_the_severity_of_such_links_can_be_set(folder):
    (folder / "link.yaml").symlink_to("../home/kubeconfig.yaml")
    assert rules(folder, "--severity", "outside-link=error") == (1, [("link.yaml", "outside-link")])
    assert rules(folder, "--severity", "outside-link=off") == (0, [])


def test_a_known_link_is_not_taken_for_another(folder):
    (folder / "link.yaml").symlink_to("../home/kubeconfig.yaml")
    check(".", "--baseline", "../known.yaml", "--update-baseline", cwd=folder)
    assert rules(folder, "--baseline", "../known.yaml") == (0, [])
    (folder / "link.yaml").rename(folder / "another.yaml")
    assert ("another.yaml", "outside-link") in rules(folder, "--baseline", "../known.yaml")[1]


# ---- what can't be read


@pytest.mark.parametrize("command", ["render", "check", "migrate"])
def test_a_broken_link_is_a_finding_and_the_rest_is_read(folder, command):
    (folder / "gone.yaml").symlink_to("absent.yaml")
    (folder / "web.yaml").write_text(CONFLICT)
    code, out, err = run(command, ".", cwd=folder)
    assert code == 1
    assert "error: gone.yaml: can't be read: No such file or directory; correct or remove it" in out + err
    assert command == "migrate" or "web.yaml:12:" in out + err


def test_in_place_writes_the_others_if_a_link_is_broken(folder):
    (folder / "gone.yaml").symlink_to("absent.yaml")
    assert run("render", "--in-place", ".", cwd=folder)[0] == 1
    assert "sockets" in (folder / "web.yaml").read_text()


def test_links_in_a_circle_are_a_finding(folder):
    (folder / "a.yaml").symlink_to("b.yaml")
    (folder / "b.yaml").symlink_to("a.yaml")
    for name in ("c", "node_modules"):
        (folder / name).symlink_to(name)
    assert rules(folder) == (1, [("a.yaml", "unreadable-file"), ("b.yaml", "unreadable-file")])


def test_what_is_no_file_is_a_finding_and_is_not_waited_for(folder):
    os.mkfifo(folder / "pipe.yaml")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "socket.json"))
    (folder / "null.yml").symlink_to("/dev/null")
    (folder / "link.yaml").symlink_to("pipe.yaml")
    expected = [("link.yaml", "unreadable-file"), ("pipe.yaml", "unreadable-file"), ("socket.json", "unreadable-file")]
    assert rules(folder) == (1, [*expected, ("null.yml", "outside-link")])
    _, out, _ = check(".", cwd=folder)
    assert "error: pipe.yaml: can't be read: it is a named pipe; expected a file; correct or remove it (unreadable-file)" in out
    assert rules(folder, "--follow-links")[1] == [*expected[:1], ("null.yml", "unreadable-file"), *expected[1:]]


def test_a_very_large_file_is_a_finding_unless_it_is_named(folder):
    with (folder / "large.yaml").open("wb") as file:
        file.write(b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
        file.write(b"#" * 64_000_001)
    assert rules(folder) == (1, [("large.yaml", "unreadable-file")])
    why = "it has more than 64,000,000 bytes; to have it read, name it"
    assert f"error: large.yaml: can't be read: {why}; correct or remove it (unreadable-file)" in check(".", cwd=folder)[1]
    assert check("large.yaml", cwd=folder)[0] == 0


APPLIED = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: app, namespace: flux-system}
spec: {path: ./app, sourceRef: {kind: GitRepository, name: flux-system}}
"""


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        (".kubevirt-render.yaml", ""),
        ("Kptfile", ""),
        ("app/kustomization.yaml", ""),
        (".sourceignore", APPLIED),
        ("app/large.yaml", APPLIED),
        ("app/large", "resources: [web.yaml]\nconfigMapGenerator: [{name: a, files: [large]}]\n"),
        ("app/large", "resources: [web.yaml]\npatches: [{path: large}]\n"),
        ("app/large", "resources: [web.yaml, large]\n"),
    ],
)
def test_no_file_is_read_in_any_role_that_is_very_large(folder, name, listed):
    (folder / "app").mkdir()
    write(folder / "app", web=VM)
    (folder / ("flux.yaml" if listed == APPLIED else "app/kustomization.yaml")).write_text(listed)
    with (folder / name).open("wb") as file:
        file.truncate(1_500_000_000)  # git keeps that in a few bytes
    ran = measure(b"", folder, ["check", "--no-cache", "."])
    assert ran.code in (1, 2)
    assert "internal error" not in ran.err
    assert ran.megabytes < 300


def test_a_folder_that_lies_very_deep_is_a_finding(folder):
    deep = folder / ("a/" * 64)
    (deep / "b").mkdir(parents=True)
    for place in (deep, deep / "b"):
        (place / "web.yaml").write_text(CONFLICT)
    code, found = rules(folder)
    assert (code, found[0]) == (1, ("a/" * 64 + "b", "unreadable-file"))
    assert {file for file, _ in found[1:]} == {"a/" * 64 + "web.yaml"}


def test_what_one_may_not_read_is_a_finding(folder):
    (folder / "closed").mkdir(mode=0)
    (folder / "closed.yaml").touch(mode=0)
    if os.access(folder / "closed.yaml", os.R_OK):
        pytest.skip("this user may read everything")
    assert rules(folder) == (1, [("closed", "unreadable-file"), ("closed.yaml", "unreadable-file")])


def test_the_path_itself_must_be_readable(folder):
    (folder / "gone.yaml").symlink_to("absent.yaml")
    for path in ("gone.yaml", "absent.yaml"):
        assert check(path, "web.yaml", cwd=folder) == (1, "", f"kubevirt-render: error: {path}: No such file or directory\n")


@pytest.mark.parametrize("path", ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
def test_a_pipe_that_is_named_is_read(folder, path):
    command = [sys.executable, "-m", "krm_fn", "render", path]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parents[1])}
    ran = subprocess.run(command, input=SIZE.encode(), capture_output=True, cwd=folder, env=environment, check=False)
    assert (ran.returncode, ran.stdout.decode(), ran.stderr) == (0, SIZE, b"")


# ---- configs, and files that annotations name


CONFIG = "kind: RenderVirtualMachines\napiVersion: kubevirt-render.dev/v1alpha1\nmetadata: {name: r}\nspec: {failOn: never}\n"


def test_a_config_that_is_a_link_out_of_the_repository_is_refused(folder):
    (folder / ".git").mkdir()
    (folder.parent / "config.yaml").write_text(CONFIG)
    (folder / ".kubevirt-render.yaml").symlink_to("../config.yaml")
    said = ".kubevirt-render.yaml: this symbolic link points outside the repository; name a config with --config"
    assert check(".", cwd=folder) == (2, "", f"kubevirt-render: error: {said}\n")
    said = ".kubevirt-render.yaml: this symbolic link points outside the repository; name the target file instead"
    assert check(".", "--config", ".kubevirt-render.yaml", cwd=folder)[2] == f"kubevirt-render: error: {said}\n"
    assert check(".", "--config", "../config.yaml", cwd=folder)[0] == 0
    assert check(".", "--isolated", cwd=folder)[0] == 0
    (folder / ".kubevirt-render.yaml").unlink()
    (folder / "conf").mkdir()
    (folder / "conf" / "own.yaml").write_text(CONFIG)
    (folder / ".kubevirt-render.yaml").symlink_to("conf/own.yaml")
    assert check(".", cwd=folder)[0] == 0


def test_a_config_that_is_a_pipe_is_refused(folder):
    (folder / ".git").mkdir()
    os.mkfifo(folder / ".kubevirt-render.yaml")
    said = ".kubevirt-render.yaml: it is a named pipe; expected a file"
    assert check(".", cwd=folder) == (2, "", f"kubevirt-render: error: {said}\n")


@pytest.mark.parametrize("file", ["../home/web.yaml", "link.yaml"])
def test_an_annotation_leads_to_no_line_of_a_file_outside_of_the_repository(folder, file):
    (folder / ".git").mkdir()
    (folder.parent / "home" / "web.yaml").write_text("# hidden\n" + CONFLICT)
    (folder / "link.yaml").symlink_to("../home/web.yaml")
    named = CONFLICT.replace("namespace: shop", f"namespace: shop\n  annotations: {{config.kubernetes.io/path: {file}}}", 1)
    code, out, _ = check("-", "--color", "always", cwd=folder, stdin=f"{SIZE}---\n{named}")
    assert (code, f"{file}: " in out, "cores: 4" in out) == (1, True, False)


# ---- builds


def test_kustomize_itself_refuses_links_out_of_a_kustomization(folder, kustomize):
    (folder / "link.yaml").symlink_to("../home/other.yaml")
    (folder / "kustomization.yaml").write_text("resources: [link.yaml]\n")
    path = f"{Path(kustomize).parent}:{os.environ['PATH']}"
    command = [sys.executable, "-m", "krm_fn", "render", "-k", "."]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parents[1]), "PATH": path}
    ran = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    assert (ran.returncode, ran.stdout, "is not in or below" in ran.stderr) == (1, "", True)


# ---- Argo CD


def test_argo_cd_gets_nothing_where_a_link_is_passed_over(folder):
    (folder / "link.yaml").symlink_to("../home/other.yaml")
    said = "link.yaml: this symbolic link points outside the folders that may be read"
    assert run("argocd", "generate", cwd=folder) == (1, "", f"kubevirt-render: error: {said}\n")
    (folder / "link.yaml").unlink()
    (folder / "link.yaml").symlink_to("absent.yaml")
    said = "link.yaml: No such file or directory"
    assert run("argocd", "generate", cwd=folder) == (1, "", f"kubevirt-render: error: {said}\n")


def test_links_inside_an_applications_repository_are_followed(folder):
    (folder / "link.yaml").symlink_to("../home/other.yaml")
    code, out, _ = run("argocd", "generate", cwd=folder, ARGOCD_APP_SOURCE_PATH="vms")
    assert (code, "name: other" in out) == (0, True)
    assert run("argocd", "generate", cwd=folder, ARGOCD_APP_SOURCE_PATH="other")[0] == 1


def test_discovery_waits_for_no_pipe_and_reads_nothing_outside(tmp_path, folder):
    (tmp_path / "app").mkdir()
    os.mkfifo(tmp_path / "app" / "a.yaml")
    (tmp_path / "app" / "b.yaml").symlink_to("../vms/web.yaml")
    (tmp_path / "app" / "c.yaml").symlink_to("absent.yaml")
    assert run("argocd", "discover", cwd=tmp_path / "app") == (0, "", "")
    write(tmp_path / "app", d=VM)
    assert run("argocd", "discover", cwd=tmp_path / "app") == (0, "d.yaml\n", "")
