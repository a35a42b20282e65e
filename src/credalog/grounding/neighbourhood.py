"""Ground a theory around some atoms.

Input: a `Grounder` and ground variables. Output: the instances of rules that mention a variable, read
backwards: an atom of a rule is matched with the variable, the logical variables in it are bound, and only
the others are searched for, through indexes on the facts. So what is said of one atom among millions is
found without grounding the rest.

A logical variable that no relation and no equation of the guard proposes values for ranges over a *pool* of
elements, or over its whole domain where everything that is said is wanted.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations, islice, permutations
from typing import NamedTuple, TypeAlias, assert_never

from credalog.grounding.expansion import bound_names, instanced
from credalog.grounding.guards import conjuncts, names_in
from credalog.grounding.network import Grounder, key_of, settled
from credalog.grounding.patterns import CompiledRule, Undefined
from credalog.grounding.rule_atoms import Occurrence, RuleAtoms, atom_of
from credalog.grounding.terms import Environment
from credalog.network.formulas import BOOLEAN, Variable
from credalog.network.sentences import Sentence
from credalog.theory import (
    YES,
    Application,
    Binder,
    Boolean,
    Comparison,
    Compound,
    Domain,
    Misstatement,
    Name,
    Order,
    Pattern,
    Predicate,
    Prefix,
    Quantified,
    RandomFunction,
    Relation,
    Rule,
    Shifted,
    Term,
    conjoined,
    term_of,
    written,
)

__all__ = [
    "Around",
    "Pool",
    "Standing",
    "TooMany",
    "Unfaithful",
    "apart",
    "followed",
    "free_variables",
    "reordered",
]

Pool: TypeAlias = Mapping[str, Sequence[str]]
"""Some elements of each domain."""

TRIES = 5_000
"""How many bindings may be tried for what is said of one atom."""

EXPANSION = 64
"""Formulas with more instances of quantifiers are left alone."""


_INTEGER = re.compile(r"0|-?[1-9]\d{0,30}")


class Standing(NamedTuple):
    """A sentence that stands for others, and whether it may be none of the theory's own."""

    sentence: Sentence
    is_loose: bool


class Unfaithful(Exception):
    """No few elements can stand for all in an instance of a rule."""


class TooMany(Exception):
    """What was looked for would take more tries than there may be."""


class Around:
    """A theory whose rules are read backwards, from an atom to what is said of it."""

    def __init__(self, grounder: Grounder) -> None:
        self.grounder = grounder
        self.theory = grounder.theory
        self._declared = {d.name: d for d in self.theory.declarations}
        self._ranks = grounder.signature.ranks
        self.domains = tuple(d.name for d in self.theory.declarations if isinstance(d, Domain))
        self._bound_anywhere = frozenset(n for rule in self.theory.rules for n in bound_names(rule))
        self.rules = tuple(self._atoms_of(n, rule) for n, rule in self._instanced())
        self._by_name: dict[str, list[tuple[RuleAtoms, Occurrence]]] = {}
        for atoms in self.rules:
            for occurrence in dict.fromkeys(atoms.occurrences):
                self._by_name.setdefault(occurrence.name, []).append((atoms, occurrence))
        self._counting: dict[str, bool] = {}
        self._variants: dict[tuple[int, frozenset[str], bool], _Variant] = {}

    # ---- what is said ---------------------------------------------------------------------------------

    def leading_to(self, variable: Variable, *, tries: int = TRIES) -> Iterator[Sentence]:
        """Yield every sentence that draws arrows to a variable, perhaps twice; too many is an error."""
        atom = atom_of(variable)
        for atoms, occurrence in self._by_name.get(atom.name, ()):
            if atoms.draws and (occurrence.is_claimed or atoms.has_facts):
                for sentence in self._matching(atoms, occurrence, atom.elements, None, tries):
                    if variable in sentence.claim_scope:
                        yield sentence

    def claiming(self, variable: Variable, *, tries: int = TRIES) -> Iterator[Sentence]:
        """Yield every sentence that claims a variable, perhaps twice; too many is an error."""
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

    def standing_for_all(
        self, variable: Variable, named: frozenset[str], pool: Pool, *, tries: int = TRIES
    ) -> list[Standing]:
        """Return sentences that stand for all that mention a variable; `Unfaithful` where none can.

        The pool has some elements that are named, and of each profile as many others as a rule has variables.
        Free variables range over it, and guards that the profile of such another does not decide are taken to
        hold of it: so there may be more sentences than the theory has, but none is missed but for the
        names of elements.
        """
        atom = atom_of(variable)
        found: dict[tuple[int, Hashable], Standing] = {}
        for atoms, occurrence in self._by_name.get(atom.name, ()):
            for bound in self._unified(atoms, occurrence, atom.elements):
                variant = self._faithful_variant(atoms, frozenset(bound))
                own = self._variant(atoms, frozenset(bound)) if variant.is_loose else variant
                near = {d: [e for e in elements if e in named] for d, elements in pool.items()}
                said = [
                    Standing(s, False)
                    for s in own.sentences(bound, near if variant.is_loose else pool, tries)
                ]
                if variant.is_loose:
                    said += [Standing(s, True) for s in variant.sentences(bound, pool, tries, beyond=named)]
                for one in said:
                    if variable in one.sentence.scope:
                        found.setdefault((atoms.number, key_of(one.sentence)), one)
        return list(found.values())

    def _faithful_variant(self, atoms: RuleAtoms, bound: frozenset[str]) -> _Variant:
        """Compile a rule whose free variables range over elements that stand for others."""
        key = atoms.number, bound, True
        if key not in self._variants:
            order = followed(atoms.rule.prefix.guard, atoms.sorts, bound)
            guards = tuple(conjuncts(atoms.rule.prefix.guard))
            free = free_variables(guards, order, bound)
            if free and (self._decides_by_facts(atoms, free) or atoms.is_opaque):
                raise Unfaithful
            kept = tuple(g for g in guards if not free & set(names_in(g)) or self.is_by_profile(g))
            weaker = (*kept, *(apart(g) for g in guards if g not in kept))
            prefix = reordered(replace(atoms.rule.prefix, guard=conjoined(weaker)), order, atoms.sorts)
            compiled = self.grounder.compiled(replace(atoms.rule, prefix=prefix))
            levels = zip(order, compiled.instances.levels, strict=True)
            searched = {name for name, level in levels if level.proposer is None} - bound
            if compiled.expansion > EXPANSION or not searched <= free:
                raise Unfaithful
            self._variants[key] = _Variant(
                self.grounder, compiled, order, atoms, free, len(kept) < len(guards)
            )
        return self._variants[key]

    def types(self, atoms: RuleAtoms, pool: Pool, *, tries: int = TRIES) -> list[Standing]:
        """Return instances of a rule that stand for all of them, over a pool; `Unfaithful` where none can."""
        names = frozenset(atoms.sorts)
        if atoms.is_opaque or self._decides_by_facts(atoms, names):
            raise Unfaithful
        guards = tuple(conjuncts(atoms.rule.prefix.guard))
        kept = tuple(g for g in guards if self.is_by_profile(g))
        weaker = (*kept, *(apart(g) for g in guards if g not in kept))
        order = tuple(atoms.sorts)
        prefix = reordered(replace(atoms.rule.prefix, guard=conjoined(weaker)), order, atoms.sorts)
        compiled = self.grounder.compiled(replace(atoms.rule, prefix=prefix))
        variant = _Variant(self.grounder, compiled, order, atoms, names, len(kept) < len(guards))
        found = {key_of(s): s for s in variant.sentences({}, pool, tries)}
        return [Standing(sentence, variant.is_loose) for sentence in found.values()]

    def among(self, atoms: RuleAtoms, pool: Pool, *, tries: int = TRIES) -> list[Sentence]:
        """Return the instances of a rule over a pool; of one with long quantifiers none."""
        variant = replace(self._variant(atoms, frozenset()), free=frozenset(atoms.sorts))
        if variant.compiled.expansion > EXPANSION:
            return []
        return list(variant.sentences({}, pool, tries))

    def is_by_profile(self, guard: Pattern) -> bool:
        """Tell whether the profiles of elements, and which of them are equal, decide a guard."""
        match guard:
            case Application(name, (Name(),)):
                return isinstance(self._declared.get(name), Relation)
            case Comparison(Order.EQUAL | Order.UNEQUAL, Name(), Name()):
                return True
            case Compound(_, operands):
                return all(map(self.is_by_profile, operands))
            case Boolean():
                return True
            case _:
                return False

    def _decides_by_facts(self, atoms: RuleAtoms, free: frozenset[str]) -> bool:
        """Tell whether a formula has a relation, a function or a sum of a free variable."""
        nested = (a for o in atoms.occurrences for a in o.arguments if not isinstance(a, Name))
        if any(free & set(names_in(argument)) for argument in nested):
            return True
        claims = (claim for _, claim in atoms.rule.plain.claims)
        patterns = (*claims, atoms.rule.plain.given)
        return any(self._has_fact_of(pattern, free) for pattern in patterns)

    def _has_fact_of(self, pattern: Pattern, free: frozenset[str]) -> bool:
        match pattern:
            case Compound(_, operands):
                return any(self._has_fact_of(operand, free) for operand in operands)
            case Name() | Application() if self.is_random(pattern.name, pattern):
                return False
            case Comparison(_, left, right) if self._is_random_term(left):
                is_plain = self._is_random_term(right) or self._is_value_of(right, left)
                return not is_plain and bool(free & set(names_in(right)))
            case _:
                return bool(free & set(names_in(pattern))) and not self.is_by_profile(pattern)

    def _matching(
        self,
        atoms: RuleAtoms,
        occurrence: Occurrence,
        elements: tuple[str, ...],
        pool: Pool | None,
        tries: int,
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
        key = atoms.number, bound, False
        if key not in self._variants:
            order = followed(atoms.rule.prefix.guard, atoms.sorts, bound)
            prefix = reordered(atoms.rule.prefix, order, atoms.sorts)
            compiled = self.grounder.compiled(replace(atoms.rule, prefix=prefix))
            self._variants[key] = _Variant(self.grounder, compiled, order, atoms)
        return self._variants[key]

    # ---- matching -------------------------------------------------------------------------------------

    def _unified(
        self, atoms: RuleAtoms, occurrence: Occurrence, elements: tuple[str, ...]
    ) -> Iterator[dict[str, str]]:
        """Yield the bindings under which an atom of a rule may be a ground atom."""
        if len(occurrence.arguments) != len(elements):
            return
        orders = set(permutations(elements)) if self.is_symmetric(occurrence.name) else {elements}
        found: list[dict[str, str]] = []
        for order in sorted(orders):
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
                case Shifted(Name(name), by) if self._counts(atoms.sorts.get(name, "")):
                    before = str(int(element) - by) if _INTEGER.fullmatch(element) else ""
                    if bound.setdefault(name, before) != before or before not in self._ranks(
                        atoms.sorts[name]
                    ):
                        return None
                case _:
                    # A function's value or a variable of an inner quantifier: whatever it is, it may match.
                    pass
        return bound

    def _counts(self, sort: str) -> bool:
        """Tell whether each number in a domain is written in one way only, as 1 and not as 01."""
        if sort and sort not in self._counting:
            numbers = (e for e in self._ranks(sort) if not _INTEGER.fullmatch(e))
            self._counting[sort] = not any(any(c.isdigit() for c in e) for e in numbers)
        return self._counting.get(sort, False)

    def never_sums_to(self, sort: str, by: int, element: str) -> bool:
        """Tell whether no number of a domain becomes a given one when so much is added."""
        if not _INTEGER.fullmatch(element) or not self._counts(sort):
            return False
        return str(int(element) - by) not in self._ranks(sort)

    def is_symmetric(self, name: str) -> bool:
        """Tell whether the arguments of a predicate may be exchanged."""
        declaration = self._declared.get(name)
        return isinstance(declaration, Predicate) and declaration.symmetric

    def values(self, name: str) -> tuple[str, ...]:
        """Return the values of a predicate's atoms, or of a random function's."""
        declaration = self._declared.get(name)
        return (
            self.grounder.signature.values(declaration)
            if isinstance(declaration, RandomFunction)
            else BOOLEAN
        )

    def is_value(self, pattern: Name | Application, name: str) -> bool:
        """Tell whether a name is a value of a random function, and no logical variable."""
        return name not in self._bound_anywhere and name in self.values(self.spelt(pattern)[0])

    def sorts(self, name: str) -> tuple[str, ...]:
        """Return the domains that a predicate or random function is applied to."""
        declaration = self._declared.get(name)
        return declaration.sorts if isinstance(declaration, Predicate | RandomFunction) else ()

    def is_constant(self, name: str) -> bool:
        """Tell whether a name that no rule binds is an element; variables of inner quantifiers are not."""
        return self.grounder.signature.is_element(name)

    def ranks(self, sort: str) -> Mapping[str, int]:
        """Return the place of each element of a domain."""
        return self._ranks(sort)

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

    def pool_of(
        self, variables: Iterable[Variable], *, fresh: int = 0, small: int = 0
    ) -> dict[str, list[str]]:
        """Return the elements that some variables are about, and a few others; of a small domain all."""
        named = dict.fromkeys(e for v in variables for e in atom_of(v).elements)
        pool = {d: [e for e in named if self.has(d, e)] for d in self.domains}
        for domain, present in pool.items():
            others = (e for e in self.elements(domain) if e not in named)
            present += list(islice(others, small if self.size(domain) <= small else fresh))
        return pool

    def _atoms_of(self, number: int, rule: Rule) -> RuleAtoms:
        sorts = {name: binder.sort for binder in rule.prefix.binders for name in binder.names}
        claims = [claim for _, claim in rule.plain.claims]
        given = rule.plain.given
        claimed = [Occurrence(*a, True) for claim in claims for a in self._random_atoms(claim)]
        conditions = [Occurrence(*a, False) for a in self._random_atoms(given)]
        has_facts = any(self._mentions_facts(pattern) for pattern in (*claims, given) if pattern != YES)
        return RuleAtoms(number, rule, sorts, (*claimed, *conditions), has_facts)

    def _instanced(self) -> Iterator[tuple[int, Rule]]:
        """Yield the rules that may have instances, with their places."""
        for number, rule in enumerate(self.theory.rules):
            found = instanced(rule, self, self._may_hold)
            if found is not None:
                yield number, found

    def _may_hold(self, name: str) -> bool:
        """Tell whether a relation has facts; whoever is no relation is not judged."""
        declaration = self._declared.get(name)
        return not isinstance(declaration, Relation) or bool(len(declaration.facts))

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
                for side, other in ((left, right), (right, left)):
                    if not self._is_value_of(side, other):
                        yield from self._random_atoms(side)
            case Quantified(_, _, body):
                yield from self._random_atoms(body)
            case _:
                assert_never(pattern)

    def _is_random_term(self, term: Term) -> bool:
        return isinstance(term, Name | Application) and self.is_random(term.name, term)

    def _is_value_of(self, term: Term, other: Term) -> bool:
        """Tell whether a term is a value that another, a random function, is compared with."""
        return (
            isinstance(term, Name)
            and isinstance(other, Name | Application)
            and self.is_random(other.name, other)
            and self.is_value(other, term.name)
        )

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

    grounder: Grounder
    compiled: CompiledRule
    order: tuple[str, ...]
    atoms: RuleAtoms
    free: frozenset[str] = frozenset()
    """The variables for whose values a pool stands, whatever is proposed."""
    is_loose: bool = False
    """Whether a guard was left out."""

    def sentences(
        self,
        bound: Mapping[str, str],
        pool: Pool | None,
        tries: int,
        *,
        beyond: frozenset[str] | None = None,
    ) -> Iterator[Sentence]:
        """Yield the sentences of the instances with some variables bound.

        Where named elements are given, a free variable must go beyond them.
        """
        environment = [""] * self.compiled.width
        place = {name: slot for slot, name in enumerate(self.order)}
        for _ in self._bindings(0, environment, bound, pool, _Count(tries)):
            if beyond is not None and beyond.issuperset(environment[place[name]] for name in self.free):
                continue
            label = self.atoms.rule.label
            if label and place:
                spelt = ",".join(written(environment[place[name]]) for name in self.atoms.sorts)
                label = f"{label}[{spelt}]"
            try:
                sentence = self.compiled.sentence(environment, label)
            except Undefined:
                # The whole grounding complains of an atom that does not exist; here it is not asked for.
                continue
            if sentence is not None and (said := self._settled(sentence)) is not None:
                yield said

    def _settled(self, sentence: Sentence) -> Sentence | None:
        """Decide what is constant; what nothing satisfies contradicts the theory if the theory says it."""
        try:
            return settled(sentence)
        except Misstatement as error:
            if self.is_loose:
                # Without the guard that was left out there may be no such instance.
                raise Unfaithful from None
            raise self.grounder.placed(error, self.atoms.rule) from None

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
        elif pool is None or (level.proposer is not None and name not in self.free):
            candidates = level.candidates(environment)
        else:
            candidates = pool.get(self.atoms.sorts[name], ())
        count.require(level.most if pool is None and level.proposer is None and name not in bound else 0)
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


# ---- prefixes ---------------------------------------------------------------------------------------------
# Prefixes in another order, and what of their guards is left for elements that stand for others.
# Input: the prefix of a rule and the variables that are bound before. Output: an order in which facts are
# followed, the prefix in that order, and the variables that no fact proposes values for.


def followed(guard: Pattern, sorts: Mapping[str, str], bound: frozenset[str]) -> tuple[str, ...]:
    """Order variables so that facts are followed: bound ones first, then those that a relation connects."""
    order = [name for name in sorts if name in bound]
    links = [set(names_in(g)) & sorts.keys() for g in conjuncts(guard) if _proposes(g)]
    while True:
        near = (n for n in sorts if n not in order and any(n in link and link & {*order} for link in links))
        name = next(near, None)
        if name is None:
            break
        order.append(name)
    related = {name for link in links for name in link}
    rest = sorted((n for n in sorts if n not in order), key=lambda n: n not in related)
    return (*order, *rest)


def apart(guard: Pattern) -> Pattern:
    """Return what is left of a guard that is not looked at: of two elements in order, that they differ."""
    match guard:
        case Comparison(Order.LESS | Order.GREATER, Name() as left, Name() as right):
            return Comparison(Order.UNEQUAL, left, right)
        case _:
            return YES


def _proposes(guard: Pattern) -> bool:
    match guard:
        case Application() | Comparison(Order.EQUAL):
            return True
        case _:
            return False


def free_variables(guards: Iterable[Pattern], order: Sequence[str], bound: frozenset[str]) -> frozenset[str]:
    """Return the variables that no relation of several elements, and no equation, proposes values for."""
    proposed = set(bound)
    for place, name in enumerate(order):
        for guard in guards:
            match guard:
                case Application(_, arguments) if Name(name) in arguments and len(arguments) > 1:
                    proposed.add(name)
                case Comparison(Order.EQUAL, left, right):
                    for side, other in ((left, right), (right, left)):
                        if side == Name(name) and set(names_in(other)) & set(order) <= set(order[:place]):
                            proposed.add(name)
                case _:
                    pass
    return frozenset(order) - proposed


def reordered(prefix: Prefix, order: Sequence[str], sorts: Mapping[str, str]) -> Prefix:
    """Bind the variables one by one in another order; that some are distinct becomes part of the guard."""
    different = [
        Comparison(Order.UNEQUAL, Name(one), Name(other))
        for binder in prefix.binders
        if binder.distinct
        for one, other in combinations(binder.names, 2)
    ]
    binders = tuple(Binder((name,), sorts[name]) for name in order)
    return Prefix(binders, conjoined((*conjuncts(prefix.guard), *different)))
