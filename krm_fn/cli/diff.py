"""`kubevirt-render diff`: what a change does to each VM, running ones included."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from krm_fn import yamlio
from krm_fn.base.bundle import effective_namespace
from krm_fn.base.console import NAME, one_line, printable, write_out
from krm_fn.base.errors import UsageError
from krm_fn.base.objects import Object, kind_of, name_of
from krm_fn.base.value import Value
from krm_fn.changes import upgrade
from krm_fn.changes.pairs import AUTO, Assumptions
from krm_fn.changes.patches import VmPatch, patches
from krm_fn.changes.summary import WORDS, fails, has_error
from krm_fn.cli import build_flags, completion, diff_units, live_units, options, progress
from krm_fn.cli.build_flags import folder_options, part_options
from krm_fn.cli.changes_markdown import markdown_of
from krm_fn.cli.changes_text import text_of, uncompared_lines
from krm_fn.cli.diff_units import ClusterAfter, UnitDiff
from krm_fn.cli.output_files import json_text
from krm_fn.cli.outputs import entry
from krm_fn.cli.pens import TEXT, color_option, is_colored
from krm_fn.cli.progress import Progress
from krm_fn.cli.trees import CommitRange, SideTree, of_folder, paths_in, trees_of
from krm_fn.config.keys import KEYS
from krm_fn.findings.results import report
from krm_fn.kubevirt.releases import parse
from krm_fn.kubevirt.settings import Config
from krm_fn.live.applying import CLIENT_SIDE, REPLACE
from krm_fn.repositories import building

if TYPE_CHECKING:
    from krm_fn.changes.sides import Side


class PatchText(Value):
    """The text of all patches, and a line for each VM that has none because it would hold a secret."""

    text: str
    left_out: tuple[str, ...]


def patch_text(sides: Iterable[tuple[str, Side, Side]], answer: Object) -> PatchText:
    """The patches of several targets, each with its name and both sides: a document each, with the target in a comment.

    Comments at the top have the targets that are not compared.
    """
    documents: list[str] = []
    left_out: list[str] = []
    for target, base, head in sides:
        made = list(patches(base, head))
        left_out += [_left_out(each, target) for each in made if each.secret is not None]
        entries = [entry(each.vm, each.operations) for each in made if each.secret is None]
        if entries:
            comment = f"# {one_line(printable(target))}\n" if target else ""
            documents.append(comment + yamlio.dump(entries))
    told = "".join(f"# {line}\n" for line in uncompared_lines(answer, TEXT))
    return PatchText(text=told + ("---\n".join(documents) or "[]\n"), left_out=tuple(left_out))


def _left_out(patch: VmPatch, target: str) -> str:
    vm = patch.vm
    where = f" in {target}" if target else ""
    named = f"{kind_of(vm)} {effective_namespace(vm)}/{name_of(vm)}{where}: {patch.secret}"
    return f"{named}: the patch would show a secret, so this VM has none; compare this field in the files"


def report_left_out(patched: PatchText, answer: Object) -> None:
    """Say on stderr what no patch is made for: secrets, and VMs that are only on one side."""
    for line in patched.left_out:
        click.echo(f"{NAME}: error: {one_line(printable(line))}", err=True)
    lone = [vm["change"] for vm in answer["vms"]]
    for change in ("added", "removed", "renamed"):
        if count := lone.count(change):
            options.note(f"a patch changes VMs that are on both sides; VMs that are {change}: {count}")


NEVER = "never"
# The keys of the config that say something about a cluster.
CLUSTER_KEYS = ("kubevirtVersion", "catalogue", "presets", "configuration", "policies")
# The flags of other keys, which do not count here.
NOTHING: Mapping[str, Any] = {key.field: () if key.type in ("severity", "policies") else None for key in KEYS}
UNSET = {key.field: NOTHING[key.field] for key in KEYS if key.name not in CLUSTER_KEYS}
# The flags that may name a file.
FILES = ("config_file", "configuration")
OUTPUTS = ("text", "json", "markdown", "patch")
MIGRATABLE: dict[str, bool | str] = {AUTO: AUTO, "true": True, "false": False}


class DiffRun(Value):
    """What is the same for both sides: the flags, and how the change reaches the cluster.

    `to` is the cluster after the change.
    """

    flags: Mapping[str, Any]
    bar: Progress
    assumptions: Assumptions
    to: ClusterAfter


fail_on_option = click.option(
    "--fail-on",
    type=click.Choice((*WORDS, NEVER)),
    default="data",
    show_default=True,
    help="The exit code is 1 if the change does this to a VM, or something more severe. never: whatever it does.",
)
migratable_option = click.option(
    "--migratable",
    type=click.Choice(tuple(MIGRATABLE)),
    default=AUTO,
    show_default=True,
    help="Whether running VMs can be live-migrated. auto: as KubeVirt decides it for each of them.",
)
# What the commands have that show a change: how it is shown, and what is read.
shown_options = build_flags.together(
    color_option("colours in text output"),
    click.option(
        "--group/--no-group",
        default=True,
        show_default=True,
        help="Show VMs that change in the same way together, or each VM by itself (text, markdown).",
    ),
    options.verbose_option,
    build_flags.build_options(building.TIMEOUT),
    options.links_option,
    folder_options,
    part_options,
    options.helm_option,
    build_flags.build_flags_option,
    options.keys_options(CLUSTER_KEYS),
)


@click.command()
@click.argument("paths", nargs=-1, metavar="[BASE HEAD] | [PATH]...", shell_complete=completion.FILE)
@click.option(
    "--base",
    metavar="REF",
    help="Compare a commit of the git repository with the working tree. PATHs select what is compared.",
)
@click.option("--head", metavar="REF", help="Compare --base with this commit, and not with the working tree.")
@click.option(
    "--merge-base/--no-merge-base",
    default=None,
    help="Start from the newest commit that --base and the other side have in common, as a code review does. Default: yes.",
)
@options.output_option(
    OUTPUTS,
    text="The output format. markdown: for the comment of a pull request. patch: a JSON patch (RFC 6902) for each VM, from its "
    "old rendered form to the new one.",
)
@fail_on_option
@click.option(
    "--replace", is_flag=True, help="Assume that manifests replace the old ones (kubectl replace), instead of being applied."
)
@click.option(
    "--to-kubevirt-version",
    **options.VERSION,
    help="The KubeVirt release after the change. Without HEAD, only the release changes: this previews an upgrade.",
)
@click.option(
    "--to-configuration",
    metavar="FILE",
    shell_complete=completion.FILE,
    help="A KubeVirt configuration that is laid over that of the cluster after the change, as --configuration is on both "
    "sides. HEAD may be left out.",
)
@migratable_option
@click.option("--not-migratable", "migratable", flag_value="false", hidden=True)
@click.option(
    "--assume",
    type=click.Choice(("existing", "new")),
    default="existing",
    show_default=True,
    help="existing: the VMs of BASE exist. new: show what new VMs start as, before and after the change.",
)
@shown_options
def diff(
    paths: tuple[str, ...],
    *,
    base: str | None,
    head: str | None,
    merge_base: bool | None,
    output: str,
    fail_on: str,
    assume: str,
    color: str,
    group: bool,
    to_kubevirt_version: str | None,
    to_configuration: str | None,
    replace: bool,
    migratable: str,
    **flags: Any,
) -> int:
    """Say what a change does to each VM, running ones included.

    BASE and HEAD are files, folders or kustomizations; one of them may be - for stdin. With --base REF, a commit of the git
    repository is compared with the working tree. VMs are matched by target, kind, namespace and name.
    With --to-kubevirt-version or --to-configuration, HEAD may be left out.

    For each VM the output says whether KubeVirt refuses the update, and what takes effect at once, after a migration,
    or after a restart.

    The exit code is 1 if the change does to a VM what --fail-on names, or something more severe, or if a policy finds an
    error in it; with --fail-on never, it is 0. It is 1 also if the input can't be read or built.
    """
    if base is None and (head is not None or merge_base is not None):
        raise UsageError("--head and --merge-base need --base; name a branch, a tag or a commit with it")
    run = DiffRun(
        flags={**UNSET, **flags},
        bar=progress.shown(quiet=flags["verbose"]),
        assumptions=Assumptions(apply=not replace, migratable=MIGRATABLE[migratable], new=assume == "new"),
        to=_cluster_after(to_kubevirt_version, to_configuration),
    )
    if base is not None:
        compared = _of_commits(CommitRange(base=base, head=head, merge_base=merge_base is not False), paths, run)
    else:
        compared = _of_paths(paths, run)
        if run.to.release and len(paths) == 1:
            compared = compared.but(answer={**compared.answer, "steps": upgrade.steps(compared.sides, run.assumptions)})
    _report_downgrade(compared, is_upgrade=run.to.release is not None)
    return answered(compared, output=output, fail_on=fail_on, color=color, group=group)


def answered(compared: UnitDiff, *, output: str, fail_on: str, color: str, group: bool) -> int:
    """Print the findings and the answer. The exit code."""
    report(compared.findings, sys.stderr)
    write = {
        "text": partial(text_of, color=is_colored(color), together=group),
        "markdown": partial(markdown_of, together=group),
    }
    is_whole = _print(compared, output, {"json": json_text, **write}) and compared.is_whole
    return int(not is_whole or (fail_on != NEVER and (fails(compared.answer["vms"], fail_on) or has_error(compared.answer))))


def _report_downgrade(compared: UnitDiff, *, is_upgrade: bool) -> None:
    """Say it where what is meant for an upgrade leads to an older release."""
    if not is_upgrade:
        return
    releases = {(old.analysis.release, new.analysis.release) for _, old, new in compared.sides}
    for before, after in [each for each in releases if each[1].version < each[0].version][:1]:
        options.note(
            f"--to-kubevirt-version: {after} is older than KubeVirt {before}, and KubeVirt has no downgrade; "
            "name the release before the change with --kubevirt-version"
        )


def _cluster_after(version: str | None, configuration: str | None) -> ClusterAfter:
    """What the flags say about the cluster after the change. Raises: ConfigError."""
    flags = {**NOTHING, "configuration": configuration}
    release = parse(version) if version else None
    options.note_unmeasured(release)
    return ClusterAfter(
        release=release,
        configuration=options.with_flags(Config(), flags).configuration if configuration else None,
    )


def _print(compared: UnitDiff, output: str, write: Mapping[str, Callable[[Object], str]]) -> bool:
    """Write the output. False if a part of it had to be left out, which is said on stderr."""
    if output in write:
        write_out(write[output](compared.answer).encode())
        return True
    patched = patch_text(compared.sides, compared.answer)
    report_left_out(patched, compared.answer)
    write_out(patched.text.encode())
    return not patched.left_out


def _of_commits(change: CommitRange, paths: tuple[str, ...], run: DiffRun) -> UnitDiff:
    with trees_of(change, verbose=run.flags["verbose"]) as trees:
        return _of_trees(trees, paths_in(trees, paths), run)


def _of_trees(trees: tuple[SideTree, SideTree], paths: tuple[str, ...], run: DiffRun, *, alone: bool = False) -> UnitDiff:
    files = {name: os.path.abspath(given) for name in FILES if (given := run.flags[name]) and os.path.exists(given)}  # noqa: PTH100, PTH110
    read = {tree: diff_units.read_tree(tree, paths, {**run.flags, **files}, run.bar) for tree in dict.fromkeys(trees)}
    base, head = (read[tree] for tree in trees)
    with run.bar.at("Comparing"):
        return diff_units.compare(base, head, run.assumptions, run.to, alone=alone)


def _of_paths(paths: tuple[str, ...], run: DiffRun) -> UnitDiff:
    base, head = _two(paths, run.to)
    given = [base, *([head] if head is not None else [])]
    found = [diff_units.searched(path, run.flags, run.bar) for path in given]
    if all(map(os.path.isdir, given)) and not all(workspace.is_one_bundle for _, workspace in found):
        trees = (of_folder(base), of_folder(given[-1]))
        return _of_trees(trees, (os.curdir,), run, alone=True)
    read = [diff_units.read_as_one(found[0], run.bar)]
    if head is not None and live_units.is_live(read[0]) and not run.assumptions.new:
        git = live_units.git_of([head], [base], run.flags, run.bar)
        own = live_units.OF_KUBECTL[CLIENT_SIDE if run.assumptions.apply else REPLACE]
        return live_units.of_live(read[0], live_units.GitUnits(trees=git, own=own, to=run.to), run.assumptions)
    read += [diff_units.read_as_one(each, run.bar) for each in found[1:]]
    with run.bar.at("Comparing"):
        return diff_units.compare(read[0], read[-1], run.assumptions, run.to, alone=True)


def _two(paths: tuple[str, ...], to: ClusterAfter) -> tuple[str, str | None]:
    """BASE and HEAD; no HEAD if only the cluster changes. Raises: UsageError."""
    if not paths:
        raise UsageError("BASE is missing; name the files before the change, or a commit with --base")
    if len(paths) > 2:
        raise UsageError(f"found {len(paths)} paths; expected BASE and HEAD, or --base REF with any number of paths")
    if paths == ("-", "-"):
        raise UsageError("both sides are -; stdin can be read once only")
    if len(paths) == 1 and not to:
        raise UsageError(
            "HEAD is missing; name the files after the change, --base, --to-kubevirt-version or --to-configuration"
        )
    return paths[0], paths[1] if len(paths) == 2 else None
