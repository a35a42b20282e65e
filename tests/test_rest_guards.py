"""Guards of what stands for everything outside a slice, judged by all worlds of the whole grounding.

A predicate is free if its atoms can be added to any model of the others: no atom depends on itself, and in
every world of what is given the intervals that are then stated have a point in common. The values of all
other atoms are such that every sentence about them holds, whatever the free ones are.
"""

from __future__ import annotations

from itertools import product

import pytest

from credalog import LanguageError, parse
from credalog.grounding import outcomes
from credalog.grounding.network import Grounder
from credalog.grounding.rule_atoms import atom_of
from credalog.methods.lifted.answering import Lifted
from credalog.methods.lifted.extensions import Carried
from credalog.methods.lifted.outside import Rest
from credalog.network.formulas import Formula, Variable, scope, truth_table
from credalog.network.graph import dependency_graph
from credalog.network.sentences import Network, Sentence

HEAD = """domain D = 1..7
domain S = {2, 3, 6}
domain O = {7}
relation R(D) = {1, 2, 5, 6}
relation Q(D) = {2, 4}
relation E(D, D) = {(1, 2), (2, 3)}
function f(D) in D = {1: 1, 2: 1, 3: 4, 4: 2, 5: 2, 6: 2, 7: 2}
predicate A(D), B(D), C(D), T(D, D) symmetric
"""

FREE = {
    "nothing is said of it": "forall x in D: P(A(x) | B(x)) >= 0.5",
    "what agrees": "forall x in D: P(A(x) | B(x)) >= 0.3\nforall x in D: P(A(x) | C(x)) <= 0.4",
    "under conditions that exclude each other": (
        "forall x in D: P(A(x) | B(x)) >= 0.8\nforall x in D: P(A(x) | !B(x)) <= 0.2"
    ),
    "of elements that a guard keeps apart": (
        "forall x in D, R(x): P(A(x)) >= 0.8\nforall x in D, not R(x): P(A(x)) <= 0.2"
    ),
    "negated twice": "forall x in D: P(!(!A(x))) >= 0.8\nforall x in D: P(!A(x)) <= 0.3",
    "a constant that no sum is": "P(A(1)) = 0.5\nforall x in D where x < 5: P(A(x+1) | A(x)) >= 0.8",
    "a sum that is no constant": "forall x in D where x < 5: P(A(x+1) | A(x)) >= 0.8\nP(A(1)) = 0.5",
    "a constant of another domain": "forall x in S: P(A(x)) >= 0.8\nP(A(5)) <= 0.2",
    "another domain's constant": "P(A(5)) <= 0.2\nforall x in S: P(A(x)) >= 0.8",
    "the same sum": (
        "forall x in D where x < 5: P(A(x+1) | B(x)) >= 0.8\n"
        "forall x in D where x < 5: P(A(x+1) | !B(x)) <= 0.2"
    ),
    "the only element of a domain": (
        "forall x in O: P(A(x)) >= 0.8\nforall y in D where y != 7: P(A(y)) <= 0.2"
    ),
    "different constants": "P(A(1)) >= 0.8\nP(A(2)) <= 0.2",
    "the same quantifier of one variable": (
        "forall x in D where exists k in D: E(x, k): P(A(x)) >= 0.8\n"
        "forall x in D where not (exists k in D: E(x, k)): P(A(x)) <= 0.2"
    ),
}
"""Theories in which A is free, as none of its atoms is asked for two probabilities at once."""

BOUND = {
    "a cycle": "forall x in D: P(A(x) | B(x)) >= 0.2\nforall x in D: P(B(x) | A(x)) <= 0.9",
    "what disagrees": "forall x in D: P(A(x) | B(x)) >= 0.8\nforall x in D: P(A(x) | C(x)) <= 0.2",
    "the first of three and the last": (
        "forall x in D: P(A(x) | B(x)) >= 0.8\n"
        "forall x in D: 0.1 <= P(A(x) | T(x, x)) <= 0.9\n"
        "forall x in D: P(A(x) | C(x)) <= 0.2"
    ),
    "a negation": "forall x in D: P(!A(x)) >= 0.8\nforall x in D: P(A(x) | B(x)) >= 0.7",
    "what is false": "forall x in D: P(A(x) = false) >= 0.8\nforall x in D: P(A(x) | B(x)) >= 0.7",
    "other sums": (
        "forall x in D where x < 5: P(A(x+1) | B(x)) >= 0.8\n"
        "forall x in D where x < 4: P(A(x+2) | !B(x)) <= 0.2"
    ),
    "a variable named like another": (
        "forall x in S: P(A(1) | B(x)) >= 0.8\nforall x in D: P(A(x) | C(x)) <= 0.2"
    ),
    "a quantifier of a variable named like another": (
        "forall x in D where exists k in D: E(x, k): P(A(x)) >= 0.8\n"
        "forall y, x in D where y != x and not (exists k in D: E(x, k)): P(A(y)) <= 0.2"
    ),
    "a value of a function": (
        "forall x in D, R(x): P(A(x)) = 1\nforall x in D, not R(x): P(A(x)) = 0\n"
        "forall x in D: P(A(f(x))) = 1"
    ),
    "a value of a function that is false": (
        "forall x in D, R(x): P(A(x)) = 0\nforall x in D, not R(x): P(A(x)) = 1\n"
        "forall x in D: P(A(f(x))) = 0"
    ),
    "a sum at another place": (
        "forall x in D, R(x): P(A(x)) = 1\nforall x in D, not R(x): P(A(x)) = 0\n"
        "forall x in D where x < 5: P(A(x+1)) = 1"
    ),
    "a claim of two": "forall x in D: P(A(x) xor B(x)) <= 0.1",
    "quantifiers inside": (
        "forall x in D: P(A(x) | exists y in D: E(x, y) and B(y)) >= 0.8\nforall x in D: P(A(x)) <= 0.2"
    ),
}
"""Theories in which A is not free."""

MIRRORED = (
    "forall x, y in D distinct: P(T(x, y) | B(x)) >= 0.8\n"
    "forall x, y in D distinct: P(T(x, y) | !B(x)) <= 0.2"
)
"""T(x, y) is T(y, x), of which B(y) may be said."""

MORE = {
    "what one of a few elements excludes": (
        "forall x in D, R(x): P(A(x) or B(x)) >= 0.9\nforall x in D, not R(x): P(A(x) or B(x)) <= 0.1"
    ),
    "named elements": "P(A(1) xor B(1)) >= 0.9\nforall x in D where x != 1: P(A(x) or B(x)) <= 0.1",
    "named in a condition": "forall x in D: P(A(x) xor B(1) | B(1)) <= 0.1\nP(B(1) and A(2)) >= 0.4",
    "an element of two relations": (
        "forall x in D, R(x): P(A(x) or B(x)) >= 0.9\nforall x in D, Q(x): P(A(x) or B(x)) <= 0.1"
    ),
    "an element of one of two relations": (
        "forall x in D where R(x) and Q(x): P(A(x) or B(x)) >= 0.9\n"
        "forall x in D where R(x) and not Q(x): P(A(x) or B(x)) <= 0.1\n"
        "forall x in D where Q(x) and not R(x): P(A(x) xor B(x)) >= 0.9"
    ),
    "an element of a smaller domain": (
        "forall x in D, R(x): P(A(x) or B(x)) >= 0.9\nforall x in S: P(A(x) or B(x)) <= 0.1"
    ),
    "a named element like others": ("P(A(2) or B(2)) >= 0.9\nforall x in D, R(x): P(A(x) or B(x)) <= 0.1"),
    "an element that only its domains tell apart": (
        "forall x in D where R(x) and not Q(x): P(A(x) or B(x)) >= 0.9\n"
        "forall x in S where R(x) and not Q(x): P(A(x) or B(x)) <= 0.1"
    ),
    "an element that only its name tells apart": (
        "P(A(5) or B(5)) >= 0.9\nforall x in D where R(x) and not Q(x): P(A(x) or B(x)) <= 0.1"
    ),
    "an element that a guard names": (
        "forall x in D where x = 3: P(A(x) or B(x)) >= 0.9\n"
        "forall x in D where not R(x) and x != 3: P(A(x) or B(x)) <= 0.1"
    ),
    "two at once": (
        "forall x, y in D distinct: P(A(x) and A(y)) <= 0.3\n"
        "forall x, y in D distinct: P(A(x) or A(y)) >= 0.1"
    ),
    "all that differ": "forall x, y in D where x != y: P(A(x) xor A(y)) >= 0.9",
    "some that differ": (
        "forall x, y in D where x != y and R(x) and R(y) and not Q(x) and not Q(y): P(A(x) xor A(y)) >= 0.9"
    ),
    "two that are symmetric": (
        "forall x in D, y in D where R(x) and not R(y): P(T(x, y) or A(x)) >= 0.9\n"
        "forall x, y in D where R(x) and R(y): P(T(x, y) or A(x)) <= 0.1"
    ),
    "a symmetric atom turned round": (
        "forall x, y in D where R(x) and not R(y): P(T(x, y) or A(x)) >= 0.9\n"
        "forall x, y in D where R(x) and not R(y): P(T(y, x) or A(x)) <= 0.1"
    ),
    "a quantifier in a claim": "forall x in D: P(A(x) xor (exists y in D: E(x, y) and B(y))) <= 0.1",
    "every element of a quantifier": (
        "P(forall x in D: A(x)) >= 0.6\nforall x in D, R(x): P(A(x) xor B(x)) <= 0.1"
    ),
    "facts in a claim": (
        "forall x in D: P(A(x) xor R(x)) <= 0.1\nforall x in D: P(B(x) | R(x) and A(x)) >= 0.7"
    ),
    "domains that share elements": (
        "forall x in S: P(A(x) and B(x)) >= 0.9\n"
        "forall x in D where not R(x) and x > 3: P(A(x) or B(x)) <= 0.1"
    ),
    "values of functions": "forall x in D: P(A(x) xor A(f(x))) <= 0.2\nP(A(5) and B(5)) >= 0.7",
}

THEORIES = {**FREE, **BOUND, "mirrored": MIRRORED, **MORE}


def rest_of(rules: str) -> tuple[Network, Rest, Lifted]:
    lcn = parse(HEAD + rules)
    lifted = Lifted(Grounder(lcn.theory))
    return lcn.ground(), lifted.rests().rest, lifted


def worlds_of(over: tuple[Variable, ...]) -> list[dict[Variable, str]]:
    return [dict(zip(over, values, strict=True)) for values in product(*(v.values for v in over))]


def holds(formula: Formula, world: dict[Variable, str]) -> bool:
    over = scope(formula)
    place = tuple(v.values.index(world[v]) for v in over)
    return bool(truth_table(formula, over)[place])


def interval_of_atom(sentence: Sentence, x: Variable) -> tuple[float, float]:
    """Return between which values a sentence about one atom puts the probability that it is true."""
    ((weight, claim),) = sentence.claims
    assert weight == 1
    low, high = float(sentence.lower), float(sentence.upper)
    return (low, high) if holds(claim, {x: "true"}) else (1 - high, 1 - low)


def may_be_added(network: Network, x: Variable) -> bool:
    """Tell by all worlds whether an atom can be added to any model of the others."""
    graph = dependency_graph(network)
    said = [s for s in network.sentences if x in s.claim_scope]
    is_cyclic = not set(graph.descendants(x)).isdisjoint(graph.parents(x))
    if is_cyclic or any(s.claim_scope != (x,) or s.is_linear for s in said):
        return False
    for world in worlds_of(scope(*(s.given for s in said))):
        ends = [interval_of_atom(s, x) for s in said if holds(s.given, world)]
        if max((low for low, _ in ends), default=0.0) > min((high for _, high in ends), default=1.0):
            return False
    return True


def is_kept(sentence: Sentence, known: dict[Variable, str]) -> bool:
    """Tell whether a sentence holds in every world of what is not known."""
    for rest in worlds_of(tuple(v for v in sentence.scope if v not in known)):
        world = {**known, **rest}
        if holds(sentence.given, world):
            value = sum(weight for weight, claim in sentence.claims if holds(claim, world))
            if not sentence.lower <= value <= sentence.upper:
                return False
    return True


@pytest.mark.parametrize("kind", THEORIES)
def test_what_is_free_can_be_added_and_what_is_certain_keeps_every_sentence(kind: str) -> None:
    network, rest, lifted = rest_of(THEORIES[kind])
    for x in network.variables:
        if atom_of(x).name in rest.free:
            assert may_be_added(network, x)
    certain = [v for v in network.variables if atom_of(v).name not in rest.free]
    for cells in lifted.rests().worlds:
        world = {v: rest.value(cells, atom_of(v)) for v in certain}
        for sentence in network.sentences:
            is_said = not {atom_of(v).name for v in sentence.claim_scope} <= rest.free
            assert not is_said or is_kept(sentence, {v: world[v] for v in certain if v in sentence.scope})


@pytest.mark.parametrize("kind", FREE)
def test_what_is_never_asked_for_two_probabilities_is_free(kind: str) -> None:
    network, rest, _ = rest_of(FREE[kind])
    assert all(may_be_added(network, x) for x in network.variables if atom_of(x).name == "A")
    assert "A" in rest.free


@pytest.mark.parametrize("kind", BOUND)
def test_what_may_be_asked_for_two_probabilities_is_not_free(kind: str) -> None:
    network, rest, _ = rest_of(BOUND[kind])
    is_addable = all(may_be_added(network, x) for x in network.variables if atom_of(x).name == "A")
    assert not is_addable
    assert "A" not in rest.free


def test_atoms_that_are_one_are_asked_for_two_probabilities() -> None:
    network, rest, _ = rest_of(MIRRORED)
    assert not all(may_be_added(network, x) for x in network.variables if atom_of(x).name == "T")
    assert "T" not in rest.free


@pytest.mark.parametrize(
    "kind",
    [
        "what one of a few elements excludes",
        "named elements",
        "values of functions",
        "every element of a quantifier",
        "an element of one of two relations",
        "an element that a guard names",
        "domains that share elements",
    ],
)
def test_elements_that_differ_have_values_of_their_own(kind: str) -> None:
    _, rest, lifted = rest_of(MORE[kind])
    assert lifted.rests().worlds
    assert rest.certain


def test_a_contradiction_of_guards_with_quantifiers_is_not_taken_for_a_model() -> None:
    # A(1) is at least 0.8 as E(1, 2) holds, and at most 0.2 as nothing is E of 5.
    text = HEAD + BOUND["a quantifier of a variable named like another"]
    found = parse(text + "\nforall x in D: 0.2 <= P(C(x)) <= 0.8").query("P(C(5))", method="lifted")
    assert found.lower_witnessed is None and found.upper_witnessed is None


@pytest.mark.parametrize(
    "kind", ["under conditions that exclude each other", "a claim of two", "all that differ"]
)
def test_what_cannot_be_looked_through_is_neither_free_nor_kept(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcomes, "MOST", 0)
    _, rest, lifted = rest_of(THEORIES[kind])
    assert "A" not in rest.free and not lifted.rests().worlds


# ---- predicates that are carried --------------------------------------------------------------------------

RARELY = "forall x in D: P(A(x)) <= 0.05\n"

RARE = RARELY + "forall x in D: 0 <= P(C(x)) <= 0.1\nforall x in D: P(B(x)) <= 0.1\n"
"""Under conditions of at most 0.125 in all, A may be as probable as 0.4."""

CARRIED = {
    "one condition": (RARE + "forall x in D: P(A(x) | B(x)) >= 0.4", True),
    "one condition or another": (RARE + "forall x in D: P(A(x) | B(x) or C(x)) >= 0.4", False),
    "two conditions": (
        RARE + "forall x in D: P(A(x) | B(x)) >= 0.4\nforall x in D: P(A(x) | C(x)) >= 0.4",
        False,
    ),
    "two conditions at once": (RARE + "forall x in D: P(A(x) | B(x) and C(x)) >= 0.4", True),
    "two that may be one at once": (
        RARELY
        + "forall x in D: P(B(x)) <= 0.3\nforall x in D: P(C(x)) <= 0.3\n"
        + "forall x in D: P(A(x) | B(x) and C(x)) >= 0.4",
        False,
    ),
    "a claim that an atom is false": (
        "forall x in D: P(A(x) = false) <= 0.05\nforall x in D: P(B(x)) <= 0.2\n"
        "forall x in D: 0.2 <= P(A(x) | B(x)) <= 0.3",
        False,
    ),
    "many conditions": (RARE + "forall x, y in D: P(A(x) | B(y)) >= 0.4", False),
    "of one other": (RARE + "forall x, y in D, E(x, y): P(A(x) | B(y)) >= 0.4", True),
    "of a symmetric atom": (
        RARE + "forall x, y in D: P(T(x, y)) <= 0.05\nforall x, y in D: P(T(x, y) | B(x)) >= 0.4",
        False,
    ),
    "the negation of what is likely": (
        RARELY + "forall x in D: P(B(x)) >= 0.9\nforall x in D: P(A(x) | !B(x)) >= 0.4",
        True,
    ),
    "the negation of what may be likely": (
        RARELY + "forall x in D: P(B(x)) >= 0.5\nforall x in D: P(A(x) | !B(x)) >= 0.4",
        False,
    ),
    "a bound on some elements": (
        RARELY + "forall x in S: P(B(x)) <= 0.1\nforall x in D: P(A(x) | B(x)) >= 0.4",
        False,
    ),
    "a bound where a guard holds": (
        RARELY + "forall x in D, R(x): P(B(x)) <= 0.1\nforall x in D: P(A(x) | B(x)) >= 0.4",
        False,
    ),
    "a bound under a condition": (
        RARELY + "forall x in D: P(B(x) | C(x)) <= 0.1\nforall x in D: P(A(x) | B(x)) >= 0.4",
        False,
    ),
    "a bound on pairs that differ": (
        RARELY + "forall x, y in D distinct: P(U(x, y)) <= 0.1\n" + "forall x in D: P(A(x) | U(x, x)) >= 0.4",
        False,
    ),
    "a bound on pairs of one": (
        RARELY + "forall x in D: P(U(x, x)) <= 0.1\n" + "forall x, y in D, E(x, y): P(A(x) | U(x, y)) >= 0.4",
        False,
    ),
    "a bound on all pairs": (
        RARELY
        + "forall x, y in D: P(U(x, y)) <= 0.1\n"
        + "forall x, y in D, E(x, y): P(A(x) | U(x, y)) >= 0.4",
        True,
    ),
    "one that depends on it": (
        RARE
        + "forall x, y in D, E(x, y): P(A(y) | B(x)) >= 0.4\n"
        + "forall x, y in D, E(x, y): P(B(y) | A(x)) >= 0.4",
        False,
    ),
    "likely but under a condition": (
        "forall x in D: P(A(x)) >= 0.95\nforall x in D: P(B(x)) <= 0.1\nforall x in D: P(A(x) | B(x)) <= 0.6",
        True,
    ),
    "likely but under many conditions": (
        "forall x in D: P(A(x)) >= 0.95\nforall x in D: P(B(x)) <= 0.1\n"
        "forall x, y in D: P(A(x) | B(y)) <= 0.6",
        False,
    ),
}
"""Rules, and whether some table of A does what they say whatever law its conditions have.

At worst these exclude each other: A is then as probable as what is said under one, times all of them.
"""


@pytest.mark.parametrize("kind", CARRIED)
def test_what_little_bears_on_is_carried(kind: str) -> None:
    rules, is_carried = CARRIED[kind]
    head = HEAD.replace("T(D, D) symmetric", "T(D, D) symmetric, U(D, D)")
    lifted = Lifted(Grounder(parse(head + rules).theory))
    name = "T" if "T(x, y)" in rules else "A"
    assert Carried(lifted.around, lifted.schema).holds(name) is is_carried


@pytest.mark.parametrize(
    "guard", ["(forall k in D: K(k))", "(exists k in D: K(k) and not K(k))", "(not K(x) and not E(x, x))"]
)
def test_a_claim_that_nothing_satisfies_contradicts_only_where_its_guard_holds(guard: str) -> None:
    text = (
        "domain D = {a, b}\npredicate A(D)\nrelation K(D) = {a}\nrelation E(D, D) = {(b, b)}\n"
        "forall z in D: 0.6 <= P(A(z)) <= 0.8\n"
        f"forall x in D where {guard}: 0.5 <= P(A(x) or a = a) <= 0.97"
    )
    answer = parse(text).query("P(A(a))", method="lifted")
    assert (answer.lower, answer.upper) == pytest.approx((0.6, 0.8), abs=1e-4)


def test_a_claim_that_nothing_satisfies_is_placed() -> None:
    text = "domain D = {a, b}\npredicate A(D)\nforall x in D: 0.5 <= P(A(x) or a = a) <= 0.97"
    with pytest.raises(LanguageError, match="no distribution satisfies line 3") as found:
        parse(text).query("P(A(a))", method="lifted")
    assert type(found.value) is LanguageError
