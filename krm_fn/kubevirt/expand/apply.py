"""Applies an instancetype and a preference, or parts of a preference, to a `{metadata, spec}` template.

All functions change the given template, which belongs to the caller. The result shares no structure with the specs.
"""

from __future__ import annotations

from krm_fn.base.annotations import Sequence
from krm_fn.base.objects import Object
from krm_fn.kubevirt.facts import Conflict
from krm_fn.kubevirt.fields.instancetype import INSTANCETYPE
from krm_fn.kubevirt.fields.preference import AUTOATTACH, DEVICES, PREFERENCE
from krm_fn.kubevirt.fields.verbs import Application, Field, Groups, carry_out, groups_of
from krm_fn.kubevirt.releases import Release, Version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.trace import Trace


TABLES: dict[str, Sequence[Field]] = {
    "instancetype": INSTANCETYPE,
    "preference": PREFERENCE,
    "devices": DEVICES,
    "autoattach": AUTOATTACH,
}

_groups: dict[tuple[str, Version], Groups] = {}


def apply(
    template: Object,
    *,
    instancetype: Object | None,
    preference: Object | None,
    release: Release,
    table: str = "instancetype",
    trace: Trace | None = None,
) -> tuple[Conflict, ...]:
    """The fields that both the template and the instancetype set; empty if everything is applied.

    `table` is the field table of the instancetype. After conflicts, the template is incomplete and must not be used.
    upstream: pkg/instancetype/apply/vmi.go:ApplyToVMI
    """
    application = Application(template, instancetype=instancetype, preference=preference, release=release, trace=trace)
    if instancetype is not None:
        if trace:
            trace.giver = "instancetype"
        carry_out(_compiled(table, release), instancetype, application)
    if preference is not None and not application.conflicts:
        if trace:
            trace.giver = "preference"
        carry_out(_compiled("preference", release), preference, application)
    return tuple(application.conflicts)


def apply_device_preferences(template: Object, preference: Object, release: Release) -> None:
    """Apply the device preferences only.

    upstream: pkg/instancetype/preference/apply/device.go:ApplyDevicePreferences
    """
    carry_out(_compiled("devices", release), preference, Application(template, preference=preference, release=release))


def apply_autoattach_preferences(template: Object, preference: Object, release: Release) -> None:
    """Apply the preferences for attaching default devices only.

    upstream: pkg/instancetype/preference/apply/device.go:ApplyAutoAttachPreferences
    """
    carry_out(_compiled("autoattach", release), preference, Application(template, preference=preference, release=release))


def _compiled(table: str, release: Release) -> Groups:
    key = table, release.version
    if key not in _groups:
        _groups[key] = groups_of(TABLES.get(table) or _flavor_table(table), release)
    return _groups[key]


def _flavor_table(table: str) -> Sequence[Field]:
    from krm_fn.kubevirt.fields.instancetype import TABLES as OF_FLAVORS  # other VMs do not need them

    return OF_FLAVORS[table]
