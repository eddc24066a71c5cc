"""Flavors, and the preferences of their group, to which VirtualMachines of KubeVirt 0.47 to 0.55 refer.

An object's form shows its release: up to 0.52 it has `profiles` beside its metadata, in 0.53 a spec with a domain's CPU, since
0.54 nearly the spec of an instancetype. 0.54 and 0.55 have the same form. It is read as in 0.55, where vCPUs become sockets.

The reasons of errors that only flavors have, in the notation of `resolve`:

    unknown-profile     the flavor has no profile of that name; w the flavor; c the names of its profiles; d `near`, the nearest
    no-default-profile  the matcher names no profile, and none is the default; w the flavor; c the names of its profiles

upstream: pkg/flavor/flavor.go:FindFlavorSpec, FindPreferenceSpec until 0.56
"""

from __future__ import annotations

from krm_fn.base.bundle import Bundle, Entry
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import Path, as_list, as_map, copy, drop, get
from krm_fn.kubevirt.api_versions import FLAVOR as GROUP
from krm_fn.kubevirt.facts import Found, ResolutionError
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.resolve.find import Finder
from krm_fn.kubevirt.resolve.matcher import PREFERENCE, Lookup, Matcher, faults

FLAVOR = Matcher(
    field="flavor",
    kind="VirtualMachineFlavor",
    cluster_kind="VirtualMachineClusterFlavor",
    name_label="",
    kind_label="",
    status="",
    payload="instancetype",
)
API_VERSIONS = {
    **dict.fromkeys((*FLAVOR.kinds, *PREFERENCE.kinds), f"{GROUP}/v1alpha1"),
    "ControllerRevision": "apps/v1",
}
# The last release that read the revisions of 0.55.
READS_REVISIONS = Release(version=(1, 6, 6))

# Fields of the form of 0.54 and 0.55 that the earlier form, which has only a CPU, does not have.
LATER_FIELDS: tuple[Path, ...] = (
    ("cpu", "guest"),
    ("memory",),
    ("gpus",),
    ("hostDevices",),
    ("ioThreadsPolicy",),
    ("launchSecurity",),
)

# Preferences that had no effect when they were false; later releases write them into the VM.
FALSE_IS_UNSET: tuple[Path, ...] = (
    ("devices", "preferredAutoattachGraphicsDevice"),
    ("devices", "preferredAutoattachMemBalloon"),
    ("devices", "preferredAutoattachPodInterface"),
    ("devices", "preferredAutoattachSerialConsole"),
    ("devices", "preferredUseVirtioTransitional"),
    ("devices", "preferredDisableHotplug"),
    ("devices", "preferredBlockMultiQueue"),
    ("devices", "preferredNetworkInterfaceMultiQueue"),
    ("devices", "preferredDiskDedicatedIoThread"),
    ("firmware", "preferredUseBios"),
    ("firmware", "preferredUseBiosSerial"),
    ("firmware", "preferredUseEfi"),
    ("firmware", "preferredUseSecureBoot"),
)


class FlavorFinder:
    """Finds the objects in the group of flavors to which VMs of one bundle refer."""

    def __init__(self, bundle: Bundle) -> None:
        self._lookup = Lookup(bundle, API_VERSIONS)
        self._finder = Finder(lookup=self._lookup, release=READS_REVISIONS, catalogue=None)
        self._specs: dict[int, Object] = {}
        self._profiles: dict[int, Profiles] = {}

    def flavor(self, vm: Object, namespace: str) -> Found | list[ResolutionError]:
        """The object of the VM's `spec.flavor`, with its spec in the form of its table."""
        written = vm["spec"]["flavor"]
        wrong = list(faults(FLAVOR, written))
        if wrong:
            return [error.but(upstream="") for error in wrong]
        found = self._finder.find(vm, FLAVOR, namespace)
        if isinstance(found, ResolutionError):
            return [found.but(upstream="")]
        if found.origin == "revision" or found.entry is None:
            return found.but(table="flavor")
        read = self._read(found.entry, text(written.get("profile")))
        return [read.but(wanted=found.ref)] if isinstance(read, ResolutionError) else found.but(**read)

    def _read(self, entry: Entry, profile: str) -> Object | ResolutionError:
        """A flavor's object in fields of Found: `spec`, its `table`, and the `root` of the spec."""
        if "spec" in entry.obj or not isinstance(entry.obj.get("profiles"), list):
            if id(entry) not in self._specs:
                self._specs[id(entry)] = read_spec(entry.obj)
            return self._specs[id(entry)]
        if id(entry) not in self._profiles:
            self._profiles[id(entry)] = Profiles(entry.obj)
        profiles = self._profiles[id(entry)]
        return profiles.find(profile) or self._no_profile(profiles, profile)

    def _no_profile(self, profiles: Profiles, wanted: str) -> ResolutionError:
        path: Path = ("spec", "flavor")
        if not wanted:
            return ResolutionError(matcher="flavor", reason="no-default-profile", path=path, candidates=profiles.names)
        return ResolutionError(
            matcher="flavor",
            reason="unknown-profile",
            path=(*path, "profile"),
            current=wanted,
            candidates=profiles.names,
            detail=(("near", self._lookup.nearest(wanted, profiles.names)),),
        )

    def preference(self, vm: Object, namespace: str) -> Found | None:
        """The object of the VM's `spec.preference` in the group of flavors, or None."""
        if list(faults(PREFERENCE, get(vm, ("spec", "preference")))) or get(vm, ("spec", "preference", "inferFromVolume")):
            return None
        found = self._finder.find(vm, PREFERENCE, namespace)
        return found.but(spec=present_preference(found.spec)) if isinstance(found, Found) else None

    def preference_object(self, vm: Object, namespace: str) -> Found | None:
        """The same for a VM without a flavor. Its revisions are left to the release."""
        found = self.preference(vm, namespace)
        return None if found and found.origin == "revision" else found


def read_spec(flavor: Object) -> Object:
    """The spec and the table of a flavor with a spec."""
    spec = as_map(flavor.get("spec"))
    if all(get(spec, path) is None for path in LATER_FIELDS):
        return {"spec": spec, "table": "flavor-cpu"}
    if get(spec, ("memory", "guest")) is None:  # then upstream does not read the huge pages either
        spec = {key: value for key, value in spec.items() if key != "memory"}
    return {"spec": spec, "table": "flavor"}


class Profiles:
    """The profiles of a flavor, by name. Of two with one name the first counts, and so does the first default one."""

    def __init__(self, flavor: Object) -> None:
        self._by_name: dict[str, Object] = {}
        self._default: Object | None = None
        for number, profile in enumerate(map(as_map, as_list(flavor.get("profiles")))):
            found = {"spec": profile, "table": "flavor-cpu", "root": ("profiles", number)}
            self._by_name.setdefault(text(profile.get("name")), found)
            if profile.get("default") is True and self._default is None:
                self._default = found
        self.names = tuple(filter(None, self._by_name))

    def find(self, name: str) -> Object | None:
        """The content of the profile of that name, or of the default one for ""; None if there is none."""
        return self._by_name.get(name) if name else self._default


def present_preference(spec: Object) -> Object:
    """The spec of a preference used with flavors, so that a present release applies it in the same way; the same if equal."""
    idle = [path for path in FALSE_IS_UNSET if get(spec, path) is False]
    if idle:
        spec = copy(spec)
        for path in idle:
            drop(spec, path)
    return spec
