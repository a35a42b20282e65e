"""Ground sentences without what is constant, and without what is said twice.

Input: instances of rules. Output: sentences in the paper's form, each said once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

from credalog.network.formulas import FALSE, TRUE, Formula, Truth, canonical
from credalog.network.sentences import Contrast, Sentence
from credalog.theory import Misstatement, span

_ZERO, _ONE = Fraction(0), Fraction(1)

_OUT_OF_REACH = (
    "What it bounds is a constant, or can never be so much or so little: P(true) is 1, P(false) is 0, and "
    "facts are certain. Correct the bounds or the formula; a guard (`where`) leaves instances out."
)


def settled(sentence: Sentence) -> Sentence | None:
    """Take constants out of a ground sentence; return None if nothing is left to say."""
    if len(sentence.claims) == 1 and not isinstance(sentence.claims[0][1], Truth):
        return sentence
    weights: dict[Formula, Fraction] = {}
    for weight, claim in sentence.claims:
        weights[claim] = weights.get(claim, _ZERO) + weight
    certain = weights.pop(TRUE, _ZERO)
    weights.pop(FALSE, None)
    claims = tuple((weight, claim) for claim, weight in weights.items() if weight)
    lower, upper = sentence.lower - certain, sentence.upper - certain
    return _restated(replace(sentence, claims=claims, lower=lower, upper=upper))


def settled_contrast(contrast: Contrast) -> Sentence | Contrast | None:
    """Take constants out of a sentence across conditions; under one condition it is a linear sentence.

    Where what is left cannot be met, one of the conditions is impossible; which one, the search decides.
    """
    certain = sum((t.weight for t in contrast.terms if t.claim == TRUE), _ZERO)
    terms = tuple(t for t in contrast.terms if not isinstance(t.claim, Truth))
    lower, upper = contrast.lower - certain, contrast.upper - certain
    conditions = dict.fromkeys(t.given for t in contrast.terms)
    if len(conditions) > 1 and terms:
        # A condition whose claim is constant still must be possible for the sentence to say anything.
        kept = contrast.terms if len({t.given for t in terms}) < len(conditions) else terms
        return (
            contrast if kept is contrast.terms else replace(contrast, terms=terms, lower=lower, upper=upper)
        )
    claims = tuple((t.weight, t.claim) for t in terms)
    given = next(iter(conditions))
    return settled(Sentence(claims, given, lower, upper, contrast.tau, contrast.label, contrast.source))


def _restated(sentence: Sentence) -> Sentence | None:
    """Return the paper's form where one claim is left, and P(given) = 0 where nothing can satisfy."""
    least, greatest = span(sentence.claims)
    if not sentence.claims and sentence.lower <= 0 <= sentence.upper:
        return None
    if sentence.lower > greatest or sentence.upper < least:
        return _impossible(sentence)
    if len(sentence.claims) > 1:
        return sentence
    ((weight, claim),) = sentence.claims
    bounds = sorted((max(sentence.lower, least) / weight, min(sentence.upper, greatest) / weight))
    return replace(sentence, claims=((_ONE, claim),), lower=bounds[0], upper=bounds[1])


def _impossible(sentence: Sentence) -> Sentence:
    if sentence.given == TRUE:
        raise Misstatement(f"no distribution satisfies {sentence.name}", advice=_OUT_OF_REACH)
    return replace(sentence, claims=((_ONE, sentence.given),), given=TRUE, lower=_ZERO, upper=_ZERO)


def merged(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """Keep the first of a rule's instances that say the same.

    Sentences of different rules are all kept: each has its own label, place and weight.
    """
    seen: set[Hashable] = set()
    for sentence in sentences:
        key = key_of(sentence)
        if key not in seen:
            seen.add(key)
            yield sentence


def key_of(sentence: Sentence) -> Hashable:
    """Return what two sentences share that say the same."""
    # The hash of a Fraction is dear, those of its two integers are not.
    bounds = (*sentence.lower.as_integer_ratio(), *sentence.upper.as_integer_ratio())
    claims = sentence.claims
    if len(claims) == 1:
        return canonical(claims[0][1]), canonical(sentence.given), bounds
    # A claim that occurs twice, in two spellings, counts twice.
    counted = Counter((weight, canonical(claim)) for weight, claim in claims)
    return frozenset(counted.items()), canonical(sentence.given), bounds
