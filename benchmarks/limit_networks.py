"""Networks that take long, for the page of time limits.

Input: the folder of the public files. Output: `Case`s: the text of a network, and what is asked of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from random import Random

import numpy as np

from credalog import load

__all__ = ["Case", "cases", "other_cases"]

SEED = 5
WIDENING = Fraction(2, 100)


@dataclass(frozen=True)
class Case:
    """A network as text, or as a file as it is, and what is asked of it."""

    name: str
    text: str
    query: str
    chosen: tuple[str, ...]
    suffix: str = ".lcn"
    measured: str = ""
    """What is imagined to be measured; a chosen proposition where nothing is named."""


def smokers(people: int) -> Case:
    """Return example 1 of the paper with so many people."""
    text = f"""domain Person = {{{", ".join(f"p{i}" for i in range(people))}}}
predicate Fr(Person, Person) symmetric
predicate Sm(Person), Ca(Person)
friends: forall x, y, z in Person distinct: 0.5 <= P(Fr(x,z) | Fr(x,y) & Fr(y,z)) <= 1
alike:   forall x, y in Person distinct:    0 <= P(Sm(x) xor Sm(y) | Fr(x,y)) <= 0.2
smoke:   forall x in Person: 0.03 <= P(Ca(x) | Sm(x)) <= 0.04
clean:   forall x in Person: 0 <= P(Ca(x) | !Sm(x)) <= 0.01
"""
    return Case(f"Example 1, {people} people", text, "P(Ca(p0) or Ca(p1))", ("Ca(p0)", "Sm(p0)"))


def ties(shape: str, atoms: int) -> Case:
    """Return a chain, a ring or a grid of three columns, of atoms that are tied to their neighbours."""
    pairs = [(i, i + 1) for i in range(atoms - 1) if shape != "grid" or i % 3 < 2]
    pairs += [(atoms - 1, 0)] if shape == "ring" else []
    pairs += [(i, i + 3) for i in range(atoms - 3)] if shape == "grid" else []
    lines = [f"0.7 <= P(s{i} iff s{j}) <= 0.9" for i, j in pairs]
    text = "\n".join(["0.3 <= P(s0) <= 0.4", *lines]) + "\n"
    return Case(f"{shape} of {atoms} ties", text, "P(s0 and s2)", ("s0", "s5"))


def fact_graph(atoms: int) -> Case:
    """Return claims with contexts that entail or contradict them, and claims that bear on each other."""
    rng = np.random.default_rng(SEED)
    claims = atoms // 3
    # Independent atoms with these chances are a model.
    chances = rng.uniform(0.2, 0.8, size=claims)
    lines = [f"{p - 0.1:.3f} <= P(a{i}) <= {p + 0.1:.3f}" for i, p in enumerate(chances)]
    for i in range(claims, atoms):
        lines.append(f"0.9 <= P(c{i}) <= 0.99")
        for j in rng.choice(claims, size=2, replace=False):
            is_entailed = rng.random() < 0.7
            broken = 0.95 * (1.0 - chances[j] if is_entailed else chances[j])
            relation = f"!c{i} or {'' if is_entailed else '!'}a{j}"
            lines.append(f"{0.95 - broken:.3f} <= P({relation}) <= 1")
    for i, j in rng.choice(claims, size=(claims // 2, 2)):
        lines += [f"{0.95 - chances[i] * (1.0 - chances[j]):.3f} <= P(!a{i} or a{j}) <= 1"] if i != j else []
    return Case(f"fact graph of {atoms} atoms", "\n".join(lines) + "\n", "P(a0 and a1)", ("a0", "a1"))


def nested(elements: int) -> Case:
    """Return a condition that some pair is related, with so many squared atoms."""
    text = f"""domain D = 1..{elements}
predicate r(D, D), q
0.1 <= P(q | exists x in D: exists y in D: r(x,y)) <= 0.2
0.3 <= P(q | !(exists x in D: exists y in D: r(x,y))) <= 0.4
"""
    return Case(f"exists in exists, {elements} x {elements}", text, "P(q)", ("q",))


def many_rules(people: int) -> Case:
    """Return a theory with a sentence for each pair of people."""
    text = f"""domain Person = 1..{people}
predicate Sm(Person), Ca(Person)
forall x, y in Person distinct: 0 <= P(Sm(x) xor Sm(y)) <= 0.4
forall x in Person: 0.03 <= P(Ca(x) | Sm(x)) <= 0.04
forall x in Person: 0 <= P(Ca(x) | !Sm(x)) <= 0.01
"""
    return Case(f"{people} people in pairs", text, "P(Ca(1) or Ca(2))", ("Ca(1)", "Sm(1)"))


def many_facts(facts: int) -> Case:
    """Return rules that follow the facts of a sparse relation."""
    rng, people = Random(SEED), facts // 5
    met = {(rng.randint(1, people), rng.randint(1, people)) for _ in range(facts)}
    listed = ", ".join(f"({x}, {y})" for x, y in sorted(met))
    text = f"""domain Person = 1..{people}
predicate Ill(Person), Cough(Person)
relation Met(Person, Person) = {{{listed}}}
forall x in Person: 0.01 <= P(Ill(x)) <= 0.05
forall x, y in Person, Met(x, y), x != y: P(Ill(y) | Ill(x)) >= 0.04
forall x in Person: 0.5 <= P(Cough(x) | Ill(x)) <= 0.6
"""
    return Case(f"{facts:,} facts", text, "P(Cough(1) or Cough(2))", ("Cough(1)", "Ill(1)"))


def many_sentences(atoms: int) -> Case:
    """Return plain sentences: a random acyclic network of two parents each, with some ties."""
    rng, lines = Random(SEED), ["0.2 <= P(x0) <= 0.4", "0.2 <= P(x1) <= 0.4"]
    for i in range(2, atoms):
        left, right = rng.sample(range(max(0, i - 30), i), 2)
        for signs in (("", ""), ("", "!"), ("!", ""), ("!", "!")):
            low = rng.uniform(0.1, 0.7)
            given = f"{signs[0]}x{left} & {signs[1]}x{right}"
            lines.append(f"{low:.3f} <= P(x{i} | {given}) <= {low + 0.1:.3f}")
        lines += [f"0.1 <= P(x{i} or x{left}) <= 1"] if i % 50 == 0 else []
    text = "\n".join(lines) + "\n"
    return Case(f"{len(lines):,} plain sentences", text, f"P(x{atoms // 2} | x0)", ("x1", "x5"))


def bayesian(path: Path, *, is_wide: bool) -> Case:
    """Return a Bayesian network as it is, or with every probability an interval."""
    model = load(path)
    first, second = model.variables[0], model.variables[-1]
    measured = str(second.is_(second.values[0]))
    asked = f"P({first.is_(first.values[0])} | {measured})"
    chosen = (first.name, model.variables[1].name)
    if not is_wide:
        return Case(path.name, path.read_text(encoding="utf-8"), asked, chosen, ".bif", measured)
    return Case(f"{path.name} ± 0.02", model.widen(by=WIDENING).unparse(), asked, chosen, measured=measured)


def published(path: Path) -> Case:
    """Return a public file as it is."""
    model = load(path)
    first, second = (v.is_(v.values[0]) if not v.is_proposition else v for v in model.variables[:2])
    names = tuple(v.name for v in model.variables[:2])
    return Case(path.stem[:24], model.unparse(), f"P({first} | {second})", names, measured=str(second))


def long_text(lines: int) -> Case:
    """Return a text whose reading takes longer than short limits: formulas that differ from line to line."""
    rng, found = Random(SEED), list[str]()
    for i in range(lines):
        words = " and ".join(f"({rng.choice(('', '!'))}y{rng.randrange(i + 1)} or z{i})" for _ in range(5))
        found.append(f"0.1 <= P(y{i} | {words}) <= 0.9")
    return Case(f"a text of {lines:,} lines", "\n".join(found) + "\n", "P(y0)", ("y0", "y1"))


def explosion(elements: int) -> Case:
    """Return a theory whose grounding is larger than any limit allows."""
    text = f"""domain D = 1..{elements}
predicate r(D, D), q(D)
forall x, y, z in D distinct: 0.1 <= P(r(x,z) | r(x,y) & r(y,z) & (exists w in D: r(w,x) & q(w))) <= 1
"""
    return Case(f"a theory that explodes, {elements} elements", text, "P(q(1) or q(2))", ("q(1)", "q(2)"))


USUAL_FILES = tuple(
    (name, is_wide) for name in ("munin1", "link", "pigs", "andes") for is_wide in (False, True)
)
FILES = ("alarm", "child", "hailfinder", "hepar2", "andes", "munin1", "link", "pigs")
COURT = "supreme_court_judicial_power_source_variants_n10_2.lcn"


def cases(data: Path) -> Iterator[Callable[[], Case]]:
    """Yield the networks of the usual page, each to be made when its turn comes."""
    yield lambda: smokers(20)
    yield lambda: ties("grid", 1_000)
    yield lambda: fact_graph(100)
    yield lambda: nested(300)
    yield lambda: many_rules(300)
    yield lambda: many_sentences(8_000)
    yield lambda: many_facts(30_000)
    yield lambda: long_text(30_000)
    yield lambda: explosion(150)
    files = [(data / "bif" / f"{name}.bif", is_wide) for name, is_wide in USUAL_FILES]
    yield from (lambda p=path, w=is_wide: bayesian(p, is_wide=w) for path, is_wide in files if path.exists())
    court = data / "lcn" / "benchmarks" / "junkyu" / COURT
    if court.exists():
        yield lambda: published(court)


def other_cases(data: Path) -> Iterator[Callable[[], Case]]:
    """Yield the networks that are left out of the usual page."""
    yield from (lambda n=n: smokers(n) for n in (3, 6, 40))
    yield from (lambda s=s, n=n: ties(s, n) for s in ("chain", "ring") for n in (100, 1_000))
    yield lambda: ties("grid", 100)
    yield lambda: fact_graph(20)
    yield lambda: many_rules(180)
    yield lambda: many_facts(1_000_000)
    others = [(name, w) for name in FILES for w in (False, True) if (name, w) not in USUAL_FILES]
    for name, is_wide in others:
        if (path := data / "bif" / f"{name}.bif").exists():
            yield partial(bayesian, path, is_wide=is_wide)
    yield from (lambda p=path: published(p) for path in sorted((data / "lcn" / "examples").glob("*.lcn")))
