"""A batch as a whole: what is asked, of what, and by whom.

Input: a model or several, questions, and a pool of workers. Output: outcomes in order of completion.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from credalog.batches.answering import Settings
from credalog.batches.catalogue import Catalogue, Folder, OneModel, Several
from credalog.batches.items import Item, Outcome, items_of, only_once
from credalog.batches.pools import Here, Pool, Processes
from credalog.batches.scheduling import Speed, outcomes
from credalog.errors import CredalogError
from credalog.lcn import LCN, load
from credalog.lcn.grounded import counted, options_of
from credalog.numbers.budget import Budget
from credalog.numbers.tolerances import TOLERANCE

if TYPE_CHECKING:
    from credalog.choices import MarkovName, MethodName

__all__ = ["Batch", "batch", "pool_for"]


@dataclass(frozen=True)
class Batch:
    """Questions in an order in which neighbours share work, and the models they are put to."""

    catalogue: Catalogue
    items: list[Item]
    settings: Settings = field(default_factory=Settings)
    speed: Speed = field(default_factory=Speed)

    @classmethod
    def of(cls, catalogue: Catalogue, items: Iterable[Item], settings: Settings) -> Batch:
        """Arrange questions, each of which has its own name."""
        return cls(catalogue, list(only_once(catalogue.arranged(items))), settings)

    def outcomes(
        self, pool: Pool, *, done: Collection[str] = (), budget: Budget | None = None
    ) -> Iterator[Outcome]:
        """Yield what becomes of the questions that are not done yet."""
        return outcomes(
            (item for item in self.items if item.key not in done),
            pool,
            self.catalogue.source,
            settings=self.settings,
            budget=budget or Budget.of(inf),
            speed=self.speed,
            known=frozenset(source.key for source in self.catalogue.shared),
        )


def batch(
    model: LCN | str | Path | Mapping[str, LCN],
    questions: Iterable[object],
    *,
    client: Any = None,
    jobs: int | None = None,
    timeout: float = 30.0,
    total: float = inf,
    tolerance: float = TOLERANCE,
    method: MethodName = "auto",
    markov: MarkovName = "local",
    witnesses: bool = False,
    memory: float | None = None,
) -> Iterator[Outcome]:
    """Yield the answers to many questions, in order of completion.

    A question is text, or a mapping with the fields query, id, evidence, timeout and model; its id is its
    number from 1 if it has none. The workers are those of a Dask `client`, or `jobs` processes, or else what
    `joblib.parallel_config` says; without any of these it is this process. `timeout` is for each question,
    `total` for all; `memory` is what one process may take, in bytes. Several models are a folder of files, or
    a mapping from names.
    """
    # Said once of the batch, and not of each of its questions.
    options_of(timeout, tolerance, markov, method=method)
    options_of(total, tolerance, markov)
    if jobs is not None:
        counted(jobs, "jobs")
    if memory is not None and not memory > 0:
        raise CredalogError(f"memory={memory} is no amount", advice="Give bytes: memory=2**30.")
    settings = Settings(timeout, tolerance, method, markov, witnesses)
    asked = Batch.of(_catalogue(model), items_of(questions), settings)
    return _answered(asked, client, jobs, memory, Budget.of(total))


def _answered(
    asked: Batch, client: Any, jobs: int | None, memory: float | None, budget: Budget
) -> Iterator[Outcome]:
    with closing(pool_for(asked.catalogue, client=client, jobs=jobs, memory=memory)) as pool:
        yield from asked.outcomes(pool, budget=budget)


def pool_for(
    catalogue: Catalogue, *, client: Any = None, jobs: int | None = None, memory: float | None = None
) -> Pool:
    """Return workers that have the models of a catalogue."""
    if client is not None and jobs is not None:
        raise CredalogError("both client and jobs are given", advice="Leave one of them out.")
    if client is None and jobs is None:
        client, jobs = _joblib_setting()
    if client is not None:
        from credalog.batches.cluster import Cluster

        return Cluster(client, *catalogue.shared)
    if jobs is None:
        return Here(*catalogue.shared)
    return Processes(jobs, *catalogue.shared, memory=memory)


def _joblib_setting() -> tuple[Any, int | None]:
    """Return what `joblib.parallel_config` says of workers: a client of Dask, or a number of processes."""
    from joblib import effective_n_jobs
    from joblib.parallel import get_active_backend

    backend, wanted = get_active_backend()
    client = getattr(backend, "client", None)
    if client is not None:
        return client, None
    return None, effective_n_jobs(wanted) if wanted not in (None, 1) else None


def _catalogue(model: LCN | str | Path | Mapping[str, LCN]) -> Catalogue:
    if isinstance(model, LCN):
        return OneModel(model)
    if isinstance(model, Mapping):
        return Several(model)
    if isinstance(model, (str, Path)):
        return Folder(model) if Path(model).is_dir() else OneModel(load(model))
    raise CredalogError(f"{model!r} is no model", advice="Give an LCN, a path, or a mapping from names.")
