"""Why KubeVirt's webhooks refuse an object."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Mapping
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import Ref
from krm_fn.base.paths import Path
from krm_fn.base.value import Value
from krm_fn.kubevirt.facts import Found
from krm_fn.kubevirt.releases import Release

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.admission.scope import Cause


NOTHING: Mapping[Any, Any] = {}


class Origin(Value):
    """Where a value of an expanded VM comes from: `field` leads to it in the spec of `source`, which `matcher` refers to."""

    source: Found
    field: Path
    matcher: str


class AdmissionFacts(Value):
    """Why KubeVirt's webhooks refuse an object; the causes' paths run from its root.

    `parts` has the same causes by the part of the object they are in, which names the rule that reports them. `origins` has,
    by its path, the origin of each value that the object does not set itself. `gated` are the causes
    that some feature gate would remove, where the cluster's configuration is not known; `causes` lacks them.
    """

    entry: Entry
    causes: tuple[Cause, ...]
    parts: dict[str, list[Cause]]
    release: Release
    prefix: Path = ()
    origins: Mapping[Path, Origin] = NOTHING
    gated: tuple[Cause, ...] = ()

    @property
    def troubled(self) -> bool:
        """True if some rule may find something."""
        return bool(self.causes)


class SourceFault(Value):
    """Why no VM can use an instancetype of the bundle: `entry` it, `path` the place in it, `users` the VMs refused for it."""

    entry: Entry
    path: Path
    message: str
    users: tuple[Ref, ...]
