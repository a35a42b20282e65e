"""Observations gathered into one give the same answers as observations one by one."""

from dataclasses import replace
from fractions import Fraction
from math import prod

import numpy as np
import pytest

from credalog import parse
from credalog.methods.answer import Options
from credalog.methods.automatic import query
from credalog.methods.cliques import likelihood
from credalog.methods.cliques.likelihood import fold
from credalog.network.formulas import Is, Not, Variable, conjunction, propositions
from credalog.network.graph import dependency_graph
from credalog.network.sentences import Independence, Network, Query, Sentence
from credalog.numbers.interval import Endpoint, Interval, Status, Warrant
from credalog.tables.distribution import Distribution, Factor

X, A, WORKS, F, G = propositions("x a works f g")
THIRD = Fraction(1, 3)


def network_of(*sentences: Sentence) -> Network:
    return Network(tuple(dict.fromkeys(v for s in sentences for v in s.scope)), sentences)


def fraud(chances: list[tuple[Fraction, Fraction]]) -> tuple[Network, Query]:
    """Return the paper's fraud network with one rule, and features of given P(f | x) and P(f | not x)."""
    features = [Is(Variable(f"f{i}")) for i in range(len(chances))]
    rule = [
        Sentence.of(X, "0.01", "0.01"),
        Sentence.of(WORKS, "0.6", "0.7"),
        Sentence.of(X, 1, 1, given=A & WORKS),
    ]
    stated = [
        sentence
        for f, (yes, no) in zip(features, chances, strict=True)
        for sentence in (Sentence.of(f, yes, yes, given=X), Sentence.of(Not(f), 1 - no, 1 - no, given=~X))
    ]
    return network_of(*rule, *stated), Query(X, conjunction((*features, A)))


def random_chances(count: int) -> list[tuple[Fraction, Fraction]]:
    drawn = np.random.default_rng(count).integers(1, 999, (count, 2))
    return [(Fraction(int(yes), 1000), Fraction(int(no), 1000)) for yes, no in drawn]


@pytest.mark.parametrize("count", [2, 6, 12])
def test_many_features_leave_the_answer_of_the_closed_form(count: int) -> None:
    chances = random_chances(count)
    network, asked = fraud(chances)
    ratio = float(prod(yes / no for yes, no in chances))
    lower = 0.6 * ratio / (0.6 * ratio + 0.4)
    answer = query(network, asked, Options(timeout=60.0))
    assert (answer.lower, answer.upper) == pytest.approx((lower, 1.0), abs=1e-6)
    assert answer.status is Status.EXACT
    assert answer.query == asked
    assert answer.lower_witness is not None
    assert answer.lower_witness.probability(asked.claim, asked.given) == pytest.approx(lower, abs=1e-4)


def test_the_gathered_likelihood_is_the_product_divided_by_its_greatest_value() -> None:
    network, asked = fraud([(Fraction(1, 2), Fraction(1, 4)), (Fraction(1, 5), Fraction(3, 5))])
    folded = fold(network, asked)
    assert folded is not None
    (sign,) = folded.gathered
    stated = {s.given: s.lower for s in folded.network.sentences if s.claim == Is(sign)}
    assert stated == {Is(X.variable): Fraction(2, 3), Is(X.variable, "false"): Fraction(1)}
    assert {v.name for v in folded.network.variables} == {"x", "a", "works", sign.name}


def pair(first: list[Sentence], second: list[Sentence]) -> Network:
    return network_of(Sentence.of(X, "0.2", "0.4"), *first, *second)


def certain(atom: Is) -> list[Sentence]:
    return [Sentence.of(atom, THIRD, THIRD, given=X), Sentence.of(atom, "0.5", "0.5", given=~X)]


def test_only_what_is_stated_of_each_configuration_is_gathered() -> None:
    asked = Query(X, F & G)
    assert fold(pair(certain(F), certain(G)), asked) is not None
    for lower, upper in (("0.5", "0.5"), ("0", "0.3"), ("0.3", "1"), ("0", "1")):
        average = Sentence.of(G, lower, upper, given=X | ~X)
        assert fold(pair(certain(F), [average]), asked) is None
        assert fold(pair(certain(F), [average, *certain(G)]), asked) is None
    contradictory = [*certain(G), Sentence.of(G, "0.9", "0.9", given=X)]
    assert fold(pair(certain(F), contradictory), asked) is None


def test_the_products_of_ranges_fill_a_range() -> None:
    ranges = [Sentence.of(G, "0.1", "0.2", given=X), Sentence.of(G, "0.25", "0.5", given=~X)]
    folded = fold(pair(certain(F), ranges), Query(X, F & G))
    assert folded is not None
    (sign,) = folded.gathered
    stated = {s.given: (s.lower, s.upper) for s in folded.network.sentences if s.claim == Is(sign)}
    # 1/3 of 0.1 to 0.2, and 1/2 of 0.25 to 0.5, both divided by 1/4.
    assert stated == {
        Is(X.variable): (Fraction(2, 15), Fraction(4, 15)),
        Is(X.variable, "false"): (Fraction(1, 2), Fraction(1)),
    }


@pytest.mark.parametrize("count", [2, 5, 12])
@pytest.mark.parametrize("tied", [True, False])
def test_features_with_ranges_leave_the_answer_of_the_closed_form(count: int, tied: bool) -> None:
    network, asked = tied_features(count) if tied else tied_features(count, tie="")
    answer = query(network, asked, Options(timeout=60.0))
    lower, upper = (3 / 7) * 0.4**count, 1.5 * 1.5**count
    assert (answer.lower, answer.upper) == pytest.approx((lower / (1 + lower), upper / (1 + upper)), abs=1e-6)
    assert answer.status is Status.EXACT
    for model, value in ((answer.lower_witness, answer.lower), (answer.upper_witness, answer.upper)):
        assert model is not None
        assert model.probability(asked.claim, asked.given) == pytest.approx(value, abs=1e-5)


@pytest.mark.parametrize("count", [28, 40, 100])
def test_a_hundred_features_are_answered_in_time_and_memory(count: int) -> None:
    network, asked = tied_features(count)
    answer = query(network, asked, Options(timeout=5.0))
    lower, upper = (3 / 7) * 0.4**count, 1.5 * 1.5**count
    assert answer.lower <= lower / (1 + lower)
    assert answer.upper >= upper / (1 + upper)
    assert answer.seconds <= 6.5
    assert answer.status is Status.EXACT
    # Three digits of what is missing to certainty, and of what is rare, down to what a check resolves.
    assert 1.0 - answer.upper == pytest.approx(1.0 / (1 + upper), rel=0.01, abs=1e-9)
    for model, value in ((answer.lower_witness, lower), (answer.upper_witness, upper)):
        assert model is not None
        attained = model.probability(asked.claim, asked.given)
        assert attained == pytest.approx(value / (1 + value), rel=0.01, abs=1e-9)


@pytest.mark.parametrize("claim", ["c", "d", "c & d", "c | !d"])
def test_corners_span_what_all_worlds_say(claim: str) -> None:
    network, asked = tied_features(3)
    asked = replace(asked, claim=parse(f"{network}\nquery P({claim})").queries[0].claim)
    folded = fold(network, asked)
    assert folded is not None
    found = [
        (corner, query(corner.network, folded.query, Options(timeout=20.0, method="joint")))
        for corner in folded.corners()
    ]
    assert len(found) == 4
    spanned = likelihood.spanned([corner.restored(answer.interval) for corner, answer in found])
    truth = query(network, asked, Options(timeout=20.0, method="joint"))
    assert truth.status is Status.EXACT
    assert (spanned.lower.bound, spanned.upper.bound) == pytest.approx((truth.lower, truth.upper), abs=1e-4)
    assert truth.lower_witnessed is not None and spanned.lower.bound <= truth.lower_witnessed
    assert truth.upper_witnessed is not None and spanned.upper.bound >= truth.upper_witnessed
    for end in (spanned.lower, spanned.upper):
        # The model is on the scale of the gathered observations, not on that of its corner.
        assert end.model.probability(asked.claim, folded.query.given) == pytest.approx(
            end.witnessed, abs=1e-9
        )


def test_the_span_of_intervals_stands_on_the_weakest_word() -> None:
    first = Interval(Endpoint(0.2, 0.25, Warrant.CHECKED), Endpoint(0.6, 0.5, Warrant.CLAIMED))
    second = Interval(Endpoint(0.3, None, Warrant.CLAIMED), Endpoint(0.7, 0.4, Warrant.CHECKED))
    assert likelihood.spanned([first, second]) == Interval(
        Endpoint(0.2, 0.25, Warrant.CLAIMED), Endpoint(0.7, 0.5, Warrant.CLAIMED)
    )


def test_too_many_corners_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    folded = fold(*tied_features(3))
    assert folded is not None
    monkeypatch.setattr(likelihood, "CORNERS", 3)
    assert not list(folded.corners())


def test_no_corner_makes_what_is_observed_impossible() -> None:
    """Of two features that may be impossible, in each of two configurations: four corners but one."""
    vague = [Sentence.of(f, 0, "0.5", given=g) for f in (F, G) for g in (X, ~X)]
    folded = fold(network_of(Sentence.of(X, "0.2", "0.4"), *vague), Query(X, F & G))
    assert folded is not None
    found = [tuple(corner.values.values()) for corner in folded.corners()]
    assert len(found) == 3 and all(any(values) for one in found for values in one)


def test_what_stands_for_observations_is_a_law_in_every_corner() -> None:
    folded = fold(*tied_features(2))
    assert folded is not None
    for corner in folded.corners():
        for sign, values in corner.values.items():
            parents = folded.gathered[sign][0].parents
            nothing = np.zeros((*(len(v.values) for v in parents), 2))
            table = corner._scaled(Factor((sign,), parents, nothing)).table
            assert table[..., 1].ravel() == pytest.approx([float(value) for value in values])
            assert table.sum(axis=-1).ravel() == pytest.approx(1.0)


@pytest.mark.slow
def test_likelihoods_below_all_floats_come_back() -> None:
    network, asked = tied_features(800)
    answer = query(network, asked, Options(timeout=10.0))
    assert answer.status is Status.EXACT
    assert answer.upper_witness is not None and answer.lower_witness is not None
    (seen,) = (f for f in answer.upper_witness.factors if f.block[0].name == "f5")
    # c is most probable where the features are likely given c, and unlikely otherwise.
    assert seen.table[:, 1] == pytest.approx([0.2, 0.3])


def tied_features(count: int, tie: str = "0.2 <= P(c xor d) <= 0.7") -> tuple[Network, Query]:
    """Return naive Bayes with all its features observed, the class tied to another atom."""
    features = "\n".join(f"0.1 <= P(f{i} | c) <= 0.3\n0.2 <= P(f{i} | !c) <= 0.25" for i in range(count))
    network = parse(f"0.3 <= P(c) <= 0.6\n{features}\n{tie}").ground()
    number = {v.name: Is(v) for v in network.variables}
    return network, Query(number["c"], conjunction(number[f"f{i}"] for i in range(count)))


def test_what_else_is_asked_or_said_of_an_observation_keeps_it() -> None:
    network = pair(certain(F), certain(G))
    assert fold(network, Query(G, F & X)) is None
    assert fold(network, Query(X, F | G)) is None
    assert fold(network, Query(X, F)) is None
    child = network_of(*network.sentences, Sentence.of(A, "0.5", "0.5", given=F & G))
    assert fold(child, Query(X, F & G)) is None
    declared = replace(network, independences=(Independence((F.variable,), (G.variable,)),))
    assert fold(declared, Query(X, F & G)) is None


def test_impossible_observations_are_left_to_the_engine() -> None:
    never = [Sentence.of(G, 0, 0, given=X), Sentence.of(G, 0, 0, given=~X)]
    assert fold(pair(certain(F), never), Query(X, F & G)) is None


@pytest.mark.slow
def test_nothing_is_gathered_where_a_condition_is_another_sentences_claim() -> None:
    # The claim a & b leads on to x and y: d is a parent of both, and P(x | a & b) is an average over d.
    lcn = parse(
        """
        P(d) = 0.5
        P(a & b | d) = 0.8
        P(a & b | !d) = 0.3
        P(x | a & b) = 0.9
        P(x | !(a & b)) = 0.1
        P(y | a & b) = 0.7
        P(y | !(a & b)) = 0.4
        """
    )
    found, joint = (lcn.query("P(d | x & y)", method=method) for method in ("auto", "joint"))
    assert (found.lower, found.upper) == pytest.approx((joint.lower, joint.upper), abs=2e-4)
    assert found.upper == pytest.approx(1.0, abs=1e-4)


# --- What is gathered, by hand ---------------------------------------------------------------------------

COLOR = Variable("color", ("red", "green", "blue"))
H = Is(Variable("h"))


def of_two(atom: Is, chances: list[str]) -> list[Sentence]:
    """State P(atom | x, color) in the order of the configurations of color and x."""
    givens = [Is(COLOR, color) & Is(X.variable, x) for color in COLOR.values for x in X.variable.values]
    return [Sentence.of(atom, p, p, given=given) for given, p in zip(givens, chances, strict=True)]


def test_a_gathered_observation_comes_back_as_the_table_it_was() -> None:
    first, second = ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6"], ["1", "0.5", "0", "0.5", "1", "0.5"]
    others = [Sentence.of(X, "0.2", "0.4"), Sentence.of(Is(COLOR, "red"), "0.3", "0.5")]
    network = network_of(*others, *of_two(F, first), *of_two(G, second))
    folded = fold(network, Query(X, F & ~G))
    assert folded is not None
    # 0.1 * 0, 0.2 * 0.5, 0.3 * 1, 0.4 * 0.5, 0.5 * 0, 0.6 * 0.5; the greatest is 0.3.
    expected = [Fraction(0), THIRD, Fraction(1), 2 * THIRD, Fraction(0), Fraction(1)]
    (sign,) = folded.gathered
    assert [s.lower for s in folded.network.sentences if s.claim == Is(sign)] == expected
    assert folded.network.sentences[:2] == tuple(others)
    assert folded.network.variables == (X.variable, COLOR, sign)
    kept = Factor((X.variable,), (), np.array([0.7, 0.3]))
    gathered = Factor((sign,), (X.variable, COLOR), np.full((2, 3, 2), 0.5))
    restored = folded._restored(Distribution((kept, gathered)))
    assert restored is not None
    same, *leaves = restored.factors
    assert same is kept and [leaf.block for leaf in leaves] == [(F.variable,), (G.variable,)]
    for leaf, chances in zip(leaves, (first, second), strict=True):
        assert leaf.parents == (COLOR, X.variable)
        seen = np.array([float(p) for p in chances]).reshape(3, 2)
        assert leaf.table == pytest.approx(np.stack([1.0 - seen, seen], axis=-1))
    assert folded._restored(None) is None


def test_ranges_come_back_as_likelihoods_with_the_product_of_the_witness() -> None:
    """Given color and x, f has a range of its own each; g has 1/2. The greatest product is 0.6 / 2."""
    ranges = [("0.1", "0.5"), ("0.2", "0.2"), ("0", "0.3"), ("0.4", "0.6"), ("0.1", "0.1"), ("0", "0.5")]
    half, points = 6 * ["0.5"], np.array([0.4, 0.2, 0.09, 0.6, 0.1, 0.0]).reshape(3, 2)
    wide = [
        replace(s, lower=Fraction(low), upper=Fraction(high))
        for s, (low, high) in zip(of_two(F, half), ranges, strict=True)
    ]
    folded = fold(network_of(Sentence.of(X, "0.2", "0.4"), *wide, *of_two(G, half)), Query(X, F & G))
    assert folded is not None
    (sign,) = folded.gathered
    seen = points.T / 0.6
    witness = Distribution((Factor((sign,), (X.variable, COLOR), np.stack([1.0 - seen, seen], axis=-1)),))
    restored = folded._restored(witness)
    assert restored is not None
    first, second = restored.factors
    assert first.table[..., 1] == pytest.approx(points, abs=1e-9)
    assert second.table == pytest.approx(0.5)


def test_observations_are_gathered_only_where_all_parents_stay_the_same() -> None:
    network, asked = pair(certain(F), certain(G)), Query(X, F & G)
    folded = fold(network, asked)
    assert folded is not None
    after, before = dependency_graph(folded.network), dependency_graph(network)
    assert folded.keeps(before, after)
    other = Sentence.of(A, "0.5", "0.5")
    for extra in (Sentence.of(F, 0, 1, given=A), Sentence.of(G, 0, 1, given=A)):
        assert not folded.keeps(dependency_graph(network_of(*network.sentences, extra, other)), after)
    for extra in (Sentence.of(X, 0, 1, given=A), Sentence.of(A, 0, 1, given=X)):
        more = [dependency_graph(network_of(*n.sentences, other, extra)) for n in (network, folded.network)]
        apart = [dependency_graph(network_of(*n.sentences, other)) for n in (network, folded.network)]
        assert folded.keeps(*more) and folded.keeps(*apart)
        assert not folded.keeps(more[0], apart[1]) and not folded.keeps(apart[0], more[1])


def test_only_one_family_of_several_is_impossible() -> None:
    never = [Sentence.of(atom, 0, 0, given=given) for atom in (WORKS, H) for given in (A, ~A)]
    network = network_of(*pair(certain(F), certain(G)).sentences, Sentence.of(A, "0.2", "0.3"), *never)
    assert fold(network, Query(X, F & G & WORKS & H)) is None


@pytest.mark.parametrize("parts", [("f", "a"), ("a", "f"), ("a", "x", "f")])
def test_a_declared_independence_keeps_an_observation_wherever_it_names_it(parts: tuple[str, ...]) -> None:
    declared = Independence(*((Variable(name),) for name in parts))
    network = network_of(*pair(certain(F), certain(G)).sentences, Sentence.of(A, "0.2", "0.3"))
    assert fold(network, Query(X, F & G)) is not None
    assert fold(replace(network, independences=(declared,)), Query(X, F & G)) is None


def test_an_observation_that_is_asked_about_is_kept() -> None:
    assert fold(pair(certain(F), certain(G)), Query(X & F, F & G)) is None


def test_an_observation_of_many_values_is_kept() -> None:
    """P(color = red | x) says how likely it is, and nothing of how the rest is shared."""
    red = Is(COLOR, "red")
    assert fold(pair(certain(F), certain(red)), Query(X, F & red)) is None


def test_an_observation_that_is_its_own_condition_is_kept() -> None:
    def trivial(atom: Is, other: Is) -> list[Sentence]:
        return [
            Sentence.of(atom, p, p, given=given & x)
            for given, p in ((F, int(atom == F)), (~F, 0))
            for x in (other, ~other)
        ]

    assert fold(pair(trivial(F, X), trivial(G, X)), Query(X, F & G)) is None


def test_observations_with_too_many_configurations_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    network, asked = pair(certain(F), certain(G)), Query(X, F & G)
    monkeypatch.setattr(likelihood, "CONFIGURATIONS", 2)
    assert fold(network, asked) is not None
    monkeypatch.setattr(likelihood, "CONFIGURATIONS", 1)
    assert fold(network, asked) is None


def test_certainty_over_several_configurations_is_certainty_in_each() -> None:
    def stated(atom: Is, p: int) -> list[Sentence]:
        return [Sentence.of(atom, p, p, given=X | A), Sentence.of(atom, "0.5", "0.5", given=~X & ~A)]

    for first, second, product in ((1, 1, [1, 4, 4, 4]), (1, 0, [1, 0, 0, 0]), (0, 0, [1, 0, 0, 0])):
        folded = fold(pair(stated(F, first), stated(G, second)), Query(X, F & G))
        assert folded is not None
        (sign,) = folded.gathered
        found = [s.lower for s in folded.network.sentences if s.claim == Is(sign)]
        assert found == [Fraction(p, max(product)) for p in product]


def test_a_configuration_with_two_numbers_keeps_its_observation() -> None:
    """Given x and a, f has probability 1/2 and, by the second sentence, 1."""
    crossed = [
        Sentence.of(F, "0.5", "0.5", given=X & A),
        Sentence.of(F, 1, 1, given=X),
        Sentence.of(F, "0.5", "0.5", given=~X & A),
        Sentence.of(F, "0.5", "0.5", given=~X & ~A),
    ]
    plain = [Sentence.of(G, "0.5", "0.5", given=x & a) for x in (X, ~X) for a in (A, ~A)]
    assert fold(pair(crossed, plain), Query(X, F & G)) is None


def test_a_weighed_sentence_states_no_probability() -> None:
    """2 P(f | x) = 1 is not P(f | x) = 1."""
    weighed = [Sentence(((Fraction(2), F),), given, Fraction(1), Fraction(1)) for given in (X, ~X)]
    assert fold(pair(weighed, certain(G)), Query(X, F & G)) is None


def test_where_nothing_is_said_of_an_observation_it_is_certain_at_most() -> None:
    """P(f | !c) and P(g | !c) may be one: P(c | f, g) is at least 0.01 / (0.01 + 1), by Bayes' theorem."""
    lcn = parse("P(c) = 0.5\n0.1 <= P(f | c) <= 0.3\n0.1 <= P(g | c) <= 0.3\nP(c and d) <= 0.4")
    folded = fold(lcn.ground(), lcn.question("P(c | f & g)"))
    assert folded is not None
    (sign,) = folded.gathered
    said = {(s.lower, s.upper) for s in folded.network.sentences if sign in s.claim_scope}
    assert said == {(0, 1), (Fraction(1, 100), Fraction(9, 100))}
    found = lcn.query("P(c | f & g)", method="factorized")
    assert (found.lower, found.upper) == pytest.approx((1 / 101, 1.0), abs=1e-5)


@pytest.mark.parametrize(("share", "expected"), [(0.0, 0.25), (0.5, 0.5), (1.0, 0.75), (1.5, 0.75)])
def test_a_share_of_a_range_is_one_of_its_width_and_ends_at_its_upper_end(share: float, expected: float):
    assert likelihood._within((Fraction(1, 4), Fraction(3, 4)), share) == expected


def test_what_is_said_of_the_opposite_of_an_observation_is_turned_round() -> None:
    """f and g are not observed to be true: P(!f | x) is 0.5 to 0.8 where P(f | x) is 0.2 to 0.5."""
    ranges = [(F, "0.2", "0.5"), (~F, "0.4", "0.9"), (G, "0.1", "0.3"), (~G, "0.7", "0.8")]
    stated = [
        Sentence.of(claim, lower, upper, given=given)
        for (claim, lower, upper), given in zip(ranges, (X, ~X, X, ~X), strict=True)
    ]
    folded = fold(pair(stated[:2], stated[2:]), Query(X, ~F & ~G))
    assert folded is not None
    found = {leaf.variable: dict(zip(("no", "yes"), leaf.likelihood, strict=True)) for leaf in folded.leaves}
    tenths = {atom.variable: {"no": (low, high)} for atom, low, high in ((F, 4, 9), (G, 7, 8))}
    tenths[F.variable]["yes"], tenths[G.variable]["yes"] = (5, 8), (7, 9)
    assert found == {
        v: {given: (Fraction(low, 10), Fraction(high, 10)) for given, (low, high) in of.items()}
        for v, of in tenths.items()
    }


def test_all_that_is_said_of_a_likelihood_counts() -> None:
    twice = [Sentence.of(G, "0.3", 1, given=X), Sentence.of(G, 0, "0.6", given=X)]
    for said in (twice, twice[::-1]):
        folded = fold(pair(certain(F), [*said, *certain(G)[1:]]), Query(X, F & G))
        assert folded is not None
        assert [leaf.likelihood[1] for leaf in folded.leaves] == [
            (THIRD, THIRD),
            (Fraction(3, 10), Fraction(3, 5)),
        ]


def test_an_end_without_a_model_has_none_on_another_scale() -> None:
    folded = fold(pair(certain(F), certain(G)), Query(X, F & G))
    assert folded is not None
    (corner,) = folded.corners()
    bare = Interval(*(Endpoint(bound, None, Warrant.CHECKED) for bound in (0.25, 0.5)))
    assert corner.restored(bare) == bare


def test_no_corner_makes_all_that_was_observed_of_one_family_impossible() -> None:
    """P(h | y) and P(h | !y) are each 0 or 0.5, but not both 0."""
    y, h, i = propositions("y h i")
    more = [Sentence.of(h, 0, "0.5", given=given) for given in (y, ~y)]
    more += [Sentence.of(i, THIRD, THIRD, given=given) for given in (y, ~y)]
    network = network_of(*pair(certain(F), certain(G)).sentences, Sentence.of(y, "0.2", "0.4"), *more)
    folded = fold(network, Query(X & y, F & G & h & i))
    assert folded is not None
    found = [[*corner.values.values()] for corner in folded.corners()]
    assert len(found) == 3 and all(map(any, (values for corner in found for values in corner)))
