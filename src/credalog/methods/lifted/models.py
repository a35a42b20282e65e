"""Models of a whole theory that are written down around a question only.

Input: the atoms of a slice, and a rest: values for the cells of everything else, or copies. Output:
`Residue`: what the theory says of these atoms once the rest is known, as a network with its frame. A model of
it, times the rest, extended by the free atoms, is a model of the whole grounding (docs/proofs.md, proof 18).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from credalog.grounding.neighbourhood import Around, Standing, TooMany, Unfaithful
from credalog.grounding.rule_atoms import atom_of
from credalog.grounding.slices import Families, frame_of, parents_in, predicate
from credalog.methods.cliques.models.arcs import network_in
from credalog.methods.lifted.copies import Coins, Copies, sentence_of, sentence_renamed
from credalog.methods.lifted.outside import Cells, Rest
from credalog.network.expressions import Question
from credalog.network.formulas import Variable
from credalog.network.sentences import Network, Sentence

__all__ = ["Leaning", "Residue", "Straddling", "straddling"]


class Leaning(Exception):
    """Atoms of a slice depend on atoms outside, of some predicates that are free there."""

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__()
        self.names = names


@dataclass(frozen=True, slots=True)
class Residue:
    """What a theory says of some atoms where all others are known, and the graph among them."""

    network: Network
    frame: Network


@dataclass(frozen=True, slots=True)
class Straddling:
    """All that is said of some atoms, with elements that stand for all others; `parents` are among them."""

    atoms: tuple[Variable, ...]
    sentences: tuple[Sentence, ...]
    parents: Families

    def residue(self, rest: Rest, cells: Cells) -> Residue | None:
        """Return what is left where the rest is certain; None where that cannot be."""
        network = self._known(rest, cells, self.sentences, self.atoms)
        return None if network is None else Residue(network, frame_of(network, self.parents))

    def copied(self, rest: Rest, cells: Cells, copies: Copies, asked: Question) -> Residue | None:
        """Return what is left where some atoms outside are copies; None where that cannot be."""
        if self._has_effects(copies.names, rest) or not self._is_closed(copies.names, rest, asked):
            return None
        inside, own = frozenset(self.atoms), [v for v in self.atoms if predicate(v) in copies.names]
        outside = dict.fromkeys(v for s in self.sentences for v in s.scope if v not in inside)
        near = {v: copies.variable(v) for v in outside if predicate(v) in copies.names}
        elsewhere = self._elsewhere(rest, cells, copies)
        if elsewhere is None:
            return None
        sentences = [*(sentence_renamed(s, near) for s in self.sentences), *elsewhere]
        alike = dict.fromkeys((*near.values(), *(v for s in elsewhere for v in s.scope)))
        network = self._known(rest, cells, tuple(dict.fromkeys(sentences)), (*self.atoms, *alike))
        if network is None:
            return None
        above = [v for v in self.atoms if v not in own and predicate(v) not in rest.free]
        tied = [*own, *alike]
        parents = {v: self.parents.get(v, frozenset()) for v in self.atoms}
        parents |= {v: frozenset((*tied, *above)) - {v} for v in tied}
        return Residue(network, frame_of(network, parents))

    def _elsewhere(self, rest: Rest, cells: Cells, copies: Copies) -> tuple[Sentence, ...] | None:
        """Return what is said of copies where no atom here takes part; None where that cannot be.

        The elements that stand for others may be elements of the slice; what is certain of others is certain
        of them here. An atom of ours that is alone in its cell takes part: what is said of it is known.
        """
        inside = frozenset(self.atoms)
        single = frozenset(v for v in inside if rest.is_single(atom_of(v)))
        said = tuple(s for s in copies.said if single.isdisjoint(s.scope))
        scopes = tuple(dict.fromkeys(v for s in said for v in s.scope))
        world = {v: rest.value(cells, atom_of(v)) for v in scopes if predicate(v) not in copies.names}
        network = network_in(Network(scopes, said), world)
        if network is None:
            return None
        names = {v: copies.variable(v) for v in network.variables}
        return tuple(sentence_renamed(s, names) for s in network.sentences)

    def _has_effects(self, names: frozenset[str], rest: Rest) -> bool:
        """Tell whether an atom here depends on copies and is neither a copy nor free."""
        others = [n for n in map(predicate, self.atoms) if n not in names and n not in rest.free]
        return any(rest.schema.reaches(name, others) for name in names)

    def tossed(self, coins: Coins) -> Residue:
        """Return what is left where the atoms outside are coins: variables of their own, without parents."""
        inside = frozenset(self.atoms)
        outside = tuple(dict.fromkeys(v for s in self.sentences for v in s.scope if v not in inside))
        said = (*self.sentences, *(sentence_of(v, coins) for v in outside))
        network = Network((*self.atoms, *outside), said)
        return Residue(network, frame_of(network, {**self.parents, **{v: frozenset() for v in outside}}))

    def _known(
        self, rest: Rest, cells: Cells, sentences: tuple[Sentence, ...], variables: tuple[Variable, ...]
    ) -> Network | None:
        """Replace what is certain outside by its value."""
        kept = frozenset(variables)
        outside = dict.fromkeys(v for s in sentences for v in s.scope if v not in kept)
        world = {v: rest.value(cells, atom_of(v)) for v in outside}
        return network_in(Network((*variables, *outside), sentences), world)

    def _is_closed(self, names: frozenset[str], rest: Rest, asked: Question) -> bool:
        """Tell whether a question needs no law of copied atoms but among each other's parents."""
        needed: set[Variable] = set()
        frontier, seen = list(asked.scope), set[Variable]()
        while frontier:
            v = frontier.pop()
            if v in seen:
                continue
            seen.add(v)
            if predicate(v) not in rest.free:
                needed.add(v)
            if predicate(v) not in names:
                frontier.extend(self.parents.get(v, ()))
        return all(needed - {v} <= self.parents[v] for v in needed if predicate(v) in names)


def straddling(around: Around, rest: Rest, atoms: Iterable[Variable]) -> Straddling | None:
    """Gather all that is said of some atoms; None where no few elements can stand for the others.

    `Leaning` says that some depend on atoms outside that are free.
    """
    inside = tuple(atoms)
    if any(predicate(v) in rest.schema.entangled for v in inside):
        return None
    most = max((len(rule.sorts) for rule in around.rules), default=0)
    named = frozenset(e for v in inside for e in atom_of(v).elements)
    pool = rest.profiles.pool(sorted(named), most)
    try:
        found = [s for v in inside for s in around.standing_for_all(v, named, pool)]
    except (Unfaithful, TooMany):
        return None
    return _sorted_out(rest, inside, found)


def _sorted_out(rest: Rest, inside: tuple[Variable, ...], found: list[Standing]) -> Straddling | None:
    members = frozenset(inside)
    sentences: dict[Sentence, None] = {}
    parents: dict[Variable, frozenset[Variable]] = {v: frozenset() for v in inside}
    for sentence, is_loose in found:
        free = [v for v in sentence.scope if v not in members and predicate(v) in rest.free]
        if free and sentence.claim_scope == tuple(free):
            # It restricts a free atom given others, and some probability will do.
            continue
        if free:
            raise Leaning(frozenset(map(predicate, free)))
        if is_loose and len(members.intersection(sentence.scope)) > 1:
            return None
        sentences[sentence] = None
        for v in members.intersection(sentence.claim_scope):
            parents[v] |= parents_in(sentence, v) & members
    return Straddling(inside, tuple(sentences), parents)
