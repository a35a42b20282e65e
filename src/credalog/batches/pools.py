"""Where chunks are worked on: in this process, or in processes of this machine.

Input: chunks. Output: what became of each, in order of completion: `Done`, or `Lost` where a process died.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from queue import Empty, SimpleQueue
from tempfile import TemporaryFile
from threading import Thread
from typing import IO, Any, Protocol, TypeAlias

from credalog.batches.answering import Chunk, Done, answer_chunk, available, learn
from credalog.batches.items import Outcome
from credalog.batches.models import Source
from credalog.errors import CredalogError

__all__ = ["Here", "Lost", "Pool", "Processes", "Result"]

SHARE = 0.85
"""The share of the machine's memory that all workers together may take."""

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Every worker computes in one thread: there are as many workers as processors are wanted."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A chunk whose process died: what was answered before, and the number of the question under way.

    That is None where nobody knows.
    """

    under_way: int | None
    outcomes: tuple[Outcome, ...] = ()


Result: TypeAlias = tuple[Chunk, Done | Lost]


class Pool(Protocol):
    """Workers that take chunks."""

    @property
    def workers(self) -> int:
        """Return how many chunks are worked on at once."""

    def submit(self, chunk: Chunk) -> None:
        """Hand in a chunk."""

    def next(self, timeout: float) -> Result | None:
        """Wait for the next chunk to come back."""

    def close(self) -> None:
        """End the workers that are ours, whatever they do."""


class Here:
    """This process: no chunk is worked on before somebody waits for it."""

    workers = 1

    def __init__(self, *sources: Source) -> None:
        self._waiting: deque[Chunk] = deque()
        for source in sources:
            learn(source)

    def submit(self, chunk: Chunk) -> None:
        """Hand in a chunk."""
        self._waiting.append(chunk)

    def next(self, timeout: float) -> Result | None:
        """Work on the chunk that has waited longest."""
        if not self._waiting:
            return None
        chunk = self._waiting.popleft()
        return chunk, answer_chunk(chunk)

    def close(self) -> None:
        """Forget what waits."""
        self._waiting.clear()


class Processes:
    """Processes of this machine, each with a thread here that talks to it.

    A process that dies takes the question under way with it and nothing else; another takes its place.
    """

    def __init__(self, jobs: int, *sources: Source, memory: float | None = None) -> None:
        self.workers = jobs
        share = SHARE * available() / jobs if memory is None else memory
        self._waiting: SimpleQueue[Chunk | None] = SimpleQueue()
        self._finished: SimpleQueue[Result | CredalogError] = SimpleQueue()
        self._processes = [_Process(share, sources) for _ in range(jobs)]
        self._threads = [Thread(target=self._serve, args=(p,), daemon=True) for p in self._processes]
        for thread in self._threads:
            thread.start()

    def _serve(self, process: _Process) -> None:
        """Hand chunks to a process, one after the other."""
        while (chunk := self._waiting.get()) is not None:
            try:
                self._finished.put((chunk, process.work_on(chunk)))
            except CredalogError as error:
                self._finished.put(error)

    def submit(self, chunk: Chunk) -> None:
        """Hand in a chunk."""
        self._waiting.put(chunk)

    def next(self, timeout: float) -> Result | None:
        """Wait for the next chunk to come back."""
        try:
            found = self._finished.get(timeout=None if timeout == inf else timeout)
        except Empty:
            return None
        if isinstance(found, CredalogError):
            raise found
        return found

    def close(self) -> None:
        """End all processes."""
        with suppress(Empty):
            while True:
                self._waiting.get_nowait()
        for _ in self._threads:
            self._waiting.put(None)
        for process in self._processes:
            process.end()
        for thread, process in zip(self._threads, self._processes, strict=True):
            thread.join()
            process.discard()


class _Process:
    """One worker process, started when it is needed."""

    def __init__(self, memory: float, sources: tuple[Source, ...]) -> None:
        self._prepared = pickle.dumps((memory, sources), protocol=pickle.HIGHEST_PROTOCOL)
        self._running: subprocess.Popen[bytes] | None = None
        self._is_over = False

    def work_on(self, chunk: Chunk) -> Done | Lost:
        """Send a chunk, and gather what comes back; a process that died between two chunks is replaced."""
        running = self._running
        if running is None or not self._sent(running, chunk):
            running = self._running = self._started()
            if not self._sent(running, chunk):
                return Lost(0)
        outcomes = list[Outcome]()
        try:
            while isinstance(found := pickle.load(_channel(running.stdout)), Outcome):
                outcomes.append(found)
        except (EOFError, OSError, pickle.UnpicklingError):
            self.discard()
            return Lost(len(outcomes), tuple(outcomes))
        return Done(tuple(outcomes), found.seconds, found.missing)

    def _sent(self, running: subprocess.Popen[bytes], chunk: Chunk) -> bool:
        try:
            pickle.dump(chunk, _channel(running.stdin), protocol=pickle.HIGHEST_PROTOCOL)
            _channel(running.stdin).flush()
        except OSError:
            self.discard()
            return False
        return True

    def _started(self) -> subprocess.Popen[bytes]:
        """Start a process and wait until it is ready; one that cannot start is nobody's question's fault."""
        paths = os.pathsep.join(path for path in sys.path if path)
        environment = {**os.environ, **dict.fromkeys(ONE_THREAD, "1"), "PYTHONPATH": paths}
        with TemporaryFile() as complaints:
            running = subprocess.Popen(
                [sys.executable, "-m", "credalog.batches.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                env=environment,
                start_new_session=True,  # Ctrl-C is for the one that asks
            )
            self._running = running
            try:
                _channel(running.stdin).write(self._prepared)
                _channel(running.stdin).flush()
                pickle.load(_channel(running.stdout))
            except (EOFError, OSError, pickle.UnpicklingError):
                complaints.seek(0)
                said = complaints.read().decode(errors="replace").strip().splitlines()
                self.discard()
                raise CredalogError(
                    f"a worker cannot start: {said[-1] if said and not self._is_over else 'it was stopped'}",
                    advice="Ask with fewer jobs, or give workers more memory.",
                ) from None
        if self._is_over:
            self.discard()
            raise CredalogError("a worker was stopped")
        return running

    def discard(self) -> None:
        """End the process, and put away what is left of it."""
        running, self._running = self._running, None
        if running is None:
            return
        running.kill()
        for channel in (running.stdin, running.stdout):
            with suppress(OSError):
                _channel(channel).close()
        running.wait()

    def end(self) -> None:
        """End the process from another thread, whatever it does."""
        self._is_over = True
        running = self._running
        if running is not None:
            # The thread that reads from it finds its end.
            running.kill()


def _channel(found: IO[bytes] | None) -> Any:
    assert found is not None, "every process has channels"
    return found
