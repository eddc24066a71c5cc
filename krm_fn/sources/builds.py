"""Kustomizations, built by kustomize or kubectl."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from krm_fn.base import programs
from krm_fn.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

# The seconds that a kustomization may take to build; Argo CD has the same limit.
TIMEOUT: float = 90


def built(folder: str, timeout: float, flags: Sequence[str] = ()) -> bytes:
    """The stdout of `kustomize build` with these flags; its stderr goes directly to ours."""
    program, words = _kustomize(folder)
    words += flags
    with programs.scratch() as scratch:
        return programs.printed(
            program,
            words,
            name=" ".join([Path(program).name, *words]),
            environment={**os.environ, "TMPDIR": scratch},
            timeout=timeout,
            fix="; reduce what the build fetches, or raise --timeout",
        )


def _kustomize(folder: str) -> tuple[str, list[str]]:
    """The program that builds a kustomization, and its arguments."""
    if found := programs.find("kustomize"):
        return found, ["build", folder]
    if found := programs.find("kubectl"):
        return found, ["kustomize", folder]
    raise InputError(f"neither kustomize nor kubectl is on the PATH to build {folder}; install one of them")
