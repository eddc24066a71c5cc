"""The command. Each subcommand is a module of its own here, loaded when it is called; the rows of COMMANDS name them."""

from __future__ import annotations

import gc
import importlib.util
import json
from collections.abc import Sequence
from typing import Any

import click

from krm_fn import __version__
from krm_fn.base.console import NAME, REPOSITORY, fail
from krm_fn.base.errors import UsageError

# The subcommands in the order of the help: module and click command have the same name, with underscores.
COMMANDS = (
    "render",
    "check",
    "diff",
    "drift",
    "plan",
    "adopt",
    "dump",
    "capacity",
    "explain",
    "report",
    "deliveries",
    "suggest",
    "convert",
    "migrate",
    "test",
    "init",
    "catalogue",
    "rules",
    "argocd",
    "install-plugin",
    "schema",
    "lsp",
    "completion",
)


def run(arguments: Sequence[str]) -> int:
    """The exit code of the command that the arguments name. Raises: RenderError, and what reading and writing raise."""
    collects = gc.isenabled()
    gc.disable()  # plain trees hold no cycles; looking for them costs a third of the time
    try:
        code = command.main(args=list(arguments), prog_name=NAME, standalone_mode=False)
    except click.Abort:  # what click makes of it
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        return fail(_message(error), error.exit_code)
    finally:
        if collects:
            gc.enable()
    return code if isinstance(code, int) else 0


def _message(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    if isinstance(error, click.NoSuchOption):  # its text differs between releases of click
        text = f"there is no option {error.option_name}{_nearest_option(error.option_name, context)}"
    else:
        text = error.format_message().replace(". Did you mean", "; did you mean").rstrip(".?")
    return f"{text}; see `{context.command_path} --help`" if context else text


def _nearest_option(name: str, context: click.Context | None) -> str:
    from krm_fn.config.keys import hint

    options = context.command.get_params(context) if context else ()
    flags = [flag for each in options for flag in (*each.opts, *each.secondary_opts)]
    return hint(name, sorted(flag for flag in flags if flag.startswith("--")))


class Commands(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        return [name for name in COMMANDS if importlib.util.find_spec(_module(name))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        found: click.Command = getattr(importlib.import_module(_module(cmd_name)), cmd_name.replace("-", "_"))
        return found

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise UsageError(f"{args[0]!r} is not a command; {_fix(args[0])}")
        return super().resolve_command(ctx, args)


def _module(name: str) -> str:
    return f"{__name__}.{name.replace('-', '_')}"


def _fix(word: str) -> str:
    import os

    from krm_fn.base.suggestions import meant

    if os.path.exists(word):  # noqa: PTH110
        return f"to render it, run `{NAME} render {word}`"
    likely = meant(word, COMMANDS)
    return f"did you mean {likely}" if likely else f"expected one of {', '.join(COMMANDS)}"


SHORT = "Apply KubeVirt instancetypes and preferences to VirtualMachines offline, as the cluster does"

LONG = """\
Finds the instancetype and the preference of every VirtualMachine and VirtualMachinePool in the input, or in the catalogue
that the KubeVirt release deploys, and applies them as KubeVirt does. References that can't be resolved, conflicts, and what
admission would refuse are reported as results. A result names the field, and the fix if there is one.

The function config is a {kind} ({api_version}) with these keys below spec, or a ConfigMap with the same keys as strings:

{keys}
"""

EXAMPLE = """\
apiVersion: {api_version}
kind: {kind}
metadata:
  name: render
  annotations:
    config.kubernetes.io/function: |
      exec: {{path: kubevirt-render}}
spec:
  mode: expand
  kubevirtVersion: "{release}"
"""


def metadata() -> dict[str, Any]:
    """What `--doc` prints of the function: metadata with the keys of kpt's function documentation."""
    from krm_fn.config.keys import API_VERSION, KEYS, KIND
    from krm_fn.kubevirt.releases import MINORS

    keys = "\n".join(f"- {key.name} (default {key.default or 'unset'!r}): {key.doc}" for key in KEYS)
    return {
        "short": SHORT,
        "long": LONG.format(kind=KIND, api_version=API_VERSION, keys=keys),
        "examples": EXAMPLE.format(kind=KIND, api_version=API_VERSION, release=MINORS[-1]),
        "image": f"kubevirt-render:{__version__}",
        "description": SHORT,
        "tags": ["mutator", "validator", "kubevirt"],
        "sourceURL": REPOSITORY,
        "examplePackageURLs": [f"{REPOSITORY}kustomization-examples"] if REPOSITORY else [],
        "license": "Apache-2.0",
        "hidden": False,
    }


def _print_doc(ctx: click.Context, _: click.Parameter, wanted: Any) -> None:
    if wanted and not ctx.resilient_parsing:  # a shell asks for completions with this flag set
        click.echo(json.dumps(metadata(), indent=2))
        ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name=NAME, message="%(prog)s %(version)s")
@click.option(
    "--doc", is_flag=True, is_eager=True, expose_value=False, callback=_print_doc, help="Print the function's metadata as JSON."
)
def command() -> None:
    """Render KubeVirt virtual machines offline: apply instancetypes and preferences as the cluster does.

    Without arguments, and with a ResourceList on stdin, the program runs as a KRM function for kustomize and kpt.

    Exit codes: 0 if there is no finding with the severity of --fail-on or a higher one; 1 if there is one, or if the
    input can't be read; 2 if the usage or the config is wrong.
    """
