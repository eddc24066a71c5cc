"""The settings of the targets and files of a run, each made once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from krm_fn.kubevirt.settings import Config
    from krm_fn.repositories.clusters import Configs, TargetSettings
    from krm_fn.repositories.types import Discovery


class Settings:
    """The settings to judge targets with; targets that have the same settings share one value."""

    def __init__(self, configs: Configs, checking: Callable[[Config], Config]) -> None:
        self._configs, self._checking = configs, checking
        self._made: dict[int, TargetSettings] = {}

    def __call__(self, folder: str) -> TargetSettings:
        return self.checked(self._configs.settings_for(folder or os.curdir))  # it keeps what it gives

    def checked(self, found: TargetSettings) -> TargetSettings:
        """The settings with the config to judge with."""
        if id(found) not in self._made:
            self._made[id(found)] = found.but(config=self._checking(found.config))
        return self._made[id(found)]


def files_by_settings(found: Discovery, configs: Configs) -> Iterator[tuple[TargetSettings, tuple[str, ...]]]:
    """The files that no kustomization uses, in one group for each config and cluster."""
    groups: dict[tuple[str, str], tuple[TargetSettings, list[str]]] = {}
    for file in found.files:
        settings = configs.settings_for(os.path.dirname(file) or os.curdir)  # noqa: PTH120
        groups.setdefault((settings.file, settings.cluster), (settings, []))[1].append(file)
    for settings, files in groups.values():
        yield settings, tuple(files)
