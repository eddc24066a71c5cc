"""The presets of a bundle, found by the labels in their selectors, so that instances are not compared with each preset."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterable, Iterator, Sequence
from krm_fn.base.bundle import Bundle, Entry, effective_namespace
from krm_fn.base.objects import Object
from krm_fn.findings.limits import ProductLimit
from krm_fn.kubevirt.api_versions import FIRST_API_VERSION
from krm_fn.kubevirt.presets.domain import Preset
from krm_fn.kubevirt.presets.facts import InvalidSelector, Labels, Selector, Values, readable
from krm_fn.kubevirt.releases import Release

Label = tuple[str, Any]  # a label's key, and its value or ANY


# The kinds of presets. The first one belongs to the VirtualMachine that is now an instance.
FIRST_KIND = "VirtualMachinePreset"
KIND = "VirtualMachineInstancePreset"

ANY: Any = object()
# How often presets may match in one run; large ones count several times. If thousands match thousands of instances, the result
# grows with the product of both. A cluster accepts some thousand presets per instance: annotations hold 256 KiB.
MATCHES, MATCHES_PER_OBJECT = 100_000, 8
# One mistake in one selector stops all instances of a namespace. Nobody reads more than these.
MOST_PROBLEMS = 10


class Presets:
    """The presets of a bundle, by kind and namespace; they are read when they are first needed."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._groups: dict[tuple[str, str], PresetGroup] | None = None

    def seen_by(self, api_version: str, namespace: str) -> PresetGroup:
        """The presets for instances of an API version in a namespace, by name: KubeVirt applies them in any order."""
        if self._groups is None:
            self._groups = _grouped(self._bundle)
        kind = FIRST_KIND if api_version == FIRST_API_VERSION else KIND
        return self._groups.get((kind, namespace), NONE)


class PresetGroup:
    """Presets for the same instances, in the order in which they are applied.

    `invalid` are those with an invalid selector, with the first mistakes.
    """

    def __init__(self, entries: Iterable[Entry], budget: ProductLimit | None = None) -> None:
        self.presets = tuple(map(Preset, entries))
        self.invalid = tuple(_invalid(self.presets))
        self._budget = budget
        self._by_label: dict[Label, list[int]] = {}
        self._others: set[int] = set()  # those that need no label
        self._refused: dict[Label, set[int]] = {}  # by the labels that these refuse
        self._index({number: preset.selector for number, preset in enumerate(self.presets) if preset.selector})

    def __len__(self) -> int:
        return len(self.presets)

    def matching(self, labels: Object, release: Release) -> list[Preset]:
        """The presets whose selector is valid and matches these labels, in order. Raises: InputError if too many matched."""
        numbers = self.numbers(labels)
        if self._budget:
            self._budget.take(len(numbers))
        found = [self.presets[number] for number in sorted(numbers)]
        if self._budget:
            self._budget.take(sum(preset.weight(release) - 1 for preset in found))
        return found

    def numbers(self, labels: Object) -> set[int]:
        """The numbers of these presets."""
        given = readable(labels)
        places = [place for key, value in given.items() for place in ((key, value), (key, ANY))]
        refused = [self._refused[place] for place in places if place in self._refused]
        found = self._others.difference(*refused)
        for place in places:
            found.update(number for number in self._by_label.get(place, ()) if self._takes(number, given))
        return found

    def _takes(self, number: int, labels: Labels) -> bool:
        selector = self.presets[number].selector
        return selector is not None and selector.takes(labels)

    def _index(self, selectors: dict[int, Selector]) -> None:
        """Index each selector by one of its labels: the one that the fewest selectors have."""
        frequency: dict[Label, int] = {}
        for selector in selectors.values():
            for place in _all_places(selector.wanted):
                frequency[place] = frequency.get(place, 0) + 1
        for number, selector in selectors.items():
            if selector.wanted:
                rarest = _rarest(selector.wanted, frequency)
                for place in _places(selector.wanted, rarest):
                    self._by_label.setdefault(place, []).append(number)
            else:
                self._others.add(number)
                for place in _all_places(selector.unwanted):
                    self._refused.setdefault(place, set()).add(number)


def _grouped(bundle: Bundle) -> dict[tuple[str, str], PresetGroup]:
    most = MATCHES + MATCHES_PER_OBJECT * len(bundle.entries)
    budget = ProductLimit(most, f"presets match instances more than {most:,} times; narrow the selectors of the presets")
    found: dict[tuple[str, str], list[Entry]] = {}
    for kind in (FIRST_KIND, KIND):
        for entry in bundle.of_kind(kind, "kubevirt.io"):
            found.setdefault((kind, effective_namespace(entry.obj)), []).append(entry)
    return {seen: PresetGroup(bundle.ordered(entries), budget) for seen, entries in found.items()}


def _invalid(presets: Sequence[Preset]) -> Iterator[InvalidSelector]:
    """The presets with an invalid selector and the first mistakes; the last one has the number of the others."""
    left = MOST_PROBLEMS
    more = max(sum(len(preset.problems) for preset in presets) - left, 0)
    for preset in presets:
        named = preset.problems[:left]
        left -= len(named)
        if named:
            yield InvalidSelector(preset=preset.entry, problems=named, more=0 if left else more)


def _places(values: Values, key: str) -> list[Label]:
    wanted = values[key]
    return [(key, ANY)] if wanted is None else [(key, value) for value in wanted]


def _all_places(values: Values) -> Iterator[Label]:
    for key in values:
        yield from _places(values, key)


def _rarest(wanted: Values, frequency: dict[Label, int]) -> str:
    """The key for which the fewest selectors have the same value."""
    return min(wanted, key=lambda key: max((frequency[place] for place in _places(wanted, key)), default=0))


NONE = PresetGroup(())
