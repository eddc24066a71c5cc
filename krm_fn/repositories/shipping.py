"""Units with all that working on them needs, as bytes: what goes to another machine, and what comes back.

A shipment is worked on by a process of its own, in a folder with copies of the files. So all paths there are the same as here,
and nothing in the files can get in the way of the program that received them.
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
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from krm_fn.base import programs
from krm_fn.repositories import building, guard, loading, sharing
from krm_fn.repositories.builds import NO_FILE
from krm_fn.repositories.kustomization import FILES
from krm_fn.repositories.loading import Options, UnitPiece
from krm_fn.repositories.names import words as words_of
from krm_fn.repositories.pools import SELDOM
from krm_fn.repositories.sharing import Key, Offer, Offered
from krm_fn.repositories.types import Target
from krm_fn.sources.files import GIT, read_found, repository
from krm_fn.sources.reading import Texts

FAST = 1  # level of compression
PAUSE = 0.5  # seconds between looks whether the parent lives


class Parcel(NamedTuple):
    """A unit and what working on it needs.

    `texts` are those of its files. `roots` are the roots of git trees in which these lie. `offers` are those that it may take;
    None where it is loaded.
    """

    piece: UnitPiece
    texts: Mapping[str, bytes]
    roots: frozenset[str]
    offers: Mapping[Key, Sequence[Offer]] | None

    @property
    def size(self) -> int:
        """About how many bytes it has."""
        return sum(map(len, self.texts.values())) + len(self.piece.texts)


class Shipment(NamedTuple):
    """Several parcels, what is to be done with each, and the folder in which their paths start: its absolute path here."""

    folder: str
    parcels: tuple[Parcel, ...]
    work: Callable[..., Any]
    options: Options


def parcel(piece: UnitPiece, offered: Mapping[str, Offered] | None = None) -> Parcel | None:
    """A unit with what working on it needs; None where that has to be done here.

    That is so where a file is a link, lies above this folder or can't be read, and where Helm is called.
    """
    unit, target = piece.unit, piece.unit.target
    if target and not _is_for_kustomize(target, unit.settings.build_flags):
        return None
    texts = _texts(unit.inputs)
    if texts is None:
        return None
    offers = _offers(piece, texts, offered.get(unit.settings.cluster)) if offered is not None else None
    return Parcel(piece, texts, _roots((os.curdir, target.folder if target else os.curdir)), offers)


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


def _offers(piece: UnitPiece, texts: Mapping[str, bytes], offered: Offered | None) -> Mapping[Key, Sequence[Offer]]:
    """The offers that a unit may take: all of its cluster where its text is not known yet."""
    if offered is None:
        return {}
    if piece.unit.target and not piece.texts:
        return offered.offers
    loaded = loading.unpacked(piece.texts) if piece.texts else None
    given = [each.data for each in loaded.given] if isinstance(loaded, Texts) else texts.values()
    words = words_of(b"\n".join(given))
    keys = sharing.reachable(words, offered) | offered.near(words, offered.namespaces)
    return {key: offered.of(key) for key in keys}


def packed(value: object) -> bytes:
    """A value as bytes."""
    return zlib.compress(pickle.dumps(value), FAST)


def unpacked(data: bytes) -> Any:
    """The value of bytes that `packed` made, on a machine that shares work with this one."""
    return pickle.loads(zlib.decompress(data))  # noqa: S301  the scheduler and the workers are trusted


def main() -> None:
    """Work on the shipment on stdin, and write what comes of it to stdout. It tidies up and ends where its parent dies."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    gc.set_threshold(*SELDOM)
    sys.stdout.buffer.write(packed(work_on(unpacked(sys.stdin.buffer.read()))))


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PAUSE)
    os.kill(os.getpid(), signal.SIGTERM)


def work_on(shipment: Shipment) -> list[Any]:
    """What comes of each unit; None where the machine that it comes from has to say why nothing does."""
    with programs.scratch() as scratch:
        top = os.path.realpath(scratch)
        folder = f"{top}/files{shipment.folder}"
        os.makedirs(folder)  # noqa: PTH103
        for each in shipment.parcels:
            _unpack(each, folder, f"{top}/files")
        os.chdir(folder)
        try:
            options = shipment.options.but(using=building.builder())
            return [_worked(each, shipment.work, options) for each in shipment.parcels]
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


def _worked(each: Parcel, work: Callable[..., Any], options: Options) -> Any:
    offered: tuple[Any, ...] = ()
    if each.offers is not None:
        offers = (offer for found in each.offers.values() for offer in found)
        offered = (sharing.offered_by_cluster([(each.piece.unit.settings.cluster, offers)]),)
    try:
        found = work(each.piece, options, *offered)
    except Exception:  # noqa: BLE001  it is done again where its files are, and the same mistake is reported from there
        return None
    result = found[0] if isinstance(found, tuple) else found
    return found if result.built else None
