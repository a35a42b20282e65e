"""Bounds in the presence of observations that are too far away, or too many, to take part.

Input: a theory read backwards and a query with evidence. Output: a slice around what is asked for and the
question to put to it: its bounds hold whatever is observed elsewhere (docs/proofs.md, proof 17). Kept
is only what far evidence cannot change: the probabilities of an atom in each configuration of its parents,
where no far observation may descend from the atom.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from credalog.grounding.around import Around
from credalog.grounding.schema import Schema
from credalog.grounding.slices import (
    Size,
    Slice,
    frame_of,
    parents_of,
    slice_around,
    tied_among,
)
from credalog.network.formulas import And, Formula, Variable, conjunction, scope, truth_table
from credalog.network.sentences import Query, Sentence
from credalog.numbers.budget import Budget

__all__ = ["MOST_ASKED", "nearby"]

MOST_ASKED = 100
"""Questions about more atoms than this, with their evidence, are asked with the evidence nearby only."""

NEAR = Size(12, 0, is_ancestral=True)


def nearby(around: Around, schema: Schema, asked: Query, budget: Budget) -> tuple[Slice, Query] | None:
    """Return what bounds a question under evidence that is mostly far away; None where nothing is far."""
    claimed = scope(asked.claim)
    size = replace(NEAR, atoms=NEAR.atoms + len(claimed))
    found = slice_around(around, schema, Query(asked.claim), size, budget)
    inside = frozenset(found.network.variables)
    parts = asked.given.operands if isinstance(asked.given, And) else (asked.given,)
    near = [part for part in parts if inside.issuperset(scope(part))]
    far = frozenset(v for part in parts for v in scope(part) if part not in near)
    if not far or not far.isdisjoint(inside):
        return None
    return _unmoved(around, schema, found, far), Query(asked.claim, conjunction(near))


def _unmoved(around: Around, schema: Schema, found: Slice, far: frozenset[Variable]) -> Slice:
    """Keep of a slice what evidence elsewhere leaves as it is."""
    atoms = found.network.variables
    families = {v: parents_of(around, schema, v, frozenset(atoms)) for v in atoms}
    tied = tied_among(schema, atoms, found.open_atoms, far)
    kept = {v: parents for v, parents in families.items() if parents is not None and v not in tied}
    sentences = tuple(s for s in found.network.sentences if _is_unmoved(s, kept))
    network = replace(found.network, sentences=sentences)
    return Slice(network, frame_of(network, kept, tied), frozenset(tied))


def _is_unmoved(sentence: Sentence, kept: Mapping[Variable, frozenset[Variable]]) -> bool:
    """Tell whether a sentence is about one kept atom in one configuration of its parents."""
    if len(sentence.claim_scope) != 1 or sentence.claim_scope[0] not in kept:
        return False
    parents = kept[sentence.claim_scope[0]]
    return parents == frozenset(sentence.given_scope) and _is_configuration(sentence.given)


def _is_configuration(given: Formula) -> bool:
    return int(truth_table(given, scope(given)).sum()) == 1
