"""The kustomization that Flux builds in place of the one in a folder, or where a folder has none.

upstream: fluxcd/pkg kustomize/kustomize_generator.go:GenerateManifest, scanManifests
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from krm_fn.base.errors import InputError
from krm_fn.base.objects import Object, kind_of, metadata, text
from krm_fn.base.paths import as_list
from krm_fn.flux.shapes import KUSTOMIZATION, WrongTypeError, shaped
from krm_fn.flux.substitution import FluxError
from krm_fn.sources.files import KUSTOMIZATIONS as FILES
from krm_fn.sources.files import is_within, read_found

HEAD = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
# Flux replaces these of the kustomization by its own, where it has any.
REPLACED = {"targetNamespace": "namespace", "namePrefix": "namePrefix", "nameSuffix": "nameSuffix"}
ORIGINS, PLACEHOLDER = "originAnnotations", "_placeholder"  # so that kustomize does not refuse an empty kustomization
ELSEWHERE = ("git::", "gh:", "ssh://", "https://", "http://", "git@", "github.com:", "github.com/")
YAML = (".yaml", ".yml")
UNSET = (None, "")  # false is no such value: kustomize reads `n` as a text


class Begun(NamedTuple):
    """The file that Flux writes, and what it has before a Kustomization counts."""

    file: str
    made: Object


def begun(folder: str, is_there: Callable[[Path], bool] = Path.is_file) -> Begun:
    """What Flux begins with in a folder; `is_there` is true of the files that Flux has. Raises: FluxError."""
    file = next((place for name in FILES if is_there(Path(place := f"{folder}/{name}"))), "")
    found = Begun(file or f"{folder}/{FILES[0]}", _read(file) if file else _scanned(folder, is_there))
    if Path(found.file).is_dir():
        raise FluxError("generate", f"{FILES[0]} is a folder; Flux writes a file of that name")
    return found


def generated(folder: str, spec: Object, root: str, of: Begun) -> tuple[str, Object]:
    """The file in a folder that Flux writes, and the kustomization that it writes there. Nothing outside the root is there.

    Raises: FluxError.
    """
    made = of.made | {key: spec[of] for of, key in REPLACED.items() if spec.get(of)}
    further = {
        "patches": as_list(spec.get("patches")),
        "components": list(_components(folder, spec, root)),
    }
    made |= {key: [*as_list(made.get(key)), *added] for key, added in further.items() if added}
    if images := as_list(spec.get("images")):
        made["images"] = with_images(as_list(made.get("images")), images)
    if spec.get("buildMetadata"):
        made["buildMetadata"] = spec["buildMetadata"]
    made.setdefault("sortOptions", {"order": "fifo"})  # Flux does not sort, and the command does
    return of.file, made


def _read(file: str) -> Object:
    """A kustomization, read as Go reads it into its type: unknown keys are dropped."""
    from krm_fn.yamlio.reader import read_piece  # few repositories have what Flux applies; this loads libyaml

    try:
        found = read_piece(_data(file).decode("utf-8-sig"), repeats=True)[0] or {}
        made: Object = HEAD | (shaped(found, KUSTOMIZATION, lenient=True) or {})
    except (InputError, UnicodeDecodeError, WrongTypeError) as error:
        message = error.message if isinstance(error, InputError) else str(error)
        raise FluxError("generate", f"{os.path.basename(file)} is no kustomization: {message}") from None  # noqa: PTH119
    return made if made.get("resources") else {**made, "buildMetadata": [ORIGINS]}


def _scanned(folder: str, is_there: Callable[[Path], bool]) -> Object:
    """A kustomization with all manifests below a folder, and the folders with kustomizations of their own."""
    found = [f"./{path}" for path in _manifests(Path(folder), "", is_there)]
    return {**HEAD, "resources": found} if found else {**HEAD, "namespace": PLACEHOLDER}


def _manifests(folder: Path, below: str, is_there: Callable[[Path], bool]) -> Iterator[str]:
    for file in sorted((folder / below).iterdir()):
        path = below + file.name
        if file.is_dir():
            if any(is_there(file / known) for known in FILES):
                yield path
            elif not file.is_symlink():
                yield from _manifests(folder, f"{path}/", is_there)
        elif file.name.endswith(YAML) and is_there(file):
            _check(file, path)
            yield path


def _check(file: Path, path: str) -> None:
    """Raises: FluxError for a manifest that kustomize can't decode. What is in objects, kustomize checks when it builds."""
    from krm_fn.yamlio.documents import read_repeating
    from krm_fn.yamlio.events import YAMLError

    try:
        documents = read_repeating(_data(str(file)).decode("utf-8-sig"))
    except (YAMLError, UnicodeDecodeError):
        raise FluxError("generate", f"{path} is no YAML") from None
    except InputError:
        return
    if wrong := next((wrong for each in documents if (wrong := _flaw(each))), ""):
        raise FluxError("generate", f"{path} has an object {wrong}")


def _data(file: str) -> bytes:
    """Raises: FluxError for a file that can't be read, also because it is too large."""
    try:
        return read_found(file)[0]
    except OSError as error:
        raise FluxError("generate", f"{os.path.basename(file)} can't be read: {error.strerror}") from None  # noqa: PTH119


def _flaw(obj: Any) -> str:
    """What an object lacks, "" for nothing: the items of a List count, the List itself needs no name."""
    if obj in (None, "", {}, []):
        return ""
    if not isinstance(obj, dict) or not any(key in obj for key in ("apiVersion", "kind", "metadata")):
        return "without apiVersion, kind and metadata"
    if obj.get("kind") in UNSET:
        return "without a kind"
    if kind_of(obj).endswith("List"):
        return next((wrong for each in as_list(obj.get("items")) if (wrong := _flaw(each))), "")
    return "without a name" if metadata(obj).get("name") in UNSET else ""


def _components(folder: str, spec: Object, root: str) -> Iterator[str]:
    for path in map(text, as_list(spec.get("components"))):
        if path.lower().startswith(ELSEWHERE) or os.path.isabs(path.lower().removeprefix("file://")):  # noqa: PTH117
            raise FluxError("generate", f"the component {path} is elsewhere; Flux takes a local, relative path alone")
        place = os.path.normpath(f"{folder}/{path}")
        if not spec.get("ignoreMissingComponents") or (is_within(place, [root]) and os.path.exists(place)):  # noqa: PTH110
            yield path


def with_images(images: Sequence[Object], added: Iterable[Object]) -> list[Object]:
    """The images with others. One of a name that is there changes that one: a tag and a digest replace both."""
    made = list(map(dict, images))
    first: dict[Any, Object] = {each.get("name"): each for each in reversed(made)}
    for image in added:
        same = first.get(image.get("name"))
        if same is None:
            same = first[image.get("name")] = {
                key: image[key] for key in ("name", "newName", "newTag", "digest") if key in image
            }
            made.append(same)
            continue
        if image.get("newName"):
            same["newName"] = image["newName"]
        if image.get("newTag") or image.get("digest"):
            same |= {key: image.get(key, "") for key in ("newTag", "digest")}
    return made
