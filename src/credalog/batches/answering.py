"""What a worker does: answer a chunk of questions, one after the other.

Input: `Chunk`, some questions with their models and limits. Output: `Done`: what became of each, and those
that are handed back because the chunk took long enough. Nothing that one question does reaches another,
short of the death of the process.
"""

from __future__ import annotations

import faulthandler
import os
import signal
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import inf, prod
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from credalog.batches.items import Item, Outcome, Value
from credalog.batches.models import Models, Source
from credalog.errors import CredalogError
from credalog.lcn import LCN
from credalog.methods.answer import Answer
from credalog.network.expressions import Question
from credalog.network.formulas import scope, truth_table
from credalog.network.sentences import Query
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End, Endpoint, Interval, Status
from credalog.numbers.tolerances import TOLERANCE
from credalog.trusted.rounding import round_down, round_up

if TYPE_CHECKING:
    from credalog.choices import MarkovName, MethodName

__all__ = [
    "Chunk",
    "Done",
    "Meaning",
    "Remembered",
    "Settings",
    "answer_chunk",
    "available",
    "learn",
    "limit_memory",
    "meaning",
    "prepare",
]

CROWDED = 0.7
"""At such a share of its memory a worker lets go of what it keeps between questions."""

OVERDUE, MOMENT = 2.0, 20.0
"""A question that takes so many times its limit, and so many seconds more, is stopped with its process."""

LONGEST_ALARM = 1e6
"""The most seconds that an alarm can be set to: more than a week."""

WORDS: Mapping[str, bool] = {"1": True, "yes": True, "0": False, "no": False}
"""How tables write propositions, beside true and false."""


# ---- answers that are remembered --------------------------------------------------------------------------
# Exact answers of one model, for questions that mean the same.
# Input: questions with their answers. Output: the answer of a question of the same meaning. In every model
# P(a | b) depends on the worlds of `a & b` and those of `b` alone, whatever words they are described by,
# and P(!a | b) is one minus it: so `P(x | y)` and `P(!x | y)`, `P(x and y)` and `P(y and x)`, `P(x or y)`
# and `P(!x and !y)` are one question each. Only what is EXACT is kept: nothing better can be found.

MOST_ANSWERS, MOST_WITNESSED = 4096, 64
"""So many answers are kept, and so many with the models that attain their ends."""

MEANINGS_KEPT = 4
"""A question is looked for before it is answered, and kept thereafter: its meaning is found once."""

MOST_WORLDS = 1 << 10
"""Questions about more worlds than these are compared with no others."""


class Meaning(NamedTuple):
    """The variables of a question, and the worlds of its claim, or of the opposite, and of its condition."""

    variables: tuple[str, ...]
    inside: bytes
    given: bytes


class Remembered:
    """The exact answers that are kept, each under the meaning of its question; the last used goes last.

    `within` tells questions of one model, by one method and tolerance, from all others.
    """

    def __init__(self) -> None:
        self._answers: OrderedDict[tuple[Hashable, Meaning], _Kept] = OrderedDict()

    def clear(self) -> None:
        """Let go of all answers."""
        self._answers.clear()

    def find(self, asked: Question, within: Hashable, *, tolerance: float) -> Answer | None:
        """Return the answer that a question of this meaning had."""
        named = meaning(asked)
        kept = None if named is None else self._answers.get((within, named[0]))
        if named is None or kept is None:
            return None
        self._answers.move_to_end((within, named[0]))
        found = kept.answer if kept.is_opposite == named[1] else _opposite(kept.answer, tolerance)
        # Near 0 an answer is held to finer digits than near 1.
        return replace(found, query=asked) if found.status is Status.EXACT else None

    def keep(self, answer: Answer, within: Hashable, *, with_witnesses: bool) -> None:
        """Keep an answer, if nothing better can be found."""
        named = meaning(answer.query)
        if named is None or answer.status is not Status.EXACT or answer.interrupted:
            return
        # Models may be large, and nobody may want them.
        kept = answer if with_witnesses else _bare(answer)
        self._answers[within, named[0]] = _Kept(replace(kept, origin=None), named[1])
        while len(self._answers) > (MOST_WITNESSED if with_witnesses else MOST_ANSWERS):
            self._answers.popitem(last=False)


class _Kept(NamedTuple):
    """An answer, and whether its claim is the opposite of the one that its meaning names."""

    answer: Answer
    is_opposite: bool


@lru_cache(maxsize=MEANINGS_KEPT)
def meaning(asked: Question) -> tuple[Meaning, bool] | None:
    """Return what a question means, and whether its claim is the opposite of the one that is named."""
    if not isinstance(asked, Query):
        return None
    over = tuple(sorted(scope(asked.claim, asked.given), key=lambda variable: variable.name))
    if prod(len(variable.values) for variable in over) > MOST_WORLDS:
        return None
    claim, given = (truth_table(formula, over) for formula in (asked.claim, asked.given))
    inside, outside = (claim & given).tobytes(), (~claim & given).tobytes()
    names = tuple(variable.name for variable in over)
    return Meaning(names, max(inside, outside), given.tobytes()), inside < outside


def _opposite(answer: Answer, tolerance: float) -> Answer:
    """Return the answer about the opposite claim under the same condition."""
    lower, upper = answer.interval.lower, answer.interval.upper
    least, most = round_down(1.0 - upper.bound), round_up(1.0 - lower.bound)
    interval = Interval(_flipped(upper, max(least, 0.0)), _flipped(lower, min(most, 1.0)))
    return replace(answer, interval=interval, status=interval.status(tolerance))


def _bare(answer: Answer) -> Answer:
    """Return an answer without the models that attain its ends."""
    interval = answer.interval
    ends = (replace(interval[end], model=None) for end in End)
    return replace(answer, interval=Interval(*ends, scale=interval.scale))


def _flipped(end: Endpoint, bound: float) -> Endpoint:
    attained = None if end.witnessed is None else 1.0 - end.witnessed
    return Endpoint(bound, attained, end.warrant, end.model)


# ---- chunks -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Settings:
    """How long to work on each question, how closely, by which method, and what to tell of it."""

    timeout: float = 30.0
    tolerance: float = TOLERANCE
    method: MethodName = "auto"
    markov: MarkovName = "local"
    with_witnesses: bool = False


@dataclass(frozen=True, slots=True)
class Chunk:
    """Questions for one worker, each with the key of its model.

    `sources` are the models that the worker may not know. After `seconds` of work the questions left are
    handed back; `left` is what is left for the whole batch.
    """

    number: int
    items: tuple[Item, ...]
    models: tuple[str, ...]
    settings: Settings
    seconds: float
    left: float = inf
    sources: dict[str, Source] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Done:
    """What became of the questions of a chunk, in their order; how many were handed back, and the seconds.

    `missing` are the keys of models that the worker was never sent.
    """

    outcomes: tuple[Outcome, ...]
    seconds: float
    missing: tuple[str, ...] = ()


class _Worker:
    """What a process keeps between chunks."""

    def __init__(self) -> None:
        self.models = Models()
        self.memory = inf
        self.is_ours = False
        # Dask may give one process several threads; the models of one process are asked by one at a time.
        self.lock = Lock()
        self.remembered = Remembered()

    def clear(self) -> None:
        """Let go of everything that can be had again."""
        self.models.clear()
        self.remembered.clear()


_WORKER = _Worker()


def prepare(memory: float, *sources: Source) -> None:
    """Make a process ready that works for nobody else: it leaves Ctrl-C to the one that asks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _WORKER.is_ours = True
    _WORKER.memory = memory
    limit_memory(memory)
    for source in sources:
        _WORKER.models.learn(source)


def learn(source: Source, *, memory: float = inf) -> None:
    """Remember a model, in a process that may work for others, too."""
    _WORKER.memory = memory
    _WORKER.models.learn(source)


def forget(key: str) -> None:
    """Forget a model."""
    _WORKER.models.forget(key)


def answer_chunk(chunk: Chunk, send: Callable[[Outcome], None] = lambda _: None) -> Done:
    """Answer questions until the chunk has taken long enough; send each outcome when it is known."""
    with _WORKER.lock:
        budget, outcomes = Budget.of(chunk.left), list[Outcome]()
        missing = tuple(dict.fromkeys(key for key in chunk.models if not _has(key, chunk)))
        if missing:
            return Done((), 0.0, missing)
        with _watched(chunk):
            for item, key in zip(chunk.items, chunk.models, strict=True):
                if budget.is_spent or (outcomes and budget.elapsed > chunk.seconds):
                    break
                found = _outcome(item, key, chunk, budget)
                if budget.is_spent and not (found.is_exact or found.error):
                    # It had less than its own time: it is asked again when there is more.
                    break
                outcomes.append(found)
                send(found)
        _make_room()
        return Done(tuple(outcomes), budget.elapsed)


def _has(key: str, chunk: Chunk) -> bool:
    return key in chunk.sources or _WORKER.models.knows(key)


def _outcome(item: Item, key: str, chunk: Chunk, budget: Budget) -> Outcome:
    """Answer one question, or say why there is no answer."""
    began, settings = monotonic(), chunk.settings
    if item.wrong:
        return Outcome.failed(item, item.wrong)
    timeout = min(item.timeout or settings.timeout, budget.remaining)
    why: CredalogError | str
    try:
        model = _WORKER.models.get(key, chunk.sources)
        answer = _answer(model, model.posed(item.query, _given(model, item)), key, settings, timeout)
        spent, witnesses = monotonic() - began, settings.with_witnesses
        return Outcome.of(item, answer, seconds=spent, with_witnesses=witnesses)
    except CredalogError as error:
        why = error
    except MemoryError:
        _WORKER.clear()
        why = "out of memory\n  Give workers more memory, or ask by another method."
    except RecursionError:
        why = "a formula is nested too deeply\n  Give its parts names of their own."
    except Exception as error:  # noqa: BLE001 -- whatever is wrong with one question, the others are asked
        why = f"{type(error).__name__}: {error}\n  This is a bug in Credalog. Please report it."
    return Outcome.failed(item, why, seconds=monotonic() - began)


def _answer(model: LCN, asked: Question, key: str, settings: Settings, timeout: float) -> Answer:
    """Answer one question, or remember what one of the same meaning was answered."""
    tolerance, method, markov = settings.tolerance, settings.method, settings.markov
    within = key, tolerance, method, markov, settings.with_witnesses
    found = _WORKER.remembered.find(asked, within, tolerance=tolerance)
    if found is None:
        found = model.query(asked, timeout=timeout, tolerance=tolerance, method=method, markov=markov)
        _WORKER.remembered.keep(found, within, with_witnesses=settings.with_witnesses)
    return found


@contextmanager
def _watched(chunk: Chunk) -> Iterator[None]:
    """End this process, where it is ours, should a question not come back: the others are asked again.

    After the seconds of a chunk only the question under way is waited for, so one alarm will do for all.
    """
    if not _WORKER.is_ours:
        yield
        return
    longest = max((item.timeout or chunk.settings.timeout for item in chunk.items), default=0.0)
    timeout = OVERDUE * longest + chunk.seconds + MOMENT
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        faulthandler.dump_traceback_later(min(timeout, LONGEST_ALARM), exit=True, file=nowhere)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()


def _given(model: LCN, item: Item) -> dict[str, Value] | str | None:
    if isinstance(item.given, str):
        return item.given or None
    return {name: _value(model, name, value) for name, value in item.given} or None


def _value(model: LCN, name: str, value: Value) -> Value:
    """Return a value as the network knows it; tables write true and false in several ways."""
    if isinstance(value, bool):
        return value
    word = value.strip().casefold()
    if word in ("true", "false"):
        return word == "true"
    if word in WORDS and model.variable(name).is_proposition:
        return WORDS[word]
    return value.strip()


def _make_room() -> None:
    """Let go of what is kept where memory runs out."""
    if resident() > CROWDED * _WORKER.memory:
        _WORKER.clear()


# ---- memory -----------------------------------------------------------------------------------------------
# How much memory a process has, and may have.
# Input: nothing, or a limit in bytes. Output: bytes. What a system does not tell is infinite.

CONTAINER = Path("/sys/fs/cgroup/memory.max")
STATUS = Path("/proc/self/statm")


def available() -> float:
    """Return the memory of the machine, or of the container that stands for one."""
    found = inf
    with suppress(ValueError, OSError, AttributeError):
        found = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(ValueError, OSError):
        found = min(found, float(CONTAINER.read_text(encoding="utf-8")))
    return found


def resident() -> float:
    """Return the memory that this process takes now; 0 where the system does not say."""
    try:
        pages = int(STATUS.read_text(encoding="utf-8").split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return float(pages * os.sysconf("SC_PAGE_SIZE"))


def limit_memory(most: float) -> None:
    """Let this process allocate so many bytes at most: what needs more fails, and nothing else does."""
    if most == inf:
        return
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (int(most), hard))
