"""Ctrl-C while a solver's own code runs: whoever waits can leave, and nothing is used while it is in use."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread, Timer
from time import sleep
from types import FrameType

import highspy
import numpy as np
import pytest
import scipy.sparse as sp

from credalog.program.solvers.highs import linear_model, quiet_highs, run_for
from credalog.program.solvers.interruption import (
    Interruption,
    apart,
    attended,
    is_anything_left,
    settle,
)


class Solver:
    """Works until it is let go, whatever it is asked."""

    def __init__(self) -> None:
        self.begun, self.let_go = Event(), Event()
        self.was_asked = False

    def work(self, interruption: Interruption) -> None:
        self.begun.set()
        self.let_go.wait(30.0)
        self.was_asked = interruption.is_asked


def _press_when(begun: Event) -> None:
    """Press Ctrl-C once something has begun."""

    def press() -> None:
        begun.wait(30.0)
        os.kill(os.getpid(), signal.SIGINT)

    Thread(target=press).start()


@pytest.mark.slow
def test_a_solver_that_does_not_see_ctrl_c_is_left_and_waited_for_before_it_is_used_again() -> None:
    solver = Solver()
    _press_when(solver.begun)
    with pytest.raises(KeyboardInterrupt):
        attended(solver, Solver.work)
    assert is_anything_left()
    other = Solver()
    other.let_go.set()
    attended(other, Solver.work)
    assert not other.was_asked, "another solver does not wait behind the one that was left"
    Timer(0.2, solver.let_go.set).start()
    settle(solver)
    assert solver.was_asked
    assert not is_anything_left()


def test_where_ctrl_c_is_handled_outside_and_work_goes_on_the_solver_is_waited_for() -> None:
    solver, pressed = Solver(), list[int]()

    def go_on(number: int, _frame: FrameType | None) -> None:
        pressed.append(number)
        solver.let_go.set()

    before = signal.signal(signal.SIGINT, go_on)
    try:
        _press_when(solver.begun)
        attended(solver, Solver.work)
    finally:
        signal.signal(signal.SIGINT, before)
    assert pressed == [signal.SIGINT]
    assert solver.was_asked
    assert not is_anything_left()


def test_what_a_solver_raises_is_raised_to_whoever_waits() -> None:
    def work(_solver: Solver, _: Interruption) -> None:
        raise MemoryError

    with pytest.raises(MemoryError):
        attended(Solver(), work)


def test_highs_in_a_thread_of_its_own_finds_the_optimum() -> None:
    """Minimize the sum of 600 columns, each at least its number."""
    highs, least = quiet_highs(), np.arange(600.0)
    rows = sp.csr_array(sp.eye_array(600))
    highs.passModel(
        linear_model(np.ones(600), (np.zeros(600), np.full(600, np.inf)), rows, (least, least + 1))
    )
    run_for(highs, 10.0)
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    assert highs.getObjectiveValue() == pytest.approx(least.sum())


def test_a_copy_of_the_process_returns_all_that_it_found() -> None:
    found = apart(lambda: np.arange(100_000.0).tobytes(), 30.0)
    assert np.array_equal(np.frombuffer(found), np.arange(100_000.0))


@pytest.mark.slow
def test_a_copy_that_fails_or_has_no_time_left_returns_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    def sleepy() -> bytes:
        sleep(60.0)
        return b"late"

    assert apart(lambda: bytes([1 // 0]), 30.0) == b""
    assert apart(sleepy, 0.0) == b""
    assert not capfd.readouterr().err


def test_ctrl_c_ends_the_copy_of_a_process() -> None:
    reading, writing = os.pipe()

    def work() -> bytes:
        os.write(writing, os.getpid().to_bytes(8, "big"))
        sleep(60.0)
        return b""

    begun, told = Event(), list[bytes]()

    def listen() -> None:
        told.append(os.read(reading, 8))
        begun.set()

    Thread(target=listen).start()
    _press_when(begun)
    with pytest.raises(KeyboardInterrupt):
        apart(work, 60.0)
    with pytest.raises(ProcessLookupError):
        os.kill(int.from_bytes(told[0], "big"), 0)
    for end in (reading, writing):
        os.close(end)


LEFT = """
import os, signal, sys, threading
from credalog.cli import app, main
from credalog.program.solvers.interruption import attended

class Solver: pass

def work(_solver, _):
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    threading.Event().wait()

def command(_):
    print("half of it", end="")
    attended(Solver(), work)

app._carried_out = command
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv[1:] = ["check", "-"]
sys.exit(main())
"""


@pytest.mark.slow
def test_a_command_ends_though_a_solver_never_does() -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "src")}
    words = [sys.executable, "-c", LEFT]
    found = subprocess.run(words, capture_output=True, text=True, timeout=60, env=environment, check=False)
    assert found.returncode == 130
    assert found.stdout == "half of it"
    assert found.stderr == "error: interrupted\n"
