"""Guards, and the instances of a prefix that pass them.

Input: a prefix, such as `x, y in Person, Before(x, y)`. Output: `Instances`, every way to bind its
logical variables, in the order of the domains. The search is nested: a guard is tested as soon as its
variables are bound, and a relation or an equation proposes candidates, so that facts are followed and not
searched for.
"""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from math import prod
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, assert_never

from credalog.grounding.terms import Bound, Environment, Maker, Scope, Terms, Value, applied, as_maker
from credalog.numbers.budget import uncollected
from credalog.theory import (
    Application,
    Binder,
    Boolean,
    Comparison,
    Compound,
    Connective,
    Misstatement,
    Name,
    Order,
    Pattern,
    Predicate,
    Prefix,
    Quantified,
    Quantifier,
    RandomFunction,
    Relation,
    Shifted,
    Term,
)

if TYPE_CHECKING:
    from credalog.grounding.elements import Elements
    from credalog.grounding.related import Rows

Test: TypeAlias = bool | Maker[bool]

MANY = 1000
"""The facts of a larger relation are sorted, and not gathered one by one, before they are followed."""

_Solver: TypeAlias = Callable[[str], str | None]

_INTEGER = re.compile(r"-?\d{1,1000}")

ORDERS: dict[Order, Callable[[Any, Any], bool]] = {
    Order.EQUAL: operator.eq,
    Order.UNEQUAL: operator.ne,
    Order.LESS: operator.lt,
    Order.LESS_OR_EQUAL: operator.le,
    Order.GREATER: operator.gt,
    Order.GREATER_OR_EQUAL: operator.ge,
}

_TRUTHS: dict[Connective, Callable[..., bool]] = {
    Connective.NOT: operator.not_,
    Connective.AND: lambda *parts: all(parts),
    Connective.NAND: lambda *parts: not all(parts),
    Connective.OR: lambda *parts: any(parts),
    Connective.XOR: lambda *parts: sum(parts) % 2 == 1,
    Connective.IMPLIES: operator.le,
    Connective.IFF: operator.eq,
}


def is_beyond(order: Order, number: str, elements: Iterable[str]) -> bool:
    """Tell whether a number that need not be an element may be compared by size with all elements."""
    if order in (Order.EQUAL, Order.UNEQUAL):
        return False
    return all(map(_INTEGER.fullmatch, (number, *elements)))


def holds(order: Order, left: str, right: str, ranks: dict[str, int]) -> bool:
    """Compare two elements: integers by size, others by their places in the domain."""
    if order in (Order.EQUAL, Order.UNEQUAL):
        return ORDERS[order](left, right)
    if _INTEGER.fullmatch(left) and _INTEGER.fullmatch(right):
        return ORDERS[order](int(left), int(right))
    if stranger := next((e for e in (left, right) if e not in ranks), None):
        raise Misstatement(f"{left} and {right} have no order between them", lexeme=stranger)
    return ORDERS[order](ranks[left], ranks[right])


class Level(NamedTuple):
    """One logical variable: its slot, what it may be bound to, and the guards to test then.

    `most` is the largest number of candidates there can be, whatever was bound before.
    """

    slot: int
    candidates: Maker[Iterable[str]]
    most: int
    others: tuple[int, ...]
    """The slots from whose elements this one must differ."""
    tests: tuple[Maker[bool], ...]
    guards: tuple[Pattern, ...] = ()
    """What the tests were compiled from, one by one."""
    proposer: Pattern | None = None
    """The guard that proposes the candidates; without one they are all elements of the domain."""

    def admits(self, element: str, environment: Environment) -> bool:
        """Bind the variable, and tell whether the guards pass."""
        environment[self.slot] = element
        for other in self.others:
            if environment[other] == element:
                return False
        return all(test(environment) for test in self.tests)


@dataclass(frozen=True, slots=True)
class Instances:
    """All instances of a prefix."""

    levels: tuple[Level, ...]

    def of(self, environment: Environment) -> Iterator[None]:
        """Bind the variables in the environment to each instance in turn."""
        return self._from(0, environment) if self.levels else iter((None,))

    def _from(self, depth: int, environment: Environment) -> Iterator[None]:
        level = self.levels[depth]
        is_last = depth + 1 == len(self.levels)
        for element in level.candidates(environment):
            if level.admits(element, environment):
                if is_last:
                    yield
                else:
                    yield from self._from(depth + 1, environment)

    @property
    def most(self) -> int:
        """Return a number that the instances do not exceed."""
        return prod(level.most for level in self.levels)


_ONCE = Instances(())
"""The one instance of an empty prefix."""


_Candidates: TypeAlias = tuple[Maker[Iterable[str]], int]
"""What a variable may be bound to in an instance, and the largest number of it."""

_Proposed: TypeAlias = tuple[Maker[Iterable[str]], int, Pattern]
"""The same with the guard that says so."""


class _Guard(NamedTuple):
    pattern: Pattern
    slot: int
    """The slot with which the guard becomes testable."""


class Guards:
    """A compiler of prefixes and of the patterns that no chance enters."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.width = 0
        """How many slots an environment needs for every prefix compiled so far."""
        self.searched = 0
        """At most how many instances of a guard's quantifiers were met since this was set to 0."""
        # What is read off the facts of a relation is read once, whichever rule asks for it.
        self._facts = cache(lambda name: frozenset(self._relation(name).facts))
        self._index = cache(self._new_index)
        self._rows = cache(self._new_rows)
        self._most = cache(self._new_most)

    @cached_property
    def elements(self) -> Elements:
        """Return elements and facts as numbers, which large relations are read by."""
        from credalog.grounding.elements import Elements

        return Elements(self.terms.signature)

    # ---- tests ----------------------------------------------------------------------------------------

    def test(self, pattern: Pattern, scope: Scope) -> Test:
        """Compile a guard."""
        match pattern:
            case Boolean(value):
                return value
            case Comparison():
                return self.comparison(pattern, scope)
            case Application(name, arguments):
                return self.fact(name, arguments, scope)
            case Compound(connective, operands):
                return _applied_truths(_TRUTHS[connective], [self.test(p, scope) for p in operands])
            case Quantified():
                return self._quantified(pattern, scope)
            case Name(name):
                raise self._uncertain(name)
            case Shifted():
                raise Misstatement("a sum of numbers is not a guard", advice="Compare it: day + 1 = 3.")
            case _:
                assert_never(pattern)

    def fact(self, name: str, arguments: tuple[Term, ...], scope: Scope) -> Test:
        """Compile the question whether a relation holds of its arguments."""
        relation = self._relation(name)
        values = self.terms.arguments(name, relation.sorts, arguments, scope)
        # Facts are looked up once somebody asks for a single one, and by whichever rule then.
        return applied(lambda *found: found in self._facts(name), values)

    def _relation(self, name: str) -> Relation:
        relation = self.terms.signature[name]
        if isinstance(relation, Relation):
            return relation
        raise self._uncertain(name)

    def comparison(self, pattern: Comparison, scope: Scope) -> Test:
        """Compile a comparison of two terms that are not random; what is undefined compares with nothing."""
        order, left, right = pattern.order, pattern.left, pattern.right
        first_sort, second_sort = self.terms.sort_of(left, scope), self.terms.sort_of(right, scope)
        # A constant takes the sort of the other side; two variables keep their own, and have no order then.
        sort = first_sort or second_sort
        is_ordered = bool(sort) and second_sort in (sort, "")
        ranks = self.terms.signature.ranks(sort) if is_ordered else {}
        sides = [
            self._compared(order, left, scope, first_sort or sort),
            self._compared(order, right, scope, second_sort or sort),
        ]

        def test(first: str | None, second: str | None) -> bool:
            return first is not None and second is not None and holds(order, first, second, ranks)

        return applied(test, sides)

    def _compared(self, order: Order, term: Term, scope: Scope, sort: str) -> Value:
        """Compile a side of a comparison; by size, it may also be compared with a number out of range."""
        match term:
            case Name(name) if name not in scope and sort:
                if is_beyond(order, name, self.terms.signature.ranks(sort)):
                    return name
            case _:
                pass
        return self.terms.term(term, scope, sort)

    def _quantified(self, pattern: Quantified, scope: Scope) -> Test:
        instances, inner = self.instances(pattern.prefix, scope)
        before, self.searched = self.searched, 0
        body = as_maker(self.test(pattern.body, inner))
        self.searched = before + instances.most * max(1, self.searched)
        found = all if pattern.quantifier is Quantifier.FORALL else any
        return lambda environment: found(body(environment) for _ in instances.of(environment))

    def _uncertain(self, name: str) -> Misstatement:
        if isinstance(self.terms.signature[name], Predicate | RandomFunction):
            return Misstatement(
                f"{name} is random; a guard may use only relations, functions and comparisons",
                lexeme=name,
                advice="Put it into the condition of P(... | ...).",
            )
        advice = f"Declare it: relation {name}(...) = {{...}}."
        return self.terms.signature.unknown(name, "relation", (Relation,), advice=advice)

    # ---- prefixes -------------------------------------------------------------------------------------

    def instances(self, prefix: Prefix, scope: Scope) -> tuple[Instances, Scope]:
        """Compile a prefix; return its instances and the scope of what it governs."""
        if not prefix.binders:
            return _ONCE, scope
        inner = dict(scope)
        for binder in prefix.binders:
            for name in binder.names:
                self._check_new(name, inner)
                inner[name] = Bound(len(inner), binder.sort)
        self.width = max(self.width, len(inner))
        guards = [_Guard(part, _last_slot(part, inner, len(scope))) for part in conjuncts(prefix.guard)]
        levels = [
            self._level(name, binder, guards, inner) for binder in prefix.binders for name in binder.names
        ]
        return Instances(tuple(levels)), inner

    def _check_new(self, name: str, scope: Scope) -> None:
        signature = self.terms.signature
        if name in scope:
            raise Misstatement(f"{name} is bound twice", lexeme=name, advice="Choose another name.")
        if signature[name] is not None or signature.is_element(name):
            raise Misstatement(
                f"{name} is bound here, but it already means something in the declarations",
                lexeme=name,
                advice="Choose another name for the logical variable.",
            )

    def _level(self, name: str, binder: Binder, guards: list[_Guard], scope: Scope) -> Level:
        slot, sort = scope[name]
        ready = [guard.pattern for guard in guards if guard.slot == slot]
        tests = tuple(as_maker(self.test(pattern, scope)) for pattern in ready)
        others = (
            tuple(s for s in (scope[n].slot for n in binder.names) if s < slot) if binder.distinct else ()
        )
        proposed = self._proposed(name, [guard.pattern for guard in guards], scope)
        if proposed is not None:
            return Level(slot, *proposed[:2], others, tests, tuple(ready), proposed[2])
        elements = self.terms.signature.elements(sort)
        # The elements bound before to the same group are not available any more.
        most = max(len(elements) - len(others), 0)
        return Level(slot, lambda _environment: elements, most, others, tests, tuple(ready))

    def _proposed(self, name: str, guards: list[Pattern], scope: Scope) -> _Proposed | None:
        """Let an equation or a relation propose what a variable is bound to, and at most how many."""
        for guard in guards:
            match guard:
                case Comparison(Order.EQUAL, left, right):
                    for side, other in ((left, right), (right, left)):
                        solver = self._solver(side, name, scope)
                        if solver is not None and _last_slot(other, scope, -1) < scope[name].slot:
                            return self._equal_to(other, solver, scope[name].sort, scope), 1, guard
                case Application(_, arguments) if Name(name) in arguments:
                    return *self._related(guard, name, scope), guard
                case _:
                    pass
        return None

    def _solver(self, side: Term, name: str, scope: Scope) -> _Solver | None:
        """Return what finds, for each value of a side of an equation, the element its variable must be.

        Of elements that are not all integers, each spelt in one way, nothing is proposed: all are tried.
        """
        elements = self.terms.signature.elements(scope[name].sort)
        match side:
            case Name(found) if found == name:
                return lambda value: value
            case Shifted(Name(found), by) if found == name and all(map(_INTEGER.fullmatch, elements)):
                values = {str(int(element) + by): element for element in elements}
                return values.get if len(values) == len(elements) else None
            case _:
                return None

    def _equal_to(self, term: Term, solver: _Solver, sort: str, scope: Scope) -> Maker[Iterable[str]]:
        ranks = self.terms.signature.ranks(sort)
        value = self.terms.term(term, scope, self.terms.sort_of(term, scope) or sort)

        def candidates(found: str) -> tuple[str, ...]:
            element = solver(found)
            return (element,) if element in ranks else ()

        return as_maker(applied(candidates, [value]))

    def _related(self, guard: Application, variable: str, scope: Scope) -> _Candidates:
        """Index a relation's facts by the arguments that are bound before the variable."""
        relation = self._relation(guard.name)
        values = self.terms.arguments(guard.name, relation.sorts, guard.arguments, scope)
        slot, sort = scope[variable]
        position = guard.arguments.index(Name(variable))
        # A constant is bound, and so is a slot that is filled earlier; a function's value is not looked up.
        bound = [i for i, v in enumerate(values) if isinstance(v, str) or (isinstance(v, int) and v < slot)]
        keys = as_maker(applied(lambda *key: key, [values[i] for i in bound]))
        if len(relation.facts) <= MANY or not self.elements.is_coded(guard.name):
            index = partial(self._index, guard.name, position, tuple(bound), sort)
            return lambda e: index().get(keys(e), ()), self._most(guard.name, position, tuple(bound))
        most = self.elements.most_related(guard.name, position, tuple(bound))
        rows = partial(self._rows, guard.name, tuple(bound))
        return lambda e: rows().related(keys(e), position, sort), most

    def _new_rows(self, name: str, places: tuple[int, ...]) -> Rows:
        # Arrays are imported where relations are large.
        from credalog.grounding.related import Rows

        return Rows(self.elements, self._relation(name), places)

    def _new_index(
        self, name: str, position: int, bound: tuple[int, ...], sort: str
    ) -> dict[tuple[str, ...], list[str]]:
        with uncollected():
            return _indexed(self._relation(name).facts, position, bound, self.terms.signature.ranks(sort))

    def _new_most(self, name: str, position: int, bound: tuple[int, ...]) -> int:
        """Return at most how many facts agree in some places; with none, how many elements are in another."""
        facts = self._relation(name).facts
        if not bound:
            return len(set(map(itemgetter(position), facts)))
        return max(Counter(map(itemgetter(*bound), facts)).values(), default=0)


def _indexed(
    facts: Iterable[tuple[str, ...]], position: int, bound: tuple[int, ...], ranks: Mapping[str, int]
) -> dict[tuple[str, ...], list[str]]:
    """Map what stands at the bound positions to what stands at another, in the order of its domain."""
    found: dict[tuple[str, ...], list[str]] = {}
    for fact in facts:
        element = fact[position]
        if element in ranks:
            found.setdefault(tuple([fact[i] for i in bound]), []).append(element)
    for key, elements in found.items():
        if len(elements) > 1:
            found[key] = sorted(set(elements), key=ranks.__getitem__)
    return found


def _applied_truths(function: Callable[..., bool], parts: list[Test]) -> Test:
    # A truth value is an integer to Python, and would be taken for a slot.
    if not any(callable(part) for part in parts):
        return function(*parts)
    makers = [as_maker(part) for part in parts]
    return lambda environment: function(*[make(environment) for make in makers])


def conjuncts(pattern: Pattern) -> Iterator[Pattern]:
    """Yield the parts of a conjunction; nothing of what is always true."""
    if isinstance(pattern, Compound) and pattern.connective is Connective.AND:
        for operand in pattern.operands:
            yield from conjuncts(operand)
    elif pattern != Boolean(True):
        yield pattern


def _last_slot(pattern: Pattern, scope: Scope, first: int) -> int:
    """Return the last slot that a pattern reads, or the first of its prefix if it reads none of that."""
    slots = [scope[name].slot for name in names_in(pattern) if name in scope]
    return max([first, *slots])


def names_in(pattern: Pattern) -> Iterator[str]:
    """Yield every plain name in a pattern."""
    match pattern:
        case Boolean():
            return
        case Name(name):
            yield name
        case Application(_, parts) | Compound(_, parts):
            for part in parts:
                yield from names_in(part)
        case Shifted(inner):
            yield from names_in(inner)
        case Comparison(_, left, right):
            yield from names_in(left)
            yield from names_in(right)
        case Quantified(_, prefix, body):
            yield from names_in(prefix.guard)
            yield from names_in(body)
        case _:
            assert_never(pattern)
