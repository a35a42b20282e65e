"""Share questions out among workers, and yield what becomes of each.

Input: questions in an order in which neighbours share work, and a pool. Output: outcomes in order of
completion, each question exactly once, whatever happens to the workers.

Chunks hold about a second of work, by the speed seen so far; towards the end they become smaller, so that all
workers end together. A chunk that takes longer hands its last questions back. When a worker dies, the
question that was under way is asked again alone, while nothing else is: if a worker dies of it once
more, the question is to blame. Where nobody knows which one it was, halves of the chunk are tried.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from time import monotonic

from credalog.batches.answering import Chunk, Done, Settings
from credalog.batches.items import Item, Outcome
from credalog.batches.models import Source
from credalog.batches.pools import Lost, Pool
from credalog.errors import CredalogError
from credalog.numbers.budget import Budget

__all__ = ["Speed", "outcomes"]

SECONDS, LONGEST = 1.0, 2.0
"""The work in one chunk, and after how much of it the rest is handed back."""

MOST = 4096
"""The most questions in one chunk: they travel together."""

AHEAD = 2
"""So many chunks per worker are under way, so that none waits for work."""

MEMORY = 0.7
"""How much of what was known of the speed remains after a chunk."""

DEATHS = 1
"""So often a question that is asked alone may kill a worker, before it is to blame."""

PATIENCE = 0.5
"""Seconds after which somebody looks at the clock."""

DIED = (
    "the process that worked on it died, again and again: it was killed, ran out of memory or crashed\n"
    "  Ask it alone with `credalog query`, or give workers more memory."
)


@dataclass(slots=True)
class Speed:
    """The seconds that a question takes, of late; and all seconds of work."""

    each: float | None = None
    worked: float = 0.0

    def learn(self, seconds: float, count: int) -> None:
        """Take note of a chunk."""
        self.worked += seconds
        if count:
            now = seconds / count
            self.each = now if self.each is None else MEMORY * self.each + (1.0 - MEMORY) * now

    def questions(self, left: int, workers: int) -> int:
        """Return how many questions the next chunk should have."""
        if self.each is None:
            return 1
        fair = -(-left // (2 * workers))
        return max(1, min(int(SECONDS / max(self.each, 1e-9)), fair, MOST))


@dataclass(slots=True)
class _Shared:
    """What waits: questions, and groups of them one of which may have killed a worker."""

    waiting: deque[Item]
    suspects: deque[tuple[Item, ...]]
    deaths: Counter[str]

    @property
    def count(self) -> int:
        return len(self.waiting) + sum(map(len, self.suspects))


def outcomes(
    items: Iterable[Item],
    pool: Pool,
    source_of: Callable[[Item], Source],
    *,
    settings: Settings,
    budget: Budget,
    speed: Speed,
    known: frozenset[str] = frozenset(),
) -> Iterator[Outcome]:
    """Yield what becomes of each question, until all are done or the time is up.

    `known` are the keys of the models that all workers have; others travel with their questions.
    """
    sharing = _Sharing(pool, source_of, settings, budget, speed, known)
    shared = _Shared(deque(items), deque(), Counter())
    while shared.count or sharing.under_way:
        yield from sharing.fill(shared)
        if budget.is_spent and not sharing.under_way:
            return
        if sharing.under_way:
            found = pool.next(PATIENCE)
            if found is not None:
                yield from sharing.take(*found, shared)
            elif monotonic() > budget.deadline + LONGEST:
                # No worker is left that could bring anything back.
                return


@dataclass(slots=True)
class _Sharing:
    """One batch under way."""

    pool: Pool
    source_of: Callable[[Item], Source]
    settings: Settings
    budget: Budget
    speed: Speed
    known: frozenset[str]
    under_way: int = 0
    number: int = 0
    is_alone: bool = False

    def fill(self, shared: _Shared) -> Iterator[Outcome]:
        """Hand in chunks while workers have little before them; suspects are asked alone."""
        workers = self.pool.workers
        while not (self.budget.is_spent or self.is_alone) and self.under_way < AHEAD * workers:
            if shared.suspects:
                if self.under_way:
                    return
                self.is_alone = True
                yield from self._submit(shared.suspects.popleft())
            elif shared.waiting:
                count = self.speed.questions(len(shared.waiting), workers)
                yield from self._submit(_taken(shared.waiting, count))
            else:
                return

    def _submit(self, items: tuple[Item, ...], *, sent: bool = False) -> Iterator[Outcome]:
        """Hand in a chunk; a question whose model cannot be read is not part of it."""
        asked, models, sources = list[Item](), list[str](), dict[str, Source]()
        for item in items:
            try:
                source = self.source_of(item)
            except CredalogError as error:
                yield Outcome.failed(item, error)
                continue
            asked.append(item)
            models.append(source.key)
            if sent or source.key not in self.known:
                sources[source.key] = source
        if not asked:
            self.is_alone = False
            return
        self.number += 1
        self.under_way += 1
        left = self.budget.remaining
        chunk = Chunk(self.number, tuple(asked), tuple(models), self.settings, LONGEST, left, sources)
        self.pool.submit(chunk)

    def take(self, chunk: Chunk, result: Done | Lost, shared: _Shared) -> Iterator[Outcome]:
        """Take a chunk back."""
        self.under_way -= 1
        was_alone, self.is_alone = self.is_alone, False
        if isinstance(result, Lost):
            yield from self._lost(chunk, result, shared, was_alone=was_alone)
            return
        if result.missing:
            self.is_alone = was_alone
            yield from self._submit(chunk.items, sent=True)
            return
        self.speed.learn(result.seconds, len(result.outcomes))
        rest = chunk.items[len(result.outcomes) :]
        if was_alone and rest:
            shared.suspects.appendleft(rest)
        else:
            shared.waiting.extendleft(reversed(rest))
        yield from result.outcomes

    def _lost(self, chunk: Chunk, lost: Lost, shared: _Shared, *, was_alone: bool) -> Iterator[Outcome]:
        """Ask again what was lost; give up a question that killed its worker again and again."""
        yield from lost.outcomes
        left = chunk.items[len(lost.outcomes) :]
        if lost.under_way is None and len(left) > 1:
            half = len(left) // 2
            shared.suspects.extend((left[:half], left[half:]))
            return
        shared.waiting.extendleft(reversed(left[1:]))
        for item in left[:1]:
            yield from self._killed(item, shared, was_alone=was_alone)

    def _killed(self, item: Item, shared: _Shared, *, was_alone: bool) -> Iterator[Outcome]:
        shared.deaths[item.key] += was_alone
        if shared.deaths[item.key] < DEATHS:
            shared.suspects.append((item,))
        else:
            yield Outcome.failed(item, DIED)


def _taken(waiting: deque[Item], count: int) -> tuple[Item, ...]:
    return tuple(waiting.popleft() for _ in range(min(count, len(waiting))))
