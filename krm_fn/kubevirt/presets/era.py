"""How releases differ in applying presets: which part did it, what it refused, which annotations it read and wrote."""

from __future__ import annotations

from krm_fn.base.objects import Object, text
from krm_fn.base.paths import get
from krm_fn.base.value import Value
from krm_fn.kubevirt.releases import Release, Version


class Era(Value):
    """A span of releases that treat presets in the same way.

    `exclude` is the annotation that excludes an instance from presets, "" if there was none. `marker` is the annotation that
    the preset controller set on every instance that it processed, "" if the webhook does the work. `compares_presets`: presets
    that disagree are refused together. `refuses_selectors`: one invalid selector stops the instance; otherwise only its preset
    is dropped. `credits_copies`: a preset counts as applied only if it changed something, not if the instance already had the
    same values. `amounts_by_value`: 1Gi and 1024Mi are equal when deciding whether a preset counts as applied.
    `reports_idle`: a preset that matched but set nothing is reported.
    """

    exclude: str = ""
    marker: str = ""
    compares_presets: bool = True
    refuses_selectors: bool = True
    credits_copies: bool = False
    amounts_by_value: bool = True
    reports_idle: bool = True
    since: Version = ()
    until: Version = ()


EXCLUDE = "virtualmachineinstancepresets.admission.kubevirt.io/exclude"
FIRST_EXCLUDE = "virtualmachinepresets.admission.kubevirt.io/exclude"
MARKER = "presets.virtualmachines.kubevirt.io/presets-applied"

_CONTROLLER = Era(marker=MARKER, refuses_selectors=False, amounts_by_value=False, reports_idle=False)
_ERAS = (
    _CONTROLLER.but(until=(0, 4), compares_presets=False, credits_copies=True),
    _CONTROLLER.but(since=(0, 4), until=(0, 5, 1)),
    _CONTROLLER.but(since=(0, 5, 1), until=(0, 6, 1), exclude=FIRST_EXCLUDE),
    _CONTROLLER.but(since=(0, 6, 1), until=(0, 9), exclude=EXCLUDE),
    Era(since=(0, 9), until=(0, 50), exclude=EXCLUDE, amounts_by_value=False),
    Era(since=(0, 50), exclude=EXCLUDE),
)


class _Served(Value):
    """The API version that a release writes into the annotations."""

    group_version: str
    since: Version = ()
    until: Version = ()


_SERVED = (
    _Served(group_version="kubevirt.io/v1alpha1", until=(0, 6, 1)),
    _Served(group_version="kubevirt.io/v1alpha2", since=(0, 6, 1), until=(0, 13)),
    _Served(group_version="kubevirt.io/v1alpha3", since=(0, 13), until=(0, 37)),
    _Served(group_version="kubevirt.io/v1", since=(0, 37)),
)

# The newest release whose treatment an object of an old API version gets. v1alpha2 was served until 0.12, but its presets are
# those of the controller, which the webhook replaced in 0.9.
_NEWEST = {"kubevirt.io/v1alpha1": (0, 6, 0), "kubevirt.io/v1alpha2": (0, 8, 0)}


def era_of(release: Release) -> Era:
    """The era of a release."""
    return next(era for era in _ERAS if release.within(since=era.since, until=era.until))


def group_version_of(release: Release) -> str:
    """The value that a release writes into its annotations: `kubevirt.io/v1`."""
    return next(row.group_version for row in _SERVED if release.within(since=row.since, until=row.until))


def release_for(instance: Object, release: Release) -> Release:
    """The release whose treatment an instance gets: the given one, or an older one if its API version was removed."""
    newest = _NEWEST.get(text(get(instance, ("apiVersion",))))
    return Release(version=min(newest, release.version)) if newest else release
