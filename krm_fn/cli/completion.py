"""`kubevirt-render completion`: scripts for shells, and the answers to such a script when a user presses Tab.

The script calls the program without arguments, and with the line so far in environment variables.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from krm_fn.base.console import COMPLETING, NAME

if TYPE_CHECKING:
    from click import Context, Parameter
    from click.shell_completion import CompletionItem

    Completer = Callable[[Context, Parameter, str], list[CompletionItem]]


SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> int:
    """Print the completion script for a shell. It completes commands, flags and values.

    \b
    bash: add to ~/.bashrc:  eval "$(kubevirt-render completion bash)"
    zsh:  add to ~/.zshrc, after compinit:  eval "$(kubevirt-render completion zsh)"
    fish: kubevirt-render completion fish > ~/.config/fish/completions/kubevirt-render.fish
    """
    return answer(f"{shell}_source")


def complete() -> int:
    """Answer the shell that asks by the environment; the exit code."""
    return answer(os.environ[COMPLETING])


def answer(instruction: str) -> int:
    """Print what a shell asks for, such as `bash_source` or `zsh_complete`; 1 where there is no such shell or question."""
    from click.shell_completion import shell_complete

    from krm_fn.cli import command

    return shell_complete(command, {}, NAME, COMPLETING, instruction)


def of(kind: str) -> Completer:
    """Has the shell complete names of files ("file") or of folders ("dir")."""

    def complete(_: Context, __: Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type=kind)]

    return complete


def among(words: Callable[[], Iterable[str]]) -> Completer:
    """Completes words; `words` is called only when a user presses Tab."""

    def complete(_: Context, __: Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(word) for word in words() if word.startswith(incomplete)]

    return complete


FILE, FOLDER = of("file"), of("dir")
