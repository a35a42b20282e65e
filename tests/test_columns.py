"""A network in columns says what the same network says sentence by sentence.

Random theories are grounded in columns, sentence by sentence, and by a straightforward grounder that is
written here: nested loops over domains, names as texts, formulas as nested tuples.
"""

from __future__ import annotations

import pickle
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from math import inf
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

from credalog.cli import main
from credalog.errors import CredalogError, UnknownName
from credalog.grounding.network import ground
from credalog.lcn import LCN
from credalog.methods.intervals.factors import Arrays, factor_graph
from credalog.methods.intervals.templates import factors_of
from credalog.network.columns import Block, Kept, Sentences, Variables
from credalog.network.formulas import And, Formula, Iff, Implies, Is, Not, Or, Truth, Variable, Xor
from credalog.network.graph import dependency_graph
from credalog.network.parents import parents_of
from credalog.network.sentences import Network, Sentence
from credalog.numbers.budget import Budget
from credalog.text.parse import _Reader, read
from credalog.theory import Theory
from credalog.theory.rules import Rules, kinds

Tree: TypeAlias = Any
"""A formula: ("is", predicate, arguments, value), or a connective and its operands."""

DOMAINS = {
    "D": ["a", "b", "c", "d"],
    "E": ["b", "d"],
    "N": ["1", "2", "3", "10"],
}
PREDICATES = {"A": ["D"], "B": ["D"], "S": ["D", "D"], "R": ["D", "N"], "C": ["N"], "F": ["E", "D"]}
SYMMETRIC = {"S"}
FACTS = {
    "Near": (["D", "D"], [("a", "b"), ("b", "a"), ("b", "c"), ("d", "d"), ("a", "d")]),
    "Of": (["N", "D"], [("1", "a"), ("2", "b"), ("2", "c"), ("10", "d")]),
}
WORDS = {"and": "and", "or": "or", "xor": "xor", "implies": "->", "iff": "<->"}


@dataclass
class Statement:
    """A random rule, kept in a form that the grounder below can read."""

    binders: list[tuple[str, str]]
    distinct: bool
    guards: list[tuple[Any, ...]]
    claim: Tree
    given: Tree | None
    label: str
    bounds: tuple[str, str]

    def text(self) -> str:
        sorts = {sort for _, sort in self.binders}
        if self.distinct and len(sorts) == 1:
            bound = f"{', '.join(n for n, _ in self.binders)} in {sorts.pop()} distinct"
        else:
            bound = ", ".join(f"{name} in {sort}" for name, sort in self.binders)
        guards = "".join(f", {guard_text(guard)}" for guard in self.guards)
        given = f" | {formula_text(self.given)}" if self.given is not None else ""
        label = f"{self.label}: " if self.label else ""
        head = f"forall {bound}{guards}: " if self.binders else ""
        return f"{label}{head}{self.bounds[0]} <= P({formula_text(self.claim)}{given}) <= {self.bounds[1]}"


def guard_text(guard: tuple[Any, ...]) -> str:
    match guard:
        case ("fact", name, arguments):
            return f"{name}({', '.join(arguments)})"
        case ("not", inner):
            return f"not {guard_text(inner)}"
        case ("any", *parts):
            return "(" + " or ".join(map(guard_text, parts)) + ")"
        case (order, left, right):
            return f"{left} {order} {right}"
    raise AssertionError(guard)


def formula_text(tree: Tree) -> str:
    match tree:
        case ("is", name, arguments, _):
            return f"{name}({', '.join(arguments)})"
        case ("not", inner):
            return f"!({formula_text(inner)})"
        case (connective, *parts):
            return "(" + f" {WORDS[connective]} ".join(map(formula_text, parts)) + ")"
    raise AssertionError(tree)


# ---- drawing ----------------------------------------------------------------------------------------------


@dataclass
class Drawing:
    """Draws theories."""

    rng: random.Random
    names: Iterator[str] = field(default_factory=lambda: iter("xyzuvw"))

    def statement(self, number: int) -> Statement:
        rng = self.rng
        count = rng.choice([0, 1, 1, 2, 2, 3])
        distinct = count > 1 and rng.random() < 0.4
        sort = rng.choice(list(DOMAINS))
        binders = [
            (name, sort if distinct else rng.choice(list(DOMAINS)))
            for name in rng.sample(["x", "y", "z"], count)
        ]
        guards = [self.guard(binders) for _ in range(rng.choice([0, 0, 1, 2]))] if binders else []
        given = None if rng.random() < 0.4 else self.formula(binders, 2)
        bounds = rng.choice([("0.1", "0.2"), ("0", "0.5"), ("0.25", "1"), ("1/3", "0.4")])
        label = f"s{number}" if rng.random() < 0.6 else ""
        return Statement(
            binders,
            distinct,
            [g for g in guards if g is not None],
            self.formula(binders, 2),
            given,
            label,
            bounds,
        )

    def term(self, binders: list[tuple[str, str]], sort: str) -> str:
        fitting = [n for n, s in binders if set(DOMAINS[s]) <= set(DOMAINS[sort])]
        if fitting and self.rng.random() < 0.8:
            return self.rng.choice(fitting)
        return self.rng.choice(DOMAINS[sort])

    def guard(self, binders: list[tuple[str, str]]) -> tuple[Any, ...] | None:
        rng = self.rng
        match rng.choice(["fact", "fact", "compare", "not", "any"]):
            case "fact":
                name = rng.choice(list(FACTS))
                return ("fact", name, tuple(self.term(binders, sort) for sort in FACTS[name][0]))
            case "compare":
                name, sort = rng.choice(binders)
                order = rng.choice(["=", "!=", "<", "<=", ">", ">="])
                same = [n for n, s in binders if s == sort]
                other = rng.choice(same) if rng.random() < 0.6 else rng.choice(DOMAINS[sort])
                return (order, name, other)
            case "not":
                inner = self.guard(binders)
                return None if inner is None else ("not", inner)
            case _:
                parts = [self.guard(binders), self.guard(binders)]
                return None if None in parts else ("any", *parts)

    def formula(self, binders: list[tuple[str, str]], depth: int) -> Tree:
        rng = self.rng
        if depth == 0 or rng.random() < 0.4:
            name = rng.choice(list(PREDICATES))
            return ("is", name, tuple(self.term(binders, sort) for sort in PREDICATES[name]), "true")
        connective = rng.choice(["not", "and", "and", "or", "xor", "implies", "iff"])
        count = {"not": 1, "implies": 2, "iff": 2}.get(connective, rng.choice([2, 3]))
        return (connective, *(self.formula(binders, depth - 1) for _ in range(count)))


HEAD = "\n".join(
    [f"domain {name} = {{{', '.join(elements)}}}" for name, elements in DOMAINS.items()]
    + [
        f"predicate {name}({', '.join(sorts)}){' symmetric' if name in SYMMETRIC else ''}"
        for name, sorts in PREDICATES.items()
    ]
    + [
        f"relation {name}({', '.join(sorts)}) = {{{', '.join('(' + ', '.join(f) + ')' for f in facts)}}}"
        for name, (sorts, facts) in FACTS.items()
    ]
)


def drawn(seed: int) -> tuple[list[Statement], str]:
    drawing = Drawing(random.Random(seed))
    statements = [drawing.statement(i) for i in range(drawing.rng.choice([1, 2, 4]))]
    return statements, "\n".join([HEAD, *(statement.text() for statement in statements)])


# ---- a straightforward grounder ---------------------------------------------------------------------------


def expected(statements: list[Statement]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the names of the variables and the sentences, by nested loops."""
    first_line = HEAD.count("\n") + 2
    sentences: list[tuple[Any, ...]] = []
    for number, statement in enumerate(statements):
        said = set()
        for elements in product(*(DOMAINS[sort] for _, sort in statement.binders)):
            binding = dict(zip((n for n, _ in statement.binders), elements, strict=True))
            is_one_group = len({sort for _, sort in statement.binders}) == 1
            if statement.distinct and is_one_group and len(set(elements)) < len(elements):
                continue
            if not all(passes(guard, binding, statement) for guard in statement.guards):
                continue
            claim = instance(statement.claim, binding)
            given = None if statement.given is None else instance(statement.given, binding)
            key = (sorted_tree(claim), sorted_tree(given))
            if key not in said:
                said.add(key)
                label = statement.label
                if label and statement.binders:
                    label = f"{label}[{','.join(elements)}]"
                sentences.append((claim, given, label, first_line + number))
    names: dict[str, None] = {}
    for claim, given, _, _ in sentences:
        names.update(dict.fromkeys([*atoms_of(claim), *atoms_of(given)]))
    return list(names), sentences


def passes(guard: tuple[Any, ...], binding: dict[str, str], statement: Statement) -> bool:
    match guard:
        case ("fact", name, arguments):
            return tuple(binding.get(a, a) for a in arguments) in FACTS[name][1]
        case ("not", inner):
            return not passes(inner, binding, statement)
        case ("any", *parts):
            return any(passes(part, binding, statement) for part in parts)
        case (order, left, right):
            sort = DOMAINS[dict(statement.binders)[left]]
            one, other = sort.index(binding[left]), sort.index(binding.get(right, right))
            return {
                "=": one == other,
                "!=": one != other,
                "<": one < other,
                "<=": one <= other,
                ">": one > other,
                ">=": one >= other,
            }[order]
    raise AssertionError(guard)


def instance(tree: Tree, binding: dict[str, str]) -> Tree:
    match tree:
        case ("is", name, arguments, value):
            elements = [binding.get(a, a) for a in arguments]
            if name in SYMMETRIC:
                elements.sort(key=DOMAINS[PREDICATES[name][0]].index)
            return ("is", f"{name}({','.join(elements)})", value)
        case ("and" | "or" as connective, *parts):
            # The language joins a nested conjunction to the one around it.
            flat: list[Tree] = []
            for part in (instance(part, binding) for part in parts):
                flat.extend(part[1:] if part[0] == connective else [part])
            return (connective, *flat)
        case (connective, *parts):
            return (connective, *(instance(part, binding) for part in parts))
    raise AssertionError(tree)


def sorted_tree(tree: Tree) -> Tree:
    if tree is None or tree[0] == "is":
        return tree
    parts = [sorted_tree(part) for part in tree[1:]]
    if tree[0] in ("and", "or", "xor"):
        parts = [q for part in parts for q in (part[1:] if part[0] == tree[0] else [part])]
    if tree[0] in ("and", "or", "xor", "iff"):
        parts.sort(key=repr)
    return (tree[0], *parts)


def atoms_of(tree: Tree) -> list[str]:
    if tree is None:
        return []
    return [tree[1]] if tree[0] == "is" else [name for part in tree[1:] for name in atoms_of(part)]


def tree_of(formula: Formula) -> Tree:
    match formula:
        case Truth(True):
            return None
        case Is(variable, value):
            return ("is", variable.name, value)
        case Not(operand):
            return ("not", tree_of(operand))
        case And(parts) | Or(parts) | Xor(parts):
            return (type(formula).__name__.lower(), *map(tree_of, parts))
        case Implies(one, other) | Iff(one, other):
            return (type(formula).__name__.lower(), tree_of(one), tree_of(other))
    raise AssertionError(formula)


def said(sentence: Sentence) -> tuple[Any, ...]:
    assert sentence.source is not None
    return tree_of(sentence.claim), tree_of(sentence.given), sentence.label, sentence.source.line


# ---- the tests --------------------------------------------------------------------------------------------


def in_columns(text: str) -> Network:
    return ground(read(text), columns_from=0)


def sentence_by_sentence(text: str) -> Network:
    return ground(read(text), columns_from=10**9)


@pytest.mark.parametrize("seed", range(80))
def test_columns_say_what_nested_loops_say(seed: int) -> None:
    statements, text = drawn(seed)
    network, plain = in_columns(text), sentence_by_sentence(text)
    names, sentences = expected(statements)
    assert [v.name for v in network.variables] == names
    assert [said(s) for s in network.sentences] == sentences
    assert network == plain
    assert hash(network) == hash(plain)
    assert [(s.label, s.source) for s in network.sentences] == [(s.label, s.source) for s in plain.sentences]


@pytest.mark.parametrize("seed", range(200, 240))
def test_parents_are_those_of_the_dependency_graph(seed: int) -> None:
    text = drawn(seed)[1]
    found = parents_of(in_columns(text)).parent_indices
    assert found == dependency_graph(sentence_by_sentence(text)).parent_indices


@pytest.mark.parametrize("seed", range(300, 340))
def test_the_factor_graph_is_the_one_of_single_sentences(seed: int) -> None:
    assert_same_factors(drawn(seed)[1])


def assert_same_factors(text: str) -> None:
    assert_alike(in_columns(text), sentence_by_sentence(text))


def assert_alike(network: Network, plain: Network) -> None:
    """Compare the parents and the factor graphs of a network in columns and of one that is not."""
    assert parents_of(network).parent_indices == dependency_graph(plain).parent_indices
    for families in (True, False):
        found = factors_of(network, families=families, silent=True, budget=Budget.of(inf))
        expected = factor_graph(plain, families=families, silent=True)
        assert found.factors == expected.factors
        for name in Arrays._fields:
            array, other = np.asarray(getattr(found.arrays, name)), np.asarray(getattr(expected.arrays, name))
            assert array.dtype == other.dtype
            assert np.array_equal(array, other)


def test_columns_count_only_with_their_own_variables() -> None:
    network, plain = in_columns(drawn(0)[1]), sentence_by_sentence(drawn(0)[1])
    more = Variable("one more")
    known = tuple(network.variables)
    for variables in ((*known, more), (more, *known), known[::-1]):
        assert_alike(replace(network, variables=variables), replace(plain, variables=variables))


def test_most_rules_become_blocks() -> None:
    parts = [part for seed in range(50) for part in blocks(in_columns(drawn(seed)[1]))]
    assert sum(isinstance(part, Block) for part in parts) > 50


def blocks(network: Network) -> tuple[Any, ...]:
    assert isinstance(network.sentences, Sentences)
    return network.sentences.parts


MIXED = """
domain D = {a, b, c}
domain T = 1..4
predicate A(D), B(D), Rain(T)
proposition wet
variable Color(D) in {red, green, blue}
variable Shade in {dark, light}
relation Near(D, D) = {(a, b), (b, c)}
function next(D) in D = {a: b, b: c}
s: forall x, y in D: P(A(x) | B(y) & Near(x, y)) >= 0.1
t: forall x in D: P(Color(x) = red) <= 0.5
u: forall x, y in D, next(x) = y: P(Color(y) != green | A(x)) <= 0.5
forall x, y in D: P(Color(x) = Color(y)) >= 0.1
v: forall d in T, d < 4: P(Rain(d+1) | Rain(d)) >= 0.2
forall x in D: P(A(x)) + P(B(x)) <= 1.2
forall x in D: P(A(x) | exists y in D, y != x: B(y)) >= 0.1
P(wet | Shade = dark) = 0.3
w: forall x in D: P(A(next(x)) | x != c) <= 0.9
independent A(a), B(b)
evidence Rain(1)
"""


def test_what_no_template_fits_is_kept_as_it_is() -> None:
    network, plain = in_columns(MIXED), sentence_by_sentence(MIXED)
    assert network == plain
    assert [s.name for s in network.sentences] == [s.name for s in plain.sentences]
    assert any(isinstance(part, Block) for part in blocks(network))
    assert any(isinstance(part, Kept) for part in blocks(network))


def test_a_mistake_in_a_large_theory_is_the_same() -> None:
    text = "domain D = {a, b}\ndomain E = {c}\npredicate A(D)\nforall x in D, y in E, x < y: P(A(x)) >= 0.1"
    found = []
    for ground_it in (in_columns, sentence_by_sentence):
        with pytest.raises(Exception, match="have no order") as caught:
            ground_it(text)
        found.append(str(caught.value))
    assert found[0] == found[1]


def test_a_lazy_sequence_is_a_sequence() -> None:
    network = in_columns(MIXED)
    sentences, variables = network.sentences, network.variables
    assert isinstance(variables, Variables)
    assert sentences[-1] == tuple(sentences)[-1]
    assert sentences[2:5] == tuple(sentences)[2:5]
    assert variables[0] in variables
    assert variables.index(variables[3]) == 3
    assert (variables.sizes == np.array([len(v.values) for v in variables])).all()
    with pytest.raises(IndexError):
        sentences[len(sentences)]
    assert pickle.loads(pickle.dumps(network)) == network


# ---- lines of plain sentences -----------------------------------------------------------------------------


def plain_line(rng: random.Random, number: int) -> str:
    """Write a sentence about propositions in one of many ways."""
    names = [f"x{rng.randrange(12)}" for _ in range(5)]
    literal = [rng.choice(["", "!", "not "]) + name for name in names]
    condition = rng.choice(
        [
            "",
            f" | {literal[1]}",
            f" | {literal[1]} and {literal[2]}",
            f" | ({literal[1]} & {literal[2]}) & {literal[3]}",
            f" | {literal[1]} or {literal[2]}",
            f" | {literal[1]} xor ({literal[2]} -> {literal[3]})",
        ]
    )
    claim = rng.choice(
        [names[0], names[0], literal[0], f"{literal[0]} or {literal[4]}", f"{names[0]} and true"]
    )
    event = f"P({claim}{condition})"
    low, high = rng.randrange(0, 500), rng.randrange(500, 1001)
    said = rng.choice(
        [
            f"0.{low:03} <= {event} <= {high / 1000}",
            f"{high / 1000} >= {event} >= 0.{low:03}",
            f"{event} >= 0.{low:03}",
            f"{event} <= {high / 1000}",
            f"{event} = 0.{low:03}",
            f"0 <= {event} <= {high // 10}%",
            f"1/3 <= {event} <= 1",
            f"0.5 {event} <= 0.4",
            f"{event} + P({names[3]}{condition}) <= 1.5",
            f"0 <= {event} <= 1",
        ]
    )
    label = rng.choice(["", "", f"s{number}: ", f"a.b{number}: "])
    tau = rng.choice(["", "", " ; True", " ; tau = False"])
    return f"{label}{said}{tau}{rng.choice(['', '', '  # said so', ' '])}"


def plain_text(seed: int, count: int = 40) -> str:
    rng = random.Random(seed)
    lines = [plain_line(rng, i) for i in range(count)]
    extra = ["", "query P(x0)", "evidence x1", "independent x1, x2", "P(x3(Tim) | x2) >= 0.1", "# a remark"]
    for line in rng.sample(extra, rng.randrange(4)):
        lines.insert(rng.randrange(len(lines)), line)
    return "\n".join(lines) + rng.choice(["", "\n"])


def theories(text: str) -> tuple[Theory, Theory]:
    """Read a text all at once, and line by line."""
    found = []
    for plain_from in (0, 10**9):
        reader = _Reader(plain_from=plain_from)
        reader.read(text, "", Path())
        found.append(reader.theory(""))
    return found[0], found[1]


@pytest.mark.parametrize("seed", range(40))
def test_a_text_read_at_once_is_the_text_read_line_by_line(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("credalog.text.plain.CHUNK", 300)
    assert_read_alike(plain_text(seed))


def assert_read_alike(text: str) -> None:
    found, expected = theories(text)
    assert isinstance(found.rules, Rules)
    assert found == expected
    assert [(r.label, r.source) for r in found.rules] == [(r.label, r.source) for r in expected.rules]
    network, plain = ground(found), ground(expected, columns_from=10**9)
    assert network == plain
    assert [(s.label, s.source) for s in network.sentences] == [(s.label, s.source) for s in plain.sentences]
    assert_alike(network, plain)


@pytest.mark.parametrize(
    "line",
    [
        "P(x) >= 1.5",
        "0.9 <= P(x) <= 0.1",
        "0.3 <= P(x) <= 0.29999999999",
        "P(x >= 0.5",
        "P(x | y",
        "P(x) >= 0,5",
        "P(x) >= 1e400",
        "s3: P(x) >= 0.5",
        "P(x) >> 0.5",
        "P(x y) >= 0.5",
        "include nowhere",
        'P("a b") >= 2',
        "P(x)",
    ],
)
def test_a_mistake_in_a_long_text_is_the_same(line: str) -> None:
    text = "\n".join(f"s{i}: P(x{i}) >= 0.5" for i in range(10)) + f"\n{line}\nP(y) >= 7\n"
    found = []
    for plain_from in (0, 10**9):
        with pytest.raises(CredalogError) as caught:
            _Reader(plain_from=plain_from).read(text, "", Path())
        found.append(str(caught.value))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "declared",
    [
        "variable x1 in {low, high}",
        "predicate Q(D)\ndomain D = {a, b}",
        "domain D = {x1, x2}",
        "proposition x1",
    ],
)
def test_what_lines_speak_of_may_be_declared_elsewhere(declared: str) -> None:
    text = "P(x1) >= 0.5\nP(x0 | x1 and x2) <= 0.4\n"
    outcomes = []
    for plain_from in (0, 10**9):
        reader = _Reader(plain_from=plain_from)
        reader.read(text, "", Path())
        reader.read(declared, "other", Path())
        try:
            outcomes.append(str(ground(reader.theory(""))))
        except CredalogError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]


def test_questions_about_a_long_text_are_answered() -> None:
    lcn = LCN(theories("0.2 <= P(a) <= 0.3\nP(b | a) = 0.5\nP(b | !a) = 0.5\n")[0])
    lcn.check()
    answer = lcn.query("P(a)")
    assert (answer.lower, answer.upper) == (pytest.approx(0.2, abs=1e-4), pytest.approx(0.3, abs=1e-4))
    with pytest.raises(UnknownName, match="there is no c"):
        lcn.query("P(c)")
    assert lcn.with_sentences("P(c) = 0.5").query("P(c)").lower == pytest.approx(0.5, abs=1e-4)


# ---- long tables ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_long_table_is_the_same_written_row_by_row(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "network.lcn"
    path.write_text("variable C in {red, green, blue}\nP(C = red) = 0.2\n0.1 <= P(a | long_name) <= 0.4\n")
    written = []
    for streamed in (10, 0):
        monkeypatch.setattr("credalog.cli.ask.STREAMED", streamed)
        monkeypatch.setattr("credalog.cli.output.SAMPLE", 1)
        assert main(["marginals", str(path), "--method", "sound", *options]) == 0
        # The seconds differ.
        written.append(re.sub(r"[\d.]+\n|\"seconds\": .*", "", capsys.readouterr().out))
    assert written[0] == written[1]
    assert "long_name" in written[0]


@pytest.mark.slow
def test_lines_of_one_form_are_one_kind_of_rule() -> None:
    text = "\n".join(f"0.1 <= P(x{i} | x{i + 1}) <= 0.5\nP(x{i}) <= 0.9" for i in range(30_000))
    rules = read(text).rules
    found = tuple(kinds(rules))
    assert isinstance(rules, Rules) and len(found) < 100
    assert set(found) >= {rules[0], rules[1]}
    assert tuple(kinds(rules[:3])) == rules[:3]
