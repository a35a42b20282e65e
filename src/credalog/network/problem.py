"""A network in numbers, and what of it bears on a query.

Input: a network, its dependency graph and a Markov condition. Output: `Problem`, in which variables are
numbers and every sentence is either part of a local polytope or a statement to be written on a table; and
the part of it that a query needs.

Two things are left out of a part. Barren variables: whatever their parents do, some theta(x | parents)
satisfies all that is said about them, so they restrict nothing above them. And what shares no variable,
parent or statement with the query: the product of a model of one part and a model of the other is a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from math import prod

from credalog.network.formulas import Is, Variable, conjunction, truth_table
from credalog.network.graph import DependencyGraph, Markov
from credalog.network.polytopes import (
    Configuration,
    LocalPolytope,
    Place,
    has_empty,
    local_polytopes,
    local_row,
)
from credalog.network.sentences import Network, Sentence
from credalog.network.structure import Condition, Reading, Structure, ancestors
from credalog.numbers.budget import require_time

__all__ = ["Problem", "Statement", "problem_of", "relevant_part", "separate_parts"]

MAX_CONFIGURATIONS = 1 << 12
"""Variables with more parent configurations are taken to bear on everything, which is always valid."""

Polytopes = Mapping[Configuration, LocalPolytope]


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence that is not local: its place in the network and the numbers of its variables."""

    number: int
    sentence: Sentence
    scope: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """Structure, local polytopes, the statements beyond them, and the declared conditions.

    `statements` bear on more than one theta(x | configuration). Those in `owned[x]` speak of x given its
    parents and can be met whatever the parents do, so they matter only where x does.
    """

    variables: tuple[Variable, ...]
    structure: Structure
    reading: Reading
    polytopes: tuple[Polytopes, ...]
    statements: tuple[Statement, ...]
    owned: tuple[tuple[Statement, ...], ...]
    declared: tuple[Condition, ...]

    @property
    def all_statements(self) -> Iterator[Statement]:
        """Yield every statement, owned ones included."""
        yield from self.statements
        for owned in self.owned:
            yield from owned

    def free_variables(self) -> frozenset[int]:
        """Return the variables on whose theta nothing but their local polytopes bears."""
        stated = (x for s in self.all_statements for x in s.scope)
        declared = (x for c in self.declared for x in (*c.left, *c.right, *c.given))
        bound = ancestors(self.structure.parents, (*stated, *declared))
        return frozenset(range(len(self.variables))) - bound - self.structure.core


def problem_of(network: Network, graph: DependencyGraph, markov: Markov) -> Problem:
    """Give the variables of a network numbers and sort its sentences."""
    structure, reading = _structure(graph, markov)
    index = {v: i for i, v in enumerate(network.variables)}
    polytopes, numbers, forced = _local(network, structure)
    statements = [
        Statement(n, network.sentences[n], _numbers(network.sentences[n].scope, index)) for n in numbers
    ]
    ownership = _Ownership(network.variables, structure, polytopes, frozenset(forced))
    anchored, owned = ownership.sort(statements)
    places = {place: n for n, place in reversed(forced.items())}
    anchored += tuple(_impossible(network, structure, n, place) for place, n in sorted(places.items()))
    declared = tuple(
        Condition(_numbers(i.left, index), _numbers(i.right, index), _numbers(i.given, index))
        for i in network.independences
    )
    return Problem(tuple(network.variables), structure, reading, polytopes, anchored, owned, declared)


def _structure(graph: DependencyGraph, markov: Markov) -> tuple[Structure, Reading]:
    sizes = tuple(len(v.values) for v in graph.variables)
    if markov is Markov.NONE:
        alone = tuple((x,) for x in range(len(sizes)))
        return Structure(((),) * len(sizes), sizes, alone), Reading.FREE
    reading = Reading.GLOBAL if markov is Markov.GLOBAL else Reading.LITERAL
    return Structure(tuple(graph.parent_indices), sizes, graph.components()), reading


def _impossible(network: Network, structure: Structure, number: int, place: Place) -> Statement:
    """State outright that a configuration without any theta has probability zero.

    The sentences that contradict each other there say the same, but a solver hears a contradiction of 1e-9 as
    none.
    """
    x, configuration = place
    parents = structure.parents[x]
    atoms = zip((network.variables[p] for p in parents), configuration, strict=True)
    claim = conjunction(Is(v, v.values[state]) for v, state in atoms)
    return Statement(number, Sentence.of(claim, Fraction(0), Fraction(0)), parents or (x,))


def _local(
    network: Network, structure: Structure
) -> tuple[tuple[Polytopes, ...], list[int], dict[int, Place]]:
    """Return the local polytopes, the numbers of the statements, and which of those force a zero, and where.

    A local polytope without a point forces its configuration to have probability zero. That bears on the
    parents, so its sentences are statements. So are those of a component of several variables: its local
    polytopes may exclude each other, since no theta of it can be chosen for itself.
    """
    assessment = local_polytopes(network, _Parents(structure.parents))
    several = {x for component in structure.components if len(component) > 1 for x in component}
    suspect = {x for x, found in enumerate(assessment.polytopes) if has_empty(found)}
    if not several and not suspect:
        return assessment.polytopes, list(assessment.rest), {}
    empty = {
        (x, configuration)
        for x in suspect
        for configuration, polytope in assessment.polytopes[x].items()
        if polytope.is_empty
    }
    polytopes = tuple(
        {key: polytope for key, polytope in found.items() if (x, key) not in empty} if x in suspect else found
        for x, found in enumerate(assessment.polytopes)
    )
    forced = {n: place for n, places in enumerate(assessment.places) for place in places if place in empty}
    tied = (n for n, places in enumerate(assessment.places) if any(x in several for x, _ in places))
    return polytopes, sorted({*assessment.rest, *forced, *tied}), forced


@dataclass(frozen=True, slots=True)
class _Parents:
    parent_indices: tuple[tuple[int, ...], ...]


def _numbers(variables: Iterable[Variable], index: Mapping[Variable, int]) -> tuple[int, ...]:
    require_time()
    return tuple(index[v] for v in variables)


class _Ownership:
    """Tell which statements can be met by one tail variable's own theta, whatever its parents do."""

    def __init__(
        self,
        variables: Sequence[Variable],
        structure: Structure,
        polytopes: Sequence[Polytopes],
        forced: frozenset[int],
    ) -> None:
        self.variables = variables
        self.structure = structure
        self.polytopes = polytopes
        self.forced = forced
        self.index = {v: i for i, v in enumerate(variables)}
        self.families: dict[int, tuple[frozenset[int], int]] = {}

    def sort(
        self, statements: Iterable[Statement]
    ) -> tuple[tuple[Statement, ...], tuple[tuple[Statement, ...], ...]]:
        """Split statements into those that bear on everything and those owned by a variable."""
        owned: list[list[Statement]] = [[] for _ in self.variables]
        anchored: list[Statement] = []
        for statement in statements:
            owner = self._owner(statement)
            (anchored if owner is None else owned[owner]).append(statement)
        for x, found in enumerate(owned):
            if found and not self._satisfiable(x, found):
                anchored.extend(found)
                owned[x] = []
        return tuple(sorted(anchored, key=lambda s: s.number)), tuple(map(tuple, owned))

    def _owner(self, statement: Statement) -> int | None:
        require_time()
        claimed = statement.sentence.claim_scope
        if len(claimed) != 1 or statement.number in self.forced:
            return None
        x = self.index[claimed[0]]
        if x in self.structure.core:
            return None
        parents, configurations = self._family(x)
        given = (self.index[v] for v in statement.sentence.given_scope)
        return x if configurations <= MAX_CONFIGURATIONS and parents.issuperset(given) else None

    def _family(self, x: int) -> tuple[frozenset[int], int]:
        """Return the parents of a variable and how many configurations they have, looked up once."""
        if x not in self.families:
            parents = self.structure.parents[x]
            self.families[x] = frozenset(parents), prod(self.structure.sizes[p] for p in parents)
        return self.families[x]

    def _satisfiable(self, x: int, statements: list[Statement]) -> bool:
        """Tell whether in every configuration some theta(x | configuration) meets all statements."""
        parents = [self.variables[p] for p in self.structure.parents[x]]
        rows = [local_row(s.sentence, self.variables[x]) for s in statements]
        holds = [truth_table(s.sentence.given, parents) for s in statements]
        for configuration in product(*(range(len(p.values)) for p in parents)):
            require_time()
            here = [row for row, table in zip(rows, holds, strict=True) if table[configuration]]
            local = self.polytopes[x].get(configuration)
            known = local.rows if local is not None else ()
            if here and LocalPolytope(len(self.variables[x].values), (*known, *here)).is_empty:
                return False
        return True


def relevant_part(problem: Problem, scope: Iterable[int]) -> tuple[Problem, tuple[int, ...]]:
    """Restrict a problem to what bears on a scope; return it with the numbers of the variables kept."""
    asked = frozenset(scope)
    anchors = (x for s in problem.statements for x in s.scope)
    declared = (x for c in problem.declared for x in (*c.left, *c.right, *c.given))
    needed = ancestors(problem.structure.parents, (*asked, *anchors, *declared))
    parts = separate_parts(problem, needed, asked)
    kept = sorted(frozenset().union(*(part for part in parts if part & asked)))
    return restrict(problem, kept), tuple(kept)


def separate_parts(
    problem: Problem, among: Iterable[int], together: Iterable[int] = ()
) -> list[frozenset[int]]:
    """Split variables into parts that share no parent, statement or condition."""
    members = sorted(set(among))
    groups: list[Iterable[int]] = [together]
    groups += [(x, *problem.structure.parents[x]) for x in members]
    groups += [s.scope for s in problem.statements]
    # What can be met whatever the parents do holds its variables together only where it matters itself.
    groups += [s.scope for x in members for s in problem.owned[x]]
    groups += [(*c.left, *c.right, *c.given) for c in problem.declared]
    above = {x: x for x in members}
    for group in groups:
        require_time()
        for x, y in pairwise(x for x in group if x in above):
            above[_top(above, x)] = _top(above, y)
    parts: dict[int, list[int]] = {}
    for x in members:
        parts.setdefault(_top(above, x), []).append(x)
    return [frozenset(part) for part in parts.values()]


def _top(above: dict[int, int], x: int) -> int:
    """Return the variable that stands for the part of another, and shorten the way to it (union-find)."""
    while above[x] != x:
        above[x] = x = above[above[x]]
    return x


def restrict(problem: Problem, kept: Sequence[int]) -> Problem:
    """Keep only some variables, which must include all their ancestors."""
    require_time()
    renumber = {old: new for new, old in enumerate(kept)}
    structure = problem.structure
    restricted = Structure(
        tuple(_renumbered(structure.parents[x], renumber) for x in kept),
        tuple(structure.sizes[x] for x in kept),
        tuple(_renumbered(c, renumber) for c in structure.components if c[0] in renumber),
    )
    return Problem(
        tuple(problem.variables[x] for x in kept),
        restricted,
        problem.reading,
        tuple(problem.polytopes[x] for x in kept),
        tuple(_moved(s, renumber) for s in problem.statements if renumber.keys() >= set(s.scope)),
        tuple(tuple(_moved(s, renumber) for s in problem.owned[x]) for x in kept),
        tuple(
            Condition(*(_renumbered(side, renumber) for side in (c.left, c.right, c.given)))
            for c in problem.declared
            if renumber.keys() >= {*c.left, *c.right, *c.given}
        ),
    )


def _renumbered(indices: Iterable[int], renumber: Mapping[int, int]) -> tuple[int, ...]:
    return tuple(renumber[x] for x in indices)


def _moved(statement: Statement, renumber: Mapping[int, int]) -> Statement:
    return Statement(statement.number, statement.sentence, _renumbered(statement.scope, renumber))
