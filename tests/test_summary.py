"""What is said of a network before any inference."""

import pytest

from credalog.network import summary
from credalog.network.formulas import Is, Variable, conjunction, propositions
from credalog.network.graph import dependency_graph, independences
from credalog.network.sentences import Network, Sentence
from credalog.network.summary import Summary, summarize
from test_markov import RandomNetworks, network, says


def summary_of(*sentences: Sentence) -> Summary:
    of = network(*sentences)
    return summarize(of, dependency_graph(of))


@pytest.mark.parametrize("block", range(10))
def test_the_count_is_the_number_of_independences_listed(block: int):
    for seed in range(50 * block, 50 * block + 50):
        of = RandomNetworks(seed).network()
        graph = dependency_graph(of)
        counted = summarize(of, graph)
        assert (counted.independences, counted.uncounted) == (sum(1 for _ in independences(graph)), 0)


def test_what_cannot_be_counted_in_time_is_said_to_be_uncounted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(summary, "EFFORT", 0)
    a, b, c = propositions("a b c")
    counted = summary_of(says(a, b), says(b, a), says(c))
    assert (counted.independences, counted.uncounted) == (1, 2)


def test_the_appendix_example():
    a, b, c, d = propositions("a b c d")
    found = summary_of(says(a & b), says(a, c), says(a, ~c), says(b, d), says(b, ~d))
    assert (found.variables, found.sentences, found.formulas, found.independences) == (4, 5, 3, 4)
    assert (found.cycles, found.core, found.widest_clique) == ((2,), 4, 4)


def test_a_chain_has_cliques_of_two_and_no_core():
    a, b, c, d = propositions("a b c d")
    found = summary_of(says(a), says(b, a), says(c, b), says(d, c))
    assert (found.cycles, found.core, found.widest_clique) == ((), 0, 2)


def test_a_sentence_widens_the_clique_to_its_scope():
    a, b, c, d = propositions("a b c d")
    assert summary_of(says(a & b & c & d, tau=False)).widest_clique == 4


def test_a_hopeless_clique_has_no_width():
    wide = [Is(Variable(f"x{i}")) for i in range(summary.WIDEST + 1)]
    claim = conjunction(wide)
    assert summary_of(says(claim, tau=False)).widest_clique is None


@pytest.mark.slow
def test_a_long_cycle_is_summarized_at_once():
    count = 10_000
    atoms = [Is(Variable(f"x{i}")) for i in range(count)]
    cycle = tuple(says(atoms[i], atoms[i - 1]) for i in range(count))
    of = Network(tuple(atom.variable for atom in atoms), cycle)
    found = summarize(of, dependency_graph(of))
    assert found.cycles == (count,)
    assert found.uncounted > 0
