"""What is asked of an inference, and what it answers.

Input: options. Output: `Answer`, an interval with its warranty, its status and its cost; `Marginals`, the
answers of all variables as a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, Never, TypeVar, cast, overload

from credalog.errors import CredalogError, MissingLibrary, UnknownName
from credalog.methods.progress import Progress, Report, Telling
from credalog.network.expressions import Question
from credalog.network.formulas import TRUE, Formula, Is, Variable, scope
from credalog.network.graph import Markov
from credalog.network.sentences import Network, Query
from credalog.numbers.budget import OutOfTime
from credalog.numbers.interval import Interval, Status
from credalog.numbers.printed import Printed
from credalog.numbers.tolerances import PROBABILITY, TOLERANCE, Gap, Scale, allowed_gap
from credalog.program.workers import Workers
from credalog.show.html import Bar, as_html
from credalog.tables.distribution import Distribution

if TYPE_CHECKING:
    from credalog.show.canvas import Picture

__all__ = ["Answer", "Marginals", "Options", "Progress", "Report", "last_of", "marginal_atoms"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Options:
    """How long to work, how closely, and under which Markov condition."""

    tolerance: float = TOLERANCE
    timeout: float = 30.0
    method: str = "auto"
    markov: Markov = Markov.LOCAL
    report: Report | None = None
    workers: Workers | None = None
    """Who helps with one long search."""
    gap: Gap = allowed_gap
    """How near bound and value must come for a search on cliques to end; no say in what is called EXACT."""

    def telling(self, question: object = "", scale: Scale = PROBABILITY) -> Telling:
        """Return who tells of the work on a question; nobody hears it where there is no `report`."""
        return Telling.of(self.report, question, scale)

    def checked(self) -> Options:
        """Return these options, if a user may ask for them; methods may set themselves any limit."""
        _check_number("tolerance", self.tolerance, most=1.0)
        _check_number("timeout", self.timeout, most=float("inf"))
        return self


def _check_number(name: str, value: float, *, most: float) -> None:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not (is_number and 0.0 < value <= most):
        least = "a positive number of seconds" if most > 1.0 else "a number above 0 and at most 1"
        raise CredalogError(f"{name}={value!r} is not {least}", advice=f"Leave {name} out, or give {least}.")


@dataclass(frozen=True, slots=True, repr=False)
class Answer(Printed):
    """The interval of one question, how it was found and how far it can be trusted.

    The witnesses attain the witnessed values, over the variables that bear on the query. Each is a model or,
    where variables are tied, stands for one with the same probabilities of all that is said and asked
    (docs/proofs.md, proof 9).
    Two answers are equal whatever time they took.
    """

    query: Question
    interval: Interval
    status: Status
    method: str
    seconds: float = field(compare=False)
    interrupted: bool = False
    tried: tuple[str, ...] = field(default=(), compare=False)
    """What was done to find the answer, in order."""
    origin: Callable[..., Any] | None = field(default=None, compare=False)
    """Who can certify the answer: the model that was asked."""

    @property
    def lower_witness(self) -> Distribution | None:
        """Return the model that attains the least value."""
        model: Distribution | None = self.interval.lower.model
        return model

    @property
    def upper_witness(self) -> Distribution | None:
        """Return the model that attains the greatest value."""
        model: Distribution | None = self.interval.upper.model
        return model

    @property
    def lower(self) -> float:
        """Return the lower bound: no model gives less."""
        return self.interval.lower.bound

    @property
    def upper(self) -> float:
        """Return the upper bound: no model gives more."""
        return self.interval.upper.bound

    @property
    def lower_witnessed(self) -> float | None:
        """Return the least value that a checked model attains."""
        return self.interval.lower.witnessed

    @property
    def upper_witnessed(self) -> float | None:
        """Return the greatest value that a checked model attains."""
        return self.interval.upper.witnessed

    @property
    def ending(self) -> str:
        """Say how the work ended: by its status, or because the user stopped it."""
        return "INTERRUPTED" if self.interrupted else self.status.name

    def told(self, telling: Telling) -> Answer:
        """Return the answer, once it is told to whoever followed the work; they may have had enough."""
        goes_on = self.interrupted or telling.close(self.interval, self.method)
        return self if goes_on else replace(self, interrupted=True)

    def _is_no_number(self, other: object = None) -> Never:
        raise CredalogError(
            "an answer is an interval, not a number",
            advice="Its ends are answer.lower and answer.upper; lcn.decide(...) compares.",
        )

    __float__ = __getitem__ = __lt__ = __le__ = __gt__ = __ge__ = _is_no_number

    def __str__(self) -> str:
        return f"{self.query} in {self.interval} ({self._remark})"

    def __format__(self, written: str) -> str:
        try:
            return format(str(self), written)
        except ValueError:
            self._is_no_number()

    @property
    def _remark(self) -> str:
        return f"{self.ending.lower()}, {self.method}, {self.seconds:.2f} s"

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` writes."""
        return {
            "query": str(self.query),
            **self.interval.to_dict(),
            "status": self.ending,
            "method": self.method,
            "tried": list(self.tried),
            "seconds": self.seconds,
        }

    def certificate(self, *, timeout: float = 30.0) -> Any:
        """Return proofs of both bounds and the models that attain them, for `credalog verify`."""
        if self.origin is None:
            raise CredalogError("the answer does not know its model", advice="Use lcn.certificate(answer).")
        return self.origin(self, timeout=timeout)

    def plot(self, *, before: Answer | None = None, title: str = "") -> Picture:
        """Draw the interval, and the one that an answer from before had."""
        from credalog.show.plots import Line, interval_plot

        earlier = None if before is None else before.interval
        return interval_plot([Line(str(self.query), self.interval, earlier)], title=title)

    def _repr_html_(self) -> str:
        return Marginals((self,))._repr_html_()


@dataclass(frozen=True, slots=True, repr=False)
class Marginals:
    """The probability of every proposition, and of every value of every other variable.

    A table: `m["a"]` is the answer about a, `m["Color"]` the part about the values of Color,
    `m["Color", "red"]` one of them, and `m[0]` the first answer.
    """

    answers: tuple[Answer, ...]

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    def __contains__(self, key: object) -> bool:
        if isinstance(key, int | slice) or key in self.answers:
            return key in self.answers
        try:
            return self[cast(Any, key)] is not None
        except UnknownName:
            return False

    @overload
    def __getitem__(self, key: int | Formula | tuple[str | Variable, str]) -> Answer: ...

    @overload
    def __getitem__(self, key: slice) -> tuple[Answer, ...]: ...

    @overload
    def __getitem__(self, key: str | Variable) -> Answer: ...

    def __getitem__(self, key: Any) -> Any:
        match key:
            case int() | slice():
                return self.answers[key]
            case (name, value):
                return self._one([a for a in self._about(str(name)) if _atom(a).value == value], key)
            case str() | Variable():
                found = self._about(str(key))
                if found and not _atom(found[0]).variable.is_proposition:
                    return Marginals(tuple(found))
                return self._one(found or [a for a in self.answers if str(_claim(a)) == key], key)
            case _:
                return self._one([answer for answer in self.answers if _claim(answer) == key], key)

    def _about(self, name: str) -> list[Answer]:
        bare = name.replace(" ", "")
        return [a for a in self.answers if _atom(a).variable.name.replace(" ", "") == bare]

    def _one(self, found: list[Answer], key: object) -> Answer:
        if not found:
            known = ", ".join(dict.fromkeys(_atom(answer).variable.name for answer in self.answers))
            raise UnknownName(f"there is no marginal of {key}", advice=f"There are those of {known}.")
        return found[0]

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return the answers by what they are about."""
        return {str(_claim(answer)): answer.to_dict() for answer in self.answers}

    def to_frame(self) -> Any:
        """Return the answers as a pandas table, one row each."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingLibrary(
                "a data frame needs pandas, which is not installed",
                advice="Install it with `pip install pandas`, or use to_dict().",
            ) from None
        return pd.DataFrame.from_dict(self.to_dict(), orient="index")

    def __str__(self) -> str:
        width = max((len(str(answer.query)) for answer in self.answers), default=0)
        lines = (
            f"{answer.query!s:<{width}}  {answer.interval}  {answer.status.name.lower()}" for answer in self
        )
        return "\n".join(lines) or "no marginals"

    def __repr__(self) -> str:
        return f"<marginals: {len(self.answers):,} answers>"

    def plot(self, *, before: Marginals | None = None, title: str = "") -> Picture:
        """Draw the intervals; beside those from before, such as without the evidence, if they are given."""
        from credalog.show.plots import Line, interval_plot

        earlier = {} if before is None else {_claim(one): one.interval for one in before}
        lines = [Line(str(_claim(one)), one.interval, earlier.get(_claim(one))) for one in self]
        given = "" if not self.answers else _given(self.answers[0])
        return interval_plot(lines, title=title or (f"given {given}" if given else ""))

    def _repr_html_(self) -> str:
        return as_html([Bar(str(a.query), a.interval, a._remark) for a in self])


def marginal_atoms(network: Network) -> tuple[Is, ...]:
    """List the atoms whose probabilities are the marginals of a network."""
    return tuple(
        Is(variable, value)
        for variable in network.variables
        for value in (variable.values if not variable.is_proposition else ("true",))
    )


def _atom(answer: Answer) -> Is:
    """Return the atom that a marginal is about."""
    claim = _claim(answer)
    return claim if isinstance(claim, Is) else Is(scope(claim)[0])


def _claim(answer: Answer) -> Formula:
    assert isinstance(answer.query, Query), "marginals are probabilities"
    return answer.query.claim


def _given(answer: Answer) -> str:
    assert isinstance(answer.query, Query), "marginals are probabilities"
    return "" if answer.query.given == TRUE else str(answer.query.given)


def last_of(stages: Iterable[T], first: T) -> tuple[T, bool]:
    """Go through ever better results until the time is up; return the last one, and whether Ctrl-C came."""
    best = first
    try:
        for better in stages:
            best = better
    except KeyboardInterrupt:
        return best, True
    except OutOfTime:
        # What is needed for the next result cannot be had in time.
        return best, False
    return best, False
