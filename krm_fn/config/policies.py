"""The check of `policies`: objects of Kubernetes, and in the config of a repository also the files that have them."""

from __future__ import annotations

from krm_fn.base.errors import ConfigError
from krm_fn.base.objects import group_of, kind_of, name_of
from krm_fn.base.paths import dotted
from krm_fn.base.value import Value
from krm_fn.config.keys import unlike
from krm_fn.kubevirt.settings import PolicyObject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

EXPECTED = "a list of policies, bindings and parameters"
JUDGED = ("kubevirt.io", "pool.kubevirt.io")
ITEM = "an object with apiVersion, kind and metadata.name"


class PolicyPath(Value):
    """A file or folder with policies, relative to the config that names it; `at` is its place in the config."""

    name: str
    at: str


def policies(value: object, path: str) -> tuple[PolicyObject | PolicyPath, ...]:
    """The objects and the paths of a list. Raises: ConfigError."""
    if not isinstance(value, list | tuple):
        raise unlike(value, EXPECTED, path)
    return tuple(_item(item, path + dotted((number,))) for number, item in enumerate(value))


def _item(value: object, path: str) -> PolicyObject | PolicyPath:
    if isinstance(value, str) and value.strip() and "\0" not in value:
        return PolicyPath(name=value, at=path)
    if not isinstance(value, dict) or not (kind_of(value) and isinstance(value.get("apiVersion"), str) and name_of(value)):
        raise unlike(value, ITEM, path)
    if not is_given(value):
        raise ConfigError(f"a {kind_of(value)} is no policy, binding or parameter; add it to the input", path=path)
    return PolicyObject(obj=value)


def is_given(obj: dict[str, object]) -> bool:
    """True for an object that may be a policy, a binding or a parameter: what policies judge must be in the input."""
    return kind_of(obj) != "Namespace" and group_of(obj) not in JUDGED


def without_paths(given: Iterable[PolicyObject | PolicyPath]) -> tuple[PolicyObject, ...]:
    """The objects. Raises: ConfigError for a path, where no file is read."""
    found = []
    for each in given:
        if isinstance(each, PolicyPath):
            fix = "files are read for .kubevirt-render.yaml and --policy only; write the objects here"
            raise ConfigError(f"found {each.name!r}; expected {ITEM}; {fix}", path=each.at)
        found.append(each)
    return tuple(found)
