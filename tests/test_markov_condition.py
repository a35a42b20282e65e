"""What the arrows of a distribution leave to be shown of an independence, worked out by hand."""

from __future__ import annotations

import random
from itertools import combinations

import networkx
import pytest

from credalog import parse
from credalog.network.graph import Markov
from credalog.network.markov import Graph, MarkovCondition, _not_separated


def numbers(*some: int) -> frozenset[int]:
    return frozenset(some)


def test_the_rest_follows_where_no_path_leads_to_it() -> None:
    """0 -> 1, and 2 by itself."""
    own = Graph.directed({0: (), 1: (0,), 2: ()})
    left = numbers(0)
    assert list(_not_separated(own, left, numbers(1, 2), numbers())) == [(left, numbers(1), numbers())]


def test_without_the_markov_condition_nothing_has_parents() -> None:
    network = parse("0.3 <= P(b | a) <= 0.4\n0.1 <= P(a) <= 0.2").ground()
    free, local = (MarkovCondition(network, markov) for markov in (Markov.NONE, Markov.LOCAL))
    assert not any(free.parents)
    assert any(local.parents)


TRIANGLE = "0.1 <= P(a xor b) <= 0.9\n0.1 <= P(c | a and b) <= 0.9\n"


@pytest.mark.parametrize(
    ("declared", "is_excused"), [("", True), ("independent a, c | b\n", False), ("independent c, d\n", True)]
)
def test_a_declared_independence_of_a_component_excuses_nothing(declared: str, is_excused: bool) -> None:
    network = parse(f"{TRIANGLE}0.1 <= P(d) <= 0.9\n{declared}").ground()
    condition = MarkovCondition(network, Markov.LOCAL)
    a, b, c, d = (condition.number[v] for v in network.variables)
    arrows = {a: numbers(), b: numbers(a), c: numbers(a, b), d: numbers()}
    excused = condition._excused(arrows, [numbers(a, b)])
    assert bool(excused) == is_excused


CHAIN = "\n".join(f"0.1 <= P({x} xor {y}) <= 0.9" for x, y in ("ab", "bc", "cd"))


def test_the_global_condition_asks_for_more_than_the_local_one_along_a_chain_of_ties() -> None:
    """What it asks for separates the chain a - b - c - d, and some of it no local condition says."""
    network = parse(CHAIN).ground()
    chain = networkx.path_graph(4)
    anything = {x: frozenset(range(x)) for x in range(4)}
    found = {}
    for markov in (Markov.LOCAL, Markov.GLOBAL):
        open_ = MarkovCondition(network, markov).left_open(anything, [numbers(0, 3)])
        assert open_ is not None
        found[markov] = set(open_)
    assert found[Markov.LOCAL] < found[Markov.GLOBAL]
    for left, right, given in found[Markov.GLOBAL]:
        cut = chain.subgraph(set(chain) - given)
        assert not any(networkx.has_path(cut, x, y) for x in left for y in right)


def test_a_chain_that_factorizes_along_its_ties_leaves_nothing_to_be_shown() -> None:
    network = parse(CHAIN).ground()
    along = {x: frozenset({x - 1} & {*range(4)}) for x in range(4)}
    assert MarkovCondition(network, Markov.GLOBAL).left_open(along, [numbers(0, 3)]) == []


def test_nobody_can_tell_where_ties_form_a_ring_without_chords() -> None:
    ring = f"{CHAIN}\n0.1 <= P(d xor a) <= 0.9"
    anything = {x: frozenset(range(x)) for x in range(4)}
    condition = MarkovCondition(parse(ring).ground(), Markov.GLOBAL)
    assert condition.left_open(anything, [numbers(0, 2)]) is None


@pytest.mark.parametrize("seed", range(20))
def test_arrows_that_conform_keep_the_conditions_of_all_in_no_cycle(seed: int) -> None:
    """What is not looked at is compared with what a walk over the graph says of it."""
    luck = random.Random(seed)
    text = [f"0.1 <= P(v{x}) <= 0.9" for x in range(7)]
    text += [f"0.1 <= P(v{y} | v{x}) <= 0.9" for x, y in combinations(range(7), 2) if luck.random() < 0.4]
    text += ["0.1 <= P(v0 xor v1) <= 0.9"] if seed % 2 else []
    condition = MarkovCondition(parse("\n".join(text)).ground(), Markov.LOCAL)
    order = [x for c in condition.graph.components() for x in c]
    order = sorted(order, key=lambda x: len(condition.ancestors([x])))
    arrows = {
        x: frozenset(p for p in condition.parents[x] if p in order[:place] and luck.random() < 0.7)
        for place, x in enumerate(order)
    }
    own = Graph.directed(arrows)
    alone = [x for x in arrows if not any(x in c for c in condition.components)]
    for x in alone:
        assert not list(_not_separated(own, numbers(x), condition.ndnp(x), condition.parents[x]))


def test_an_arrow_that_does_not_conform_leaves_conditions_to_be_shown() -> None:
    network = parse("0.1 <= P(b | a) <= 0.9\n0.1 <= P(c | b) <= 0.9").ground()
    condition = MarkovCondition(network, Markov.LOCAL)
    a, b, c = (condition.number[v] for v in sorted(network.variables, key=lambda v: v.name))
    conforming = {a: numbers(), b: numbers(a), c: numbers(b)}
    assert condition.left_open(conforming, []) == []
    assert condition.left_open({**conforming, c: numbers(a, b)}, []) == [(numbers(c), numbers(a), numbers(b))]


RING = "".join(f"0.1 <= P({x} xor {y}) <= 0.9\n" for x, y in ("ab", "bc", "cd", "da"))


def test_a_ring_whose_scopes_are_closed_is_a_law_of_its_own_whatever_its_arrows() -> None:
    """d leans on a and c, which are not tied to each other: inside the component that does not matter."""
    condition = MarkovCondition(parse(RING).ground(), Markov.LOCAL)
    arrows = {0: numbers(), 1: numbers(0), 2: numbers(1), 3: numbers(0, 2)}
    ties = [numbers(0, 1), numbers(1, 2), numbers(2, 3), numbers(0, 3)]
    assert condition.left_open(arrows, ties) == []
    assert condition.left_open(arrows, [*ties, numbers(0, 2)])


def test_nobody_can_tell_where_a_condition_is_open_about_a_component_that_is_a_law_of_its_own() -> None:
    """a and b are one; c, d and e are not, since c and e are asked for, and e leans on c beside d.

    Then a, which c leans on, is beside e as well, but its numbers may be those of another model.
    """
    text = "".join(f"0.1 <= P({x} xor {y}) <= 0.9\n" for x, y in ("ab", "cd", "de"))
    condition = MarkovCondition(parse(f"{text}0.1 <= P(c | a) <= 0.9").ground(), Markov.LOCAL)
    arrows = {0: numbers(), 1: numbers(0), 2: numbers(0), 3: numbers(2), 4: numbers(2, 3)}
    scopes = [numbers(0, 1), numbers(2, 3), numbers(3, 4), numbers(2, 4)]
    assert condition.left_open(arrows, scopes) is None
    assert condition.left_open(arrows, [*scopes, numbers(0, 2)])


def test_along_the_ties_of_a_chain_what_is_given_separates_its_ends() -> None:
    """No local condition says it: those of a and e are given b and d."""
    text = "".join(f"0.1 <= P({x} xor {y}) <= 0.9\n" for x, y in ("ab", "bc", "cd", "de"))
    for markov, follows in ((Markov.GLOBAL, True), (Markov.LOCAL, False)):
        condition = MarkovCondition(parse(text).ground(), markov)
        assert condition.independent(numbers(0), numbers(4), numbers(2)) is follows
        assert not condition.independent(numbers(0), numbers(4), numbers())


def test_what_is_given_may_lie_on_a_cycle_with_all_that_leads_to_it() -> None:
    """a leads to x and b to y, which are tied: the core is one block, in which all may depend on all."""
    stated = "".join(f"0.1 <= P({of}) <= 0.9\n" for of in ("a", "b", "x | a", "y | b", "x xor y"))
    condition = MarkovCondition(parse(stated).ground(), Markov.LOCAL)
    assert condition.independent(numbers(0), numbers(1), numbers())
    assert not condition.independent(numbers(0), numbers(1), numbers(2, 3))


@pytest.mark.parametrize("markov", Markov)
def test_anything_is_independent_of_nothing(markov: Markov) -> None:
    condition = MarkovCondition(parse("0.3 <= P(b | a) <= 0.4\n0.1 <= P(a) <= 0.2").ground(), markov)
    assert condition.independent(numbers(0), numbers(), numbers(1))


def test_a_component_whose_law_may_be_any_connects_what_leans_on_it() -> None:
    """u and v are tied; x leans on u, y on v: that tables have no arrow between u and v proves nothing."""
    text = "0.1 <= P(u xor v) <= 0.9\n0.1 <= P(x | u) <= 0.9\n0.1 <= P(y | v) <= 0.9\nindependent x, y"
    network = parse(text).ground()
    condition = MarkovCondition(network, Markov.LOCAL)
    number = {v.name: condition.number[v] for v in network.variables}
    u, v, x, y = (number[name] for name in "uvxy")
    arrows = {u: numbers(), v: numbers(), x: numbers(u), y: numbers(v)}
    assert condition._excused(arrows, [numbers(u)])
    assert condition.left_open(arrows, [numbers(u)]) == [(numbers(x), numbers(y), numbers())]
    # What follows the component by its table has other numbers under that law: nobody can tell.
    assert condition.left_open(arrows, [numbers(u)], spared=numbers(x)) is None


def test_nothing_is_left_open_of_ties_of_which_only_one_end_is_asked() -> None:
    """Some product along the ties has the same law of it (proof 9), under the global condition too."""
    anything = {x: frozenset(range(x)) for x in range(4)}
    condition = MarkovCondition(parse(CHAIN.replace("0.1", "0").replace("0.9", "1")).ground(), Markov.GLOBAL)
    assert condition.left_open(anything, [numbers(0)]) == []
