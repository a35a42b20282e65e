"""Ground a theory around some atoms.

Input: a `Grounder` and ground variables. Output: the instances of rules that mention a variable, read backwards:
an atom of a rule is matched with the variable, the logical variables in it are bound, and only the others
are searched for, through indexes on the facts. So what is said of one atom among millions is found without
grounding the rest.

A logical variable that no relation and no equation of the guard proposes values for ranges over a *pool* of
elements, or over its whole domain where everything that is said is wanted.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import NamedTuple, TypeAlias, assert_never

from credalog.grounding.network import CompiledRule, Grounder, key_of, settled
from credalog.grounding.patterns import Undefined
from credalog.grounding.terms import Environment
from credalog.network.formulas import Variable
from credalog.network.sentences import Sentence
from credalog.theory import (
    Application,
    Binder,
    Boolean,
    Comparison,
    Compound,
    Connective,
    Domain,
    Name,
    Order,
    Pattern,
    Predicate,
    Prefix,
    Quantified,
    RandomFunction,
    Rule,
    Shifted,
    Term,
    conjoined,
    term_of,
    written,
)

__all__ = ["Around", "GroundAtom", "Occurrence", "Pool", "RuleAtoms", "TooMany", "atom_of", "is_literal"]

Pool: TypeAlias = Mapping[str, Sequence[str]]
"""Some elements of each domain."""

TRIES = 20_000
"""How many bindings may be tried for what is said of one atom."""

EXPANSION = 64
"""Formulas with more instances of quantifiers are left alone."""


class GroundAtom(NamedTuple):
    """A predicate or random function, and the elements that it is applied to."""

    name: str
    elements: tuple[str, ...]


class TooMany(Exception):
    """What was looked for would take more tries than there may be."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An atom of a rule: what it is applied to, and whether it stands in a claim."""

    name: str
    arguments: tuple[Term, ...]
    is_claimed: bool


@dataclass(frozen=True, slots=True)
class RuleAtoms:
    """A rule, its logical variables with their domains, and the random atoms in it."""

    number: int
    rule: Rule
    sorts: dict[str, str]
    occurrences: tuple[Occurrence, ...]
    has_facts: bool
    """Whether something that is not random stands in a formula: ground, it may leave the formula."""

    @property
    def claimed(self) -> frozenset[str]:
        """Return the predicates that are claimed.

        Where facts decide a claim that cannot be, its condition is claimed to be impossible.
        """
        return frozenset(o.name for o in self.occurrences if o.is_claimed or self.has_facts)

    @property
    def conditions(self) -> frozenset[str]:
        """Return the predicates of the condition."""
        return frozenset(o.name for o in self.occurrences if not o.is_claimed)

    @property
    def is_atomic(self) -> bool:
        """Tell whether every instance claims one atom or its negation."""
        claims = self.rule.assessment.claims
        claimed = [o for o in self.occurrences if o.is_claimed]
        is_single = len(claims) == len(claimed) == 1
        return is_single and not self.has_facts and is_literal(claims[0][1])

    @property
    def is_opaque(self) -> bool:
        """Tell whether a formula has a quantifier."""
        claims = [claim for _, claim in self.rule.assessment.claims]
        return any(_has_quantifier(pattern) for pattern in (*claims, self.rule.assessment.given))


class Around:
    """A theory whose rules are read backwards, from an atom to what is said of it."""

    def __init__(self, grounder: Grounder) -> None:
        self.grounder = grounder
        self.theory = grounder.theory
        self._declared = {d.name: d for d in self.theory.declarations}
        self._ranks = grounder.signature.ranks
        self.domains = tuple(d.name for d in self.theory.declarations if isinstance(d, Domain))
        self._bound_anywhere = frozenset(
            name for rule in self.theory.rules for b in rule.prefix.binders for name in b.names
        )
        self.rules = tuple(self._atoms_of(n, rule) for n, rule in enumerate(self.theory.rules))
        self._by_name: dict[str, list[tuple[RuleAtoms, Occurrence]]] = {}
        for atoms in self.rules:
            for occurrence in dict.fromkeys(atoms.occurrences):
                self._by_name.setdefault(occurrence.name, []).append((atoms, occurrence))
        self._variants: dict[tuple[int, frozenset[str]], _Variant] = {}

    # ---- what is said ---------------------------------------------------------------------------------

    def claiming(self, variable: Variable, *, tries: int = TRIES) -> Iterator[Sentence]:
        """Yield every sentence that claims something of a variable, repetitions included; too many is an error."""
        atom = atom_of(variable)
        for atoms, occurrence in self._by_name.get(atom.name, ()):
            if occurrence.is_claimed or atoms.has_facts:
                for sentence in self._matching(atoms, occurrence, atom.elements, None, tries):
                    if variable in sentence.claim_scope:
                        yield sentence

    def touching(self, variable: Variable, pool: Pool, *, tries: int = TRIES) -> list[Sentence]:
        """Return sentences that mention a variable, free logical variables ranging over a pool.

        Where one rule has too many, only the first of them are returned.
        """
        atom = atom_of(variable)
        found: dict[tuple[int, Hashable], Sentence] = {}
        for atoms, occurrence in self._by_name.get(atom.name, ()):
            with suppress(TooMany):
                for sentence in self._matching(atoms, occurrence, atom.elements, pool, tries):
                    if variable in sentence.scope:
                        found.setdefault((atoms.number, key_of(sentence)), sentence)
        return list(found.values())

    def _matching(
        self, atoms: RuleAtoms, occurrence: Occurrence, elements: tuple[str, ...], pool: Pool | None, tries: int
    ) -> Iterator[Sentence]:
        for bound in self._unified(atoms, occurrence, elements):
            variant = self._variant(atoms, frozenset(bound))
            if variant.compiled.expansion > EXPANSION:
                if pool is None:
                    raise TooMany
                continue
            yield from variant.sentences(bound, pool, tries)

    def _variant(self, atoms: RuleAtoms, bound: frozenset[str]) -> _Variant:
        """Compile a rule with some of its variables first, so that facts are followed from these."""
        key = atoms.number, bound
        if key not in self._variants:
            order = sorted(atoms.sorts, key=lambda name: name not in bound)
            prefix = _reordered(atoms.rule.prefix, order, atoms.sorts)
            compiled = self.grounder.compiled(replace(atoms.rule, prefix=prefix))
            self._variants[key] = _Variant(compiled, tuple(order), atoms, self)
        return self._variants[key]

    # ---- matching -------------------------------------------------------------------------------------

    def _unified(
        self, atoms: RuleAtoms, occurrence: Occurrence, elements: tuple[str, ...]
    ) -> Iterator[dict[str, str]]:
        """Yield the bindings under which an atom of a rule may be a ground atom."""
        orders = [elements]
        declaration = self._declared.get(occurrence.name)
        if isinstance(declaration, Predicate) and declaration.symmetric and len(elements) == 2:
            orders.append(elements[::-1])
        if len(occurrence.arguments) != len(elements):
            return
        found: list[dict[str, str]] = []
        for order in orders:
            bound = self._bound(atoms, occurrence, order)
            if bound is not None and bound not in found:
                found.append(bound)
        yield from found

    def _bound(
        self, atoms: RuleAtoms, occurrence: Occurrence, elements: tuple[str, ...]
    ) -> dict[str, str] | None:
        bound: dict[str, str] = {}
        for argument, element in zip(occurrence.arguments, elements, strict=True):
            match argument:
                case Name(name) if name in atoms.sorts:
                    if bound.setdefault(name, element) != element or element not in self._ranks(
                        atoms.sorts[name]
                    ):
                        return None
                case Name(name) if self.is_constant(name):
                    if name != element:
                        return None
                case Shifted(Name(name), by) if name in atoms.sorts and element.lstrip("-").isdigit():
                    before = str(int(element) - by)
                    if bound.setdefault(name, before) != before or before not in self._ranks(
                        atoms.sorts[name]
                    ):
                        return None
                case _:
                    # A function's value or a variable of an inner quantifier: whatever it is, it may match.
                    pass
        return bound

    def is_constant(self, name: str) -> bool:
        """Tell whether a name that no rule binds is an element; variables of inner quantifiers are not."""
        return self.grounder.signature.is_element(name)

    def elements(self, sort: str) -> Iterable[str]:
        """Return the elements of a domain in order."""
        return self._ranks(sort)

    def size(self, sort: str) -> int:
        """Return how many elements a domain has."""
        return len(self._ranks(sort))

    def has(self, sort: str, element: str) -> bool:
        """Tell whether an element is in a domain."""
        return element in self._ranks(sort)

    # ---- pools ----------------------------------------------------------------------------------------

    def pool_of(self, variables: Iterable[Variable], *, fresh: int = 0) -> dict[str, list[str]]:
        """Return the elements that some variables are about, and a few others of each domain."""
        named = dict.fromkeys(e for v in variables for e in atom_of(v).elements)
        pool = {d: [e for e in named if self.has(d, e)] for d in self.domains}
        for domain, present in pool.items():
            others = (e for e in self.elements(domain) if e not in named)
            present += list(islice(others, fresh))
        return pool

    def _atoms_of(self, number: int, rule: Rule) -> RuleAtoms:
        sorts = {name: binder.sort for binder in rule.prefix.binders for name in binder.names}
        claims = [claim for _, claim in rule.assessment.claims]
        given = rule.assessment.given
        claimed = [Occurrence(*a, True) for claim in claims for a in self._random_atoms(claim)]
        conditions = [Occurrence(*a, False) for a in self._random_atoms(given)]
        has_facts = any(self._mentions_facts(pattern) for pattern in (*claims, given))
        return RuleAtoms(number, rule, sorts, (*claimed, *conditions), has_facts)

    def _random_atoms(self, pattern: Pattern) -> Iterator[tuple[str, tuple[Term, ...]]]:
        """Yield the random atoms of a formula, with their arguments."""
        match pattern:
            case Boolean():
                return
            case Name(name) | Application(name):
                if self.is_random(name, pattern):
                    yield self.spelt(pattern)
            case Shifted(inner):
                yield from self._random_atoms(inner)
            case Compound(_, operands):
                for operand in operands:
                    yield from self._random_atoms(operand)
            case Comparison(_, left, right):
                yield from self._random_atoms(left)
                yield from self._random_atoms(right)
            case Quantified(_, _, body):
                yield from self._random_atoms(body)
            case _:
                assert_never(pattern)

    def spelt(self, pattern: Name | Application) -> tuple[str, tuple[Term, ...]]:
        """Return the name and the arguments of a random atom; a ground one may be declared as a whole."""
        resolved = self.grounder.signature.resolved(pattern)
        spelt = term_of(resolved.name) if isinstance(resolved, Name) else resolved
        return (spelt.name, spelt.arguments) if isinstance(spelt, Application) else (resolved.name, ())

    def is_random(self, name: str, pattern: Name | Application) -> bool:
        """Tell whether a name stands for something random; an undeclared one is a proposition."""
        declaration = self._declared.get(self.grounder.signature.resolved(pattern).name)
        if declaration is not None:
            return isinstance(declaration, Predicate | RandomFunction)
        return not self.grounder.signature.is_strict and not self.is_constant(name)

    def _mentions_facts(self, pattern: Pattern) -> bool:
        match pattern:
            case Boolean():
                return True
            case Name() | Application():
                return not self.is_random(pattern.name, pattern)
            case Compound(_, operands):
                return any(map(self._mentions_facts, operands))
            case Comparison(_, Name() | Application() as left, Name(value)):
                # A value that is written down is one of the variable's own.
                return not (self.is_random(left.name, left) and value not in self._bound_anywhere)
            case _:
                return True


@dataclass(frozen=True, slots=True)
class _Variant:
    """A rule compiled with some of its variables first."""

    compiled: CompiledRule
    order: tuple[str, ...]
    atoms: RuleAtoms
    around: Around

    def sentences(self, bound: Mapping[str, str], pool: Pool | None, tries: int) -> Iterator[Sentence]:
        """Yield the sentences of the instances with some variables bound."""
        environment = [""] * self.compiled.width
        place = {name: slot for slot, name in enumerate(self.order)}
        for _ in self._bindings(0, environment, bound, pool, _Count(tries)):
            label = self.atoms.rule.label
            if label and place:
                spelt = ",".join(written(environment[place[name]]) for name in self.atoms.sorts)
                label = f"{label}[{spelt}]"
            try:
                sentence = self.compiled.sentence(environment, label)
            except Undefined:
                # The whole grounding complains of an atom that does not exist; here it is not asked for.
                continue
            if sentence is not None and (said := settled(sentence)) is not None:
                yield said

    def _bindings(
        self,
        depth: int,
        environment: Environment,
        bound: Mapping[str, str],
        pool: Pool | None,
        count: _Count,
    ) -> Iterator[None]:
        if depth == len(self.order):
            yield
            return
        level, name = self.compiled.instances.levels[depth], self.order[depth]
        candidates: Iterable[str]
        if name in bound:
            candidates = (bound[name],)
        elif level.is_proposed or pool is None:
            candidates = level.candidates(environment)
        else:
            candidates = pool.get(self.atoms.sorts[name], ())
        count.require(level.most if pool is None and not level.is_proposed and name not in bound else 0)
        for element in candidates:
            count.one_more()
            if level.admits(element, environment):
                yield from self._bindings(depth + 1, environment, bound, pool, count)


class _Count:
    """A number of tries that may not be exceeded."""

    __slots__ = ("left",)

    def __init__(self, tries: int) -> None:
        self.left = tries

    def require(self, tries: int) -> None:
        """Give up before so many tries, if there are not as many."""
        if tries > self.left:
            raise TooMany

    def one_more(self) -> None:
        """Count one try."""
        self.left -= 1
        if self.left < 0:
            raise TooMany


def atom_of(variable: Variable) -> GroundAtom:
    """Return the predicate of a ground variable and the elements that it is applied to."""
    term = term_of(variable.name)
    if not isinstance(term, Application):
        return GroundAtom(variable.name, ())
    return GroundAtom(term.name, tuple(a.name for a in term.arguments if isinstance(a, Name)))


def _reordered(prefix: Prefix, order: Sequence[str], sorts: Mapping[str, str]) -> Prefix:
    """Bind the variables one by one in another order; that some are distinct becomes part of the guard."""
    apart = [
        Comparison(Order.UNEQUAL, Name(one), Name(other))
        for binder in prefix.binders
        if binder.distinct
        for one, other in combinations(binder.names, 2)
    ]
    binders = tuple(Binder((name,), sorts[name]) for name in order)
    return Prefix(binders, conjoined((*_conjuncts(prefix.guard), *apart)))


def _conjuncts(pattern: Pattern) -> Iterator[Pattern]:
    if isinstance(pattern, Compound) and pattern.connective is Connective.AND:
        for operand in pattern.operands:
            yield from _conjuncts(operand)
    else:
        yield pattern


def is_literal(pattern: Pattern) -> bool:
    """Tell an atom or its negation from other formulas."""
    match pattern:
        case Name() | Application():
            return True
        case Comparison(Order.EQUAL):
            return True
        case Compound(Connective.NOT, (operand,)):
            return is_literal(operand)
        case _:
            return False


def _has_quantifier(pattern: Pattern) -> bool:
    match pattern:
        case Quantified():
            return True
        case Compound(_, operands):
            return any(map(_has_quantifier, operands))
        case _:
            return False
