"""Grounding: theory -> network, against a direct reading of first-order logic."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from time import perf_counter, process_time
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credalog
from credalog.errors import GroundingTooLarge, LanguageError
from credalog.grounding.network import Grounder, ground
from credalog.network.formulas import TRUE, And, Formula, Is, Not, Or, Variable, Xor, scope, truth_table
from credalog.text.parse import read
from credalog.text.unparse import unparse_network
from credalog.theory import (
    Application,
    Assessment,
    Boolean,
    Comparison,
    Compound,
    Connective,
    Domain,
    Function,
    Name,
    Order,
    Pattern,
    Predicate,
    Prefix,
    Quantified,
    Quantifier,
    QueryRule,
    RandomFunction,
    Relation,
    Rule,
    Shifted,
    Term,
    Theory,
)
from strategies import DECLARATIONS, patterns, prefixes

SMOKERS = """
domain Person = {Tim, Tom, Tam}
predicate Fr(Person, Person) symmetric
predicate Sm(Person), Ca(Person)
friends: forall x, y, z in Person distinct: 0.5 <= P(Fr(x,z) | Fr(x,y) & Fr(y,z)) <= 1
alike:   forall x, y in Person distinct:    0 <= P(Sm(x) xor Sm(y) | Fr(x,y)) <= 0.2
smoke:   forall x in Person: 0.03 <= P(Ca(x) | Sm(x)) <= 0.04
clean:   forall x in Person: 0 <= P(Ca(x) | !Sm(x)) <= 0.01
"""


def names(text: str) -> list[str]:
    return [variable.name for variable in credalog.parse(text).variables]


def labels(text: str) -> list[str]:
    return [sentence.label for sentence in credalog.parse(text).sentences]


# ---- the paper's example ------------------------------------------------------------------------------


def test_the_smokers_have_nine_atoms() -> None:
    # Figure 2 of the paper: three friendships, three smokers, three cancers.
    assert sorted(names(SMOKERS)) == [
        "Ca(Tam)",
        "Ca(Tim)",
        "Ca(Tom)",
        "Fr(Tim,Tam)",
        "Fr(Tim,Tom)",
        "Fr(Tom,Tam)",
        "Sm(Tam)",
        "Sm(Tim)",
        "Sm(Tom)",
    ]


def test_symmetric_instances_are_one_sentence() -> None:
    found = labels(SMOKERS)
    # One per unordered pair and, for friends, per friendship concluded: 3 + 3 + 3 + 3.
    assert len(found) == 12
    assert "friends[Tim,Tom,Tam]" in found
    assert "friends[Tam,Tom,Tim]" not in found


# ---- a second reading of first-order logic ------------------------------------------------------------
#
# Patterns are evaluated in one world at a time, by recursion, with none of the code under test.

DOMAINS = {d.name: d.elements for d in DECLARATIONS if isinstance(d, Domain)}
FACTS = {d.name: set(d.facts) for d in DECLARATIONS if isinstance(d, Relation)}
TABLES = {d.name: dict(d.table) for d in DECLARATIONS if isinstance(d, Function)}
VALUED = {d.name for d in DECLARATIONS if isinstance(d, RandomFunction)}
SYMMETRIC = {d.name for d in DECLARATIONS if isinstance(d, Predicate) and d.symmetric}

World = dict[str, str]
Binding = dict[str, str]


def spelt(name: str, arguments: tuple[str, ...]) -> str:
    if name in SYMMETRIC:
        arguments = tuple(sorted(arguments, key=DOMAINS["Person"].index))
    quoted = [f'"{argument}"' if " " in argument else argument for argument in arguments]
    return f"{name}({','.join(quoted)})" if quoted else name


def value(term: Term, binding: Binding, world: World) -> str:
    match term:
        case Name(name):
            return world[name] if name in VALUED else binding.get(name, name)
        case Application(name, arguments):
            found = tuple(value(argument, binding, world) for argument in arguments)
            return world[spelt(name, found)] if name in VALUED else TABLES[name][found]
        case Shifted(inner, by):
            return str(int(value(inner, binding, world)) + by)


def compares(order: Order, left: str, right: str) -> bool:
    if order is Order.EQUAL:
        return left == right
    if order is Order.UNEQUAL:
        return left != right
    x, y = int(left), int(right)
    return {
        Order.LESS: x < y,
        Order.LESS_OR_EQUAL: x <= y,
        Order.GREATER: x > y,
        Order.GREATER_OR_EQUAL: x >= y,
    }[order]


def bindings(prefix: Prefix, outer: Binding) -> list[Binding]:
    """List the instances of a prefix by trying all."""
    bound = [(name, binder.sort) for binder in prefix.binders for name in binder.names]
    found = []
    for elements in product(*(DOMAINS[sort] for _, sort in bound)):
        binding = outer | dict(zip((name for name, _ in bound), elements, strict=True))
        groups = [[binding[name] for name in binder.names] for binder in prefix.binders if binder.distinct]
        if all(len(set(group)) == len(group) for group in groups) and holds(prefix.guard, binding, {}):
            found.append(binding)
    return found


def holds(pattern: Pattern, binding: Binding, world: World) -> bool:
    match pattern:
        case Boolean(truth):
            return truth
        case Name(name):
            return world[name] == "true"
        case Application(name, arguments):
            found = tuple(value(argument, binding, world) for argument in arguments)
            return found in FACTS[name] if name in FACTS else world[spelt(name, found)] == "true"
        case Comparison(order, left, right):
            return compares(order, value(left, binding, world), value(right, binding, world))
        case Compound(connective, operands):
            return connected(connective, [holds(operand, binding, world) for operand in operands])
        case Quantified(quantifier, prefix, body):
            each = [holds(body, inner, world) for inner in bindings(prefix, binding)]
            return all(each) if quantifier is Quantifier.FORALL else any(each)
    raise AssertionError(pattern)


def connected(connective: Connective, truths: list[bool]) -> bool:
    match connective:
        case Connective.NOT:
            return not truths[0]
        case Connective.AND:
            return all(truths)
        case Connective.NAND:
            return not all(truths)
        case Connective.OR:
            return any(truths)
        case Connective.XOR:
            return truths.count(True) % 2 == 1
        case Connective.IMPLIES:
            return not truths[0] or truths[1]
        case Connective.IFF:
            return truths[0] == truths[1]


def all_variables() -> dict[str, Variable]:
    """List every ground variable of the declarations."""
    found = {}
    for declaration in DECLARATIONS:
        if isinstance(declaration, Predicate | RandomFunction):
            values: tuple[str, ...] = ("false", "true")
            if isinstance(declaration, RandomFunction):
                listed = declaration.values
                values = DOMAINS[listed] if isinstance(listed, str) else listed
            for elements in product(*(DOMAINS[sort] for sort in declaration.sorts)):
                name = spelt(declaration.name, elements)
                found[name] = Variable(name, values)
    return found


VARIABLES = all_variables()
WORLDS = st.fixed_dictionaries({name: st.sampled_from(v.values) for name, v in VARIABLES.items()})


def true_in(formula: Formula, world: World) -> bool:
    over = scope(formula)
    assert all(VARIABLES[v.name] == v for v in over)
    return bool(truth_table(formula, over)[tuple(v.values.index(world[v.name]) for v in over)])


@pytest.mark.slow
@given(patterns(), st.lists(WORLDS, min_size=1, max_size=5))
@settings(max_examples=200)
def test_a_ground_formula_is_true_where_its_pattern_is(pattern: Pattern, worlds: list[World]) -> None:
    formula = Grounder(Theory(DECLARATIONS)).formula(pattern)
    for world in worlds:
        assert true_in(formula, world) == holds(pattern, {}, world)


@pytest.mark.slow
@given(prefixes())
@settings(max_examples=200)
def test_instances_are_those_that_pass_the_guard_in_the_order_of_the_domains(
    drawn: tuple[Prefix, Any],
) -> None:
    prefix, _ = drawn
    bound = [name for binder in prefix.binders for name in binder.names]
    everyone = [Application("Sm", (Name(x),)) for x in bound if dict(drawn[1])[x] == "Person"]
    wet = [Application("Wet", (Name(x),)) for x in bound if dict(drawn[1])[x] == "Day"]
    claim = Compound(Connective.AND, (*everyone, *wet, Name("rain")))
    queries = list(Grounder(Theory(DECLARATIONS)).ground_queries(QueryRule(claim, prefix=prefix)))
    expected = bindings(prefix, {})
    assert len(queries) == len(expected)
    for query, binding in zip(queries, expected, strict=True):
        said = {spelt("Sm" if s == "Person" else "Wet", (binding[x],)) for x, s in dict(drawn[1]).items()}
        assert {variable.name for variable in query.scope} == said | {"rain"}


@pytest.mark.slow
@given(st.data(), st.lists(WORLDS, min_size=5, max_size=5))
@settings(max_examples=100)
def test_a_rule_grounds_to_its_instances_and_nothing_else(data: st.DataObject, worlds: list[World]) -> None:
    prefix, inner = data.draw(prefixes())
    claim = Compound(Connective.AND, (Name("rain"), data.draw(patterns(inner))))
    given_ = data.draw(patterns(inner))
    rule = Rule(Assessment(((Fraction(1), claim),), given_, Fraction(0), Fraction(1, 2)), prefix)
    sentences = ground(Theory(DECLARATIONS, (rule,))).sentences

    said = {tuple((true_in(s.claim, w), true_in(s.given, w)) for w in worlds) for s in sentences}
    meant = {
        tuple((holds(claim, binding, w), holds(given_, binding, w)) for w in worlds)
        for binding in bindings(prefix, {})
    }
    assert said <= meant
    # What is dropped has a claim or a condition that no world satisfies.
    assert all(not any(q for q, _ in truths) or not any(r for _, r in truths) for truths in meant - said)


# ---- variables, functions, relations ------------------------------------------------------------------


def test_a_many_valued_variable_is_one_variable() -> None:
    lcn = credalog.parse("variable Color in {red, green, blue}\nP(Color = red | Color != blue) >= 0.4")
    (color,) = lcn.variables
    assert color == Variable("Color", ("red", "green", "blue"))
    assert lcn.sentences[0].claim == Is(color, "red")
    assert lcn.sentences[0].given == Not(Is(color, "blue"))


def test_two_random_terms_are_compared_value_by_value() -> None:
    text = "domain Peg = 1..2\nvariable Shade(Peg) in {dark, light}\nP(Shade(1) = Shade(2)) >= 0.4"
    first, second = (Variable(f"Shade({i})", ("dark", "light")) for i in (1, 2))
    expected = Or(tuple(And((Is(first, v), Is(second, v))) for v in ("dark", "light")))
    assert credalog.parse(text).sentences[0].claim == expected


def test_integer_values_compare_by_size() -> None:
    lcn = credalog.parse("variable Die in 1..6\nP(Die < 3) = 1/3\nP(Die >= 6) = 1/6")
    die = lcn.variables[0]
    assert [s.claim for s in lcn.sentences] == [Or((Is(die, "1"), Is(die, "2"))), Is(die, "6")]


def test_integers_can_be_stepped() -> None:
    text = "domain Day = 1..4\npredicate Rain(Day)\nr: forall d in Day, d < 4: P(Rain(d+1) | Rain(d)) >= 0.6"
    assert labels(text) == ["r[1]", "r[2]", "r[3]"]
    assert names(text) == ["Rain(2)", "Rain(1)", "Rain(3)", "Rain(4)"]


def test_relations_guard_and_their_facts_can_be_added_line_by_line() -> None:
    text = """
    domain Day = {d1, d2, d3}
    predicate Wet(Day)
    relation Before(Day, Day) = {(d1, d2)}
    Before(d2, d3)
    r: forall x, y in Day where Before(x, y): P(Wet(y) | Wet(x)) >= 0.6
    s: forall x, y in Day, Before(x, y), x != d1: P(Wet(y) | Wet(x)) <= 0.9
    """
    assert labels(text) == ["r[d1,d2]", "r[d2,d3]", "s[d2,d3]"]


def test_functions_are_given_by_tables() -> None:
    text = """
    domain Person = {Tim, Tom, Ann}
    predicate Ca(Person)
    function mother(Person) in Person = {Tim: Ann}
    mother(Tom) = Ann
    r: forall x, m in Person, mother(x) = m: P(Ca(x) | Ca(mother(x))) >= 0.6
    """
    lcn = credalog.parse(text)
    assert labels(text) == ["r[Tim,Ann]", "r[Tom,Ann]"]
    assert [v.name for v in lcn.sentences[1].scope] == ["Ca(Tom)", "Ca(Ann)"]


def test_a_quantifier_in_a_formula_is_a_conjunction_or_a_disjunction() -> None:
    text = """
    domain Person = {Tim, Tom, Tam}
    predicate Fr(Person, Person) symmetric
    predicate Sm(Person)
    r: forall x in Person: P(exists y in Person, y != x: Fr(x,y) & Sm(y) | forall z in Person: Sm(z)) >= 0.1
    """
    sentence = credalog.parse(text).sentences[0]
    fr = {n: Is(Variable(f"Fr(Tim,{n})")) for n in ("Tom", "Tam")}
    sm = {n: Is(Variable(f"Sm({n})")) for n in ("Tim", "Tom", "Tam")}
    assert sentence.claim == Or((And((fr["Tom"], sm["Tom"])), And((fr["Tam"], sm["Tam"]))))
    assert sentence.given == And((sm["Tim"], sm["Tom"], sm["Tam"]))


def test_a_relation_in_a_condition_decides_which_sentences_there_are() -> None:
    text = """
    domain D = {a, b}
    relation R(D) = {a}
    predicate Q(D)
    r: forall x in D: P(Q(x) | R(x)) >= 0.5
    """
    (sentence,) = credalog.parse(text).sentences
    assert (sentence.label, sentence.given) == ("r[a]", TRUE)


def test_linear_claims_that_fall_together_are_added() -> None:
    text = """
    domain D = {a, b}
    predicate Q(D)
    r: forall x, y in D: P(Q(x)) - P(Q(y)) <= 0.1
    """
    found = credalog.parse(text).sentences
    assert [s.label for s in found] == ["r[a,b]", "r[b,a]"]


def test_a_sentence_without_content_still_ties_its_atoms() -> None:
    # The stamp of 0 <= P(a xor b) <= 1 makes a and b depend on each other; only constants are dropped.
    assert len(credalog.parse("0 <= P(a xor b) <= 1").sentences) == 1


def test_a_condition_that_admits_no_claim_is_impossible() -> None:
    text = """
    domain D = {a, b}
    relation R(D) = {a}
    predicate Q(D)
    r: forall x in D: P(R(x) | Q(x)) >= 0.5
    """
    (sentence,) = credalog.parse(text).sentences
    assert (sentence.claim, sentence.lower, sentence.upper) == (Is(Variable("Q(b)")), 0, 0)


def test_instances_of_a_rule_that_say_the_same_are_merged() -> None:
    text = """
    domain D = {u, v}
    predicate A(D), c
    r: forall x, y in D distinct: P(A(x) xor A(y) | c) >= 0.1
    """
    assert [s.label for s in credalog.parse(text).sentences] == ["r[u,v]"]


def test_the_same_said_twice_keeps_both_labels_and_places() -> None:
    lcn = credalog.parse("s: P(a xor b | c) >= 0.1\nt: P(b xor a | c) >= 0.1\nP(a xor b | c) >= 0.1")
    assert [(s.label, s.source.line) for s in lcn.sentences if s.source] == [("s", 1), ("t", 2), ("", 3)]


def test_xor_of_a_repeated_operand_is_not_merged_with_another() -> None:
    text = """
    domain D = {u, v}
    predicate A(D)
    r: forall x, y in D distinct: P(A(x) xor A(y) xor A(y)) >= 0.1
    """
    found = credalog.parse(text).sentences
    assert len(found) == 2
    assert isinstance(found[0].claim, Xor)


def test_a_claim_that_is_added_twice_is_not_merged_with_one_that_is_added_once() -> None:
    # By hand: 2 P(a and b) + P(a and c) <= 0.8, so that P(a and b) is at most 0.4.
    text = """
    P(a and b) + P(a and c) <= 0.8
    P(a and b) + P(b and a) + P(a and c) <= 0.8
    """
    assert credalog.parse(text).query("P(a and b)").upper == pytest.approx(0.4, abs=1e-4)
    rule = """
    domain D = {u, v}
    relation R(D) = {v}
    predicate a, b, c
    r: forall x in D: P(a and b) + P(R(x) and (b and a)) + P(a and c) <= 0.8
    """
    assert [s.label for s in credalog.parse(rule).sentences] == ["r[u]", "r[v]"]


def test_ground_labels_quote_what_is_no_word() -> None:
    text = 'domain D = {"u,v", v, "#1 (top)"}\npredicate A(D)\nr: forall x in D: P(A(x)) >= 0.1'
    lcn = credalog.parse(text)
    assert [s.label for s in lcn.sentences] == ['r["u,v"]', "r[v]", 'r["#1 (top)"]']
    assert credalog.parse(unparse_network(lcn.ground())).ground() == lcn.ground()


# ---- what is not defined --------------------------------------------------------------------------------

PARTIAL = """
domain D = 1..3
predicate A(D)
relation R(D) = {1, 2}
function f(D) in D = {1: 2, 2: 3}
"""


@pytest.mark.parametrize(
    ("rule", "labels"),
    [
        ("r: forall x in D: P(A(x+1) | A(x) & R(x)) >= 0.5", ["r[1]", "r[2]"]),
        ("r: forall x in D: P(A(f(x)) | R(x) & A(x)) >= 0.5", ["r[1]", "r[2]"]),
        ("r: forall x in D: P(A(x) | A(f(x)) & R(x)) >= 0.5", ["r[1]", "r[2]"]),
        ("r: forall x in D: P(A(x) | (R(x) -> A(f(x)))) >= 0.5", ["r[1]", "r[2]", "r[3]"]),
        ("r: forall x in D: P(A(x) | !(R(x) nand A(f(x)))) >= 0.5", ["r[1]", "r[2]"]),
        ("r: P(A(1) | A(f(3)) & R(3)) >= 0.5", []),
        ("r: forall x in D: P(A(x) | forall y in D: R(y) -> A(f(y))) >= 0.5", ["r[1]", "r[2]", "r[3]"]),
        ("r: forall x in D, x < 7: P(A(x)) >= 0.5", ["r[1]", "r[2]", "r[3]"]),
        ("r: forall x in D, 2 < x: P(A(x)) >= 0.5", ["r[3]"]),
        ("r: forall x in D, 0 >= x: P(A(x)) >= 0.5", []),
        ("r: forall x in D, not R(x): P(A(x)) >= 0.5", ["r[3]"]),
        ("r: forall x in D, R(x) or x = 3, not x = 1: P(A(x)) >= 0.5", ["r[2]", "r[3]"]),
        ("r: forall x in D, (exists y in D: f(x) = y): P(A(x)) >= 0.5", ["r[1]", "r[2]"]),
        ("r: forall x in D, y in D, not x = y, R(x) and not R(y): P(A(x)) >= 0.5", ["r[1,3]", "r[2,3]"]),
    ],
)
def test_an_instance_needs_only_what_its_condition_leaves_open(rule: str, labels: list[str]) -> None:
    assert [s.label for s in credalog.parse(PARTIAL + rule).sentences] == labels


@pytest.mark.parametrize(
    "claim", ["A(f(x)) and A(x)", "A(f(x)) <-> A(f(x))", "A(x) | A(x+1) and A(x)", "exists y in D: A(f(y))"]
)
def test_what_is_needed_must_be_defined(claim: str) -> None:
    with pytest.raises(LanguageError, match=r"does not (give|exist)"):
        credalog.parse(PARTIAL + f"forall x in D: P({claim}) >= 0.5").ground()


def test_nothing_is_asked_where_the_condition_excludes_the_claim() -> None:
    asked = credalog.parse(PARTIAL + "query forall x in D: P(A(x+1) | A(x) & x < 3)").queries
    assert [str(cast(Is, q.claim).variable) for q in asked] == ["A(2)", "A(3)"]


def test_elements_compare_alike_from_both_sides() -> None:
    text = "domain D = {Tim, Tom, Tam}\npredicate A(D)\nr: forall x in D, {}: P(A(x)) >= 0.5"
    for guard, converse in (("Tim < x", "x > Tim"), ("Tom >= x", "x <= Tom")):
        found, other = (credalog.parse(text.replace("{}", g)).sentences for g in (guard, converse))
        assert [s.label for s in found] == [s.label for s in other] != []


def test_variables_that_list_their_values_differently_have_no_order() -> None:
    text = "variable A in {low, mid, high}\nvariable B in {high, mid, low}\nP(A < B) = 1"
    with pytest.raises(LanguageError, match="list their values differently"):
        credalog.parse(text).ground()
    shared = "domain L = {low, mid, high}\nvariable A, B in L\n"
    less, greater = (credalog.parse(shared + f"P({c}) = 1").sentences[0] for c in ("A < B", "B > A"))
    over = (Variable("A", ("low", "mid", "high")), Variable("B", ("low", "mid", "high")))
    assert (truth_table(less.claim, over) == truth_table(greater.claim, over)).all()
    numbers = credalog.parse("variable A in 1..3\nvariable B in {3, 2, 1, 7}\nP(A < B) = 1\nP(A < 9) = 1")
    assert len(numbers.sentences) == 2


@pytest.mark.parametrize(
    "statement",
    [
        "P(exists x in D: exists y in D: A(x) & A(y)) >= 0.5",
        "P(A(1)) >= 0.5\nquery P(exists x in D: exists y in D: A(x) & A(y))",
        "P(A(1)) >= 0.5\nevidence exists x in D: exists y in D: A(x) & A(y)",
        "forall z in D, exists x in D: exists y in D: x = z and y > 1999: P(A(z)) >= 0.5",
        "P(A(1)) >= 0.5\nquery forall x, y in D: P(A(x) & A(y))",
        "P(A(1)) >= 0.5\nforall x, y in D: independent A(x), A(y)",
    ],
)
def test_quantifiers_count_towards_the_size(statement: str) -> None:
    start = perf_counter()
    with pytest.raises(GroundingTooLarge, match="the limit is 2,000,000"):
        credalog.parse(f"domain D = 1..2000\npredicate A(D)\n{statement}").ground()
    assert perf_counter() - start < 5.0


def test_variables_declared_without_arguments_exist_even_if_nothing_is_said() -> None:
    assert names("proposition a, b\nvariable C in {x, y}\nP(b) >= 0.1") == ["a", "b", "C"]


def test_independences_can_be_stated_for_all() -> None:
    text = """
    domain D = 1..3
    predicate Q(D), R(D)
    forall x in D: P(Q(x) & R(x)) >= 0.1
    forall x in D: independent Q(x), R(x)
    """
    found = credalog.parse(text).ground().independences
    assert [(i.left[0].name, i.right[0].name) for i in found] == [
        ("Q(1)", "R(1)"),
        ("Q(2)", "R(2)"),
        ("Q(3)", "R(3)"),
    ]


def test_a_subset_of_a_domain_is_a_subsort() -> None:
    text = (
        "domain All = {a, b, c}\ndomain Some = {a, c}\npredicate Q(All)\nr: forall x in Some: P(Q(x)) >= 0.1"
    )
    assert labels(text) == ["r[a]", "r[c]"]


# ---- size ---------------------------------------------------------------------------------------------


def test_a_theory_too_large_answers_with_the_count_at_once() -> None:
    text = "domain D = 1..1000\npredicate Q(D, D, D)\nr: forall x, y, z in D: P(Q(x,y,z)) >= 0.1"
    with pytest.raises(GroundingTooLarge, match="1,000,000,000") as caught:
        credalog.parse(text).ground()
    assert caught.value.place is not None


def test_distinct_elements_are_counted_without_trying() -> None:
    text = "domain D = 1..1000\npredicate Q(D, D, D)\nr: forall x, y, z in D distinct: P(Q(x,y,z)) >= 0.1"
    with pytest.raises(GroundingTooLarge, match="997,002,000"):  # 1000 * 999 * 998
        credalog.parse(text).ground()


@pytest.mark.parametrize(
    ("binders", "equation", "count"),
    [
        ("x, y", "x = y", 400),
        ("x, y", "y = x", 400),
        ("x, y", "y = x + 399", 1),
        ("x, y", "x + 399 = y", 1),
        ("y, x", "y - 399 = x", 1),
        ("x, y", "y - 399 = x", 1),
        ("x, y", "x = y - 399", 1),
    ],
)
def test_an_equation_proposes_either_side(binders: str, equation: str, count: int) -> None:
    """All 160,000 pairs would be more attempts than the limit allows: one must follow from the other."""
    rule = f"r: forall {binders} in D, {equation}: P(Q(x) & Q(y)) >= 0.1"
    lcn = credalog.parse(f"domain D = 1..400\npredicate Q(D)\n{rule}")
    assert len(lcn.ground(limit=401).sentences) == count


@pytest.mark.parametrize(
    ("equation", "holds"),
    [
        ("y - 1 = x", lambda x, y: str(int(y) - 1) == x),
        ("x = y - 1", lambda x, y: str(int(y) - 1) == x),
        ("y = x + 1", lambda x, y: y == str(int(x) + 1)),
        ("y - 2 = x - 1", lambda x, y: int(y) - 2 == int(x) - 1),
    ],
)
def test_a_shifted_equation_finds_elements_however_they_are_spelt(
    equation: str, holds: Callable[[str, str], bool]
) -> None:
    """2 and 02 are two elements: one less than either is 1, and one more than 1 is only 2."""
    elements = ("1", "2", "02", "3")
    domain = f"domain D = {{{', '.join(elements)}}}\npredicate Q(D, D)"
    found = labels(f"{domain}\nr: forall x, y in D, {equation}: P(Q(x,y)) >= 0.1")
    assert found == [f"r[{x},{y}]" for x, y in product(elements, elements) if holds(x, y)]


def test_a_shift_of_what_is_no_integer_is_refused_in_either_order() -> None:
    for equation in ("y - 1 = x", "x = y - 1"):
        text = f"domain D = {{1, tim}}\npredicate Q(D, D)\nr: forall x, y in D, {equation}: P(Q(x,y)) >= 0.1"
        with pytest.raises(credalog.CredalogError, match="tim is not an integer"):
            credalog.parse(text).ground()


def test_the_limit_counts_what_passes_the_guard() -> None:
    text = "domain D = 1..100\npredicate Q(D, D)\nr: forall x, y in D, y = x + 1: P(Q(x,y)) >= 0.1"
    lcn = credalog.parse(text)
    with pytest.raises(GroundingTooLarge):
        lcn.ground(limit=98)
    assert len(lcn.ground(limit=99).sentences) == 99


def test_a_guard_that_nothing_passes_does_not_take_forever() -> None:
    text = """
    domain D = 1..1000
    predicate Q(D)
    r: forall x, y, z in D, x < y, y < z, z < x: P(Q(x)) >= 0.1
    """
    lcn = credalog.parse(text)
    start = process_time()
    with pytest.raises(GroundingTooLarge, match="attempts"):
        lcn.ground(limit=1000)
    assert process_time() - start < 2.0


def test_inner_quantifiers_count_too() -> None:
    text = "domain D = 1..1000\npredicate Q(D, D)\nr: forall x in D: P(exists y, z in D: Q(y,z)) >= 0.1"
    with pytest.raises(GroundingTooLarge):
        credalog.parse(text).ground()


def test_facts_are_followed_and_not_searched_for() -> None:
    # 10^10 pairs cannot be tried; 1,000 facts can be followed.
    facts = ", ".join(f"({i},{i + 1})" for i in range(1000))
    text = f"""
    domain D = 0..99999
    predicate Q(D)
    relation Next(D, D) = {{{facts}}}
    r: forall x, y in D, Next(x, y): P(Q(y) | Q(x)) >= 0.5
    """
    assert len(credalog.parse(text).sentences) == 1000


def test_the_order_is_that_of_rules_and_domains() -> None:
    text = """
    domain D = {c, a, b}
    predicate Q(D)
    r: forall x in D: P(Q(x)) >= 0.1
    s: forall x in D: P(Q(x)) <= 0.9
    """
    assert labels(text) == ["r[c]", "r[a]", "r[b]", "s[c]", "s[a]", "s[b]"]
    assert read(text) == read(text)


def test_a_larger_limit_once_agreed_to_holds_for_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credalog.lcn.grounded.LIMIT", 3)
    text = "domain D = 1..4\npredicate A(D)\nforall x in D: P(A(x)) = 0.5"
    lcn = credalog.parse(text)
    assert len(lcn.ground(limit=4).sentences) == 4
    assert lcn.query("P(A(1) & A(2))", method="factorized").upper == pytest.approx(0.25, abs=1e-6)
    with pytest.raises(GroundingTooLarge, match="limit"):
        credalog.parse(text).query("P(A(1))", method="factorized")
