"""Ctrl-C at any line of the branch and bound: no leaf is lost, so the bound still holds."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from credalog.program import branch
from credalog.program.branch import BranchAndBound, Explored

DEPTH = 4


class Interrupter:
    """Press Ctrl-C at the n-th line that the tree itself runs."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != branch.__file__:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


def value(leaf: tuple[int, ...]) -> float:
    """Return a number of its own for each path; the least is that of the path of ones, which comes last."""
    return float(sum((1 - turn) * 2**k for k, turn in enumerate(leaf)))


def explore(known: float, leaf: tuple[int, ...]) -> Explored[tuple[int, ...]]:
    """Cut a path in two; what is known of a part is the least value below it."""
    if len(leaf) == DEPTH:
        return Explored(closed=value(leaf))
    children = ((*leaf, turn) for turn in (0, 1))
    return Explored(tuple((value(child), child) for child in children))


def explore_all(leaves: list[tuple[float, tuple[int, ...]]]) -> Explored[tuple[int, ...]]:
    found = [explore(*leaf) for leaf in leaves]
    children = tuple(child for one in found for child in one.children)
    return Explored(children, min(one.closed for one in found))


def interrupted(number: int, at_most: int) -> tuple[BranchAndBound[tuple[int, ...]], bool]:
    """Explore a tree whose least value is 0 until Ctrl-C comes at some line, or to the end."""
    tree = BranchAndBound[tuple[int, ...]]((), -1.0)
    before = sys.gettrace()
    sys.settrace(Interrupter(number))
    try:
        tree.run_together(explore_all, until=lambda: False, enough=lambda: 100.0, at_most=at_most)
    except KeyboardInterrupt:
        return tree, True
    finally:
        sys.settrace(before)
    return tree, False


@pytest.mark.slow
@pytest.mark.parametrize("at_most", [1, 3])
def test_an_interruption_at_any_line_loses_no_leaf(at_most: int) -> None:
    for number in range(1, 10_000):
        tree, was_interrupted = interrupted(number, at_most)
        assert tree.bound <= 0.0, f"the leaf of the least value was lost at line {number}"
        if not was_interrupted:
            break
    assert tree.is_exhausted and tree.bound == 0.0


def test_leaves_are_compared_without_a_line_of_python() -> None:
    """A comparison that Ctrl-C may interrupt would leave the heap in disorder, with its least leaf inside."""
    tree = BranchAndBound[tuple[int, ...]]((), -1.0)
    seen = list[str]()

    def watch(frame: FrameType, event: str, _: Any) -> Any:
        seen.append(frame.f_code.co_name)
        return None

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        for bound in (3.0, 1.0, 2.0, 0.5):
            tree.push(bound, ())
        tree.take()
    finally:
        sys.settrace(before)
    assert set(seen) == {"push", "take"}
