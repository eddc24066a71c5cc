"""Findings as output: KRM results, lines on stderr, the exit code."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterable, Mapping, Sequence, TextIO
from krm_fn.base.bundle import Bundle
from krm_fn.base.console import NAME, REPOSITORY, decoded, file_name, one_line, printable
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import as_list, dotted, get
from krm_fn.base.redaction import redact
from krm_fn.findings.finding import SEVERITIES, UNSET, Finding, Related

NOT_BUILT, UNREADABLE = ("kustomization-not-built", "chart-not-built"), "unreadable-document"
MOST_TARGETS = 3  # that a line names
LONGEST = 10_000  # characters of a text in results


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each finding once: errors first, then by file, index, item and path.

    Findings about no object, such as unreadable documents, may differ only in line and column.
    """
    unique = {(_key(each), each.line, each.column, each.rule, each.message, each.tags): each for each in findings}
    return tuple(unique[key] for key in sorted(unique, key=lambda key: key[0]))


def _key(finding: Finding) -> tuple[int, str, int, int, str, str]:
    inside = dotted(finding.inside) if finding.inside else ""
    return SEVERITIES.index(finding.severity), finding.file, finding.index, finding.item, inside, dotted(finding.path)


def placed(finding: Finding, bundle: Bundle) -> Finding:
    """The finding with the files of its places. The message names the files of related places."""
    file, index = bundle.place(finding.item)
    related = tuple(_related_placed(each, bundle) for each in finding.related)
    others = {each.file: None for each in related if each.file not in ("", file) and each.file not in finding.message}
    if not (file or others):
        return finding
    message = f"{finding.message} (see {', '.join(map(file_name, others))})" if others else finding.message
    return finding.but(file=file, index=index, related=related, message=message)


def _related_placed(related: Related, bundle: Bundle) -> Related:
    file, index = bundle.place(related.item)
    return related.but(file=file, index=index)


def to_krm(finding: Finding) -> Object:
    """The finding as a KRM Result. `field` needs a resourceRef, and a resourceRef a name, so both may be absent."""
    result: Object = {"message": finding.message, "severity": finding.severity}
    if finding.ref and finding.ref.name:
        result["resourceRef"] = _resource_ref(finding)
        if finding.path:
            result["field"] = _field(finding)
    if finding.file:
        result["file"] = {"path": decoded(finding.file), "index": finding.index}
    tags = {
        "rule": finding.rule,
        "doc": doc_of(finding.rule),
        "upstream": finding.upstream,
        "upstreamPath": finding.upstream_path,
        **dict(finding.tags),
    }
    result["tags"] = {key: value for key, value in tags.items() if value}
    return result


def doc_of(rule: str) -> str:
    """The page about a rule, as a path in the repository while that has no address; "" for a user's policy, which has none."""
    return "" if "/" in rule else f"{REPOSITORY}docs/rules/{rule}.md"


def link_to(rule: str) -> str:
    """The address of the page about a rule; "" where a path would be read as one in the repository of the user."""
    return doc_of(rule) if REPOSITORY else ""


def _resource_ref(finding: Finding) -> Object:
    ref = finding.ref
    assert ref is not None  # noqa: S101  the caller looked
    parts = {"apiVersion": ref.api_version, "kind": ref.kind, "name": ref.name, "namespace": ref.namespace}
    return {key: value for key, value in parts.items() if value or key != "namespace"}


def _field(finding: Finding) -> Object:
    field: Object = {"path": dotted(finding.path)}
    for key, value in (("currentValue", finding.current), ("proposedValue", finding.proposed)):
        if value is not UNSET and not (isinstance(value, str) and len(value) > LONGEST):
            field[key] = redact(value, finding.path)
    return field


def line(finding: Finding) -> str:
    """The finding as one line: `error: path/vm.yaml:3:5: VirtualMachine ns/name: spec.x: the fault; the fix`."""
    return f"{finding.severity}: {described(finding, place(finding))}"


def described(finding: Finding, at: str = "") -> str:
    """The finding as a line without its severity: place, object, path, message."""
    message = " ".join(filter(None, (one_line(finding.message), in_targets(finding))))
    parts = (at, str(finding.ref) if finding.ref else "", dotted(finding.path), message)
    return one_line(": ".join(printable(part) for part in parts if part))


def in_targets(finding: Finding) -> str:
    """`[target a]`, `[targets a, b and 3 more]`; "" where the run has only one target."""
    if not finding.targets:
        return ""
    from krm_fn.base.wording import listed  # only runs with several targets name them

    word = "target" if len(finding.targets) == 1 else "targets"
    return f"[{word} {listed(finding.targets, 'and', most=MOST_TARGETS)}]"


def report(findings: Iterable[Finding], err: TextIO) -> None:
    """Write each finding as one line that ends in its rule, because kustomize shows its users only these lines."""
    err.writelines(f"{NAME}: {line(finding)} ({finding.rule})\n" for finding in findings)


def place(of: Finding | Related) -> str:
    """`path/vm.yaml:3:5`, `path/vm.yaml` if the line is not known, "" if the file is not known."""
    return f"{file_name(of.file) or 'stdin'}:{of.line}:{of.column}" if of.line else file_name(of.file)


def merge(earlier: object, findings: Sequence[Finding]) -> list[Any]:
    """The list's results: those of earlier functions, without those that repeat ours, and then ours."""
    ours = [to_krm(finding) for finding in findings]
    by_message: dict[tuple[str, str], list[Object]] = {}  # both may be many
    for result in ours:
        by_message.setdefault(_message_and_path(result), []).append(result)
    return [result for result in as_list(earlier) if result not in by_message.get(_message_and_path(result), ())] + ours


def _message_and_path(result: Any) -> tuple[str, str]:
    return text(get(result, ("message",))), text(get(result, ("field", "path")))


def exit_code(findings: Iterable[Finding], fail_on: str) -> int:
    """1 if a finding is at least as severe as `fail_on` ("error", "warning" or "never"), or of what is not judged; else 0."""
    worst = -1 if fail_on == "never" else SEVERITIES.index(fail_on)
    return int(any(SEVERITIES.index(finding.severity) <= worst or is_unjudged(finding) for finding in findings))


def is_unjudged(finding: Finding) -> bool:
    """True for a finding that fails a run whatever `failOn` is: what it is about is not judged, or not as a whole."""
    return finding.rule == UNREADABLE or (finding.rule in NOT_BUILT and finding.severity == SEVERITIES[0])


def count(findings: Iterable[Finding]) -> Mapping[str, int]:
    """The number of findings of each severity, errors first; all three severities are present."""
    numbers = dict.fromkeys(SEVERITIES, 0)
    for finding in findings:
        numbers[finding.severity] += 1
    return numbers
