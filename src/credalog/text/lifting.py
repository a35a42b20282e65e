"""From ground values back to a theory.

Input: sentences built in Python, or a ground network. Output: the rules and declarations that say the same,
so that text and Python meet in one form: a sentence is equal to itself however it was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from credalog.errors import LanguageError
from credalog.network.expressions import Linear, Mean, Question, Quotient, Summand
from credalog.network.formulas import BOOLEAN, TRUE, Formula, Variable, scope
from credalog.network.sentences import Contrast, Network, Query, Sentence
from credalog.text.builder import check_depth
from credalog.theory import (
    Application,
    AskedRule,
    Assessment,
    CombinedRule,
    ContrastAssessment,
    Declaration,
    Domain,
    Evidence,
    Expected,
    IndependenceRule,
    Predicate,
    QueryRule,
    RandomFunction,
    Rule,
    Sum,
    Term,
    Theory,
    Weighed,
    lifted,
    normal_form,
    term_of,
)


def rule_of(sentence: Sentence) -> Rule:
    """Return a ground sentence as a rule; one that stands for a sentence across conditions as that."""
    if sentence.across is not None:
        contrast, more = sentence.across
        widened = replace(contrast, lower=sentence.lower + more, upper=sentence.upper + more)
        return contrast_rule_of(replace(widened, label=sentence.label))
    claims = tuple((weight, lifted(claim)) for weight, claim in sentence.claims)
    assessment = Assessment(claims, lifted(sentence.given), sentence.lower, sentence.upper)
    return Rule(
        assessment,
        tau=sentence.tau,
        label=sentence.label,
        source=sentence.source,
        learned=sentence.learned,
    )


def contrast_rule_of(contrast: Contrast) -> Rule:
    """Return a ground sentence across conditions as a rule."""
    terms = tuple(Weighed(t.weight, lifted(t.claim), lifted(t.given)) for t in contrast.terms)
    assessment = ContrastAssessment(terms, contrast.lower, contrast.upper)
    return Rule(assessment, tau=contrast.tau, label=contrast.label, source=contrast.source)


def with_rules(theory: Theory, sentences: Iterable[Sentence | Contrast]) -> Theory:
    """Return a theory with more sentences, and with their variables declared where it does not know them."""
    stated = tuple(s if isinstance(s, Contrast) else _normalized(s) for s in sentences)
    for sentence in stated:
        check_depth(*formulas_of(sentence))
    declared = {declaration.name: declaration for declaration in theory.declarations}
    for variable in dict.fromkeys(v for sentence in stated for v in sentence.scope):
        _declare(variable, declared)
    rules = (*theory.rules, *(_rule_of(sentence) for sentence in stated))
    return replace(theory, declarations=tuple(declared.values()), rules=rules)


def _rule_of(stated: Sentence | Contrast) -> Rule:
    return contrast_rule_of(stated) if isinstance(stated, Contrast) else rule_of(stated)


def formulas_of(stated: Sentence | Contrast) -> Iterator[Formula]:
    """Yield the claims and conditions of a sentence."""
    if isinstance(stated, Contrast):
        yield from (formula for term in stated.terms for formula in (term.claim, term.given))
    else:
        yield stated.given
        yield from (claim for _, claim in stated.claims)


def _normalized(sentence: Sentence) -> Sentence:
    claims, lower, upper = normal_form(sentence.claims, sentence.lower, sentence.upper)
    return replace(sentence, claims=claims, lower=lower, upper=upper)


def _declare(variable: Variable, declared: dict[str, Declaration]) -> None:
    """Declare a multi-valued variable; complain if its name already has other values."""
    term = term_of(variable.name)
    applied = term.name if isinstance(term, Application) else variable.name
    known = declared.get(variable.name) or declared.get(applied)
    if known is None:
        if not variable.is_proposition:
            declared[variable.name] = RandomFunction(variable.name, variable.values)
    elif _values(known, declared) not in (variable.values, None):
        before = ", ".join(_values(known, declared) or ("true", "false"))
        raise LanguageError(
            f"{variable.name} is used with two different lists of values",
            advice=f"They are {before} and {', '.join(variable.values)}: give one of the two another name.",
        )


def _values(known: Declaration, declared: dict[str, Declaration]) -> tuple[str, ...] | None:
    match known:
        case Predicate():
            return BOOLEAN
        case RandomFunction(_, str() as sort):
            domain = declared.get(sort)
            return domain.elements if isinstance(domain, Domain) else None
        case RandomFunction(_, tuple() as values):
            return values
        case _:
            return None


def asked_rule_of(question: Question) -> AskedRule:
    """Return a ground question as a theory asks it."""
    match question:
        case Query(claim, given):
            return QueryRule(lifted(claim), lifted(given))
        case Linear():
            return CombinedRule(_sum_of(question))
        case Quotient(over, under):
            return CombinedRule(_sum_of(over), _sum_of(under))


def _sum_of(linear: Linear) -> Sum:
    return Sum(tuple(map(_weighed, linear.terms)), linear.constant)


def _weighed(summand: Summand) -> Weighed:
    match summand.claim:
        case Mean(variable):
            return Weighed(summand.weight, Expected(term_of(variable.name)), lifted(summand.given))
        case claim:
            return Weighed(summand.weight, lifted(claim), lifted(summand.given))


def theory_of(network: Network, *, evidence: Formula = TRUE, queries: Iterable[Question] = ()) -> Theory:
    """Return a ground network, what was observed and what is asked, as a theory."""
    asked = tuple(queries)
    mentioned = (*scope(evidence), *(variable for query in asked for variable in query.scope))
    return Theory(
        declarations=tuple(_needed(network, mentioned)),
        rules=(*map(rule_of, network.sentences), *map(contrast_rule_of, network.contrasts)),
        independences=tuple(
            IndependenceRule(_terms(i.left), _terms(i.right), _terms(i.given)) for i in network.independences
        ),
        queries=tuple(map(asked_rule_of, asked)),
        evidence=() if evidence == TRUE else (Evidence(lifted(evidence)),),
    )


def declarations_of(variables: Iterable[Variable]) -> Iterator[Declaration]:
    """Yield the declarations of ground variables, each under its whole name."""
    for variable in variables:
        name = variable.name
        yield Predicate(name) if variable.is_proposition else RandomFunction(name, variable.values)


def _needed(network: Network, mentioned: Iterable[Variable]) -> Iterator[Declaration]:
    """Yield the declarations that tell what the sentences do not: values, and that a variable exists."""
    stated: tuple[Sentence | Contrast, ...] = (*network.sentences, *network.contrasts)
    occurring = dict.fromkeys(v for sentence in stated for v in sentence.scope)
    variables = dict.fromkeys((*network.variables, *mentioned))
    # A declared proposition makes all names wait for a declaration: one of them is as good as all. They
    # are needed, too, where variables declared first and those met later would not have their order.
    declared = [v for v in variables if not v.is_proposition]
    read = list(dict.fromkeys((*declared, *occurring)))
    is_mixed = 0 < len(declared) < len(variables)
    all_needed = any(v.is_proposition and v not in occurring for v in variables) or (
        is_mixed and read != list(variables)
    )
    for declaration in declarations_of(dict.fromkeys((*variables, *occurring))):
        if all_needed or isinstance(declaration, RandomFunction):
            yield declaration


def _terms(variables: Iterable[Variable]) -> tuple[Term, ...]:
    return tuple(term_of(variable.name) for variable in variables)
