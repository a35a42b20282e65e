"""What lies outside a slice, in one model for all domains.

Input: a theory read backwards. Output: `Rest`: which predicates extend any model by themselves, and values
for the atoms of the others, one per *cell*: a predicate and the profiles of what it is applied to. A choice
of values is checked rule by rule, not instance by instance, so that it holds for domains of any size
(docs/proofs.md, proof 18).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement, permutations, product
from math import prod
from typing import TypeAlias

from credalog.grounding.neighbourhood import Around
from credalog.grounding.outcomes import Evaluator, Knowledge, TooManyOutcomes, outcomes
from credalog.grounding.profiles import Profile, Profiles
from credalog.grounding.rule_atoms import GroundAtom, Occurrence, RuleAtoms
from credalog.grounding.schema import Schema, descends
from credalog.network.formulas import BOOLEAN
from credalog.theory import (
    Application,
    Compound,
    Connective,
    Name,
    Pattern,
    Quantified,
    Shifted,
    Term,
)

__all__ = ["Cell", "Cells", "Rest", "interval_of", "is_plain"]

Cell: TypeAlias = tuple[str, tuple[Profile | None, ...]]
"""A predicate, and the profiles of its arguments; None stands for any."""

Cells: TypeAlias = Mapping[Cell, str]
"""The value of the atoms of each cell."""

MOST_CELLS = 60
"""With more cells than this, profiles are not told apart."""

MOST_CHECKS = 3000
"""So many instances of rules by profile are looked at."""

MOST_STEPS = 3000
"""So many values are tried before the search for a world of cells is given up."""


class Rest:
    """The atoms outside a slice: free ones, and cells of certain ones."""

    def __init__(
        self, around: Around, schema: Schema, profiles: Profiles, bound: frozenset[str] = frozenset()
    ) -> None:
        self.around = around
        self.schema = schema
        self.profiles = profiles
        self._bound = bound

    # ---- free predicates ------------------------------------------------------------------------------

    @cached_property
    def free(self) -> frozenset[str]:
        """Return the predicates whose atoms can be added to any model of the others.

        None of their atoms depends on itself, and in every configuration of the parents some probability
        satisfies all that is said of the atom: intervals that meet in pairs have a point in common. Some may
        be bound to have values or a law like the others.
        """
        names = dict.fromkeys(o.name for atoms in self.around.rules for o in atoms.occurrences)
        return frozenset(name for name in names if name not in self._bound and self._is_free(name))

    def _is_free(self, name: str) -> bool:
        claiming = [atoms for atoms in self.around.rules if name in atoms.claimed]
        if not claiming:
            return True
        is_cyclic = self.schema.is_cyclic(name) and not descends(self.around, self.schema, name)
        if is_cyclic or self.around.values(name) != BOOLEAN:
            return False
        if not all(atoms.is_atomic and is_plain(atoms.rule.plain.claims[0][1]) for atoms in claiming):
            return False
        try:
            return all(self._agree(*pair) for pair in combinations_with_replacement(claiming, 2))
        except TooManyOutcomes:
            return False

    def _agree(self, one: RuleAtoms, other: RuleAtoms) -> bool:
        """Tell whether two rules never ask for different probabilities of one atom under one condition."""
        (low, high), (least, most) = interval_of(one), interval_of(other)
        if max(low, least) <= min(high, most):
            return True
        claimed, claimed_too = (next(o for o in r.occurrences if o.is_claimed) for r in (one, other))
        orders = (
            permutations(claimed_too.arguments)
            if self.around.is_symmetric(claimed.name)
            else (claimed_too.arguments,)
        )
        return not any(self._meet(one, other, claimed.arguments, order) for order in orders)

    def _meet(
        self, one: RuleAtoms, other: RuleAtoms, first: tuple[Term, ...], second: tuple[Term, ...]
    ) -> bool:
        """Tell whether the conditions of two rules may hold together where they claim the same atom."""
        shared = _Shared(self.around, (one, other), first, second)
        pairs = tuple(zip(first, second, strict=True))
        is_apart = any(self._is_out_of_reach(other, left, right) for left, right in pairs)
        if shared.is_contradictory or is_apart:
            return False
        if any(self._is_out_of_reach(one, right, left) for left, right in pairs):
            return False
        evaluators = [
            Evaluator(self.around, _Side(shared, side, atoms)) for side, atoms in enumerate((one, other))
        ]

        def both(guess: Mapping[Hashable, bool]) -> bool:
            return all(
                evaluator.truth(pattern, guess)
                for evaluator, atoms in zip(evaluators, (one, other), strict=True)
                for pattern in (atoms.rule.prefix.guard, atoms.rule.plain.given)
            )

        return any(outcomes(both))

    def _is_out_of_reach(self, atoms: RuleAtoms, constant: Term, term: Term) -> bool:
        """Tell whether a term of a rule is never a constant: no element of its domain is so far from it."""
        match constant, term:
            case Name(name), Shifted(Name(variable), by) if self.around.is_constant(name):
                return self.around.never_sums_to(atoms.sorts.get(variable, ""), by, name)
            case Name(name), Name(variable) if self.around.is_constant(name) and variable in atoms.sorts:
                return not self.around.has(atoms.sorts[variable], name)
            case _:
                return False

    # ---- cells ----------------------------------------------------------------------------------------

    @cached_property
    def certain(self) -> tuple[str, ...]:
        """Return the predicates whose atoms get a value."""
        names = dict.fromkeys(o.name for atoms in self.around.rules for o in atoms.occurrences)
        return tuple(name for name in names if name not in self.free)

    @cached_property
    def is_fine(self) -> bool:
        """Tell whether profiles are told apart."""
        by_domain = self.profiles.by_domain
        sizes = (prod(len(by_domain[d]) for d in self.around.sorts(n)) for n in self.certain)
        return sum(sizes) <= MOST_CELLS

    def cell(self, name: str, profiles: Sequence[Profile | None]) -> Cell:
        """Return the cell of an atom over elements of some profiles."""
        told = [p if self.is_fine else None for p in profiles] if self.around.sorts(name) else []
        if self.around.is_symmetric(name):
            told.sort(key=repr)
        return name, tuple(told)

    def cell_of(self, atom: GroundAtom) -> Cell:
        """Return the cell of a ground atom."""
        return self.cell(atom.name, [self.profiles.of(e) for e in atom.elements])

    def is_single(self, atom: GroundAtom) -> bool:
        """Tell whether rules name all that an atom is applied to, so that it is alone in its cell."""
        return all(self.profiles.of(e).name for e in atom.elements)

    def value(self, cells: Cells, atom: GroundAtom) -> str:
        """Return the value of a ground atom; of a cell that no rule restricts, any will do."""
        return cells.get(self.cell_of(atom), self.around.values(atom.name)[0])

    def worlds(
        self, order: Sequence[bool], copies: frozenset[str] = frozenset()
    ) -> Iterator[dict[Cell, str]]:
        """Yield values of all cells that no rule forbids; `order` says whose values are tried backwards.

        The atoms of some predicates may be copies of one variable per cell: rules that claim these are left
        to whoever asks for the law of that variable.
        """
        try:
            checks = list(self._checks())
        except TooManyOutcomes:
            return
        checks = [check for check in checks if check.atoms.claimed.isdisjoint(copies)]
        cells = [c for c in dict.fromkeys(c for check in checks for c in check.cells) if c[0] not in copies]
        waiting: dict[Cell, list[_Check]] = {}
        place = {cell: i for i, cell in enumerate(cells)}
        for check in checks:
            last = max((c for c in check.cells if c in place), key=place.__getitem__, default=None)
            if last is not None:
                waiting.setdefault(last, []).append(check)
            elif not check.passes({}):
                return
        yield from _Worlds(self, cells, waiting, order).run()

    def _checks(self) -> Iterator[_Check]:
        """Yield the instances of rules by profile that say something of certain atoms."""
        count = 0
        for atoms in self.around.rules:
            if atoms.claimed <= self.free:
                continue
            choices = [self._profiles(sort) for sort in atoms.sorts.values()]
            count += prod(map(len, choices))
            if count > MOST_CHECKS:
                raise TooManyOutcomes
            for chosen in product(*choices):
                yield _Check(self, atoms, dict(zip(atoms.sorts, chosen, strict=True)))

    def _profiles(self, sort: str) -> tuple[Profile, ...]:
        return self.profiles.by_domain[sort]


@dataclass(frozen=True)
class _Check:
    """One rule, with a profile for each of its variables."""

    rest: Rest
    atoms: RuleAtoms
    bound: dict[str, Profile]

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Return the cells that the rule speaks of."""
        certain = [o for o in self.atoms.occurrences if o.name not in self.rest.free]
        return tuple(dict.fromkeys(c for o in certain for c in self._cells(o)))

    def _cells(self, occurrence: Occurrence) -> Iterator[Cell]:
        """Yield the cells that an atom of the rule may be in; a function's value may have any profile."""
        domains = self.rest.around.sorts(occurrence.name)
        options = [
            [profile] if (profile := self.profile(argument)) is not None else self.rest._profiles(domain)
            for argument, domain in zip(occurrence.arguments, domains, strict=False)
        ]
        return (self.rest.cell(occurrence.name, chosen) for chosen in product(*options))

    def profile(self, argument: Term) -> Profile | None:
        """Return the profile of an argument, where it is a variable of the rule or a constant."""
        match argument:
            case Name(name) if name in self.bound:
                return self.bound[name]
            case Name(name) if self.rest.around.is_constant(name):
                return self.rest.profiles.of(name)
            case _:
                return None

    def passes(self, cells: Cells) -> bool:
        """Tell whether the rule holds for every law of what is not certain."""
        evaluator = Evaluator(self.rest.around, _Typed(self, cells, self.bound))
        assessment = self.atoms.rule.plain

        def value(guess: Mapping[Hashable, bool]) -> Fraction | None:
            if not evaluator.truth(self.atoms.rule.prefix.guard, guess):
                return None
            if not evaluator.truth(assessment.given, guess):
                return None
            held = (weight for weight, claim in assessment.claims if evaluator.truth(claim, guess))
            return sum(held, Fraction(0))

        try:
            found = set(outcomes(value)) - {None}
        except TooManyOutcomes:
            return False
        return all(assessment.lower <= one <= assessment.upper for one in found if one is not None)


@dataclass(frozen=True)
class _Typed:
    """What is known of a rule's atoms by profile: `Knowledge` of one check."""

    check: _Check
    cells: Cells
    bound: Mapping[str, Profile]

    def atom(self, name: str, arguments: tuple[Term, ...]) -> str | None:
        """Return the value of a certain atom."""
        if name in self.check.rest.free:
            return None
        here = replace(self.check, bound=dict(self.bound))
        found = {self.cells.get(cell) for cell in here._cells(Occurrence(name, arguments, False))}
        return found.pop() if len(found) == 1 else None

    def fact(self, name: str, arguments: tuple[Term, ...]) -> bool | None:
        """Tell whether a unary relation holds."""
        if len(arguments) != 1:
            return None
        profile = replace(self.check, bound=dict(self.bound)).profile(arguments[0])
        return None if profile is None else self.check.rest.profiles.holds(name, profile)

    def same(self, left: Term, right: Term) -> bool | None:
        """Tell two elements of different profiles apart; that of a named element is its own."""
        here = replace(self.check, bound=dict(self.bound))
        one, other = here.profile(left), here.profile(right)
        if left == right:
            return True
        if one is None or other is None:
            return None
        return (True if one.name else None) if one == other else False

    def key(self, term: Term) -> Hashable:
        """Return the term itself: the variables of one rule."""
        return term

    def inside(self, quantified: Quantified) -> Iterator[Knowledge]:
        """Yield the profiles that the variables of a quantifier may have."""
        sorts = {n: b.sort for b in quantified.prefix.binders for n in b.names}
        choices = [self.check.rest._profiles(sort) for sort in sorts.values()]
        for chosen in product(*choices):
            inner = {**self.bound, **dict(zip(sorts, chosen, strict=True))}
            yield replace(self, bound=inner)


class _Worlds:
    """A search for values of all cells, one after the other."""

    def __init__(
        self, rest: Rest, cells: Sequence[Cell], waiting: Mapping[Cell, list[_Check]], order: Sequence[bool]
    ) -> None:
        self.rest, self.cells, self.waiting = rest, cells, waiting
        flipped = dict(zip(rest.certain, order, strict=True))
        self.options = {cell: rest.around.values(cell[0])[:: -1 if flipped[cell[0]] else 1] for cell in cells}
        self.steps = MOST_STEPS

    def run(self) -> Iterator[dict[Cell, str]]:
        """Yield one choice of values after the other."""
        yield from self._from(0, {})

    def _from(self, depth: int, chosen: dict[Cell, str]) -> Iterator[dict[Cell, str]]:
        if depth == len(self.cells):
            yield dict(chosen)
            return
        cell = self.cells[depth]
        for value in self.options[cell]:
            self.steps -= 1
            if self.steps < 0:
                return
            chosen[cell] = value
            if all(check.passes(chosen) for check in self.waiting.get(cell, ())):
                yield from self._from(depth + 1, chosen)
        chosen.pop(cell, None)


# ---- two rules about one atom ---------------------------------------------------------------------------


class _Shared:
    """The terms of two rules, once the atoms that they claim are one."""

    def __init__(
        self,
        around: Around,
        rules: tuple[RuleAtoms, RuleAtoms],
        first: tuple[Term, ...],
        second: tuple[Term, ...],
    ) -> None:
        self.around, self.rules = around, rules
        self._leader: dict[Hashable, Hashable] = {}
        for side, atoms in enumerate(rules):
            for name, sort in atoms.sorts.items():
                if around.size(sort) == 1:
                    # Where there is one element only, every variable is it.
                    self._leader[side, name] = next(iter(around.elements(sort)))
        for one, other in (_stripped(*pair) for pair in zip(first, second, strict=True)):
            left, right = self.key(0, one), self.key(1, other)
            if isinstance(one, Name) and isinstance(other, Name):
                # A constant leads, so that what is equal to it is known by its name.
                source, target = (right, left) if isinstance(left, str) else (left, right)
                if source != target:
                    self._leader[source] = target

    def key(self, side: int, term: Term) -> Hashable:
        """Return what stands for a term of one rule."""
        match term:
            case Name(name) if name in self.rules[side].sorts:
                return self._find((side, name))
            case Name(name) if self.around.is_constant(name):
                return name
            case Name(name):
                return "inner", side, name
            case Shifted(inner, by):
                return "shifted", self.key(side, inner), by
            case Application(name, arguments):
                return name, tuple(self.key(side, a) for a in arguments)

    def _find(self, key: Hashable) -> Hashable:
        while key in self._leader and self._leader[key] != key:
            key = self._leader[key]
        return key

    @property
    def is_contradictory(self) -> bool:
        """Tell whether one constant would be another."""
        return any(isinstance(one, str) for one in self._leader)


def _stripped(one: Term, other: Term) -> tuple[Term, Term]:
    """Leave out of two terms that are equal what is added to both."""
    match one, other:
        case Shifted(Name() as left, by), Shifted(Name() as right, further) if by == further:
            return left, right
        case _:
            return one, other


@dataclass(frozen=True)
class _Side:
    """What is known of one of two rules: only which terms are the same."""

    shared: _Shared
    side: int
    atoms: RuleAtoms

    def atom(self, name: str, arguments: tuple[Term, ...]) -> str | None:
        """Know nothing of random atoms."""
        return None

    def fact(self, name: str, arguments: tuple[Term, ...]) -> bool | None:
        """Know nothing of relations."""
        return None

    def same(self, left: Term, right: Term) -> bool | None:
        """Tell whether two terms are one element."""
        return True if self.key(left) == self.key(right) else None

    def key(self, term: Term) -> Hashable:
        """Return what stands for a term."""
        return self.shared.key(self.side, term)

    def inside(self, quantified: Quantified) -> Iterator[Knowledge]:
        """Know as little inside a quantifier."""
        yield self


def interval_of(atoms: RuleAtoms) -> tuple[Fraction, Fraction]:
    """Return the bounds of a rule on the probability of its atom, which may be negated in the claim."""
    assessment = atoms.rule.plain
    ((_, claim),) = assessment.claims
    if _is_negated(claim):
        return 1 - assessment.upper, 1 - assessment.lower
    return assessment.lower, assessment.upper


def is_plain(claim: Pattern) -> bool:
    """Tell an atom, perhaps negated, from a comparison with true or false."""
    match claim:
        case Compound(Connective.NOT, (operand,)):
            return is_plain(operand)
        case _:
            return isinstance(claim, Name | Application)


def _is_negated(claim: Pattern) -> bool:
    match claim:
        case Compound(Connective.NOT, (operand,)):
            return not _is_negated(operand)
        case _:
            return False
