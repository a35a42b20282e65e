"""What is said or asked across conditions, under one condition.

Input: a network and a sum of probabilities under several conditions. Output: a network with a few more
variables, and the sum under one of its conditions. A *copy* is a root, independent of all else, whose
probability is that of a claim, or of a weighted sum of claims, under its condition; under any other it is the
same. Every model extends to the copies (docs/proofs.md, proof 20), so what is proved of the larger network is
true of the smaller one. The verifier of certificates stands on it, so it needs no arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from credalog.network.expressions import Claims, Linear, Part, Summand
from credalog.network.formulas import TRUE, Formula, Is, Variable, conjunction
from credalog.network.graph import Markov
from credalog.network.sentences import Contrast, Independence, Network, Sentence

__all__ = ["under_one_condition", "without_contrasts"]

_ZERO, _ONE = Fraction(0), Fraction(1)


def under_one_condition(
    network: Network, asked: Linear, markov: Markov, *, proved: Iterable[Sentence] = (), is_strict: bool
) -> tuple[Network, Part]:
    """Return a sum under one condition, and the network with the copies that this takes.

    What is proved of a claim is said of its copy. If it is strict, the condition is possible only where all
    conditions of the sum are.
    """
    copying = _Copying(network, asked.scope, markov, tuple(proved))
    part, constant = copying.part(asked, is_strict=is_strict)
    return copying.network, replace(part, claims=(*part.claims, (constant, TRUE)))


def without_contrasts(network: Network, markov: Markov) -> Network:
    """Return a network whose sentences have one condition each; some say nothing and draw the arrows."""
    if not network.contrasts:
        return network
    arrows = tuple(sentence for contrast in network.contrasts for sentence in contrast.arrows())
    grown = replace(network, sentences=(*network.sentences, *arrows), contrasts=())
    for contrast in network.contrasts:
        copying = _Copying(grown, contrast.scope, markov, ())
        summands = tuple(Summand(term.weight, term.claim, term.given) for term in contrast.terms)
        part, constant = copying.part(Linear(summands), is_strict=not _allows_equality(contrast))
        lower, upper = contrast.lower - constant, contrast.upper - constant
        said = Sentence(part.claims, part.given, lower, upper, tau=False, draws=False)
        grown = replace(copying.network, sentences=(*copying.network.sentences, said))
    return grown


def _allows_equality(contrast: Contrast) -> bool:
    """Tell whether a sentence compares two probabilities that may be equal.

    The copy of what stands under an impossible condition may then be taken equal to the other.
    """
    if len(contrast.terms) != 2 or not contrast.lower <= 0 <= contrast.upper:
        return False
    first, second = contrast.terms
    return first.weight == -second.weight


class _Copying:
    """A network that grows by copies."""

    def __init__(
        self, network: Network, scope: Sequence[Variable], markov: Markov, proved: tuple[Sentence, ...]
    ) -> None:
        self.network, self.scope, self.markov, self.proved = network, tuple(scope), markov, proved

    def part(self, asked: Linear, *, is_strict: bool) -> tuple[Part, Fraction]:
        """Return a sum under its first condition, or under none where a term has none, and a constant."""
        parts, constant = asked.parts()
        base = TRUE if TRUE in asked.conditions else next(iter(asked.conditions), TRUE)
        claims = list[tuple[Fraction, Formula]]()
        for part in parts:
            if part.given == base:
                claims += part.claims
            else:
                least, span = _span(part.claims)
                claims.append((span, self._copy(part)))
                constant += least
        others = (condition for condition in asked.conditions if condition != base)
        copies = [self._copy(Part(TRUE, ((_ONE, other),))) for other in others] if is_strict else []
        return Part(conjunction((base, *copies)), tuple(claims)), constant

    def _copy(self, part: Part) -> Is:
        """Add a root whose probability is what a part says, brought to the range from 0 to 1."""
        least, span = _span(part.claims)
        variable = Variable(f"<copy {len(self.network.variables)}>")
        copy = Is(variable, variable.values[-1])
        scaled = (*((weight / span, claim) for weight, claim in part.claims), (-_ONE, copy))
        equal = Sentence(scaled, part.given, least / span, least / span, tau=False, draws=False)
        low, high = ((end - least) / span for end in self._range(part))
        declared = (Independence((variable,), self.scope),) if self.markov is Markov.NONE else ()
        self.network = replace(
            self.network,
            variables=(*self.network.variables, variable),
            sentences=(*self.network.sentences, equal, Sentence.of(copy, low, high)),
            independences=(*self.network.independences, *declared),
        )
        self.scope = (*self.scope, variable)
        return copy

    def _range(self, part: Part) -> tuple[Fraction, Fraction]:
        """Return bounds of a part: those that were proved, unless there is no number between them."""
        least, span = _span(part.claims)
        low, high = least, least + span
        for s in self.proved:
            times = _multiple(part.claims, s.claims) if s.given == part.given else None
            if times is not None:
                ends = sorted((times * s.lower, times * s.upper))
                low, high = max(low, ends[0]), min(high, ends[1])
        return (low, high) if low <= high else (least, least + span)


def _span(claims: Claims) -> tuple[Fraction, Fraction]:
    """Return a number that no sum of weights falls below, and how far above it none is."""
    least = sum((weight for weight, _ in claims if weight < 0), start=_ZERO)
    return least, sum((abs(weight) for weight, _ in claims), start=_ZERO)


def _multiple(claims: Claims, others: Claims) -> Fraction | None:
    """Return how many times other claims are some claims; None where they are not."""
    if [claim for _, claim in claims] != [claim for _, claim in others]:
        return None
    times = {weight / other for (weight, _), (other, _) in zip(claims, others, strict=True)}
    return times.pop() if len(times) == 1 else None
