"""Random first-order theories, small enough to be grounded whole.

Input: a generator. Output: the text of a theory over two sorts with unary and binary predicates, one of them
symmetric, relations in guards and in formulas, quantifiers, ties, conditions, and evidence; and questions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

UNARY = ("A", "B", "C")
BINARY = ("R", "S")


@dataclass(frozen=True)
class RandomTheory:
    """A text, and questions about it."""

    text: str
    questions: tuple[str, ...]


def random_theory(generator: np.random.Generator, *, people: int = 3) -> RandomTheory:
    """Draw a theory of a few rules over a few people."""
    names = [f"p{i}" for i in range(people)]
    lines = [
        f"domain Person = {{{', '.join(names)}}}",
        "domain Place = {here, there}",
        "predicate A(Person), B(Person), C(Person)",
        "predicate R(Person, Person) symmetric, S(Person, Person)",
        "predicate H(Place), L(Person, Place)",
        f"relation Old(Person) = {{{', '.join(names[: int(generator.integers(0, people))])}}}",
        f"relation Near(Person, Person) = {{{_pairs(generator, names)}}}",
    ]
    lines += [_rule(generator, names) for _ in range(int(generator.integers(1, 5)))]
    questions = tuple(f"P({_question(generator, names)})" for _ in range(2))
    return RandomTheory("\n".join(lines), questions)


def _pairs(generator: np.random.Generator, names: list[str]) -> str:
    pairs = [f"({x}, {y})" for x in names for y in names if x != y and generator.random() < 0.4]
    return ", ".join(pairs)


def _rule(generator: np.random.Generator, names: list[str]) -> str:
    count = int(generator.integers(1, 4)) if generator.random() < 0.4 else int(generator.integers(1, 3))
    variables = ["x", "y", "z"][:count]
    binder = f"{', '.join(variables)} in Person"
    if count > 1 and generator.random() < 0.8:
        binder += " distinct"
    binder += _guard(generator, variables)
    claim = _claim(generator, variables)
    given = "" if generator.random() < 0.35 else f" | {_formula(generator, variables, 2)}"
    low, high = np.sort(generator.integers(0, 11, 2)) / 10
    if generator.random() < 0.3:
        low, high = 0.0, max(float(high), 0.3)
    tau = " ; tau=False" if generator.random() < 0.15 else ""
    return f"forall {binder}: {low} <= P({claim}{given}) <= {high}{tau}"


def _guard(generator: np.random.Generator, variables: list[str]) -> str:
    chance = generator.random()
    if chance < 0.15:
        return f", Old({variables[0]})"
    if chance < 0.25:
        return f", not Old({variables[0]})"
    if chance < 0.45 and len(variables) > 1:
        return f", Near({variables[0]}, {variables[1]})"
    if chance < 0.5 and len(variables) > 1:
        return f", not Near({variables[0]}, {variables[1]})"
    if chance < 0.55 and len(variables) > 1:
        return f", {variables[0]} < {variables[1]}"
    return ""


def _claim(generator: np.random.Generator, variables: list[str]) -> str:
    atom = _atom(generator, variables)
    chance = generator.random()
    if chance < 0.6:
        return atom
    if chance < 0.7:
        return f"!{atom}"
    connective = str(generator.choice(["xor", "and", "or", "->"]))
    return f"{atom} {connective} {_atom(generator, variables)}"


def _formula(generator: np.random.Generator, variables: list[str], depth: int) -> str:
    chance = generator.random()
    if chance < 0.06 and len(variables) > 1:
        return f"Near({variables[0]}, {variables[1]})"
    if chance < 0.12:
        return f"(exists w in Person, w != {variables[0]}: {_atom(generator, [*variables, 'w'])})"
    if depth == 0 or chance < 0.6:
        return _atom(generator, variables) if generator.random() < 0.7 else f"!{_atom(generator, variables)}"
    parts = [_formula(generator, variables, depth - 1) for _ in range(2)]
    return f"({parts[0]} {generator.choice(['and', 'or'])} {parts[1]})"


def _atom(generator: np.random.Generator, variables: list[str]) -> str:
    chance = generator.random()
    if chance < 0.7 or len(variables) < 2:
        if generator.random() < 0.1:
            return f"L({generator.choice(variables)}, here)"
        return f"{generator.choice(UNARY)}({generator.choice(variables)})"
    first, second = generator.choice(variables, 2, replace=False)
    return f"{generator.choice(BINARY)}({first}, {second})"


def _question(generator: np.random.Generator, names: list[str]) -> str:
    chosen = [str(name) for name in generator.choice(names, 2, replace=False)]
    claim = _atom(generator, chosen)
    if generator.random() < 0.4:
        claim = f"{claim} {generator.choice(['and', 'or'])} {_atom(generator, chosen)}"
    if generator.random() < 0.4:
        return f"({claim}) | {_formula(generator, chosen, 1)}" if "exists" not in claim else claim
    return claim
