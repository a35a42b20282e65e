"""Trials in processes of their own, forked from one that has imported everything and collected the tests.

Input: a module's changed source and the tests to run. Output: the first test that fails, or none.

A child gives the functions of one module their changed code, wherever they were imported to, and runs the
tests. Where more than the bodies of functions has changed, it imports the package and collects the tests
afresh. Compiled functions run as plain Python. Time is the processor's: a busy machine is no reason to
call a mutation noticed.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType

import coverage
import pytest

__all__ = ["Changed", "Suite", "fork", "survey", "trial"]

QUIET = [
    "-qq",
    "-s",
    "-x",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:faulthandler",
    "-o",
    "tmp_path_retention_policy=none",
]

SLOWER = 4.0
"""A test that takes so many times as long as in the survey has noticed the mutation."""

LEAST_SECONDS = 1.0
"""The processor time that any test may take."""


class Suite:
    """The tests as pytest has collected them, in a process from which trials are forked."""

    def __init__(self, files: Sequence[str], work: Callable[[Suite], None]) -> None:
        self._work = work
        self._failed = False
        self.items: dict[str, pytest.Item] = {}
        self.functions: dict[str, list[FunctionType]] = defaultdict(list)
        if pytest.main([*QUIET, *files], plugins=[self]) != pytest.ExitCode.OK:
            raise RuntimeError("the tests cannot be collected")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Do the work on the collected tests instead of running them."""
        self.items = {item.nodeid: item for item in session.items}
        for thing in gc.get_objects():
            if isinstance(thing, FunctionType):
                self.functions[thing.__code__.co_filename].append(thing)
        gc.freeze()  # or every child would look through, and so copy, all that has been imported
        self._work(self)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember a failure."""
        self._failed |= report.failed

    def passes(self, test: str) -> bool:
        """Run one test."""
        self._failed = False
        item = self.items[test]
        item.ihook.pytest_runtest_protocol(item=item, nextitem=None)
        return not self._failed


@dataclass(frozen=True, slots=True)
class Changed(MetaPathFinder):
    """A module with another source than its file's."""

    module: str
    path: Path
    source: str
    is_within_function: bool

    @property
    def code(self) -> CodeType:
        """Return the module's changed code."""
        return compile(self.source, str(self.path), "exec", dont_inherit=True)

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        """Import the module from the changed source, as a part of Python's import system."""
        if fullname != self.module:
            return None
        loader = _Loader(fullname, str(self.path))
        loader.code = self.code
        return importlib.util.spec_from_file_location(fullname, self.path, loader=loader)

    def install(self, functions: Iterable[FunctionType]) -> None:
        """Give the functions of the imported module their changed code."""
        codes = {code.co_qualname: code for code in _codes(self.code)}
        for function in functions:
            function.__code__ = codes[function.__code__.co_qualname]


class _Loader(SourceFileLoader):
    code: CodeType

    def get_code(self, fullname: str) -> CodeType:
        return self.code


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def trial(suite: Suite, changed: Changed, tests: Sequence[tuple[str, float]]) -> str:
    """Run tests, with what each has cost, against a mutated module; return what noticed it, or nothing."""
    if not changed.is_within_function:
        return _afresh(changed, [test for test, _ in tests])
    changed.install(suite.functions[str(changed.path)])
    for test, seconds in tests:
        # Whoever runs out of it is ended by a signal.
        signal.setitimer(signal.ITIMER_PROF, LEAST_SECONDS + SLOWER * seconds)
        if not suite.passes(test):
            return test
    return ""


class _Selection:
    """Keep some tests, in their order, and remember the first that fails."""

    def __init__(self, tests: Sequence[str]) -> None:
        self.rank = {test: i for i, test in enumerate(tests)}
        self.failed = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.rank), key=lambda i: self.rank[i.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed = self.failed or (report.nodeid if report.failed else "")


def _afresh(changed: Changed, tests: Sequence[str]) -> str:
    """Import the package anew, with the mutated module in it, and run tests."""
    project = str(changed.path).partition("/src/")[0]
    for name, module in tuple(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith((f"{project}/src/", f"{project}/tests/")):
            del sys.modules[name]
    sys.meta_path.insert(0, changed)
    selection = _Selection(tests)
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    code = pytest.main([*QUIET, *files], plugins=[selection])
    if code in {pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED}:
        raise RuntimeError(f"no test has run: {files}")
    return selection.failed or ("" if code == pytest.ExitCode.OK else "import")


def survey(suite: Suite, file: str, sources: Sequence[Path], found: Path) -> str:
    """Run a file of tests as it is and write down what each test that passes costs and reaches."""
    measured = coverage.Coverage(data_file=None, include=[str(path) for path in sources], config_file=False)
    measured.set_option("run:disable_warnings", ["no-data-collected"])
    failed = []
    with found.open("w", buffering=1) as output:
        for test in [name for name in suite.items if name.partition("::")[0] == file]:
            before = time.process_time()
            measured.erase()
            measured.start()
            passes = suite.passes(test)
            measured.stop()
            if passes:
                data = measured.get_data()
                reached = {name: data.lines(name) for name in data.measured_files()}
                entry = {"test": test, "seconds": time.process_time() - before, "reached": reached}
                output.write(json.dumps(entry) + "\n")
            else:
                failed.append(test)
    return f"failed, and does not take part: {', '.join(failed)}" if failed else ""


def fork(task: Callable[[], str], *, seconds: float) -> tuple[int, int]:
    """Run a task in a child with so much processor time; return its number and the pipe of its result."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    os.close(reader)
    limit = max(int(seconds), 1)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
    signal.alarm(20 * limit)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    try:
        os.write(writer, b"result:" + task().encode())
    except BaseException:  # noqa: BLE001  (whatever it was, the parent must hear of it, and the child must end)
        os.write(writer, b"error:" + traceback.format_exc().encode())
    os._exit(0)
