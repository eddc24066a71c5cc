"""Presets: parts of a domain that KubeVirt copies into instances whose labels match a selector."""

from __future__ import annotations

from krm_fn.kubevirt.presets.apply import apply_presets, fold_presets
from krm_fn.kubevirt.presets.facts import Applied, PresetFacts
from krm_fn.kubevirt.presets.index import PresetGroup, Presets
from krm_fn.kubevirt.presets.owners import template_of

__all__ = ["Applied", "PresetFacts", "PresetGroup", "Presets", "apply_presets", "fold_presets", "template_of"]
