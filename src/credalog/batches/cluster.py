"""Where chunks are worked on: by the workers of a Dask cluster.

Input: a client of Dask, or the address of a scheduler. Output: as of any other pool. A model is registered
with the cluster, so that workers that join later have it as well. Workers may come and go: what was under
way on one that died is lost, and asked again.
"""

from __future__ import annotations

from concurrent.futures import CancelledError
from contextlib import suppress
from math import inf
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any
from uuid import uuid4

from credalog.batches.answering import Chunk, Done, answer_chunk, forget, learn
from credalog.batches.models import Source
from credalog.batches.pools import Lost, Result
from credalog.errors import CredalogError, MissingLibrary
from credalog.program.workers import connected

__all__ = ["Cluster", "client_of", "local_client"]

LOOKING = 2.0
"""Seconds between two looks at how many workers there are."""

TOPIC = "credalog"
"""Under this name the scheduler keeps what was reported of a batch."""


def client_of(address: str) -> Any:
    """Connect to the scheduler at an address; `local` starts workers on this machine alone."""
    if address == "local" or address.startswith("local:"):
        return local_client(_count(address))
    return connected(address)


def _count(address: str) -> int | None:
    _, _, number = address.partition(":")
    if number and not (number.isdigit() and int(number)):
        raise CredalogError(f"{address} is no cluster", advice="Write local, local:2, or tcp://HOST:8786.")
    return int(number) if number else None


def local_client(workers: int | None = None, *, dashboard: str = "127.0.0.1:0") -> Any:
    """Start workers on this machine; nobody else can reach them."""
    try:
        import dask
        from distributed import Client
    except ImportError:
        raise MissingLibrary.of("Dask", "cluster", otherwise="use jobs=2 on this machine") from None
    start: Any = Client
    # A chunk that kills its worker is divided by us: it need not kill three more.
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        # A cluster that a client starts ends with it.
        return start(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=dashboard,
            silence_logs=50,
        )


class Cluster:
    """The workers of a Dask cluster."""

    def __init__(self, client: Any, *sources: Source) -> None:
        self._client = client
        self._sources = sources
        self._name = f"credalog-{uuid4().hex[:8]}"
        self._finished: SimpleQueue[tuple[Chunk, Any]] = SimpleQueue()
        self._futures: set[Any] = set()
        self._count, self._counted = 1, -inf
        self._plugins = [_plugin(source) for source in sources]
        for plugin in self._plugins:
            client.register_plugin(plugin, name=plugin.name)

    @property
    def workers(self) -> int:
        """Return how many threads there are, each of which works on a chunk; 1 while there is none."""
        if monotonic() - self._counted > LOOKING:
            self._count = max(1, sum(self._client.nthreads().values()))
            self._counted = monotonic()
        return self._count

    def submit(self, chunk: Chunk) -> None:
        """Hand in a chunk; its name is what the dashboard shows."""
        name = f"{self._name}-{chunk.number}"
        future = self._client.submit(answer_chunk, chunk, key=name, pure=False, retries=0)
        self._futures.add(future)
        future.add_done_callback(lambda done: self._finished.put((chunk, done)))

    def next(self, timeout: float) -> Result | None:
        """Wait for the next chunk to come back."""
        try:
            chunk, future = self._finished.get(timeout=None if timeout == inf else timeout)
        except Empty:
            self._check_connection()
            return None
        self._futures.discard(future)
        return chunk, self._result(future)

    def _result(self, future: Any) -> Done | Lost:
        """Fetch what became of a chunk; the worker that holds it may die meanwhile."""
        from distributed.client import FutureCancelledError
        from distributed.scheduler import KilledWorker

        try:
            found: Done = future.result()
        except (KilledWorker, FutureCancelledError, CancelledError, OSError):
            self._check_connection()
            return Lost(None)
        except (ImportError, AttributeError) as error:
            raise CredalogError(
                f"a worker of the cluster cannot answer: {error}",
                advice="Install the same version of Credalog where the workers run.",
            ) from None
        return found

    def _check_connection(self) -> None:
        if self._client.status not in ("running", "connecting"):
            raise CredalogError(
                "the connection to the Dask scheduler was lost",
                advice="Start the cluster, and ask again: what was answered is not asked again.",
            )

    def report(self, progress: dict[str, Any]) -> None:
        """Tell the scheduler how far the batch has come: `client.get_events("credalog")` lists it."""
        self._client.log_event(TOPIC, {"batch": self._name, **progress})

    def close(self) -> None:
        """Call off what is under way, and let workers forget the model; a cluster of ours ends."""
        with suppress(Exception):
            self._client.cancel(list(self._futures), force=True)
            for plugin in self._plugins:
                self._client.unregister_worker_plugin(plugin.name)


def _plugin(source: Source) -> Any:
    from distributed.diagnostics.plugin import WorkerPlugin

    class Model(WorkerPlugin):  # type: ignore[misc]
        """Gives every worker, also one that joins later, a model."""

        name = f"credalog-model-{source.key}"

        def setup(self, worker: Any) -> None:
            limit = getattr(worker.memory_manager, "memory_limit", None)
            learn(source, memory=limit or inf)

        def teardown(self, worker: Any) -> None:
            forget(source.key)

    return Model()
