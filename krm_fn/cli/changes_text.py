"""The answer of `diff` as text for people: a block for VMs that change in the same way, the most severe first, and figures."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from functools import partial

from krm_fn.base.objects import Object
from krm_fn.base.paths import dotted
from krm_fn.base.wording import listed
from krm_fn.changes import renames
from krm_fn.changes.owners import POOL
from krm_fn.changes.policies import REFUSED
from krm_fn.changes.summary import level_of
from krm_fn.cli import changes_groups
from krm_fn.cli.changes_fields import SIZES, change_lines, field, guest, value, values
from krm_fn.cli.changes_groups import RecordGroup, counted, counts, grouped, label, place, places, reach_line, reaches
from krm_fn.cli.changes_words import ROLLOUTS, SHOWN_BY, sentence
from krm_fn.cli.output_files import TEXT, Pen

RESET = "\x1b[0m"
RED, YELLOW, CYAN, GREEN, PLAIN = "\x1b[1;31m", "\x1b[1;33m", "\x1b[1;36m", "\x1b[1;32m", "\x1b[1m"
COLORS = {"refused": RED, "data": RED, "recreate": RED, "restart": YELLOW, "migration": CYAN, "live": GREEN}
WIDTH = 100
MOST_UNMANAGED, MOST_FIELDS, THEM = 20, 5, ("it", "them")
MOST_USERS = 5  # of a renamed object, that are named

# What becomes of names of the catalogue in a step of an upgrade.
CATALOGUE = {"gone": "gone", "added": "new", "changed": "changed"}
DISABLE = "provide it, or list the gate in developerConfiguration.disabledFeatureGates"
TEMPLATES = "/spec/dataVolumeTemplates"
STATE_IT = "add the KubeVirt object, or name the settings with --configuration"
CLAIM, SHARED = "PersistentVolumeClaim/", "ReadWriteMany"
LABELS = {
    "restartRequired": "restart required",
    "volumesChange": "no migration of volumes",
    "error": "error",
    "startError": "does not start",
    "leftBy": "stays because of",
}


def text_of(answer: Object, *, color: bool, together: bool = True) -> str:
    """The answer as text. Not `together`: a block for each VM."""
    new = answer["assumptions"]["new"]
    shared = [reach_line(each, TEXT) for each in reaches(answer["vms"])] if together else []
    groups = grouped(answer["vms"], partial(about, pen=TEXT), together=together)
    blocks = ["\n".join([_coloured(_head(each, new), each, color), *_names(each), *each.lines]) for each in groups]
    used = "\n".join(map(TEXT.prose, changes_groups.quota_lines(answer)))
    moved = "\n".join(rename_lines(answer, TEXT))
    steps = ["\n".join(step_lines(step, new, TEXT)) for step in answer.get("steps", ())]
    silent = "\n".join((*unmanaged_lines(answer, TEXT), *policy_lines(answer, TEXT), *uncompared_lines(answer, TEXT)))
    return "\n\n".join(filter(None, ["\n".join(shared), *blocks, moved, used, silent, figures(answer, new), *steps])) + "\n"


def figures(part: Object, new: bool = False) -> str:
    """The figures in one line: `3 of 48 VMs change: 1 refused, 1 restart, 1 live; 12 keep a stored revision`."""
    changed, total, kept = (part["summary"][key] for key in ("changed", "total", "keeps"))
    verb = "would start with other values" if new else f"change{'s' * (changed == 1 or total == 1)}"
    noun = "object" if "others" in part["summary"] else "VM"
    noun = f"live {noun}" if "live" in part["summary"] else noun
    line = f"{f'{changed:,}' if changed else 'none'} of {counted(total, noun)} {verb}"
    line += f": {counts(part['vms'])}" if changed and not new else ""
    line += f"; {kept:,} keep{'s' * (kept == 1)} a stored revision" if kept else ""
    left = part["summary"].get("uncompared", 0)
    return f"{line}; {counted(left, 'target')} {'is' if left == 1 else 'are'} not compared" if left else line


def _coloured(head: str, group: RecordGroup, color: bool) -> str:
    level = level_of(group.first)
    return f"{COLORS.get(level.word if level else '', PLAIN)}{head}{RESET}" if color else head


def _head(group: RecordGroup, new: bool) -> str:
    return f"{who(group, TEXT)}: {what(group, new)}"


def who(group: RecordGroup, pen: Pen) -> str:
    """The VM of a group, or how many there are."""
    if len(group.records) > 1:
        return f"{len(group.records):,} {group.first['kind']}s"
    return f"{group.first['kind']} {named(group.first, pen)}"


def named(record: Object, pen: Pen) -> str:
    """The name of a VM and where it is."""
    where = f" in {pen.name(record['target'])}" if "target" in record else ""
    name = f"{record['namespace']}/{label(record)}"
    return f"{pen.name(name)}{where}"


def what(group: RecordGroup, new: bool = False) -> str:
    """What happens to the objects of a group."""
    return sentence(group.first, several=len(group.records) > 1, new=new)


def _names(group: RecordGroup) -> Iterator[str]:
    """The names of several VMs, by namespace."""
    if len(group.records) == 1:
        return
    for namespace, names, targets in places(group.records):
        where = f" (in {', '.join(map(TEXT.name, targets))})" if targets else ""
        text = f"{TEXT.name(namespace)}: {', '.join(map(TEXT.name, names))}{where}"
        yield from textwrap.wrap(
            text,
            WIDTH,
            initial_indent="  ",
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )


def about(record: Object, pen: Pen, *, generic: bool = False) -> Iterator[str]:
    """The indented lines about a VM: why, and what differs. If they are `generic`, they do not name it."""
    yield from _renamed(record)
    yield from _judgements(record, pen)
    for key, word in LABELS.items():
        if key in record and not (key == "startError" and {"refused", "error"} & {*record["effect"]}):
            yield f"  {word}: {pen.prose(record[key])}"
    yield from _unmoved(record, pen, generic=generic)
    yield from _unknown(record)
    yield from _of_pool(record, pen)
    if said := guest(record, pen, changes=record.get("changes", ())):
        yield f"  guest: {said}"
    yield from (f"  {pen.prose(line)}" for line in changes_groups.pod_lines(record))
    yield from change_lines(record.get("changes", ()), pen)
    yield from (
        f"  {line}"
        for line in changes_groups.data_lines(record, pen, lambda name: _of(name, record.get("from", record), generic))
    )
    yield from contested_lines(record, pen)
    for each in record.get("gates", ()):
        opened = f"KubeVirt {pen.prose(each['release'])} opens feature gate {pen.name(each['gate'])} by default"
        yield f"  {opened}, which needs {pen.prose(each['needs'])}; {DISABLE}"
    for path in record.get("manifest", ()):
        if path.startswith(TEMPLATES) and "data" in record:
            continue  # said with the DataVolumes
        yield f"  {pen.name(_place(path))} is edited, but {_unread(path)}"
    for name in record.get("creates", ()):
        yield f"  creates {pen.name(_of(name, record, generic))}"
    for kept in record.get("keeps", ()):
        yield from _kept(kept, pen)


def _place(pointer: str) -> str:
    """The place of a JSON pointer, as messages write it."""
    steps = (step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])
    return dotted(tuple(int(step) if step.isdecimal() else step for step in steps))


def _unmoved(record: Object, pen: Pen, *, generic: bool) -> Iterator[str]:
    """Why the machine can't be live-migrated, or what is not known of that and what happens if it can't."""
    if "migratable" not in record:
        return
    why = record["migratable"]
    if "unknown" not in why:
        yield f"  it can't be live-migrated: {pen.prose(_of(why['message'], record, generic))}"
        return
    claims = [_of(name.removeprefix(CLAIM), record, generic) for name in why["unknown"] if name.startswith(CLAIM)]
    asked = [f"claim {' and '.join(map(pen.name, claims))} {'is' if len(claims) == 1 else 'are'} {SHARED}"] if claims else []
    asked += ["a node exposes a TSC frequency"] if len(claims) < len(why["unknown"]) else []
    yield f"  not known: whether {' and whether '.join(asked)}. If not, {_otherwise(record)}"


def _unknown(record: Object) -> Iterator[str]:
    """What depends on settings of the cluster that nothing states."""
    unknown = record.get("unknown", {})
    if names := unknown.get("objects"):
        yield f"  not known here: {listed(names, 'and')}, which only the cluster has"
    if values := unknown.get("values"):
        yield f"  not known here: {listed(values, 'and')}, which another step replaces"
    if gates := unknown.get("featureGates"):
        named = f"feature gate{'s' * (len(gates) > 1)} {listed(gates, 'and')}"
        yield f"  depends on the {named}, which {'are' if len(gates) > 1 else 'is'} not known here; {STATE_IT}"
    if unknown.get("workloadUpdateStrategy") and record.get("migratable", {}).get("status") != "False":
        yield f"  whether KubeVirt starts the migration depends on workloadUpdateStrategy, which is not known here; {STATE_IT}"


def _otherwise(record: Object) -> str:
    """What happens where a machine can't be live-migrated."""
    other = record["ifNotMigratable"]
    said = sentence({**record, "effect": other["effect"]})
    subject = "" if record["kind"] == POOL else "it "
    return f"{subject}{said}" + (
        f": {why}" if (why := other.get("restartRequired")) not in (None, record.get("restartRequired")) else ""
    )


def _judgements(record: Object, pen: Pen) -> Iterator[str]:
    """What admission and policies say of the change."""
    for each in record.get("update", {}).get("causes", ()):
        path = f"{pen.name(each['path'])}: " if each["path"] else ""
        yield f"  refused: {path}{pen.prose(each['message'])}"
    for policy in record.get("policies", ()):
        if record["effect"] != [REFUSED] or policy["severity"] != "error":
            yield f"  {policy['severity']}: {pen.prose(policy['message'])} ({pen.prose(policy['rule'])})"


def _unread(path: str) -> str:
    """Why an edit of a manifest has no effect."""
    if path.startswith(TEMPLATES):
        return "KubeVirt does not change a DataVolume that exists"
    return "that changes no machine"


def _renamed(record: Object) -> Iterator[str]:
    if "from" in record:
        yield f"  taken as a rename: {SHOWN_BY[record['shownBy']]}"


def _of(name: str, owner: Object, generic: bool) -> str:
    """The name of an object of a VM; if it is generic, with NAME for the name of the VM."""
    return name.replace(owner["name"], "NAME") if generic and owner["name"] else name


def policy_lines(answer: Object, pen: Pen) -> Iterator[str]:
    """The lines about the policies that say nothing."""
    for each in answer.get("policies", ()):
        where = f" in {pen.name(each['target'])}" if "target" in each else ""
        yield f"{each['severity']}{where}: {pen.prose(each['message'])} ({each['rule']})"


def unmanaged_lines(answer: Object, pen: Pen) -> Iterator[str]:
    """The line about the machines of the cluster that git does not have."""
    if found := answer.get("unmanaged"):
        names = [pen.name(f"{each['namespace']}/{each['name']}") for each in found]
        yield f"in the cluster and not in git: {listed(names, 'and', most=MOST_UNMANAGED)}"


def contested_lines(record: Object, pen: Pen) -> Iterator[str]:
    """The lines about fields that git changes and another manager may change back, by manager."""
    managers: dict[str, list[str]] = {}
    for each in record.get("contested", ()):
        managers.setdefault(each["manager"], []).append(pen.name(each["field"]))
    for manager, fields in managers.items():
        held = listed(fields, "and", most=MOST_FIELDS)
        yield f"  {pen.name(manager)} holds {held} and may change {THEM[len(fields) > 1]} back"


def uncompared_lines(answer: Object, pen: Pen) -> Iterator[str]:
    """The lines about the targets that are not compared."""
    for each in answer.get("uncompared", ()):
        because = f": {pen.prose('; '.join(each['because']))}" if each["because"] else ""
        target = pen.name(each["target"]) if each["target"] else ""
        yield f"not compared: {(target + because).removeprefix(': ')}"


def rename_lines(answer: Object, pen: Pen) -> Iterator[str]:
    """The lines about what VMs refer to and has another name."""
    for rename in answer["renames"]:
        where = f" in {pen.name(rename['target'])}" if "target" in rename else ""
        names = f"{pen.name(place(rename['from']))} is renamed to {pen.name(place(rename))}"
        yield f"{pen.prose(rename['kind'])} {names}{where} ({SHOWN_BY[rename['shownBy']]})"
        stores = "; KubeVirt stores a revision of it for each VM" if rename["kind"] in renames.SIZES else ""
        yield from _referring(rename["users"], "new", stores, pen)
        yield from _referring(rename.get("left", ()), "old", "", pen)


def _referring(users: Sequence[Object], word: str, more: str, pen: Pen) -> Iterator[str]:
    """The line that counts what refers to a name and shows the first ones."""
    if users:
        shown = [f"{pen.prose(user['kind'])} {pen.name(place(user))}" for user in users[:MOST_USERS]]
        rest = [f"{len(users) - MOST_USERS} more"] if len(users) > MOST_USERS else []
        yield f"  {len(users)} refer{'s' * (len(users) == 1)} to the {word} name: {', '.join(shown + rest)}{more}"


def _of_pool(record: Object, pen: Pen) -> Iterator[str]:
    """The lines about the machines that a pool or a replica set creates."""
    if "replicas" in record:
        yield f"  replicas: {values(record['replicas'], pen)}"
    if "atOnce" in record:
        yield f"  at most {record['atOnce']} at once"
    if record.get("rollout") in ROLLOUTS:
        yield f"  {ROLLOUTS[record['rollout']]}"


def _kept(kept: Object, pen: Pen) -> Iterator[str]:
    yield f"  {pen.prose(kept['message'])}"
    for each in kept.get("fields", ()):
        old, new = (value(each.get(key), pen) for key in ("kept", "new"))
        yield f"    {pen.name(each['field'])}: {old} kept, {new} in the new one"


def gist(record: Object, pen: Pen) -> str:
    """What changes, in a few words."""
    refused = record.get("update", {}).get("causes", ())
    if refused:
        return pen.prose(refused[0]["message"])
    for key in ("error", "startError"):
        if key in record:
            return pen.prose(record[key])
    parts = [guest(record, pen)] if "guest" in record else []
    others = [each for each in record.get("changes", ()) if not (parts and each["path"] in SIZES)]
    parts += [f"{field(each['path'], pen)} {values(each, pen)}" for each in others[:2]]
    parts += [f"{len(others) - 2} more"] if len(others) > 2 else []
    data = list(changes_groups.data_lines(record, pen))
    parts += [*data[:2], *([f"{len(data) - 2} more"] if len(data) > 2 else [])]
    parts += [f"{each['gate']} needs {pen.prose(each['needs'])}" for each in record.get("gates", ())]
    parts += [_kept_gist(kept, pen) for kept in record.get("keeps", ())]
    return "; ".join(parts or map(pen.prose, changes_groups.pod_lines(record)))


def _kept_gist(kept: Object, pen: Pen) -> str:
    fields = kept.get("fields", ())
    each = fields[0] if fields else None
    told = f": {pen.name(each['field'])} {value(each.get('kept'), pen)}, not {value(each.get('new'), pen)}" if each else ""
    more = f" and {len(fields) - 1} more" if len(fields) > 1 else ""
    return f"{pen.prose(kept['kind'])} {pen.name(kept['name'])} as stored{told}{more}"


def step_lines(step: Object, new: bool, pen: Pen) -> Iterator[str]:
    """The lines about a step of an upgrade: the first one has the figures, the indented ones what happens."""
    yield f"KubeVirt {pen.prose(step['from'])} → {pen.prose(step['to'])}: {figures(step)}"
    yield from _in_step(step["vms"], "", pen, new=new)
    anew = [record for record in step["newVms"] if record["effect"] != ["nothing"]]
    yield from _in_step(anew, "if created anew: ", pen, new=True)
    for key, word in CATALOGUE.items():
        if names := step["catalogue"][key]:
            yield f"  {len(names)} {word} in the catalogue: {_by_kind(names)}"
    for key in ("new", "gone"):
        for finding in step["findings"][key]:
            where = f" in {pen.name(finding['target'])}" if "target" in finding else ""
            yield f"  {key} finding{where}: {pen.prose(finding['line'])} ({finding['rule']})"


def _in_step(records: Sequence[Object], before: str, pen: Pen, *, new: bool) -> Iterator[str]:
    """The headlines of records. Machines of which only the pod changes are counted."""
    same = [record for record in records if record["effect"] == ["nothing"] and "keeps" not in record]
    for group in grouped((record for record in records if record not in same), lambda _, **__: ()):
        yield f"  {before}{who(group, pen)}: {what(group, new)}"
        if len(group.records) > 1:
            yield f"    {', '.join(named(record, pen) for record in group.records)}"
    if resized := sum("pod" in record for record in same):
        yield f"  {before}{resized} start{'s' * (resized == 1)} with other pods, and else as before"


def _by_kind(names: Sequence[str]) -> str:
    """`Kind a`, `Kind b` and `Other c` as `Kind a, b; Other c`."""
    kinds: dict[str, list[str]] = {}
    for each in names:
        kind, _, name = each.partition(" ")
        kinds.setdefault(kind, []).append(name)
    return "; ".join(f"{kind} {', '.join(several)}" for kind, several in kinds.items())
