"""The sources of an Application: what kind each is, what its options make of a kustomization, and how they call helm.

upstream: argo-cd reposerver/repository/repository.go, util/kustomize/kustomize.go, util/helm/cmd.go
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import translate
from typing import NamedTuple

from krm_fn.base.errors import InputError
from krm_fn.base.expressions import expression
from krm_fn.base.objects import Object, name_of, text
from krm_fn.base.paths import Path, as_list, as_map, copy
from krm_fn.base.work import Budget
from krm_fn.flux.generator import with_images

GROUP = "argoproj.io"
APPLICATION, SET = "Application", "ApplicationSet"
TYPES = ("kustomize", "helm", "directory", "plugin")
# A file with this is not applied; the suffixes of those that are.
SKIPPED = b"+argocd:skip-file-rendering"
SUFFIXES = (".yaml", ".yml", ".json", ".jsonnet")
OVERRIDES = (".argocd-source.yaml", ".argocd-source-{}.yaml")
OPTIONS = ("namePrefix", "nameSuffix", "namespace", "patches")  # these, and those that `kustomized` names
VARIABLE = expression(r"\$(?:\{(\w+)\}|(\w+)|(\$))")
BRACES = expression(r"\{([^{}]*)\}")
IMAGE = expression(r"(?:(?P<name>[^=]+)=)?(?P<new>[^@]*?)(?::(?P<tag>[^:/@]+))?(?:@(?P<digest>.+))?")
CREDENTIALS = expression(r"(?<=//)[^/@]*@")  # of a URL
COMMA = expression(r"(?<!\\),")
# The work of the globs of one Application: patterns by files, and how many patterns braces may stand for.
UNITS, MOST = 2_000_000, 200


class ArgoError(InputError):
    """What Argo CD refuses."""


class UnknownError(ArgoError):
    """What is not in git, or not understood here: nobody says that it is wrong."""


class ApplicationSource(NamedTuple):
    """One source of an Application: its place in that, and what it says."""

    at: Path
    of: Object


def sources_of(application: Object) -> list[ApplicationSource]:
    """The sources of an Application; those of a list count before a single one, and what is hydrated before these."""
    spec = as_map(application.get("spec"))
    if dry := as_map(as_map(spec.get("sourceHydrator")).get("drySource")):
        return [ApplicationSource(("spec", "sourceHydrator", "drySource"), dry)]
    listed = [
        ApplicationSource(("spec", "sources", number), as_map(each)) for number, each in enumerate(as_list(spec.get("sources")))
    ]
    return listed or [ApplicationSource(("spec", "source"), as_map(spec.get("source")))]


def source_named(source: Object) -> str:
    """The chart or the folder of a source and where it comes from, in words; "" for one that only serves files of values."""
    chart = ("the chart", text(source.get("chart")), text(source.get("targetRevision"))) if source.get("chart") else ()
    name = " ".join(filter(None, chart or (text(source.get("path")),)))
    return name and f"{name} in {CREDENTIALS.sub('', text(source.get('repoURL')))}"


def kind_of_source(source: Object, names: Iterable[str]) -> str:
    """The kind of a source: one of TYPES, by what it says, or by the files of its folder. Raises: ArgoError."""
    stated = [kind for kind in TYPES if as_map(source.get(kind))]
    if len(stated) > 1:
        raise ArgoError(f"a source is of one kind, but this one has {' and '.join(stated)}")
    if stated:
        return stated[0]
    found = set(names)
    if found & {"kustomization.yaml", "kustomization.yml", "Kustomization"}:
        return "kustomize"
    return "helm" if "Chart.yaml" in found else "directory"


def variables(application: Object, source: Object) -> dict[str, str]:
    """The variables that Argo CD puts into options."""
    spec = as_map(application.get("spec"))
    return {
        "ARGOCD_APP_NAME": name_of(application),
        "ARGOCD_APP_NAMESPACE": text(as_map(spec.get("destination")).get("namespace")),
        "ARGOCD_APP_PROJECT_NAME": text(spec.get("project")),
        "ARGOCD_APP_SOURCE_PATH": text(source.get("path")),
        "ARGOCD_APP_SOURCE_REPO_URL": text(source.get("repoURL")),
        "ARGOCD_APP_SOURCE_TARGET_REVISION": text(source.get("targetRevision")),
    }


def substituted(value: str, known: Mapping[str, str]) -> str:
    """A text with the values of variables; a variable without one is empty."""
    return VARIABLE.sub(lambda found: "$" if found[3] else known.get(found[1] or found[2], ""), value)


def kustomized(own: Object, options: Object, known: Mapping[str, str]) -> Object:
    """A kustomization as Argo CD edits it by the options of a source. Raises: ArgoError."""
    made: Object = copy(own)
    made |= {key: options[key] for key in OPTIONS[:3] if options.get(key)}
    if images := as_list(options.get("images")):
        new = [_image(substituted(text(given), known)) for given in images]
        made["images"] = with_images(as_list(made.get("images")), new)
    for given in map(as_map, as_list(options.get("replicas"))):
        others = [each for each in as_list(made.get("replicas")) if as_map(each).get("name") != given.get("name")]
        made["replicas"] = [*others, {"name": given.get("name"), "count": _count(given.get("count"))}]
    _label(made, options, known)
    if annotations := as_map(options.get("commonAnnotations")):
        if options.get("commonAnnotationsEnvsubst"):
            annotations = {key: substituted(text(value), known) for key, value in annotations.items()}
        _add(made, "commonAnnotations", annotations, forced=bool(options.get("forceCommonAnnotations")))
    for key in ("patches", "components"):
        if added := as_list(options.get(key)):
            made[key] = [
                *as_list(made.get(key)),
                *(each for each in added if key == "patches" or each not in made.get(key, ())),
            ]
    return made


def _label(made: Object, options: Object, known: Mapping[str, str]) -> None:
    labels = {key: substituted(text(value), known) for key, value in as_map(options.get("commonLabels")).items()}
    forced = bool(options.get("forceCommonLabels"))
    if not labels:
        return
    if not options.get("labelWithoutSelector"):
        _add(made, "commonLabels", labels, forced=forced)
        return
    if not forced:
        pairs = [as_map(as_map(each).get("pairs")) for each in as_list(made.get("labels"))]
        _refuse_again(labels, *pairs)
    entry = {"pairs": labels, **({"includeTemplates": True} if options.get("labelIncludeTemplates") else {})}
    made["labels"] = [*as_list(made.get("labels")), entry]


def _add(made: Object, key: str, values: Object, *, forced: bool) -> None:
    if not forced:
        _refuse_again(values, as_map(made.get(key)))
    made[key] = {**as_map(made.get(key)), **values}


def _refuse_again(values: Object, *own: Object) -> None:
    if twice := next((key for key in values if any(key in each for each in own)), None):
        raise ArgoError(f"the kustomization has {twice} already; force it, or remove it from one of them")


def _count(value: object) -> int:
    try:
        return int(str(value))
    except ValueError:
        raise ArgoError(f"the count of replicas is {value!r}; expected a whole number") from None


def _image(written: str) -> Object:
    """An image as `kustomize edit set image` reads it: `name=new:tag@digest`, and less."""
    found = IMAGE.fullmatch(written)
    if found is None:
        raise ArgoError(f"the image {written!r} can't be read; expected name=new:tag")
    name = found["name"] or found["new"]
    image = {"name": name, "newName": found["new"] if found["name"] else "", "newTag": found["tag"], "digest": found["digest"]}
    return {key: value for key, value in image.items() if value}


def files_in(paths: Iterable[str], directory: Object) -> Iterator[str]:
    """Those of the paths, from the folder of a source, that a directory applies. Raises: ArgoError, SpentError."""
    spend = Budget(UNITS).spend
    include, exclude = (_globs(text(directory.get(key))) for key in ("include", "exclude"))
    for path in paths:
        spend(1 + len(include) + len(exclude))
        if "/" in path and not directory.get("recurse"):
            continue
        if not (path.endswith(SUFFIXES) or directory.get("disableExtensionFilter")):
            continue
        if not any(each.match(path) for each in exclude) and (not include or any(each.match(path) for each in include)):
            yield path


def _globs(glob: str) -> list[re.Pattern[str]]:
    """A glob as expressions: a star stands for any text, and braces for one of several."""
    found, left = [], [glob] if glob else []
    while left:
        each = left.pop()
        braces = BRACES.search(each)
        if braces is None:
            found.append(re.compile(translate(each)))
        else:
            left += [each[: braces.start()] + one + each[braces.end() :] for one in braces[1].split(",")]
        if len(found) + len(left) > MOST:
            raise ArgoError(f"a glob stands for more than {MOST} others; write a shorter one")
    return found


def helm_words(helm: Object, known: Mapping[str, str]) -> list[str]:
    """The words with which parameters reach helm."""
    words = []
    for each in map(as_map, as_list(helm.get("parameters"))):
        value = substituted(_shown(each.get("value")), known)
        if not (value.startswith("{") and value.endswith("}")):
            value = COMMA.sub(r"\\,", value)
        words += ["--set-string" if each.get("forceString") else "--set", f"{text(each.get('name'))}={value}"]
    return words


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)
