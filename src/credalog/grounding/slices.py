"""Slices of a theory: some atoms around a question, and what every model satisfies of them.

Input: a theory read backwards and a query. Output: `Slice`: a small network and, as its frame, a dependency
graph whose conditions the whole network implies (docs/proofs.md, proof 17). What is proved of a slice
holds for every model of the whole grounding, whatever was left out and however large the domains are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from credalog.errors import LanguageError
from credalog.grounding.neighbourhood import Around, TooMany
from credalog.grounding.network import Grounder
from credalog.grounding.rule_atoms import atom_of
from credalog.grounding.schema import Schema, schema_of
from credalog.network.expressions import Question
from credalog.network.formulas import Is, Variable, conjunction
from credalog.network.graph import dependency_graph
from credalog.network.sentences import Network, Sentence
from credalog.numbers.budget import Budget
from credalog.theory.rules import kinds

__all__ = [
    "Families",
    "Size",
    "Slice",
    "ancestry",
    "closed_among",
    "frame_of",
    "parents_in",
    "parents_of",
    "predicate",
    "said_among",
    "slice_around",
    "slice_of",
    "sliced",
    "tied_among",
]


Families: TypeAlias = Mapping[Variable, frozenset[Variable]]
"""The parents of variables."""


@dataclass(frozen=True, slots=True)
class Size:
    """How many atoms a slice may have, and how many elements of each domain that nobody named."""

    atoms: int
    fresh: int
    is_ancestral: bool = False
    """Whether only parents are gathered, and what is tied to them."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Some atoms, the sentences about them alone, and the graph that counts.

    `open_atoms` have parents outside, or may have: their own conditions are not used.
    """

    network: Network
    frame: Network | None
    open_atoms: frozenset[Variable]

    @property
    def is_closed(self) -> bool:
        """Tell whether no parent is missing: then the slice has just the conditions of its variables."""
        return not self.open_atoms


def predicate(variable: Variable) -> str:
    """Return the predicate of a ground atom."""
    return atom_of(variable).name


def slice_around(around: Around, schema: Schema, asked: Question, size: Size, budget: Budget) -> Slice:
    """Gather atoms outwards from a question, and what is said of them."""
    return slice_of(around, schema, *_gathered(around, asked, size, budget))


def ancestry(around: Around, schema: Schema, asked: Question, *, most: int, budget: Budget) -> Slice | None:
    """Return the slice of a question and all its ancestors with all that is claimed of them.

    None where these are too many, or not known.
    """
    atoms = dict.fromkeys(asked.scope)
    sentences: dict[tuple[str, str, Sentence], Sentence] = {}
    frontier = deque(atoms)
    try:
        while frontier:
            for sentence in around.claiming(frontier.popleft()):
                sentences.setdefault((str(sentence.source), sentence.label, sentence), sentence)
                fresh = [w for w in sentence.scope if w not in atoms]
                atoms.update(dict.fromkeys(fresh))
                frontier.extend(fresh)
            if len(atoms) > most or budget.is_spent:
                return None
    except TooMany:
        return None
    found = slice_of(around, schema, list(atoms), sentences.values())
    return found if found.is_closed else None


def sliced(grounder: Grounder, variables: Iterable[Variable]) -> Slice:
    """Return the slice of some atoms of a theory, if its rules have one condition and plain numbers each."""
    if not all(rule.is_plain for rule in kinds(grounder.theory.rules)):
        raise LanguageError(
            "the theory has rules across conditions, or with numbers to be filled in, and so no slices",
            advice="Name the theory that the certificate was written for.",
        )
    around, atoms = Around(grounder), dict.fromkeys(variables)
    return slice_of(around, schema_of(around.rules), list(atoms), said_among(around, atoms))


def slice_of(
    around: Around, schema: Schema, atoms: Sequence[Variable], sentences: Iterable[Sentence]
) -> Slice:
    """Return the slice of some atoms and sentences about them: all that the frame says every model has."""
    inside = frozenset(atoms)
    families = {v: parents_of(around, schema, v, inside) for v in atoms}
    parents = {v: found for v, found in families.items() if found is not None}
    open_atoms = inside - parents.keys()
    network = Network(tuple(atoms), tuple(sentences))
    if not open_atoms:
        graph = dependency_graph(network)
        is_drawn = all(frozenset(graph.parents(v)) == parents[v] for v in atoms)
        return Slice(network, None if is_drawn else frame_of(network, parents), open_atoms)
    tied = tied_among(schema, atoms, open_atoms)
    above = closed_among(tied, parents)
    below = [v for v in tied if v not in above]
    known = {v: found for v, found in parents.items() if v not in below}
    return Slice(network, frame_of(network, known, below, above), open_atoms)


def tied_among(
    schema: Schema, atoms: Sequence[Variable], open_atoms: frozenset[Variable], far: Iterable[Variable] = ()
) -> list[Variable]:
    """Return the atoms that are open, may depend on themselves, or may lead to such or to some far ones."""
    tied = {v for v in atoms if v in open_atoms or schema.is_cyclic(predicate(v))}
    targets = frozenset(map(predicate, (*tied, *far)))
    return [v for v in atoms if v in tied or schema.reaches(predicate(v), targets)]


def closed_among(atoms: Sequence[Variable], parents: Families) -> frozenset[Variable]:
    """Return the atoms all of whose ancestors are among these, and known."""
    found = frozenset(atoms) & parents.keys()
    while True:
        kept = frozenset(v for v in found if parents[v] <= found)
        if kept == found:
            return found
        found = kept


def frame_of(
    network: Network,
    parents: Mapping[Variable, Iterable[Variable]],
    tied: Sequence[Variable] = (),
    above: Iterable[Variable] = (),
) -> Network:
    """Return sentences that say nothing and draw a graph: given parents, and ties among all of some.

    What is above the ties leads to each of them.
    """
    drawn = [
        Sentence.of(Is(v, v.values[0]), 0, 1, given=conjunction(Is(p, p.values[0]) for p in _sorted(found)))
        for v, found in parents.items()
    ]
    if tied:
        together = conjunction(Is(v, v.values[0]) for v in tied)
        given = conjunction(Is(v, v.values[0]) for v in _sorted(above))
        drawn.append(Sentence.of(together, 0, 1, given=given))
    return Network(network.variables, tuple(drawn))


def _sorted(variables: Iterable[Variable]) -> list[Variable]:
    return sorted(variables, key=lambda v: v.name)


def parents_of(
    around: Around, schema: Schema, variable: Variable, inside: frozenset[Variable]
) -> frozenset[Variable] | None:
    """Return the parents of a variable in the whole network; None where some are outside, or not known."""
    if predicate(variable) in schema.entangled:
        return None
    found: set[Variable] = set()
    try:
        for sentence in around.leading_to(variable):
            found |= parents_in(sentence, variable)
            if not found <= inside:
                return None
    except TooMany:
        return None
    return frozenset(found)


def parents_in(sentence: Sentence, variable: Variable) -> frozenset[Variable]:
    """Return the parents that a sentence claiming a variable draws, where no formula has two roles."""
    found = set(sentence.given_scope)
    if sentence.tau and not sentence.is_atomic:
        found.update(sentence.claim_scope)
    return frozenset(found - {variable})


NEAR = 1000
"""So many bindings are tried for what is said of one atom: of very many neighbours only some take part."""

SMALL = 4
"""Of a domain no larger than this all elements take part."""


def _gathered(
    around: Around, asked: Question, size: Size, budget: Budget
) -> tuple[list[Variable], list[Sentence]]:
    """Return atoms near a question, parents first, then breadth first; and the sentences among them."""
    atoms = dict.fromkeys(asked.scope)
    pool = around.pool_of(atoms, fresh=size.fresh, small=SMALL)
    for upwards in (True,) if size.is_ancestral else (True, False):
        frontier = deque(atoms)
        while frontier and not budget.is_spent:
            v = frontier.popleft()
            for sentence in around.touching(v, pool, tries=NEAR):
                fresh = [w for w in sentence.scope if w not in atoms]
                is_near = not upwards or v in sentence.claim_scope
                if fresh and is_near and len(atoms) + len(fresh) <= size.atoms:
                    atoms.update(dict.fromkeys(fresh))
                    frontier.extend(fresh)
    return list(atoms), said_among(around, atoms) if not budget.is_spent else []


def said_among(around: Around, atoms: Mapping[Variable, None]) -> list[Sentence]:
    """Return the sentences about some atoms alone; of very many about one of them only some."""
    pool = around.pool_of(atoms)
    said = {
        (str(s.source), s.label, s): s
        for v in atoms
        for s in around.touching(v, pool, tries=NEAR)
        if atoms.keys() >= set(s.scope)
    }
    return list(said.values())
