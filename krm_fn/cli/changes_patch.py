"""The change of the VMs as JSON patches, as entries for the `patches:` of a kustomization."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from krm_fn import yamlio
from krm_fn.base.bundle import effective_namespace
from krm_fn.base.console import NAME, one_line, printable
from krm_fn.base.objects import Object, kind_of, name_of
from krm_fn.base.value import Value
from krm_fn.changes.patches import VmPatch, patches
from krm_fn.cli import options
from krm_fn.cli.changes_text import uncompared_lines
from krm_fn.cli.outputs import entry
from krm_fn.cli.pens import TEXT

if TYPE_CHECKING:
    from krm_fn.changes.sides import Side


class PatchText(Value):
    """The text of all patches, and a line for each VM that has none because it would hold a secret."""

    text: str
    left_out: tuple[str, ...]


def of(sides: Iterable[tuple[str, Side, Side]], answer: Object) -> PatchText:
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


def report(patched: PatchText, answer: Object) -> None:
    """Say on stderr what no patch is made for: secrets, and VMs that are only on one side."""
    for line in patched.left_out:
        click.echo(f"{NAME}: error: {one_line(printable(line))}", err=True)
    lone = [vm["change"] for vm in answer["vms"]]
    for change in ("added", "removed", "renamed"):
        if count := lone.count(change):
            options.note(f"a patch changes VMs that are on both sides; VMs that are {change}: {count}")
