"""Processes that work for one question: on this machine, or a Dask cluster.

Input: functions and their arguments. Output: futures. A worker that dies takes its piece of work with it, and
nothing else: whoever waits for it sees `Lost`, and hands it out once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from signal import SIG_IGN, SIGINT, signal
from typing import Any, TypeVar

from credalog.errors import CredalogError, MissingLibrary

__all__ = ["Lost", "Workers", "connected", "import_all", "of_client", "of_processes"]

T = TypeVar("T")

IDLE_SECONDS = 30.0
"""How long processes of this machine wait for more work before they end."""


class Lost(Exception):
    """A piece of work went down with its worker."""


@dataclass
class Workers:
    """So many workers; `begin` makes whatever starts them, again where all are lost."""

    count: int
    begin: Callable[[], Executor]
    _executor: Executor | None = field(default=None, repr=False)

    def start(self) -> None:
        """Begin with what takes long: processes that are there in time."""
        if self._executor is None:
            self._executor = self.begin()
            with suppress(RuntimeError):
                for _ in range(self.count):
                    self._executor.submit(import_all)

    def submit(self, work: Callable[..., T], *arguments: Any) -> Future[T]:
        """Hand out a piece of work."""
        if self._executor is None:
            self._executor = self.begin()
        try:
            return self._executor.submit(work, *arguments)
        except RuntimeError:
            # Some worker died while nobody looked.
            self._executor = self.begin()
            return self._executor.submit(work, *arguments)

    def result(self, done: Future[T]) -> T:
        """Return what became of a piece of work; whatever went wrong with it, it is lost."""
        error = CancelledError() if done.cancelled() else done.exception()
        if error is None:
            return done.result()
        if isinstance(error, BrokenExecutor):
            self._executor = None
        raise Lost from error

    @staticmethod
    def wait(works: Iterable[Future[T]], seconds: float) -> set[Future[T]]:
        """Wait for one of several to be done, for so long at most."""
        return wait(list(works), timeout=seconds, return_when=FIRST_COMPLETED).done


def of_processes(count: int) -> Workers:
    """Return so many processes of this machine, which begin with the first piece of work.

    They serve all questions that are asked for as many.
    """

    def begin() -> Executor:
        # The one that joblib itself keeps is of another kind, and there is room for one kind only.
        from joblib.externals.loky import ProcessPoolExecutor

        pool: Executor = ProcessPoolExecutor(count, timeout=IDLE_SECONDS, initializer=_deaf_to_ctrl_c)
        return pool

    return _LOCAL.setdefault(count, Workers(count, begin))


_LOCAL: dict[int, Workers] = {}


def _deaf_to_ctrl_c() -> None:
    """Leave Ctrl-C to the process that hands out the work."""
    with suppress(ValueError):
        signal(SIGINT, SIG_IGN)


def import_all() -> None:
    """Import what a shared search needs."""
    import_module("credalog.methods.cliques.parallel_search")


def of_client(client: Any) -> Workers:
    """Return the workers of a Dask client."""
    count = max(1, sum(client.nthreads().values()))
    return Workers(count, lambda: client.get_executor(pure=False, retries=0))


def connected(address: str) -> Any:
    """Return a client of the Dask scheduler at an address; one for all questions of a process."""
    try:
        from distributed import Client
    except ImportError:
        raise MissingLibrary(
            "a cluster needs Dask, which is not installed",
            advice='Install it with `pip install "credalog[cluster]"`.',
        ) from None
    if address not in _CLIENTS:
        connect: Any = Client
        try:
            _CLIENTS[address] = connect(address, timeout=10)
        except (OSError, ValueError) as error:
            raise CredalogError(
                f"no Dask scheduler answers at {address}",
                advice="Start one with `dask scheduler`, and give the address that it prints.",
            ) from error
    return _CLIENTS[address]


_CLIENTS: dict[str, Any] = {}
