"""Large relations are followed by sorted arrays, small ones by an index: both propose the same elements."""

from random import Random

import pytest

from credalog import parse
from credalog.grounding import guards
from credalog.network.sentences import Sentence

THEORY = """
domain Person = {{a, b, c, d, e}}
domain Adult = {{e, c, a}}
domain Service = {{ssh, web, mail}}
relation Uses(Person, Person, Service) = {{{facts}}}
predicate Bad(Person), Down(Service)
forall x in Person, y in Adult, s in Service where Uses(x, y, s): 0.1 <= P(Bad(y) | Bad(x) & !Down(s)) <= 0.6
forall s in Service, y in Person where Uses(a, y, s): P(Bad(y) | Down(s)) <= 0.3
forall x in Adult where Uses(x, x, ssh): P(Bad(x)) <= 0.2
forall s in Service where exists x in Person, y in Adult where Uses(x, y, s): Uses(y, x, s): P(Down(s)) <= 0.4
"""


def _sentences(facts: set[tuple[str, str, str]]) -> tuple[Sentence, ...]:
    spelt = ", ".join(f"({', '.join(fact)})" for fact in sorted(facts))
    return tuple(parse(THEORY.format(facts=spelt)).ground().sentences)


@pytest.mark.parametrize("seed", range(20))
def test_sorted_facts_are_followed_to_the_same_instances(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(seed)
    facts = {
        (rng.choice("abcde"), rng.choice("abcde"), rng.choice(("ssh", "web", "mail"))) for _ in range(25)
    }
    by_index = _sentences(facts)
    monkeypatch.setattr(guards, "MANY", 0)
    assert _sentences(facts) == by_index
