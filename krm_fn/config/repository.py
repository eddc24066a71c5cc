"""The config of a repository: the keys of the function config, and those that only the command's file has.

The keys of OF_SECTION stand beside the function config's keys below `spec`; so do `clusters`, each of which may have all of
these keys again.
"""

from __future__ import annotations

from krm_fn import config
from krm_fn.base.annotations import Any, Callable, Iterator
from krm_fn.base.bundle import is_cluster_kind
from krm_fn.base.errors import ConfigError
from krm_fn.base.external import CLAIM, PROFILE, External
from krm_fn.base.globs import steps_of
from krm_fn.base.paths import dotted
from krm_fn.base.value import Value
from krm_fn.config.keys import API_VERSION, KIND, NAMES, child, hint, map_at, unlike
from krm_fn.kubevirt.resolve.matcher import BUNDLE_KINDS
from krm_fn.rules.shared.available_objects import API_VERSIONS

Check = Callable[[object, str], Any]


NAME = ".kubevirt-render.yaml"
# The kinds of objects that others refer to.
KINDS = tuple(sorted({*API_VERSIONS, *BUNDLE_KINDS, "ControllerRevision"}))
EXTERNAL_KEYS = ("kind", "namespace", "name")
MODES = "accessModes"
ACCESS_MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
# The flags of `kustomize build` that start no program of a stranger's choice, with their values; () for a flag without one.
BUILD_FLAGS: dict[str, tuple[str, ...]] = {
    "--enable-helm": (),
    "--load-restrictor": ("LoadRestrictionsNone", "LoadRestrictionsRootOnly"),
}


# The flag among them that has a program started, which a file of the repository may not do.
HELM = "--enable-helm"


class Section(Value):
    """What a repository's config states, or one of the clusters in it.

    `stated` has the fields of Config that it states. `exclude` are globs, relative to the file. `claims` and `profiles` are
    external objects with their access modes. `build_flags` is None where it states none, and so are `helm`: Helm charts are
    built; and `rendered`: a pipeline renders before it applies. `variables` are values that deliveries take from outside git.
    """

    stated: dict[str, Any] = {}  # noqa: RUF012  nobody writes into a Value
    exclude: tuple[str, ...] = ()
    external: tuple[External, ...] = ()
    claims: tuple[External, ...] = ()
    profiles: tuple[External, ...] = ()
    build_flags: tuple[str, ...] | None = None
    helm: bool | None = None
    rendered: bool | None = None
    variables: tuple[tuple[str, str], ...] = ()


class ClusterSection(Section):
    """What is stated about one cluster. `targets` are globs of folders, relative to the file."""

    name: str
    targets: tuple[str, ...]


class RepositoryConfig(Section):
    """A whole file."""

    clusters: tuple[ClusterSection, ...] = ()


def read(value: object) -> RepositoryConfig:
    """The config that the command's file holds. `apiVersion` and `metadata` may be left out. A ConfigMap has only the
    function config's keys.

    Raises: ConfigError, which names the path, what was found and what was expected.
    """
    if not isinstance(value, dict) or value.get("kind") != KIND:
        return RepositoryConfig(stated=config.stated(value))
    _, spec = config.form_of({"apiVersion": API_VERSION, **value}, {**NAMES, **OF_FILE})
    return RepositoryConfig(**_fields(spec, "spec", OF_FILE))


def refuse_powers(found: RepositoryConfig) -> None:
    """Raises: ConfigError for what only flags and a config that somebody names may allow: to start helm."""
    how = "which only you may allow, since it starts helm; remove it, and"
    sections = [("spec", found), *((f"spec.clusters[{number}]", each) for number, each in enumerate(found.clusters))]
    for path, section in sections:
        if section.helm:
            raise ConfigError(f"found true, {how} pass --helm, or name this file with --config", path=child(path, "helm"))
        if HELM in (given := section.build_flags or ()):
            fix = f"pass --kustomize-build-flag={HELM}, or name this file with --config"
            at = child(path, "kustomizeBuildFlags") + dotted((given.index(HELM),))
            raise ConfigError(f"found {HELM}, {how} {fix}", path=at)


def _fields(given: dict[Any, Any], path: str, own: dict[str, tuple[str, Check]]) -> dict[str, Any]:
    """The fields of a section, from a map with the function config's keys and its own."""
    found: dict[str, Any] = {"stated": config.typed(given, path, own)}
    for name, (field, check) in own.items():
        if given.get(name) is not None and given[name] != "":
            found[field] = check(given[name], child(path, name))
    return found


def _items(value: object, expected: str, path: str) -> Iterator[tuple[object, str]]:
    """The items of a list with their paths."""
    if not isinstance(value, list):
        raise unlike(value, expected, path)
    return ((item, path + dotted((number,))) for number, item in enumerate(value))


def _globs(value: object, path: str) -> tuple[str, ...]:
    expected = 'a list of globs such as ["clusters/*"], relative to this file'
    return tuple(_glob(item, at) for item, at in _items(value, expected, path))


def _glob(item: object, path: str) -> str:
    if not isinstance(item, str) or not item or item.startswith("/") or ".." in steps_of(item):
        raise unlike(item, 'a glob such as "clusters/*", relative to this file and without ".."', path)
    return item


def _build_flags(value: object, path: str) -> tuple[str, ...]:
    expected = 'a list of flags such as ["--enable-helm"]'
    return tuple(build_flag(item, at) for item, at in _items(value, expected, path))


def allowed_build_flags() -> list[str]:
    """The flags of `kustomize build` that may be set, with their values."""
    return [f"{flag}={value}" if value else flag for flag, values in BUILD_FLAGS.items() for value in values or ("",)]


def build_flag(item: object, path: str) -> str:
    """The value where it is a flag of `kustomize build` that may be set. Raises: ConfigError."""
    known = allowed_build_flags()
    if isinstance(item, str) and item in known:
        return item
    raise unlike(item, f"one of {', '.join(known)}{hint(item, known)}", path)


def _switch(value: object, path: str) -> bool:
    if isinstance(value, bool):
        return value
    raise unlike(value, "true or false", path)


def variables(value: object, path: str = "") -> tuple[tuple[str, str], ...]:
    """The names of variables and their values, which are texts. Raises: ConfigError."""
    given = map_at(value, path)
    return tuple((_text(name, path), _text(each, child(path, str(name)))) for name, each in given.items())


def _externals(value: object, path: str) -> tuple[External, ...]:
    expected = "a list of maps with kind, and optionally namespace and name"
    return tuple(_external(map_at(item, at), at) for item, at in _items(value, expected, path))


def _external(given: dict[Any, Any], path: str) -> External:
    _known_keys(given, EXTERNAL_KEYS, "of an external object", path)
    kind = given.get("kind")
    if kind not in KINDS:
        raise unlike(kind, f"a kind that other objects refer to: {', '.join(KINDS)}{hint(kind, KINDS)}", child(path, "kind"))
    if given.get("namespace") and is_cluster_kind(kind):
        raise ConfigError(f"a {kind} has no namespace; remove this key", path=child(path, "namespace"))
    return External(kind=kind, **_texts(given, path, "namespace", "name"))


def _claims(value: object, path: str) -> tuple[External, ...]:
    expected = "a list of maps with accessModes, and optionally namespace and name"
    return tuple(_claim(map_at(item, at), at) for item, at in _items(value, expected, path))


def _claim(given: dict[Any, Any], path: str) -> External:
    _known_keys(given, ("namespace", "name", MODES), "of a claim", path)
    return External(kind=CLAIM, **_texts(given, path, "namespace", "name"), access_modes=_modes(given, path))


def _profiles(value: object, path: str) -> tuple[External, ...]:
    expected = "a list of maps with name and accessModes, and optionally volumeMode and default"
    return tuple(_profile(map_at(item, at), at) for item, at in _items(value, expected, path))


def _profile(given: dict[Any, Any], path: str) -> External:
    _known_keys(given, ("name", MODES, "volumeMode", "default"), "of a storage profile", path)
    if not given.get("name"):
        raise ConfigError("found nothing; each storage profile needs the name of its storage class", path=child(path, "name"))
    mode = given.get("volumeMode")
    if mode not in (None, *VOLUME_MODES):
        raise unlike(mode, f"one of {', '.join(VOLUME_MODES)}{hint(mode, VOLUME_MODES)}", child(path, "volumeMode"))
    default = given.get("default")
    return External(
        kind=PROFILE,
        **_texts(given, path, "name"),
        access_modes=_modes(given, path),
        volume_mode=mode or "",
        is_default=default is not None and _switch(default, child(path, "default")),
    )


def _modes(given: dict[Any, Any], path: str) -> tuple[str, ...]:
    """The access modes of a map, of which there must be some."""
    at = child(path, MODES)
    found = tuple(_mode(item, place) for item, place in _items(given.get(MODES), f"a list of {', '.join(ACCESS_MODES)}", at))
    if not found:
        raise ConfigError(f"found nothing; name at least one of {', '.join(ACCESS_MODES)}", path=at)
    return found


def _mode(item: object, path: str) -> str:
    if isinstance(item, str) and item in ACCESS_MODES:
        return item
    raise unlike(item, f"one of {', '.join(ACCESS_MODES)}{hint(item, ACCESS_MODES)}", path)


def _texts(given: dict[Any, Any], path: str, *keys: str) -> dict[str, Any]:
    """The texts of these keys, as far as they are set."""
    return {key: _text(given[key], child(path, key)) for key in keys if given.get(key) is not None}


def _clusters(value: object, path: str) -> tuple[ClusterSection, ...]:
    found: dict[str, ClusterSection] = {}
    for item, at in _items(value, "a list of clusters, each with name and targets", path):
        cluster = _cluster(map_at(item, at), at)
        if cluster.name in found:
            raise ConfigError(f"another cluster is named {cluster.name}; give each its own name", path=child(at, "name"))
        found[cluster.name] = cluster
    return tuple(found.values())


def _cluster(given: dict[Any, Any], path: str) -> ClusterSection:
    fields = _fields(given, path, OF_CLUSTER)
    for key in ("name", "targets"):
        if not fields.get(key):
            raise ConfigError("found nothing; each cluster needs name and targets", path=child(path, key))
    return ClusterSection(**fields)


def _text(value: object, path: str) -> str:
    if isinstance(value, str):
        return value
    raise unlike(value, "text, so quote it", path)


def _known_keys(given: dict[Any, Any], known: tuple[str, ...], of: str, path: str) -> None:
    for key in given:
        if key not in known:
            raise ConfigError(f"is no key {of}; expected one of {', '.join(known)}{hint(key, known)}", path=child(path, key))


# Key to the field of the section and the check of its value.
OF_SECTION: dict[str, tuple[str, Check]] = {
    "exclude": ("exclude", _globs),
    "helm": ("helm", _switch),
    "rendered": ("rendered", _switch),
    "external": ("external", _externals),
    "claims": ("claims", _claims),
    "storageProfiles": ("profiles", _profiles),
    "kustomizeBuildFlags": ("build_flags", _build_flags),
    "variables": ("variables", variables),
}
OF_FILE: dict[str, tuple[str, Check]] = {**OF_SECTION, "clusters": ("clusters", _clusters)}
OF_CLUSTER: dict[str, tuple[str, Check]] = {"name": ("name", _text), "targets": ("targets", _globs), **OF_SECTION}
