"""One trial in a process of its own: import a mutated package, run the tests that reach the mutation.

Input: a module's changed source and the tests to run. Output: the first test that fails, or none.

The parent has imported the libraries but nothing of the package, so that a forked child imports the package
afresh, with the changed source in the place of one module. Compiled functions run as plain Python. Time is
the processor's: a busy machine is no reason to call a mutation noticed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType

import coverage
import pytest

__all__ = ["Reached", "fork", "survey", "trial"]

Reached = dict[str, list[int]]
"""The lines of each module that a test runs."""

QUIET = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:faulthandler"]


@dataclass(frozen=True, slots=True)
class _Changed(MetaPathFinder):
    """Import one module from another source than its file's."""

    module: str
    path: Path
    source: str

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        if fullname != self.module:
            return None
        loader = _Loader(fullname, str(self.path))
        loader.code = compile(self.source, str(self.path), "exec", dont_inherit=True)
        return importlib.util.spec_from_file_location(fullname, self.path, loader=loader)


class _Loader(SourceFileLoader):
    code: CodeType

    def get_code(self, fullname: str) -> CodeType:
        return self.code


class _Selection:
    """Keep some tests, the fastest first, and remember the first that fails."""

    def __init__(self, tests: Sequence[str]) -> None:
        self.rank = {test: i for i, test in enumerate(tests)}
        self.failed: str | None = None

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.rank), key=lambda i: self.rank[i.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self.failed is None:
            self.failed = report.nodeid


class _Survey:
    """Record what each test that passes costs, and which lines it reaches."""

    def __init__(self, measured: coverage.Coverage, write: Callable[[str], object]) -> None:
        self.measured, self.write = measured, write

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> object:
        before = time.process_time()
        self.measured.erase()
        self.measured.start()
        try:
            return (yield)
        finally:
            self.measured.stop()
            item.stash[COST] = time.process_time() - before

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        if call.when == "call" and call.excinfo is None:
            data = self.measured.get_data()
            reached = {name: data.lines(name) for name in data.measured_files()}
            self.write(
                json.dumps({"test": item.nodeid, "seconds": item.stash[COST], "reached": reached}) + "\n"
            )


COST = pytest.StashKey[float]()


def trial(module: str, path: Path, source: str, tests: Sequence[str]) -> str:
    """Run tests against a mutated module; return what noticed the mutation, or nothing."""
    sys.meta_path.insert(0, _Changed(module, path, source))
    selection = _Selection(tests)
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    code = pytest.main([*QUIET, *files], plugins=[selection])
    if code in {pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED}:
        raise RuntimeError(f"no test has run: {files}")
    return selection.failed or ("" if code == pytest.ExitCode.OK else "import")


def survey(file: str, sources: Sequence[Path], found: Path) -> str:
    """Run a file of tests as it is and write down, test by test, what each one reaches."""
    measured = coverage.Coverage(data_file=None, include=[str(path) for path in sources], config_file=False)
    measured.set_option("run:disable_warnings", ["no-data-collected"])
    with found.open("w", buffering=1) as output:
        quiet = [option for option in QUIET if option != "-x"]
        code = pytest.main([*quiet, file], plugins=[_Survey(measured, output.write)])
    if code not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
        raise RuntimeError(f"no test has run: {file}")
    return "" if code == pytest.ExitCode.OK else "some tests fail and do not take part"


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
