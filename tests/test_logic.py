"""The algebra of formulas: evaluation against a world-by-world reading, and its canonical form."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credalog.errors import UnknownName
from credalog.network.formulas import (
    FALSE,
    TRUE,
    And,
    Formula,
    Iff,
    Implies,
    Is,
    Not,
    Or,
    Variable,
    Xor,
    atoms,
    canonical,
    conjunction,
    disjunction,
    literals_of,
    proposition,
    propositions,
    scope,
    truth_table,
)
from oracle import holds
from strategies import grown

COLOUR = Variable("Color", ("red", "green", "blue"))
VARIABLES = (Variable("a"), COLOUR, Variable("b"), Variable("c"))


def leaves() -> st.SearchStrategy[Formula]:
    every = [Is(x, value) for x in VARIABLES for value in x.values]
    return st.sampled_from([TRUE, FALSE, *every])


formulas = st.recursive(leaves(), grown, max_leaves=8)


def worlds() -> list[dict[Variable, str]]:
    return [dict(zip(VARIABLES, values, strict=True)) for values in product(*(x.values for x in VARIABLES))]


@given(formulas)
def test_a_truth_table_says_of_every_world_what_the_schoolbook_says(formula: Formula):
    table = truth_table(formula, VARIABLES)
    assert table.shape == (2, 3, 2, 2)
    assert table.ravel().tolist() == [holds(formula, world) for world in worlds()]


@given(formulas)
def test_the_canonical_form_means_the_same_and_is_its_own_canonical_form(formula: Formula):
    once = canonical(formula)
    assert np.array_equal(truth_table(once, VARIABLES), truth_table(formula, VARIABLES))
    assert canonical(once) == once


@given(st.lists(formulas, min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_commutative_operands_makes_no_difference(parts: list[Formula], rng):
    shuffled = rng.sample(parts, len(parts))
    for kind in (And, Or, Xor):
        assert canonical(kind(tuple(parts))) == canonical(kind(tuple(shuffled)))
    assert canonical(Iff(parts[0], parts[1])) == canonical(Iff(parts[1], parts[0]))


def test_the_direction_of_an_implication_does_make_one():
    a, b = propositions("a b")
    assert canonical(Implies(a, b)) != canonical(Implies(b, a))


@pytest.mark.slow
@given(formulas)
def test_the_scope_has_the_variables_of_the_atoms_once_each(formula: Formula):
    found = scope(formula)
    assert len(set(found)) == len(found)
    assert set(found) == {atom.variable for atom in atoms(formula)}


def test_atoms_come_from_left_to_right():
    a, b, c = propositions("a b c")
    assert list(atoms(Implies(a & ~b, c | a))) == [a, b, c, a]


def test_pythons_operators_build_formulas():
    a, b = propositions("a b")
    assert a & b == And((a, b))
    assert a | b == Or((a, b))
    assert a ^ b == Xor((a, b))
    assert ~a == Not(a)
    assert a >> b == Implies(a, b)


def test_nested_conjunctions_are_flattened_and_the_neutral_element_disappears():
    a, b, c = propositions("a b c")
    assert (a & b) & c == And((a, b, c))
    assert conjunction(()) == TRUE
    assert conjunction((TRUE, a)) == a
    assert disjunction(()) == FALSE
    assert disjunction((a, FALSE)) == a


def test_a_conjunction_of_literals_is_a_partial_world():
    a, b = propositions("a b")
    green = COLOUR.is_("green")
    assert literals_of(a & ~b & green) == {a.variable: "true", b.variable: "false", COLOUR: "green"}
    assert literals_of(TRUE) == {}


@pytest.mark.parametrize(
    "text",
    ["a or b", "a and not a", "a xor b", "not Color = red"],
    ids=["disjunction", "contradiction", "parity", "leaves two values"],
)
def test_other_formulas_are_no_partial_world(text: str):
    a, b = propositions("a b")
    formula = {
        "a or b": a | b,
        "a and not a": a & ~a,
        "a xor b": a ^ b,
        "not Color = red": ~COLOUR.is_("red"),
    }[text]
    assert literals_of(formula) is None


def test_an_atom_must_name_a_value_of_its_variable():
    with pytest.raises(UnknownName, match="Color has no value pink"):
        COLOUR.is_("pink")


def test_variables_of_one_name_and_other_values_differ():
    assert Variable("x") == proposition("x").variable
    assert Variable("x", ("0", "1")) != Variable("x")
    assert not COLOUR.is_proposition
