"""Repairs that people can choose from, and the text with one of them made.

Input: a network that contradicts itself. Output: `Repairs`: the cheapest repair and its runners-up, each of
which leaves alone a sentence that a cheaper one changes; and the text in which the changed sentences have
their new bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from credalog.methods.answer import Options
from credalog.network.sentences import Contrast, Network, Sentence
from credalog.numbers.budget import Budget
from credalog.numbers.printed import Printed
from credalog.questions.diagnose import Change, Diagnosis, Repair, diagnose, repair
from credalog.text.statements import statements
from credalog.text.unparse import unparse_sentence

__all__ = ["MOST", "Repairs", "mended", "repairs", "with_changes_in"]

MOST = 3
"""How many repairs are offered, unless told otherwise."""

DIAGNOSIS_SHARE = 0.5
"""The share of the time for the conflict and the cheapest repair; the runners-up share the rest."""


@dataclass(frozen=True, slots=True, repr=False)
class Repairs(Printed):
    """What is wrong with a network, and the repairs that were found, the cheapest first.

    `is_interrupted` says that the user stopped the work.
    """

    diagnosis: Diagnosis
    repairs: tuple[Repair, ...]
    seconds: float = field(default=0.0, compare=False)
    is_interrupted: bool = False

    def __iter__(self) -> Iterator[Repair]:
        return iter(self.repairs)

    def __len__(self) -> int:
        return len(self.repairs)

    def __getitem__(self, number: int) -> Repair:
        return self.repairs[number]

    def __str__(self) -> str:
        return "; or ".join(map(str, self.repairs)) or self.diagnosis.verdict.value

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` writes."""
        return {
            "diagnosis": self.diagnosis.to_dict(),
            "repairs": [one.to_dict() for one in self.repairs],
            "is_interrupted": self.is_interrupted,
            "seconds": self.seconds,
        }


def repairs(
    network: Network,
    options: Options = Options(),
    *,
    weights: Mapping[str, float] | None = None,
    most: int = MOST,
) -> Repairs:
    """Find the cheapest repair of a network, and others that leave its sentences alone one by one."""
    budget = Budget.of(options.timeout)
    share = budget.share(DIAGNOSIS_SHARE)
    found = diagnose(network, replace(options, timeout=share.for_solver), weights=weights)
    known = [] if found.repair is None else [found.repair]
    if found.repair is None or found.is_interrupted:
        return Repairs(found, tuple(known), budget.elapsed, found.is_interrupted)
    is_interrupted = False
    try:
        for other in _others(network, found, options, weights, budget, most):
            if all(_changed(other) != _changed(one) for one in known):
                known.append(other)
            if len(known) >= most:
                break
    except KeyboardInterrupt:
        is_interrupted = True
    return Repairs(found, tuple(sorted(known, key=lambda one: one.price)), budget.elapsed, is_interrupted)


def _others(
    network: Network,
    found: Diagnosis,
    options: Options,
    weights: Mapping[str, float] | None,
    budget: Budget,
    most: int,
) -> Iterator[Repair]:
    """Yield repairs in which a sentence of the cheapest is not touched, or one that another would change."""
    assert found.repair is not None
    open_, tried = [frozenset({n}) for n in _numbers(network, found.repair)], set[frozenset[int]]()
    while open_ and not budget.is_spent:
        forbidden = open_.pop(0)
        if forbidden in tried:
            continue
        tried.add(forbidden)
        limits = replace(options, timeout=budget.share(1.0 / most).for_solver)
        other = repair(network, limits, known=found.conflict, weights=weights, forbidden=forbidden)
        if other is not None:
            yield other
            open_ += [forbidden | {n} for n in _numbers(network, other)]


def _changed(one: Repair) -> frozenset[Sentence]:
    return frozenset(change.before for change in one.changes)


def _numbers(network: Network, one: Repair) -> list[int]:
    """Return the numbers of the sentences that a repair changes, the most changed first."""
    changes = sorted(one.changes, key=lambda change: -change.widening)
    places = {id(sentence): n for n, sentence in enumerate(network.sentences)}
    return [places[id(change.before)] for change in changes if id(change.before) in places]


# ---- the mended text --------------------------------------------------------------------------------------


def mended(network: Network, chosen: Repair) -> Network:
    """Return a network with the bounds of a repair."""
    after = {(c.before, c.before.source): c.after for c in chosen.changes}
    sentences = tuple(after.get((s, s.source), s) for s in network.sentences)
    contrasts = tuple(_contrast_after(contrast, chosen) for contrast in network.contrasts)
    return replace(network, sentences=sentences, contrasts=contrasts)


def _contrast_after(contrast: Contrast, chosen: Repair) -> Contrast:
    """Return a sentence across conditions as wide as the sentence that stood for it has become."""
    for change in chosen.changes:
        before, after = change.before, change.after
        # Instances of one rule have one label and one place.
        if before.across is not None and _is_same(before.across[0], contrast):
            lower = contrast.lower + after.lower - before.lower
            return replace(contrast, lower=lower, upper=contrast.upper + after.upper - before.upper)
    return contrast


def _is_same(one: Contrast, other: Contrast) -> bool:
    return (one, one.source) == (other, other.source)


def with_changes_in(text: str, changes: tuple[Change, ...], file: str) -> str | None:
    """Return a text whose changed statements have their new bounds, and say what they were in a comment.

    None where a changed sentence does not stand in the text as a statement of its own.
    """
    spans = {s.line: s.text.count("\n") + 1 for s in statements(text, file)}
    lines = text.split("\n")
    for change in sorted(changes, key=lambda c: -(c.before.source.line if c.before.source else 0)):
        source = change.before.source
        if source is None or source.file != file or source.line not in spans:
            return None
        first = source.line - 1
        old = lines[first : first + spans[source.line]]
        was = " ".join(part.strip() for part in old)
        lines[first : first + len(old)] = [f"{unparse_sentence(change.after)}    # was: {was}"]
    return "\n".join(lines)
