"""Random first-order theories that combine everything the language has.

Input: a generator. Output: the text of a theory and questions. Two sorts, a function, unary and binary
relations, a proposition, named elements, a variable of three values, quantifiers in P(...), linear claims,
equations and orders in guards, sums of numbers, ties with and without tau, declared independences, evidence
that joins every question.
"""

from __future__ import annotations

import numpy as np

from random_theories import RandomTheory

UNARY = ("A", "B", "C", "D")
BINARY = ("R", "S")


def combined_theory(generator: np.random.Generator, *, people: int = 3) -> RandomTheory:
    """Draw a theory whose rules come from different families."""
    names = [str(i) for i in range(1, people + 1)]
    lines = [
        f"domain Person = 1..{people}",
        "domain Place = {here, there}",
        "proposition G",
        "predicate A(Person), B(Person), C(Person), D(Person)",
        "predicate R(Person, Person) symmetric, S(Person, Person), H(Place)",
        "variable Mood(Person) in {good, fair, bad}",
        f"relation Old(Person) = {{{', '.join(names[: int(generator.integers(0, people))])}}}",
        f"relation Near(Person, Person) = {{{_pairs(generator, names)}}}",
        f"function home(Person) in Place = {{{', '.join(_homes(generator, names))}}}",
    ]
    used = [str(name) for name in generator.choice(UNARY, int(generator.integers(1, 4)), replace=False)]
    lines += [_rule(generator, used, names) for _ in range(int(generator.integers(2, 6)))]
    if generator.random() < 0.08:
        lines.append(f"forall x, y in Person, x < y: independent {used[0]}(x), {used[-1]}(y)")
    if generator.random() < 0.15:
        lines.append(f"evidence {_literal(generator, used, [str(generator.choice(names))])}")
    questions = tuple(f"P({_question(generator, used, names)})" for _ in range(3))
    return RandomTheory("\n".join(lines), questions)


def _pairs(generator: np.random.Generator, names: list[str]) -> str:
    chosen = [f"({x}, {y})" for x in names for y in names if x != y and generator.random() < 0.4]
    return ", ".join(chosen)


def _homes(generator: np.random.Generator, names: list[str]) -> list[str]:
    return [f"{x}: {generator.choice(['here', 'there'])}" for x in names]


def _interval(generator: np.random.Generator) -> tuple[float, float]:
    """Draw bounds; half of them say little, so that many rules agree."""
    low, high = np.sort(generator.integers(0, 11, 2)) / 10
    chance = generator.random()
    if chance < 0.3:
        return 0.0, max(float(high), 0.3)
    return (min(float(low), 0.7), 1.0) if chance < 0.6 else (float(low), float(high))


def _rule(generator: np.random.Generator, used: list[str], names: list[str]) -> str:
    low, high = _interval(generator)
    tau = " ; tau=False" if generator.random() < 0.1 else ""
    body = _body(generator, used, names)
    return body.format(low=low, high=high) + tau


def _body(generator: np.random.Generator, used: list[str], names: list[str]) -> str:
    """Draw a form of rule: `{low}` and `{high}` stand for its bounds."""
    first, second = (str(name) for name in generator.choice(used, 2))
    bar = "" if generator.random() < 0.3 else f" | {_formula(generator, used, ['x', 'y'])}"
    pair = f"forall x, y in Person distinct{_guard(generator)}"
    forms = [
        f"forall x in Person: {{low}} <= P({first}(x)) <= {{high}}",
        f"forall x in Person: {{low}} <= P({first}(x) | {_literal(generator, used, ['x'])}) <= {{high}}",
        f"{pair}: {{low}} <= P({first}(x){bar}) <= {{high}}",
        f"{pair}: {{low}} <= P({first}(x) xor {second}(y){bar}) <= {{high}}",
        f"forall x, y in Person, x < y: {{low}} <= P({first}(x) and {second}(y)) <= {{high}}",
        f"forall x in Person, x < {len(names)}: {{low}} <= P({first}(x+1) | {first}(x)) <= {{high}}",
        f"forall x, y in Person, y < x: {{low}} <= P({first}(x) | {second}(y)) <= {{high}}",
        f"forall x in Person: {{low}} <= P({first}(x) | G) <= {{high}}",
        "{low} <= P(G) <= {high}",
        f"forall x in Person, Old(x): {{low}} <= P(G | {first}(x)) <= {{high}}",
        f"forall x in Person: {{low}} <= P({first}(x) | H(home(x))) <= {{high}}",
        f"forall c in Place: {{low}} <= P(H(c) | {first}(1)) <= {{high}}",
        f"forall x in Person, c in Place, home(x) = c: {{low}} <= P({first}(x) or H(c)) <= {{high}}",
        f"forall x in Person: {{low}} <= P({first}(x) | exists y in Person, y != x: {second}(y)) <= {{high}}",
        f"forall x in Person: {{low}} <= P(exists y in Person, Near(x, y): {first}(y)) <= {{high}}",
        f"forall x in Person: {{low}} <= P({first}(x) | forall y in Person: {second}(y)) <= {{high}}",
        f"forall x in Person: P({first}(x)) + P({second}(x)) <= {{high}} + 0.6",
        f"forall x, y in Person distinct: {{low}} <= P({first}(x) | {second}(y) & Near(x, y)) <= {{high}}",
        f"forall x, y in Person: {{low}} <= P({first}(x) | {second}(y) & x = y) <= {{high}}",
        f"forall x in Person: {{low}} <= P(Mood(x) = good | {first}(x)) <= {{high}}",
        f"forall x in Person: {{low}} <= P({first}(x) | Mood(x) = bad) <= {{high}}",
        "forall x, y in Person, Near(x, y): {low} <= P(Mood(x) = Mood(y)) <= {high}",
        f"forall x, y in Person distinct: {{low}} <= P(R(x, y) | {first}(x) & {second}(y)) <= {{high}}",
        f"forall x, y in Person distinct: {{low}} <= P({first}(x) xor {first}(y) | R(x, y)) <= {{high}}",
        f"forall x, y in Person distinct: {{low}} <= P({first}(x) | S(x, y)) <= {{high}}",
        f"forall x in Person: {{low}} <= P({first}(x) | {second}(2)) <= {{high}}",
        f"{{low}} <= P({first}(1)) <= {{high}}",
    ]
    return str(forms[int(generator.integers(len(forms)))])


def _guard(generator: np.random.Generator) -> str:
    guards = (
        "",
        "",
        "",
        ", Old(x)",
        ", not Old(y)",
        ", Near(x, y)",
        ", Near(y, x)",
        ", not Near(x, y)",
        ", x < y",
    )
    more = (", home(x) = home(y)", ", Old(x) or Old(y)", ", x != 1", ", y = 1")
    return str(generator.choice((*guards, *more)))


def _literal(generator: np.random.Generator, used: list[str], terms: list[str]) -> str:
    return f"{'!' * int(generator.random() < 0.4)}{generator.choice(used)}({generator.choice(terms)})"


def _formula(generator: np.random.Generator, used: list[str], terms: list[str]) -> str:
    if generator.random() < 0.5:
        return _literal(generator, used, terms)
    connective = generator.choice(["and", "or"])
    return f"({_literal(generator, used, terms)} {connective} {_literal(generator, used, terms)})"


def _question(generator: np.random.Generator, used: list[str], names: list[str]) -> str:
    """Draw a claim about one or two people, and evidence near or far."""
    chosen = [str(name) for name in generator.choice(names, 2, replace=False)]
    claim = _literal(generator, used, chosen[:1])
    if generator.random() < 0.4:
        claim = f"{claim} {generator.choice(['and', 'or', 'xor'])} {_literal(generator, used, chosen[1:])}"
    observed = [_literal(generator, used, names) for _ in range(int(generator.integers(0, 4)))]
    if len({one.lstrip("!") for one in observed}) < len(observed):
        observed = observed[:1]
    return f"{claim} | {' & '.join(observed)}" if observed else claim
