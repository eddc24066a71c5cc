"""Known findings: what a baseline hides, what it tells of itself, and how it is written."""

import json

import pytest
from checking import CONFLICT, SIZE, check, write

from krm_fn import yamlio


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "vms").mkdir()
    write(tmp_path / "vms", size=SIZE, web=CONFLICT)
    return tmp_path


def checked(folder, *arguments, **more):
    return check("--baseline", "known.yaml", *arguments, "vms", cwd=folder, **more)


def update(folder, *arguments):
    code, out, err = checked(folder, "--update-baseline", *arguments)
    assert (code, out) == (0, "")
    return err


def entries(folder):
    return yamlio.read_value((folder / "known.yaml").read_text())["findings"]


def change(folder, old, new, name="known.yaml"):
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new))


def rules(folder, *arguments, **more):
    code, out, err = checked(folder, "-o", "json", *arguments, **more)
    assert err == ""
    return code, [each["tags"]["rule"] for each in json.loads(out)["results"]]


def test_what_is_known_does_not_count(folder):
    assert update(folder) == "kubevirt-render: note: known.yaml: 0 kept, 1 added, 0 removed\n"
    figures = "0 errors, 0 warnings, 0 info in 2 objects of 2 files, KubeVirt 1.9.0, 1 suppressed (1 by the baseline)"
    assert checked(folder, "--summary") == (0, f"{figures}\n", "")


UNREADABLE = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nspec:\n\t- b\n"


def test_a_document_that_can_not_be_read_may_be_known(folder):
    write(folder / "vms", size=UNREADABLE)
    assert checked(folder, "--update-baseline")[:2] == (0, "")
    assert checked(folder) == (0, "", "")
    write(folder / "vms", other=UNREADABLE)
    code, out, _ = checked(folder)
    assert (code, out.count("\n"), "vms/other.yaml:4:1: a tab" in out) == (1, 1, True)


def test_what_is_new_counts(folder):
    update(folder)
    write(folder / "vms", api=CONFLICT.replace("name: web", "name: api"))
    code, out, _ = checked(folder)
    assert (code, out.count("\n"), "VirtualMachine shop/api: " in out) == (1, 1, True)


def test_a_baseline_is_sorted_text_for_people(folder):
    write(folder / "vms", api=CONFLICT.replace("name: web", "name: api").replace("cores: 4", "cores: 4, threads: 2"))
    update(folder)
    told = [(each["object"], each["path"], each["rule"]) for each in entries(folder)]
    cpu = "spec.template.spec.domain.cpu."
    assert told == [
        ("VirtualMachine shop/api", f"{cpu}cores", "instancetype-conflict"),
        ("VirtualMachine shop/api", f"{cpu}threads", "instancetype-conflict"),
        ("VirtualMachine shop/web", f"{cpu}cores", "instancetype-conflict"),
    ]
    assert (folder / "known.yaml").read_text().startswith("# Known findings of `kubevirt-render check`. ")


def test_updating_twice_changes_nothing(folder):
    update(folder)
    before = (folder / "known.yaml").read_bytes()
    assert update(folder) == "kubevirt-render: note: known.yaml: 1 kept, 0 added, 0 removed\n"
    assert (folder / "known.yaml").read_bytes() == before


def test_updating_keeps_reasons_and_dates_and_drops_what_is_gone(folder):
    write(folder / "vms", api=CONFLICT.replace("name: web", "name: api"))
    update(folder)
    change(
        folder,
        "  object: VirtualMachine shop/web\n",
        '  object: VirtualMachine shop/web\n  reason: "later: x"\n  expires: 2999-12-31\n',
    )
    (folder / "vms" / "api.yaml").unlink()
    assert update(folder) == "kubevirt-render: note: known.yaml: 1 kept, 0 added, 1 removed\n"
    assert [(each["object"], each["reason"], each["expires"]) for each in entries(folder)] == [
        ("VirtualMachine shop/web", "later: x", "2999-12-31")
    ]


def test_a_file_named_json_is_json(folder):
    code, _, _ = check("--baseline", "known.json", "--update-baseline", "vms", cwd=folder)
    assert code == 0
    value = json.loads((folder / "known.json").read_text())
    assert (value["version"], [each["object"] for each in value["findings"]]) == (1, ["VirtualMachine shop/web"])
    assert check("--baseline", "known.json", "vms", cwd=folder) == (0, "", "")


def test_sarif_has_what_is_known_as_suppressed_with_its_reason(folder):
    update(folder)
    change(folder, "  object:", "  reason: next month\n  object:")
    _, out, _ = checked(folder, "-o", "sarif")
    (result,) = json.loads(out)["runs"][0]["results"]
    assert result["suppressions"] == [{"kind": "external", "status": "accepted", "justification": "next month"}]
    assert result["partialFingerprints"] == {"kubevirtRender/v1": entries(folder)[0]["fingerprint"]}


@pytest.mark.parametrize(
    ("today", "code", "found"),
    [
        ("2026-12-31", 0, []),
        ("2027-01-01", 1, ["instancetype-conflict", "expired-baseline-entry"]),
    ],
)
def test_an_entry_counts_through_the_day_on_which_it_expires(folder, today, code, found):
    update(folder)
    change(folder, "  object:", "  expires: 2026-12-31\n  object:")
    assert rules(folder, "--today", today) == (code, found)


def test_the_day_is_that_of_source_date_epoch(folder):
    update(folder)
    change(folder, "  object:", "  expires: 2026-12-31\n  object:")
    assert rules(folder, SOURCE_DATE_EPOCH="1798761599") == (0, [])  # the last second of 2026
    assert rules(folder, SOURCE_DATE_EPOCH="1798761600")[0] == 1


def test_an_expired_entry_stays_expired_when_the_baseline_is_updated(folder):
    update(folder)
    change(folder, "  object:", "  expires: 2020-12-31\n  object:")
    assert checked(folder, "--update-baseline")[0] == 1
    assert entries(folder)[0]["expires"] == "2020-12-31"


def test_an_entry_without_a_finding_is_told_with_its_place(folder):
    update(folder)
    write(folder / "vms", web=CONFLICT.replace("cpu: {cores: 4}", "machine: {}"))
    code, out, _ = checked(folder, "--severity", "unknown-field=off")
    assert (code, out) == (
        0,
        (
            "warning: known.yaml:4:3: findings[0]: instancetype-conflict in VirtualMachine shop/web is no longer found; "
            "delete the entry (unused-baseline-entry)\n"
        ),
    )


def test_what_is_said_of_the_baseline_can_fail_or_be_turned_off(folder):
    write(folder, known='version: 1\nfindings: [{fingerprint: "0", rule: null-item}]\n')
    (folder / "vms" / "web.yaml").unlink()
    assert rules(folder, "--fail-on", "warning") == (1, ["unused-baseline-entry"])
    assert rules(folder, "--fail-on", "warning", "--severity", "unused-baseline-entry=off") == (0, [])


# ---- fingerprints


def moved(folder):
    (folder / "vms" / "web.yaml").rename(folder / "vms" / "another.yaml")


def moved_within(folder):
    (folder / "vms" / "web.yaml").write_text(f"# {'x' * 99}\n\n---\n{SIZE}---\n{CONFLICT}")
    (folder / "vms" / "size.yaml").unlink()


def spelt_otherwise(folder):
    change(folder, "cpu: {cores: 4}", "cpu:\n          # four\n          cores: 4", "vms/web.yaml")


def in_a_list(folder):
    text = "- " + CONFLICT.replace("\n", "\n  ").rstrip(" ")
    (folder / "vms" / "web.yaml").write_text(f"apiVersion: v1\nkind: List\nitems:\n{text}")


@pytest.mark.parametrize("move", [moved, moved_within, spelt_otherwise, in_a_list])
def test_a_finding_stays_known_wherever_its_object_goes(folder, move):
    update(folder)
    move(folder)
    assert rules(folder) == (0, [])


@pytest.mark.parametrize(("old", "new"), [("cores: 4", "cores: 8"), ("cores: 4", "threads: 4"), ("name: web", "name: api")])
def test_another_value_field_or_object_is_another_finding(folder, old, new):
    update(folder)
    change(folder, old, new, "vms/web.yaml")
    assert rules(folder) == (1, ["instancetype-conflict", "unused-baseline-entry"])


def test_findings_that_are_alike_have_fingerprints_of_their_own(folder):
    write(folder / "vms", again=CONFLICT)
    update(folder)
    assert len({each["fingerprint"] for each in entries(folder)}) == 2
    assert rules(folder) == (0, [])


# ---- what is wrong with a baseline


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "known.yaml:1:1: not a baseline; expected one map with version: 1 and a list of findings"),
        ("", "known.yaml: not a baseline; expected one map with version: 1 and a list of findings"),
        ("version: 2\nfindings: []", "known.yaml:1:1: version: found 2; expected 1"),
        ("version: 1\nfindings: [a]", "known.yaml:2:12: findings[0]: found 'a'; expected a map"),
        ("version: 1\nfindings: [{rule: a}]", "known.yaml:2:12: findings[0].fingerprint: the key is missing; add it"),
        (
            "version: 1\nfindings: [{fingerprint: 12, rule: a}]",
            "known.yaml:2:13: findings[0].fingerprint: found 12; expected a string; put it in quotes",
        ),
        (
            "version: 1\nfindings: [{fingerprint: a, rule: a, expire: b}]",
            (
                "known.yaml:2:38: findings[0].expire: unknown key; expected one of fingerprint, rule, object, path, reason, "
                "expires; did you mean expires"
            ),
        ),
        (
            "version: 1\nfindings: [{fingerprint: a, rule: a, expires: 31.12.2026}]",
            "known.yaml:2:38: findings[0].expires: found '31.12.2026'; expected a date YYYY-MM-DD",
        ),
        (
            "version: 1\nfindings: [{fingerprint: a, rule: a, expires: 2026-02-30}]",
            "known.yaml:2:38: findings[0].expires: found '2026-02-30'; expected a date YYYY-MM-DD",
        ),
    ],
)
def test_a_wrong_baseline_is_named_with_the_place_in_it(folder, text, message):
    write(folder, known=text)
    assert checked(folder) == (2, "", f"kubevirt-render: error: {message}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--baseline", "no.yaml"], "no.yaml: the baseline does not exist; create it with --update-baseline"),
        (["--update-baseline"], "--update-baseline needs --baseline FILE"),
        (
            ["--baseline", "no.yaml", "--update-baseline", "--today", "1.1.2026"],
            "--today: found '1.1.2026'; expected YYYY-MM-DD",
        ),
    ],
)
def test_a_wrong_call_is_told(folder, arguments, message):
    assert check(*arguments, "vms", cwd=folder) == (2, "", f"kubevirt-render: error: {message}\n")


def test_a_wrong_epoch_is_told(folder):
    write(folder, known="version: 1\nfindings: []")
    assert checked(folder, SOURCE_DATE_EPOCH="now") == (
        2,
        "",
        "kubevirt-render: error: SOURCE_DATE_EPOCH: found 'now'; expected seconds since 1970\n",
    )


# ---- several configs


OWN = "kind: RenderVirtualMachines\nspec: {severity: {unused-baseline-entry: %s}}\n"


@pytest.mark.parametrize(("of_root", "level"), [("error", "error"), ("info", "info")])
def test_of_several_configs_the_one_next_to_the_baseline_says_how_severe_its_findings_are(tmp_path, of_root, level):
    (tmp_path / ".git").mkdir()
    for name, config in (("", of_root), ("a", '"off"'), ("b", "warning")):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / ".kubevirt-render.yaml").write_text(OWN % config)
        write(folder, size=SIZE.replace("small", f"small{name}"))
    (tmp_path / "c").mkdir()
    write(tmp_path / "c", kustomization="resources: []\n")
    write(tmp_path, known='version: 1\nfindings: [{fingerprint: "0", rule: null-item}]\n')
    out = check("--baseline", "known.yaml", ".", cwd=tmp_path)[1]
    assert [line for line in out.splitlines() if "unused-baseline-entry" in line] == [
        f"{level}: known.yaml:2:12: findings[0]: null-item is no longer found; delete the entry (unused-baseline-entry)"
    ]
