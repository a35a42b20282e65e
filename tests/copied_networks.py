"""Two blocks whose members are copies of each other: what narrower readings of the Markov condition miss.

Input: a seed. Output: a small network with a question, and one of its models in fractions. Who knows a copy
of a variable knows the variable: so all that the local condition demands of a block holds in this model,
although the two blocks may depend on each other as they like. The blocks of a chain graph may not.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from credalog.network.formulas import TRUE, Formula, Is, Not, Variable, Xor
from credalog.network.sentences import Network, Query, Sentence
from oracle import event, violations, worlds
from random_networks import Case, _formula, _literal, some_of

__all__ = ["KIND", "copied_case"]

Rng = np.random.Generator

KIND = "copies"


def copied_case(seed: int) -> tuple[Case, list[Fraction]]:
    """Draw a network around copies, and return it with the masses of its worlds in that model."""
    rng = np.random.default_rng([17, seed])
    blocks = [tuple(Variable(name) for name in names) for names in ("ab", "cd")]
    child = (Variable("e"),) if rng.random() < 0.4 else ()
    variables = (*blocks[0], *blocks[1], *child)
    joint = _copies(rng, blocks, child)
    bare = Network(variables, ())
    said = [_said(rng, bare, joint, *pair) for block in blocks for pair in _about(rng, block)]
    if child:
        configurations = [(x, y) for x in _signs(blocks[0][0]) for y in _signs(blocks[1][0])]
        said += [_said(rng, bare, joint, Is(child[0]), x & y) for x, y in configurations]
    network = Network(variables, tuple(said))
    assert violations(np.array([float(p) for p in joint]), network).worst < 1e-12
    return Case(KIND, seed, network, _question(rng, blocks, child)), joint


def _copies(rng: Rng, blocks: Sequence[Sequence[Variable]], child: Sequence[Variable]) -> list[Fraction]:
    """Return the masses of all worlds; two coins that depend on each other are what the blocks are."""
    weights = [int(k) for k in rng.choice([0, 1, 2, 5], size=4)]
    weights[0 if rng.random() < 0.5 else 3] += 3
    weights[1] += 1
    chances = [Fraction(int(k), 10) for k in rng.integers(0, 11, size=4)]
    network, masses = Network((*blocks[0], *blocks[1], *child), ()), []
    for world in worlds(network):
        states = [{world[v] == "true" for v in block} for block in blocks]
        if any(len(block) > 1 for block in states):
            masses.append(Fraction(0))
            continue
        place = sum(2**k for k, block in enumerate(states) if True in block)
        mass = Fraction(weights[place], sum(weights))
        for v in child:
            mass *= chances[place] if world[v] == "true" else 1 - chances[place]
        masses.append(mass)
    return masses


def _signs(variable: Variable) -> tuple[Formula, Formula]:
    return Is(variable), Not(Is(variable))


def _about(rng: Rng, block: Sequence[Variable]) -> list[tuple[Formula, Formula]]:
    """Tie a block: by conditions around it, by a formula, or by both; and mostly say how likely it is."""
    first, second = map(Is, block)
    found: list[tuple[Formula, Formula]] = []
    if rng.random() < 0.7:
        found += [(first, second), (second, first)]
    if not found or rng.random() < 0.6:
        found.append((Xor((first, second)) if rng.random() < 0.4 else _formula(rng, block), TRUE))
    return [*found, (first, TRUE)] if rng.random() < 0.9 else found


def _said(rng: Rng, network: Network, joint: Sequence[Fraction], claim: Formula, given: Formula) -> Sentence:
    """Bound a probability around its value: that of one variable closely, what ties several loosely."""
    mass = _mass(network, joint, given)
    value = _mass(network, joint, claim & given) / mass if mass else Fraction(1, 2)
    below, above = (Fraction(int(k), 40 if given == TRUE else 10) for k in rng.integers(0, 8, 2))
    lower, upper = max(value - below, Fraction(0)), min(value + above, Fraction(1))
    return Sentence.of(claim, lower, upper, given=given)


def _mass(network: Network, joint: Sequence[Fraction], formula: Formula) -> Fraction:
    inside = event(network, formula)
    return sum((p for p, is_in in zip(joint, inside, strict=True) if is_in), Fraction(0))


def _question(rng: Rng, blocks: Sequence[Sequence[Variable]], child: Sequence[Variable]) -> Query:
    """Ask across the blocks."""
    ends = [some_of(rng, block, 1, 1)[0] for block in blocks]
    if rng.random() < 0.5:
        first, second = (_literal(rng, v) for v in (*ends[:1], *child, *ends[1:])[-2:])
        return Query(first, second)
    return Query(_formula(rng, ends))
