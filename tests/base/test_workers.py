"""Work that several processes share gives the same result as in one process, even if the other processes fail."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krm_fn.base import workers
from krm_fn.base.workers import Child, cut, shared

# From Python 3.12 on, `fork` warns where pytest-xdist has threads; the program has none.
pytestmark = pytest.mark.filterwarnings("ignore:This process .*multi-threaded:DeprecationWarning")

ROOT = Path(__file__).resolve().parents[2]
HERE = os.getpid()
PARTS = [range(3), range(3, 5), range(5, 9)]


def in_another() -> bool:
    return os.getpid() != HERE


@pytest.fixture(autouse=True)
def no_process_is_left():
    yield
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@given(st.lists(st.integers(0, 50)), st.integers(1, 5))
def test_parts_hold_all_numbers_in_order_and_none_is_empty(weights, count):
    parts = cut(weights, count)
    assert [number for part in parts for number in part] == list(range(len(weights)))
    assert len(parts) <= count
    assert all(parts) or parts == [range(0)]


@given(st.lists(st.integers(1, 50), min_size=1), st.integers(1, 5))
def test_no_part_outweighs_its_share_by_more_than_one_number(weights, count):
    most = max(weights)
    assert all(sum(weights[number] for number in part) <= sum(weights) / count + most for part in cut(weights, count))


def test_results_come_in_order_out_of_several_processes():
    found = list(shared(lambda number: (number, "text" * 50_000, in_another()), PARTS))
    assert [number for number, _, _ in found] == list(range(9))
    assert [other for _, _, other in found] == [False] * 3 + [True] * 6


@pytest.mark.parametrize("broken", range(9))
def test_an_error_comes_where_one_process_would_meet_it(broken):
    def work(number):
        if number >= broken:
            raise ValueError(number)
        return number

    found = []
    with pytest.raises(ValueError, match=f"^{broken}$"):
        found.extend(shared(work, PARTS))
    assert found == list(range(broken))


def test_what_another_process_fails_to_do_is_done_here_and_the_rest_is_not():
    def work(number):
        if number == 4:
            raise ValueError
        return number, in_another()

    found = list(shared(work, PARTS, here=lambda number: (number, "here")))
    assert found == [(0, "here"), (1, "here"), (2, "here"), (3, True), (4, "here"), *((n, True) for n in range(5, 9))]


def killed(number):
    if in_another():
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def interrupted(number):
    if in_another():
        raise KeyboardInterrupt
    return number


def cut_off(number):
    """The process says only a part of what it has to say."""
    import pickle

    if in_another():
        pickle.dumps = lambda _: b"\x80\x05]\x94(K\x01K"
    return number


def unspeakable(number):
    return (lambda: number) if in_another() else number


@pytest.mark.parametrize("work", [killed, interrupted, cut_off, unspeakable])
def test_a_process_that_dies_is_done_without(work, capfd):
    assert list(shared(work, PARTS)) == list(range(9))
    assert capfd.readouterr() == ("", "")


def test_where_there_can_be_no_other_process_this_one_does_all(monkeypatch):
    def fork():
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", fork)
    assert list(shared(lambda number: (number, in_another()), PARTS)) == [(number, False) for number in range(9)]


def test_who_stops_early_ends_the_others():
    results = shared(lambda number: number, PARTS)
    assert next(results) == 0
    results.close()


def test_what_another_process_has_in_its_buffers_is_not_written_twice(capfd):
    sys.stdout.write("said before")
    assert list(shared(lambda number: number, PARTS)) == list(range(9))
    assert capfd.readouterr().out == "said before"


def test_an_end_that_comes_twice_is_fine():
    child = Child(lambda: 1)
    assert child.join() == 1
    child.end()


def test_one_cpu_or_no_fork_is_one_process(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    assert workers.processes() == 1
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    assert workers.processes() == 2
    monkeypatch.delattr(os, "fork")
    assert workers.processes() == 1


def test_what_is_too_little_is_not_shared(monkeypatch):
    monkeypatch.setattr(workers, "processes", lambda: 2)
    assert workers.parted([5, 5], least=11) == [range(2)]
    assert workers.parted([5, 5], least=10) == [range(1), range(1, 2)]


INTERRUPTED = """\
import os, signal
from krm_fn.base.workers import shared
fork, here = os.fork, os.getpid()
def interrupted_fork():
    pid = fork()
    if pid:
        os.kill(here, signal.SIGINT)
    return pid
os.fork = interrupted_fork
try:
    next(shared(lambda number: number, [range(1), range(1, 2)]))
except KeyboardInterrupt:
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        os.waitpid(-1, 0)
    except ChildProcessError:
        print("no child is left")
"""


def test_an_interrupt_while_a_process_starts_ends_it():
    """It comes once the process is known: before, nobody could end it. By itself, for another thread may take a signal."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "no child is left\n", "")


def test_a_process_whose_parent_is_gone_goes_as_well():
    """The parent is killed in the middle; the other process stops at its next number, where nothing else would end it."""
    source, target = os.pipe()
    parent = os.fork()
    if not parent:
        slow = [range(1), range(1, 10_000)]
        list(shared(lambda _: os.write(target, b".") and time.sleep(0.01), slow, here=lambda _: os.kill(os.getpid(), 9)))
    os.close(target)
    os.waitpid(parent, 0)
    with os.fdopen(source, "rb") as said:
        assert len(said.read()) < 9_000
