"""Documents and folders that are skipped, and the reasons: those that are no Kubernetes objects, or that only tools read."""

from __future__ import annotations

import re
from functools import lru_cache

from krm_fn.base.console import file_name
from krm_fn.base.expressions import expression
from krm_fn.base.objects import group_of, kind_of
from krm_fn.base.paths import is_set
from krm_fn.kubevirt.api_versions import is_stray
from krm_fn.sources.files import KUSTOMIZATIONS, TEMPLATES

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass

TOOL_GROUPS = ("kustomize.config.k8s.io", "kpt.dev", "kubevirt-render.dev")


# What hides a word in a text: an escape of a letter, of a dot or of what escapes; base64; and UTF-16.
ESCAPED = expression(rb"\\(?:x|u00|U000000)(?:2[eEfF]|[46][1-9a-fA-F]|[57][0-9aA]|5[cC])")
TAGGED, WIDE = expression(rb"!(?:![bB%]|<)|%TAG"), expression(rb"(?:\A|[\s-])(?:\xff\xfe|\xfe\xff)")
# The end of a line that is left out between two letters.
CONTINUED = rb"(?:\\(?:\r\n?|\n|\xc2\x85|\xe2\x80[\xa8\xa9])[ \t]*)*"


def may_have(text: bytes, word: bytes) -> bool:
    """True where a YAML or JSON text has a word, or may have it in another form."""
    return word in text or may_hide(text, word)


def may_hide(text: bytes, word: bytes) -> bool:
    """True where a YAML or JSON text may have a word in a form that only readers of manifests know."""
    if WIDE.search(text) or (b"!" in text and TAGGED.search(text)):
        return True
    return b"\\" in text and bool(ESCAPED.search(text) or _continued(word).search(text))


@lru_cache(maxsize=4)
def _continued(word: bytes) -> re.Pattern[bytes]:
    return re.compile(CONTINUED.join(re.escape(bytes((each,))) for each in word))


def about_folder(folder: str) -> str:
    """The note about a skipped folder: of other projects, or with the templates of a Helm chart."""
    if folder.rpartition("/")[2] != TEMPLATES:
        return f"{file_name(folder)} is skipped: it contains other projects; to read them, name the folder"
    return f"{file_name(folder)} is skipped: it contains templates of a Helm chart; to render them, use `helm template`"


def why_skipped(item: object, file: str) -> str:
    """The reason to skip a document; "" for an object. The keys may have any type, and an object of KubeVirt may lack one."""
    unnamed = not isinstance(item, dict) or not (
        (is_set(item.get("apiVersion")) and is_set(item.get("kind"))) or is_stray(item)
    )
    tool = isinstance(item, dict) and group_of(item) in TOOL_GROUPS
    if file.rpartition("/")[2] in KUSTOMIZATIONS and (unnamed or tool):
        return "it is a kustomization; to build it, use `-k` with its folder"
    if unnamed:
        return "it has no apiVersion and kind"
    return f"only tools use a {kind_of(item)}" if isinstance(item, dict) and tool else ""
