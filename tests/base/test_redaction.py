"""Secrets stay where they are: in no finding, on no stderr, whatever is wrong with the text that holds them."""

import json
from pathlib import Path
from random import Random

import canaries
import pytest
from canaries import CANARY, shows
from checking import run

from krm_fn import yamlio
from krm_fn.base.redaction import looks_secret, reach, redact, refers, shown_path
from krm_fn.kubevirt.schema import FILE

FILES = ("json", "sarif", "junit", "github", "gitlab", "tap", "markdown")


def reported(folder, text):
    """All that the commands tell of a text, by command: stdout and stderr of `check`, stderr of those that print objects."""
    (folder / "all.yaml").write_text(text)
    outputs = ["-o", "text", *(part for name in FILES for part in ("-o", f"{name}=out.{name}"))]
    yield "check", "".join(run("check", "all.yaml", *outputs, "--summary", "--color", "always", cwd=folder)[1:])
    for name in FILES:
        if (folder / f"out.{name}").exists():
            yield name, (folder / f"out.{name}").read_text()
            (folder / f"out.{name}").unlink()
    for command in (
        ("render", "all.yaml"),
        ("render", "all.yaml", "--verbose", "--mode", "annotate", "-o", "patch"),
        ("migrate", "all.yaml"),
        ("argocd", "generate"),
        ("argocd", "ignore-differences", "all.yaml"),
    ):
        yield " ".join(command), run(*command, cwd=folder)[2]
    yield "function", results_of(folder, text)


def results_of(folder, text):
    """What the function says of the documents: stderr, and the results in what it prints."""
    documents = "".join(f"- {''.join(f'  {line}' for line in one.splitlines(True))[2:]}" for one in text.split("---\n"))
    listing = f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{documents}"
    _, out, err = run(cwd=folder, stdin=listing)
    results = yamlio.read_value(out).get("results") if out else None
    return err + json.dumps(results)


def leaks(folder, seed):
    """The commands that tell the canary of the text that the seed makes."""
    text = canaries.text(Random(seed))
    assert CANARY in text or str(canaries.NUMBER) in text
    return [name for name, said in reported(folder, text) if shows(said)]


@pytest.mark.parametrize("start", range(0, 240, 20))
def test_no_command_shows_a_secret(tmp_path, start):
    assert {seed: found for seed in range(start, start + 20) if (found := leaks(tmp_path, seed))} == {}


# ---- what was found


VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {{name: web}}
spec:
  runStrategy: Always
  template:
    spec:
      domain: {{devices: {{}}}}
      volumes:
      - name: init
        cloudInitNoCloud:
{}
"""
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: web}\nstringData:\n"


def checked(folder, text, *arguments):
    """What a check on a terminal prints of a text."""
    (folder / "all.yaml").write_text(text)
    return run("check", "all.yaml", "--color", "always", *arguments, cwd=folder)[1]


@pytest.mark.parametrize(
    "text",
    [
        SECRET + "  password: hunter2\n\ttoken: hunter2\n",
        SECRET + "  password: 'hunter2\n",
        SECRET + "  hunter2: a\n  hunter2: b\n",
        SECRET + "  a: *hunter2\n",
        "stringData:\n  hunter2: a\n  hunter2: b\nkind: Secret\napiVersion: v1\n",
        VM.format("          userData: |\n            password: hunter2\n\t  x: hunter2"),
        VM.format("          userdata: hunter2"),
        VM.format("          userDtaa: {hunter2: 1}"),
        VM.format("          userData: !!int hunter2"),
        VM.format("          userData: {hunter2: {hunter2: 1}}"),
        VM.format("          notes: hunter2"),
        VM.format("          {userData: 'one\n           hunter2', userdata: x}"),
        VM.format("          userData: &a [*a, hunter2]"),
        VM.replace("runStrategy: Always", "token: !!float hunter2").format("          userData: x"),
        VM.replace("{{name: web}}", "{{name: web, annotations: {{token: 'hunter2', a: {{b: c}}}}}}").format(
            "          userData: x"
        ),
    ],
)
def test_a_fault_of_a_secret_is_reported_without_its_value(tmp_path, text):
    reported = checked(tmp_path, text)
    assert ("all.yaml:" in reported, "hunter2" in reported) == (True, False), reported


def test_the_line_is_named_though_it_is_not_quoted(tmp_path):
    reported = checked(tmp_path, VM.format("          userdata: hunter2"), "--color", "never")
    field = "spec.template.spec.volumes[0].cloudInitNoCloud.userdata"
    fact = "KubeVirt 1.9.0 has no field userdata here; did you mean userData"
    assert f"error: all.yaml:12:11: VirtualMachine web: {field}: {fact} (unknown-field)\n" in reported


def test_a_place_below_a_secret_key_is_found_and_not_named(tmp_path):
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "vaults.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Vault", "plural": "vaults"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": OPEN}}],
        },
    }
    vault = "apiVersion: example.com/v1\nkind: Vault\nmetadata: {name: a}\nspec:\n  password:\n    hunter2: bad\n"
    reported = checked(tmp_path, f"{yamlio.dump(definition)}---\n{vault}", "--color", "never")
    line = len(yamlio.dump(definition).splitlines()) + 7
    fact = "the value is not valid; it may be secret and is not shown"
    assert reported == f"error: all.yaml:{line}:5: Vault a: spec.password: {fact} (unknown-field)\n"


def test_the_message_stays_where_the_value_can_be_left_out(tmp_path):
    labelled = VM.replace("web}}", "web, labels: {{token: hunt er2}}}}").format("          userData: x")
    reported = checked(tmp_path, labelled, "--color", "never")
    fact = "label value (hidden) is not valid; use at most 63 letters, digits and '-_.', with a letter or digit at both ends"
    assert f"metadata.labels.token: {fact} (invalid-label)\n" in reported


@pytest.mark.parametrize("label", ["My_Web", "My", "My_Web_and_more_words"])
def test_the_name_of_a_secret_is_shown_though_a_label_has_the_same_word(tmp_path, label):
    secret = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: My_Web, labels: {{app: {label}}}}}\n"
    assert "metadata.name: name 'My_Web' is not valid; use lower-case letters" in checked(tmp_path, secret, "--color", "never")


OPEN = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"password": {"type": "object", "properties": {}}}}},
}


KIND = "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\n"


@pytest.mark.parametrize(
    "text",
    [
        KIND + "spec: {token: hunter2}\n",
        KIND + "spec: {kubevirtVersion: {password: hunter2}, password: [hunter2]}\n",
        KIND + "spec: {configuration: {developerConfiguration: {password: {hunter2: hunter2}}}}\n",
        KIND + "spec: {severity: {token: hunter2}}\n",
        KIND + "spec: {password: *hunter2}\n",
        KIND + "spec: {password: !!int hunter2}\n",
        KIND + "spec:\n  password:\n    hunter2: a\n    hunter2: b\n",
        KIND + "spec: {}\nstringData: {password: hunter2}\n",
        SECRET + "  mode: hunter2\n",
        "apiVersion: v1\nkind: ConfigMap\ndata: {password: hunter2}\n",
        "apiVersion: v1\nkind: ConfigMap\ndata: {mode: [hunter2], configuration: 'password: *hunter2'}\n",
        "apiVersion: v1\nkind: ConfigMap\ndata: {configuration: 'password: {hunter2: a, hunter2: b}'}\n",
    ],
)
def test_a_wrong_config_is_reported_without_its_secrets(tmp_path, text):
    (tmp_path / "config.yaml").write_text(text)
    (tmp_path / "all.yaml").write_text(SECRET + "  a: b\n")
    code, out, err = run("check", "all.yaml", "--config", "config.yaml", cwd=tmp_path)
    assert (code, out, "config.yaml" in err, "hunter2" in err) == (2, "", True, False), err
    indented = text.replace("\n", "\n  ").rstrip(" ")
    code, out, err = run(cwd=tmp_path, stdin=f"kind: ResourceList\nitems: []\nfunctionConfig:\n  {indented}")
    results = yamlio.read_value(out).get("results") if out else []
    assert (code > 0, "hunter2" in err + json.dumps(results)) == (True, False), err


# ---- what isn't secret is shown


@pytest.mark.parametrize(
    "line",
    [
        "            bus: hunter2",
        "            bus: hunter2 # of the disk",
    ],
)
def test_other_lines_are_quoted(tmp_path, line):
    disk = f"      domain: {{{{devices: {{{{disks: [\n        {{{{name: init, disk: {{{{\n{line}\n}}}}}}}}]}}}}}}}}"
    text = VM.replace("      domain: {{devices: {{}}}}", disk).format("          userData: x")
    assert f"\n    {line}\n" in checked(tmp_path, text)


def test_a_document_that_cannot_be_read_is_quoted_where_nothing_in_it_looks_secret(tmp_path):
    text = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n\tname: shop\n"
    assert "    \tname: shop".replace("\t", " ") in checked(tmp_path, text)
    secret = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {password: a}\n"
    assert "name: shop" in checked(tmp_path, text + secret)
    assert "name: shop" not in checked(tmp_path, text.replace("kind: Pod", "kind: Secret"))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spec", "tolerations", 0), {"key": "gpu", "operator": "Exists"}),
        (("spec", "affinity", "nodeAffinity", "x", 0, "matchExpressions", 0, "key"), "zone"),
        (("spec", "volumes", 0), {"name": "init", "cloudInitNoCloud": {"secretRef": {"name": "web"}}}),
        (("spec", "volumes", 0, "cloudInitConfigDrive", "networkDataSecretRef", "name"), "web"),
        (("spec", "volumes", 0, "sysprep"), {"secret": {"name": "answers"}}),
        (("spec", "accessCredentials", 0, "sshPublicKey", "source", "secret", "secretName"), "keys"),
        (("spec", "topologySpreadConstraints", 0), {"topologyKey": "zone", "matchLabelKeys": ["a"]}),
        (("spec", "domain", "firmware", "serial"), "a: b"),
        (("metadata", "annotations", "example.com/a"), "https://example.com/a@b"),
    ],
)
def test_what_only_looks_like_a_secret_is_shown(path, value):
    assert redact(value, path) == value


# ---- spelling


@pytest.mark.parametrize("key", canaries.KEYS)
def test_a_secret_is_known_by_its_key_however_that_is_spelled(key):
    volume = {"name": "a", key: "hunter2"}
    assert redact(volume) == {"name": "a", key: "(hidden)"}
    assert redact("hunter2", ("spec", key)) == "(hidden)"
    assert redact({"a": 1}, ("spec", key, 0, "a")) == "(hidden)"
    assert shown_path(("spec", key, "a", 0)) == ("spec", key)


@pytest.mark.parametrize("kind", ["Secret", "secret", "Secrets", "Sercet", "SealedSecret"])
def test_of_a_secret_only_its_name_is_shown(kind):
    secret = {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": "a", "namespace": "b", "labels": {"c": "hunter2"}, "annotations": {"d": "hunter2"}},
        "type": "Opaque",
        "data": {"e": "hunter2"},
        "stringdata": "hunter2",
    }
    shown = {**secret, "data": "(hidden)", "stringdata": "(hidden)"}
    shown["metadata"] = {"name": "a", "namespace": "b", "labels": "(hidden)", "annotations": "(hidden)"}
    assert redact(secret) == redact({"items": [secret]})["items"][0] == shown
    assert reach(("data", "e"), secret).shown == ("data",)


@pytest.mark.parametrize(
    "text",
    [
        "#cloud-config\nchpasswd: {list: hunter2}",
        '{"kind": "Secret", "data": {"a": "hunter2"}}',
        "https://admin:hunter2@example.com/disk.img",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nhunter2",
    ],
)
def test_a_text_that_holds_a_secret_is_hidden_wherever_it_stands(text):
    assert redact({"notes": text}, ("metadata",)) == {"notes": "(hidden)"}


# Fields of the API that hold secrets, or whose values may hold some; and fields of which all but references is secret.
SECRET_FIELDS = {
    *(
        "dhCert",
        "extraHeaders",
        "httpHeaders",
        "key",
        "networkData",
        "networkDataBase64",
        "session",
        "userData",
        "userDataBase64",
    ),
}
SOURCES = {"cloudInitConfigDrive", "cloudInitNoCloud", "sshPublicKey", "sysprep", "userPassword"}


def test_of_the_apis_fields_those_look_secret_that_are():
    fields = Path(FILE).read_text().split("\n\n", 2)[2].splitlines()
    names = {line.split()[0].rstrip("!?") for line in fields if line[:1].isalpha()}
    assert {name for name in names if looks_secret(name)} == SECRET_FIELDS
    assert {name for name in names if refers(name)} == SOURCES
