"""Models of a whole theory that are written down around a question only.

Input: the atoms of a slice, and values for the cells of everything else. Output: `Residue`: what the theory
says of these atoms once the rest is certain, as a network with its frame. A model of it, times the certain
rest, extended by the free atoms, is a model of the whole grounding (docs/proofs.md, proof 16).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from credalog.grounding.around import Around, Standing, TooMany, Unfaithful, atom_of
from credalog.methods.cliques.models.fixing import network_in
from credalog.methods.lifted.rest import Cells, Rest
from credalog.methods.lifted.slices import frame_of, parents_in, predicate
from credalog.network.formulas import Variable
from credalog.network.sentences import Network, Sentence

__all__ = ["Residue", "Straddling", "straddling"]


@dataclass(frozen=True, slots=True)
class Straddling:
    """All that is said of some atoms, with elements that stand for all others."""

    atoms: tuple[Variable, ...]
    sentences: tuple[Sentence, ...]
    outside: tuple[Variable, ...]
    frame: Network

    def residue(self, rest: Rest, cells: Cells) -> Residue | None:
        """Return what is left where the rest is certain; None where that cannot be."""
        world = {v: rest.value(cells, atom_of(v)) for v in self.outside}
        network = network_in(Network((*self.atoms, *self.outside), self.sentences), world)
        return None if network is None else Residue(network, self.frame)


@dataclass(frozen=True, slots=True)
class Residue:
    """What a theory says of some atoms where all others are certain, and the graph among them."""

    network: Network
    frame: Network


def straddling(around: Around, rest: Rest, atoms: Iterable[Variable]) -> Straddling | None:
    """Gather all that is said of some atoms; None where no few elements can stand for the others."""
    inside = tuple(atoms)
    if any(predicate(v) in rest.schema.entangled for v in inside):
        return None
    most = max((len(rule.sorts) for rule in around.rules), default=0)
    pool = rest.profiles.pool((e for v in inside for e in atom_of(v).elements), most)
    try:
        found = [s for v in inside for s in around.standing_for_all(v, pool)]
    except (Unfaithful, TooMany):
        return None
    return _sorted_out(rest, inside, found)


def _sorted_out(rest: Rest, inside: tuple[Variable, ...], found: list[Standing]) -> Straddling | None:
    members = frozenset(inside)
    sentences: dict[Sentence, None] = {}
    outside: dict[Variable, None] = {}
    parents: dict[Variable, set[Variable]] = {v: set() for v in inside}
    for sentence, is_loose in found:
        free = [v for v in sentence.scope if v not in members and predicate(v) in rest.free]
        if free and sentence.claim_scope == tuple(free):
            # It restricts a free atom given others, and some probability will do.
            continue
        if free or (is_loose and len(members.intersection(sentence.scope)) > 1):
            return None
        sentences[sentence] = None
        outside.update(dict.fromkeys(v for v in sentence.scope if v not in members))
        for v in members.intersection(sentence.claim_scope):
            parents[v] |= parents_in(sentence, v) & members
    frame = frame_of(Network(inside, ()), parents)
    return Straddling(inside, tuple(sentences), tuple(outside), frame)
