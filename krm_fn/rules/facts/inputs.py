"""The facts of what was read: what could not be read or built, and what the config of a repository names in vain."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.paths import Path
from krm_fn.base.value import Value
from krm_fn.kubevirt.releases import Release

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.base.errors import InputError


class UnmatchedGlob(Value):
    """A glob among the targets of a cluster that matches no target of a run, with its place in the config."""

    glob: str
    cluster: str
    path: Path
    file: str
    line: int
    column: int


class UnseenConfiguration(Value):
    """What a step lacks to render as its cluster does: the `lines` of its config, and the number of `vms` that differ."""

    lines: dict[str, Any]
    vms: int


class RepositoryFacts(Value):
    """What is to say of the config of a repository, and of those of steps."""

    release: Release
    unmatched: tuple[UnmatchedGlob, ...] = ()
    unseen: tuple[UnseenConfiguration, ...] = ()


class SkippedFile(Value):
    """A file or folder that was found in a folder and is not read.

    `why` it can't be read, in the words of the operating system; "" where it is a link that leads out of the paths.
    """

    file: str
    why: str = ""


class Unbuilt(Value):
    """A kustomization or a Helm chart that can't be built: the file that is at fault, "" for none, and the place in it as far
    as it is known.

    `reason` is "refused" (`detail` is what the program says that builds), "unreadable" (`detail` says why), "cycle" (`detail`
    names the folders), "deep" (`detail` is how many may include one another in a row), "repeated" (`detail` says what, and how
    often), "key" (`detail` is one in the letters of another), "flag" (`detail` is what helm would take for one),
    "unclear" (`detail` is the place of it), "made" (`detail` makes plugins of others), "remote" (`detail` is what the file
    refers to), "outside" (the same, beyond the repository), "restricted" (the same, not below the kustomization), "absent"
    (`detail` names a file that is not there, and says why), "made-later" (the same, a kustomization), "template" (`detail` is
    the file that is one), "helm", "plugin" (`detail` names it, or ""), "slow" (`detail` is the time that it had), "late",
    "flux" (`detail` is what Flux refuses), "argocd" (the same), "unmade" (`detail` is wrong in an ApplicationSet), "unknown"
    (`detail` is not known of one) or "program" (none is there that builds).

    `counts`: its files have objects of KubeVirt, as far as they can be read. `instead` says what becomes of these: "written"
    (they are judged as they are written), "uncompared" (they are not compared), or "" (nothing).

    With `is_chart`, it is a Helm chart: the reason is "refused", "outside", "slow" or "dependencies" (`detail` names charts
    that it needs), "flag" (nobody wants it to be built) or "program".
    """

    file: str
    reason: str
    detail: str = ""
    line: int = 0
    column: int = 0
    counts: bool = True
    instead: str = ""
    is_chart: bool = False


class PartialObject(Value):
    """An object that is only a part of an object, such as a patch: the `paths` of what it lacks, and its first directive.

    `others` is the number of more parts in its file.
    """

    paths: tuple[Path, ...]
    directive: str = ""
    others: int = 0


class InputFacts(Value):
    """What couldn't be read: of documents an error each, of foreign ones and templates that were found too, the files that were
    passed over, what couldn't be built: kustomizations and Helm charts; parts of objects that nothing uses; and for each file
    with machines that nothing applies, the number of these after the first.
    """

    release: Release
    errors: tuple[InputError, ...] = ()
    foreign: tuple[InputError, ...] = ()
    templates: tuple[InputError, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()
    unbuilt: tuple[Unbuilt, ...] = ()
    charts: tuple[Unbuilt, ...] = ()
    parts: tuple[PartialObject, ...] = ()
    unlisted: tuple[int, ...] = ()
