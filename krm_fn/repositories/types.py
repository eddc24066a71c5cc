"""What a repository consists of: kustomizations, the targets among them, and what can't be built. All of it can be pickled.

Paths have forward slashes and run from the working directory; the folder itself is `.`. What lies elsewhere on the machine has
an absolute path where it was named by one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from krm_fn.base.objects import Object, annotations_of, kind_of, name_of, namespace_of
from krm_fn.base.paths import Path, as_list, as_map
from krm_fn.rules.facts.inputs import SkippedFile
from krm_fn.rules.facts.inputs import Unbuilt as Problem

__all__ = ["ChartRelease", "Delivery", "Discovery", "FileReference", "Kustomization", "Problem", "Target"]

SKIPPED = "argocd.argoproj.io/skip-reconcile"  # what switches an Application off
COMPARING = "argocd.argoproj.io/compare-options"
ON_SERVER, WITH_WEBHOOKS = "ServerSideDiff=true", "IncludeMutationWebhook=true"


def full_name(obj: Object) -> str:
    """Namespace and name of an object."""
    return "/".join(filter(None, (namespace_of(obj), name_of(obj))))


class FileReference(NamedTuple):
    """A place where a kustomization names a file or a folder: its key as the role, where that leads, and the path of the place.

    `path` is as it is written where it leads to another machine.
    """

    role: str
    path: str
    at: Path


class Kustomization(NamedTuple):
    """One kustomization: its folder and file, its object, and what it names.

    `includes` may be files or folders with kustomizations of their own: resources, bases and components, generators,
    transformers and validators. `files` are named in any other role. `charts` are the folders of Helm charts. `remote` are
    references to other machines. `refused` is what keeps it from being built, with the reason as its role.
    """

    folder: str
    file: str
    obj: Object
    is_component: bool = False
    includes: tuple[FileReference, ...] = ()
    files: tuple[FileReference, ...] = ()
    charts: tuple[FileReference, ...] = ()
    remote: tuple[FileReference, ...] = ()
    refused: FileReference | None = None

    @property
    def uses(self) -> frozenset[str]:
        """The files that are named in another role than as a resource, and the folders of Helm charts."""
        return frozenset(each.path for each in (*self.files, *self.charts))


class ChartRelease(NamedTuple):
    """How helm is called for a chart: the name and the namespace of the release, more words, and the text of values."""

    name: str
    namespace: str = ""
    words: tuple[str, ...] = ()
    values: str = ""


class Delivery(NamedTuple):
    """What applies a folder of the repository, as it is in the cluster: a Kustomization or a HelmRelease of Flux, or an
    Application of Argo CD.

    `file`, `line` and `column` are where it is written, `item` is the number of its document there; `at` is the path of what
    it says of the folder, `above` what stands before it in the file. `generated` is the file of the kustomization that it has
    built, with `text` in place of `original`, which the repository has; both are b"" for none. `substitutes` are the
    ConfigMaps and Secrets of its variables, `missing` names what git does not have. `strict`: a variable without a value is an
    error. `namespace` is that of objects without one, `release` is for a chart. `cluster` is the one that it applies to, ""
    where only one is known. `label` tells it from all others of the same folder, in other commits, too. `revision` is the one
    of the repository that it applies, where that is not at hand. `start` is the file of the delivery that no other one applies
    and that leads to it, as long as that chooses among objects of one name.
    """

    obj: Object
    file: str
    item: int
    line: int
    column: int
    at: Path = ("spec",)
    above: Path = ()
    generated: str = ""
    text: bytes = b""
    original: bytes = b""
    substitutes: tuple[Object, ...] = ()
    missing: tuple[str, ...] = ()
    strict: bool = True
    namespace: str = ""
    release: ChartRelease | None = None
    cluster: str = ""
    label: str = ""
    revision: str = ""
    start: str = ""

    @property
    def name(self) -> str:
        """Its namespace and its name."""
        return full_name(self.obj)

    @property
    def is_of_flux(self) -> bool:
        """True for a Kustomization of Flux."""
        return kind_of(self.obj) == "Kustomization"

    @property
    def tool(self) -> str:
        """Who applies it."""
        return "Argo CD" if kind_of(self.obj).startswith("Application") else "Flux"

    @property
    def is_suspended(self) -> bool:
        """True where nothing is applied of it."""
        return as_map(self.obj.get("spec")).get("suspend") is True or annotations_of(self.obj).get(SKIPPED) == "true"

    @property
    def ignored(self) -> tuple[Any, ...] | None:
        """`ignoreDifferences` of the Application; None for Flux, and where Argo CD compares on the server."""
        options = str(annotations_of(self.obj).get(COMPARING)).replace(" ", "").split(",")
        if self.tool == "Flux" or (ON_SERVER in options and WITH_WEBHOOKS not in options):
            return None
        return tuple(as_list(as_map(self.obj.get("spec")).get("ignoreDifferences")))


class Target(NamedTuple):
    """A kustomization that no other one in the run uses, a Helm chart, or files: what is judged as one bundle.

    Of kustomizations that include one another, the first one is a target; its problem says so.

    `name` and `folder` are the folder; `file` is the kustomization in it. `kustomizations` are the folders of all that it is
    made of, itself first, in the order in which they are included. `inputs` are the files that it is made of, sorted, also
    those that are not there. `problem` says why it can't be built, as far as that is known without a build. `is_chart`: it is a
    Helm chart, with its Chart.yaml as `file`. `composes`: it may make objects of a kind that no file of it shows. `delivery` is
    what applies it, None where nobody knows that.
    """

    name: str
    folder: str
    file: str
    kustomizations: tuple[str, ...]
    inputs: tuple[str, ...]
    problem: Problem | None = None
    is_chart: bool = False
    composes: bool = False
    delivery: Delivery | None = None

    @property
    def is_files(self) -> bool:
        """True for files that a delivery applies as they are."""
        return not (self.kustomizations or self.is_chart or self.problem)


class Discovery(NamedTuple):
    """What was found in folders.

    `targets` are sorted by folder. `files` are the YAML and JSON files that no kustomization uses, in the order in which they
    were found. `used` are the files and folders that kustomizations name, `listing` the folders of those kustomizations that
    can be read, `excluded` the files that are left out. `skipped` are the files that were passed over, `folders` the skipped
    folders: of other projects, and of the templates of Helm charts. `charts` are the charts that are part of no other chart,
    and that no kustomization uses. `judged` are the files whose objects are judged, by themselves or in what is built.
    """

    targets: tuple[Target, ...] = ()
    files: tuple[str, ...] = ()
    used: frozenset[str] = frozenset()
    listing: frozenset[str] = frozenset()
    excluded: tuple[str, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()
    folders: tuple[str, ...] = ()
    charts: tuple[Target, ...] = ()
    judged: frozenset[str] = frozenset()
