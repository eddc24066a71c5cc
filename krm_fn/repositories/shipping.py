"""Units with all that judging them needs, as bytes: what goes to another machine, and what comes back.

A shipment is judged by a process of its own, in a folder with copies of the files. So all paths there are the same as here, and
nothing in the files can get in the way of the program that received them.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import threading
import time
import zlib
from typing import TYPE_CHECKING, NamedTuple

from krm_fn.base import programs
from krm_fn.repositories import building, guard, sharing
from krm_fn.repositories.contents import NO_FILE
from krm_fn.repositories.judging import judge
from krm_fn.repositories.kustomization import FILES
from krm_fn.repositories.pools import SELDOM
from krm_fn.repositories.sharing import Offered
from krm_fn.sources.files import GIT, read_found, repository

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from krm_fn.repositories.judging import Options, Unit, UnitResult
    from krm_fn.repositories.sharing import Key, Offer
    from krm_fn.repositories.types import Target

FAST = 1  # level of compression
PAUSE = 0.5  # seconds between looks whether the parent lives


class Parcel(NamedTuple):
    """A unit and what judging it needs.

    `texts` are those of its files. `roots` are the roots of git trees in which these lie. `built` is what was built of the unit
    before, b"" where nothing was. `offers` are those that it may take; None where it is judged by itself.
    """

    unit: Unit
    texts: Mapping[str, bytes]
    roots: frozenset[str]
    built: bytes
    offers: Mapping[Key, Sequence[Offer]] | None

    @property
    def size(self) -> int:
        """About how many bytes it has."""
        return sum(map(len, self.texts.values())) + len(self.built)


class Shipment(NamedTuple):
    """Several parcels, and the folder in which their paths start: its absolute path here."""

    folder: str
    parcels: tuple[Parcel, ...]
    options: Options


class Judged(NamedTuple):
    """What came of a unit, and what was built of it for the next time that it is judged."""

    result: UnitResult
    built: bytes = b""


def parcel(unit: Unit, spool: str, offered: Mapping[str, Offered] | None = None) -> Parcel | None:
    """A unit with what judging it needs; None where it has to be judged here.

    That is so where a file is a link, lies above this folder or can't be read, and where Helm is called.
    """
    target = unit.target
    if target and not _is_for_kustomize(target, unit.settings.build_flags):
        return None
    texts = _texts(target.inputs if target else unit.files)
    if texts is None:
        return None
    built = _content(spool)
    offers = _offers(unit, texts, built, offered) if offered is not None else None
    return Parcel(unit, texts, _roots((os.curdir, target.folder if target else os.curdir)), built, offers)


def _is_for_kustomize(target: Target, flags: Sequence[str]) -> bool:
    """True where kustomize alone builds a target, as far as that is known."""
    return not target.problem and target.file.rpartition("/")[2] in FILES and guard.HELM not in flags


def _texts(files: Iterable[str]) -> dict[str, bytes] | None:
    """The texts of those files that are there; None where one of them is not what its path says."""
    here, texts = os.getcwd(), {}  # noqa: PTH109
    for file in files:
        try:
            texts[file], stamp = read_found(file)
        except NO_FILE:
            continue
        except OSError:
            return None
        if stamp.real != f"{here}{os.sep}{file}":
            return None
    return texts


def _roots(folders: Iterable[str]) -> frozenset[str]:
    """The roots of the git trees that folders are in."""
    return frozenset(root for root in map(repository, folders) if os.path.exists(os.path.join(root, GIT)))  # noqa: PTH110, PTH118


def _offers(
    unit: Unit, texts: Mapping[str, bytes], built: bytes, offered: Mapping[str, Offered]
) -> Mapping[Key, Sequence[Offer]]:
    """The offers that a unit may take: all of its cluster where nothing is there that was built of it before."""
    of_cluster = offered[unit.settings.cluster]
    if unit.target and not built:
        return of_cluster.offers
    words = sharing.words(b"\n".join((built, *(() if unit.target else texts.values()))))
    return {key: of_cluster.of(key) for key in sharing.reachable(words, of_cluster)}


def packed(value: object) -> bytes:
    """A value as bytes."""
    return zlib.compress(pickle.dumps(value), FAST)


def unpacked(data: bytes) -> Any:
    """The value of bytes that `packed` made, on a machine that shares work with this one."""
    return pickle.loads(zlib.decompress(data))  # noqa: S301  the scheduler and the workers are trusted


def main() -> None:
    """Judge the shipment on stdin, and write what comes of it to stdout. It tidies up and ends where its parent dies."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    gc.set_threshold(*SELDOM)
    sys.stdout.buffer.write(packed(judge_shipment(unpacked(sys.stdin.buffer.read()))))


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PAUSE)
    os.kill(os.getpid(), signal.SIGTERM)


def judge_shipment(shipment: Shipment) -> list[Judged | None]:
    """What comes of each unit; None where the machine that it comes from has to say why nothing does."""
    with programs.scratch() as scratch:
        top = os.path.realpath(scratch)
        folder = f"{top}/files{shipment.folder}"
        os.makedirs(folder)  # noqa: PTH103
        for each in shipment.parcels:
            _unpack(each, folder, f"{top}/files")
        os.chdir(folder)
        try:
            using = building.builder()
            return [
                _judged(each, shipment.options.but(using=using, spool=f"{top}/{number}"))
                for number, each in enumerate(shipment.parcels)
            ]
        finally:
            os.chdir(os.sep)


def _unpack(each: Parcel, folder: str, top: str) -> None:
    """Write the files of a parcel, and mark the roots of git trees."""
    for root in each.roots:
        os.makedirs(f"{top}{root}/{GIT}", exist_ok=True)  # noqa: PTH103
    for file, text in each.texts.items():
        path = f"{folder}/{file}"
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
        with open(path, "wb") as out:  # noqa: PTH123
            out.write(text)


def _judged(each: Parcel, options: Options) -> Judged | None:
    if each.built:
        with open(options.spool, "wb") as out:  # noqa: PTH123
            out.write(each.built)
    offered = None if each.offers is None else Offered(offer for offers in each.offers.values() for offer in offers)
    try:
        result = judge(each.unit, options, offered)
    except Exception:  # noqa: BLE001  it is judged again where its files are, and the same mistake is reported from there
        return None
    return Judged(result, _content(options.spool) if offered is None else b"") if result.built else None


def _content(file: str) -> bytes:
    try:
        with open(file, "rb") as source:  # noqa: PTH123
            return source.read()
    except OSError:
        return b""
