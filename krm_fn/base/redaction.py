"""Secrets in objects. Messages, results and quoted lines show none; all code that shows users' values uses this module.

Secret are the values of Secrets, and all values below a key that is spelled like `userData`, `password`, `token` or `key`.
In a source of cloud-init or of credentials, all values are secret, except those that refer to an object. The first such key
is shown, the keys below it are not. Misspelt keys count too: the value of a misspelt `userData` is hidden as well. In a
Secret and in such a source, a key is shown only if it is spelled like a key that belongs there.
"""

from __future__ import annotations

from functools import lru_cache

from krm_fn.base.annotations import Any, Iterable, Iterator
from krm_fn.base.paths import Path
from krm_fn.base.value import Value

Shown = dict[str, Any]


HIDDEN = "(hidden)"

# Parts of keys of secret values, without case and separators.
PARTS = (
    *("userdata", "networkdata", "cloudconfig", "unattend", "sysprepdata"),
    *("passw", "passphrase", "token", "credential", "bearer", "authorization", "kubeconfig", "dockercfg", "dockerconfig"),
    *("extraheader", "httpheader", "dhcert"),
)
# The ends of such keys, and complete keys.
ENDS = ("key", "keys", "keybase64", "clientsecret", "pwd")
SECRET_WORDS = frozenset(("session", "sessions", "psk", "kye", "keyy"))
# Keys that a misspelt key may stand for. Long ones may have two slips.
MEANT = (
    *("userdata", "userdatabase64", "networkdata", "networkdatabase64", "password", "userpassword", "passphrase"),
    *("token", "tokens", "passwd", "session", "dhcert", "credentials", "authorizedkeys", "sshauthorizedkeys", "sshkeys"),
    *("sshkey", "apikey", "privatekey", "publickey", "sshpublickey"),
)
LONG = 8  # letters of a key that may have two slips
SLIPS = {meant: 2 if len(meant) >= LONG else 1 for meant in MEANT}
# The keys, with their slips, that one of so many letters may stand for: most keys have to be compared with few of them.
MEANT_BY_LENGTH = {
    length: tuple((meant, slips) for meant, slips in SLIPS.items() if abs(len(meant) - length) <= slips)
    for length in range(max(map(len, MEANT)) + 3)
}

# Fields of the API whose names look secret, but whose values are not. Some count only below a certain field.
HARMLESS = frozenset(
    (
        *("accessCredentials", "automountServiceAccountToken", "matchLabelKeys", "mismatchLabelKeys", "networkDataSecretRef"),
        *("nodeDrainTaintKey", "secretExtraHeaders", "tokenBucketRateLimiter", "topologyKey"),
    )
)
HARMLESS_IN = {
    "key": frozenset(("matchExpressions", "matchFields", "tolerations", "configMapKeyRef", "secretKeyRef", "taints")),
}

# Fields whose values are secret, except for these fields below them, which refer to objects or say what to do. The key is the
# field's name in letters only. None: everything below is shown.
NAME = {"name": None}
CREDENTIAL = {
    "source": {"secret": {"secretName": None}},
    "propagationMethod": {"noCloud": {}, "configDrive": {}, "qemuGuestAgent": {"users": None}},
}
REFERS: dict[str, Shown] = {
    "cloudinit": {"secretRef": NAME, "networkDataSecretRef": NAME},
    "sysprep": {"secret": NAME, "configMap": NAME},
    "sshpublickey": CREDENTIAL,
    "userpassword": CREDENTIAL,
}
SOURCES = ("cloudinitnocloud", "cloudinitconfigdrive")
# The same for an object of the kind Secret, and other keys in it.
SECRET: Shown = {
    **dict.fromkeys(("apiVersion", "kind", "type", "immutable")),
    "metadata": dict.fromkeys(("name", "namespace", "generateName")),
}
SECRET_KEYS = (
    "data",
    "stringdata",
    "status",
    "spec",
    "labels",
    "annotations",
    "finalizers",
    "ownerreferences",
    "managedfields",
)
# Words in a text that show that it contains a secret.
IN_TEXTS = (*PARTS, "private key", "ssh-rsa", "ssh-ed25519", "secret")

REMEMBERED = 10_000
LONGEST_LOOKED_AT = 20_000  # letters of a text; a longer one counts as a secret
_known: dict[str, tuple[bool, Place]] = {}


def looks_secret(key: str) -> bool:
    """True for a key that is spelled like the key of a secret."""
    return _looked_up(key)[0]


def refers(key: str) -> bool:
    """True for a field whose values are secret, except those that refer to objects."""
    return _looked_up(key)[1].open is not None


def _looked_up(key: str) -> tuple[bool, Place]:
    """Whether a key looks secret, and the place below it if not. The result is kept, because many objects have the key."""
    if key not in _known:
        if len(_known) >= REMEMBERED:
            _known.clear()
        letters = _letters(key)
        kept = _keys_that_refer(letters)
        place = Place(key) if kept is None else Place(key, opened=kept, bare=True)
        _known[key] = kept is None and key not in HARMLESS and _is_spelled_so(letters), place
    return _known[key]


def _letters(key: str) -> str:
    return "".join(filter(str.isalnum, key[:100].casefold()))


def _is_spelled_so(letters: str) -> bool:
    if letters in SECRET_WORDS or letters.endswith(ENDS) or any(part in letters for part in PARTS):
        return True
    return any(_are_near(letters, meant, slips) for meant, slips in MEANT_BY_LENGTH.get(len(letters), ()))


def _keys_that_refer(letters: str) -> Shown | None:
    if letters in REFERS:
        return REFERS[letters]
    is_source = "cloudinit" in letters or any(_are_near(letters, source, 2) for source in SOURCES)
    return REFERS["cloudinit"] if is_source else None


def _are_near(one: str, other: str, slips: int) -> bool:
    """True if at most `slips` letters left out, added, swapped or replaced change one word into the other."""
    if abs(len(one) - len(other)) > slips:
        return False
    letters, others = set(one), set(other)
    if len(letters - others) > slips or len(others - letters) > slips:
        return False  # true for nearly all pairs, and much faster to find out
    return _slips(one, other) <= slips


def _slips(one: str, other: str) -> int:
    """How many letters left out, added, swapped or replaced change one word into the other."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, letter in enumerate(one):
        row = [i + 1]
        for j, wanted in enumerate(other):
            cost = min(last[j] + (letter != wanted), last[j + 1] + 1, row[j] + 1)
            if i and j and letter == other[j - 1] and one[i - 1] == wanted:
                cost = min(cost, before[j - 1] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]


def is_secret_kind(kind: object) -> bool:
    """True for the kind Secret in any spelling, and for kinds that become one."""
    letters = _letters(kind) if isinstance(kind, str) else ""
    return "secret" in letters or (len(letters) > 4 and _are_near(letters, "secret", 1))


class Place:
    """A place inside an object: says what may be shown there.

    `around` is the key above the place. `open` has, below a map of secrets, the keys whose values are not secret, and is
    otherwise None. `bare`: only maps and lists may be shown here. `secret`: nothing may be shown.
    """

    __slots__ = ("around", "bare", "open", "secret")

    def __init__(self, around: str = "", *, opened: Shown | None = None, bare: bool = False, secret: bool = False) -> None:
        self.around, self.open, self.bare, self.secret = around, opened, bare, secret

    def below(self, step: str | int, value: Any = None) -> Place:
        """The place below a key or an index; `value` is the map or list that has it, if it is known."""
        if self.secret or not isinstance(step, str):
            return self
        opened = SECRET if isinstance(value, dict) and is_secret_kind(value.get("kind")) else self.open
        if opened is not None:
            if step not in opened:
                return SECRET_PLACE if _belongs(step, opened) else UNNAMED_PLACE
            further = opened[step]
            return Place(step, opened={}) if further is None else Place(step, opened=further, bare=True)
        looks, place = _looked_up(step)
        return SECRET_PLACE if looks and self.around not in HARMLESS_IN.get(step, ()) else place

    def hides(self, value: object) -> bool:
        """True if a value here is not shown."""
        return self.secret or (self.bare and not isinstance(value, dict | list))


ROOT, SECRET_PLACE = Place(), Place(secret=True)
UNNAMED_PLACE = Place(secret=True)  # below a key that is not shown either


def _belongs(key: str, known: Shown) -> bool:
    """True for a key that is spelled like a key that such a map of secrets has. Other keys may be secrets themselves."""
    letters = _letters(key)
    names = (*map(_letters, known), *(SECRET_KEYS if known in (SECRET, SECRET["metadata"]) else ()))
    return looks_secret(key) or any(_are_near(letters, name, 1 + (len(name) >= LONG)) for name in names)


class Reached(Value):
    """The part of a path that may be shown, up to the first key below which everything is secret, and the value there."""

    shown: Path
    place: Place
    value: Any = None


def reach(path: Path, obj: Any = None) -> Reached:
    """The part of a path in an object that may be shown."""
    place, value = ROOT, obj
    for number, step in enumerate(path):
        if place.secret:
            return Reached(shown=path[:number], place=place, value=value)
        below = place.below(step, value)
        if below is UNNAMED_PLACE:
            return Reached(shown=path[:number], place=below, value=value)
        place, value = below, _at(value, step)
    return Reached(shown=path, place=place, value=value)


def shown_path(path: Path) -> Path:
    """The part of a path that may be shown."""
    return reach(path).shown


def redact(value: Any, path: Path = ()) -> Any:
    """The value at a path, with a fixed word in place of everything that may be secret."""
    return redact_at(value, reach(path).place)


def redact_at(value: Any, place: Place) -> Any:
    """The value at a place, with a fixed word in place of everything that may be secret."""
    if place.hides(value):
        return HIDDEN
    if isinstance(value, dict):
        return dict(_redacted_entry(key, below, place.below(key, value)) for key, below in value.items())
    if isinstance(value, list):
        return [redact_at(below, place) for below in value]
    return HIDDEN if isinstance(value, str) and holds_secret(value) else value


def _redacted_entry(key: Any, value: Any, place: Place) -> tuple[Any, Any]:
    return HIDDEN if place is UNNAMED_PLACE else key, redact_at(value, place)


def _at(value: Any, step: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(step)
    return value[step] if isinstance(value, list) and isinstance(step, int) and step < len(value) else None


def holds_secret(text: str) -> bool:
    """True for a URL with a password, and for a text with structured content, such as JSON or cloud-config, with a secret."""
    if "://" in text and "@" in text.partition("://")[2].partition("/")[0]:
        return True
    if "\n" not in text and "{" not in text:
        return False
    if len(text) > LONGEST_LOOKED_AT:
        return True
    lowered = text.casefold()
    return any(part in lowered for part in IN_TEXTS)


def safe_message(message: str, path: Path, reached: Reached, obj: Any) -> str:
    """The message of a finding about a place of an object, or a neutral one if the given message shows a secret."""
    if is_secret_kind(_at(obj, "kind")):
        hidden = [*path[len(reached.shown) :], *_leaves(obj, ROOT)]
    elif reached.place.secret or reached.place.bare:
        hidden = [*path[len(reached.shown) :], *_leaves(reached.value, reached.place)]
    else:
        return message
    # The name of a Secret may be shown, although a label may have the same word as its value.
    known = repr(reached.value) if reached.shown == path and not reached.place.hides(reached.value) else ""
    around = [_without(part, hidden) for part in (message.split(known) if known else [message])]
    if any(_contains(part, hidden) for part in around):
        return "the value is not valid; it may be secret and is not shown"
    return known.join(around)


def _without(message: str, hidden: Iterable[Any]) -> str:
    """The message with a fixed word in place of quoted values that may be secret."""
    for each in hidden:
        message = message.replace(repr(each), HIDDEN) if isinstance(each, str) else message
    return message


def _leaves(value: Any, place: Place) -> Iterator[Any]:
    """The secret keys and values below a place."""
    if isinstance(value, dict):
        for key, below in value.items():
            if place.secret or place.below(key, value) is UNNAMED_PLACE:
                yield key
            yield from _leaves(below, place.below(key, value))
    elif isinstance(value, list):
        for below in value:
            yield from _leaves(below, place)
    elif place.hides(value):
        yield value


SHORTEST, SHORTENED = 4, 12  # characters of a value to search for in messages, which may show only its beginning


def _contains(message: str, values: Iterable[Any]) -> bool:
    """True if a message contains one of the values as a word, or the beginning of a long value."""
    for value in values:
        text = " ".join(str(value).split(None, SHORTENED))[:SHORTENED].strip()
        at = message.find(text) if len(text) >= SHORTEST else -1
        while at >= 0:
            around = message[max(at - 1, 0) : at] + message[at + len(text) : at + len(text) + 1]
            if len(text) == SHORTENED or not any(map(str.isalnum, around)):
                return True
            at = message.find(text, at + 1)
    return False


def shows_key(path: Path, around: Iterable[Any]) -> bool:
    """True if a key in a text that can't be read may be shown. `path` is its place; `around` are the maps above it."""
    kinds = [each["kind"] for each in around if isinstance(each, dict) and "kind" in each]
    if any(map(is_secret_kind, kinds)) or reach(path).shown != path:
        return False
    return bool(kinds) or not any(isinstance(step, str) and "data" in step.casefold() for step in path[:-1])


@lru_cache(maxsize=8)  # all findings of a text in flow style are on one long line
def hides_line(line: str) -> bool:
    """True for a line of a text in which a word looks like the key of a secret."""
    return any(map(looks_secret, _words(line)))


def hides_text(text: bytes) -> bool:
    """True for a text that can't be read, and that may contain a secret anywhere."""
    if len(text) > LONGEST_LOOKED_AT:
        return True
    words = _words(text.decode("utf-8", "replace"))
    return any(looks_secret(word) or _are_near(_letters(word).rstrip("s"), "secret", 1) or refers(word) for word in words)


def _words(text: str) -> set[str]:
    return set("".join(letter if letter.isalnum() or letter in "_-." else " " for letter in text).split())
