"""Ground a theory.

Input: a `Theory`. Output: a `Network`, with each rule's instances as sentences over ground variables.
The size is estimated before anything is built, and instances of a rule that come out the same are kept once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from credalog.errors import (
    CredalogError,
    GroundingTooLarge,
    ImpossibleEvidence,
    LanguageError,
    Option,
    UnknownName,
)
from credalog.grounding.amounts import Amounts, Body
from credalog.grounding.amounts import settled as settled_numbers
from credalog.grounding.guards import Instances
from credalog.grounding.patterns import Compiled, CompiledRule, Patterns, Undefined, made
from credalog.grounding.rows import taken_apart
from credalog.grounding.terms import Environment, Maker, Scope, Signature, Unbound, listed, nearest
from credalog.network.columns import Mixed, Sentences
from credalog.network.expressions import Linear, Mean, Question, Quotient, Summand, mean_of, simplified
from credalog.network.formulas import (
    FALSE,
    TRUE,
    And,
    Formula,
    Truth,
    Variable,
    World,
    canonical,
    conjunction,
    literals_of,
    scope,
)
from credalog.network.sentences import Contrast, Independence, Network, Query, Sentence, Source
from credalog.numbers.budget import uncollected
from credalog.theory import (
    YES,
    AskedRule,
    Assessment,
    CombinedRule,
    Computed,
    ContrastAssessment,
    Expected,
    FamilyTable,
    IndependenceRule,
    Misstatement,
    Name,
    Pattern,
    Predicate,
    Prefix,
    QueryRule,
    RandomFunction,
    Row,
    Rule,
    Theory,
    Weighed,
    place_of,
    span,
)
from credalog.theory.rules import Lines, Rules

if TYPE_CHECKING:
    from credalog.grounding.blocks import CodedBlock, Templates
    from credalog.grounding.codes import CodedLines
    from credalog.grounding.instances import InstanceTables

LIMIT = 2_000_000
"""How many ground sentences, with the instances of their quantifiers, a theory may have.

The user may say otherwise.
"""

HEADING = "If this is a heading, name its columns after the domains, or take it out."
"""What is said of a first row in a CSV file in which not all cells are elements."""

TRIES = 10
"""How many bindings may be tried, for each sentence within the limit, before the search is given up."""

_ZERO, _ONE = Fraction(0), Fraction(1)


COLUMNS_FROM = 20_000
"""A theory with so many sentences, or more, is grounded in columns."""


def ground(theory: Theory, *, limit: int = LIMIT, columns_from: int = COLUMNS_FROM) -> Network:
    """Ground a theory, unless it would have more sentences than the limit."""
    return Grounder(theory, columns_from=columns_from).network(limit)


def instance_count(network: Network) -> int:
    """Return how many sentences a network has, except those that stand in a long text line by line."""
    count = len(network.sentences)
    if isinstance(network.sentences, Sentences):
        count -= sum(len(part) for part in network.sentences.parts if isinstance(part, Mixed))
    return count


class Grounder:
    """The ground form of everything a theory says; what is asked for repeatedly is computed once."""

    def __init__(self, theory: Theory, *, columns_from: int = COLUMNS_FROM) -> None:
        self.theory = theory
        self.columns_from = columns_from
        self._patterns = Patterns(Signature(theory))
        for declaration in theory.declarations:
            try:
                self._patterns.signature.check(declaration)
            except Misstatement as error:
                place = theory.place_of_declaration(declaration.name, error)
                if place is not None and place.line == 1 and place.file.lower().endswith(".csv"):
                    error.advice = HEADING
                if error.row and (place is None or error.lexeme not in place.text):
                    error.message += f", in {declaration.name}({', '.join(error.row)})"
                raise error.at(place) from None

    def check(self) -> None:
        """Complain about names, arities and sorts that do not fit, without making the instances."""
        self._parts  # noqa: B018 -- compiling complains, and what is compiled is kept
        for rule in self.theory.independences:
            with self._placing(rule.source):
                self._blocks(rule)
        self.queries()
        self.evidence()

    def network(self, limit: int = LIMIT) -> Network:
        """Return the ground network, unless it would have more sentences than the limit."""
        with uncollected():
            self._check_size(limit)
            independences = tuple(dict.fromkeys(self._independences()))
            if self._lines or sum(rule.most for rule in self._rules) >= self.columns_from:
                return self._in_columns(independences)
            stated = tuple(s for compiled in self._rules for s in self._stated(compiled))
            sentences = tuple(s for s in stated if isinstance(s, Sentence))
            contrasts = tuple(s for s in stated if isinstance(s, Contrast))
            declared, others = self._declared(), self._others(independences)
            occurring = (variable for each in stated for variable in each.scope)
            variables = tuple(dict.fromkeys((*declared, *occurring, *others)))
            return Network(variables, sentences, independences, contrasts)

    def queries(self) -> tuple[Question, ...]:
        """Return the theory's queries."""
        return tuple(query for rule in self.theory.queries for query in self.ground_queries(rule))

    def ground_queries(self, rule: AskedRule, text: str = "") -> Iterator[Question]:
        """Yield the instances of one query; `text` is what it was read from, if not part of the theory."""
        with self._placing(rule.source, text, "the question"):
            instances, inner = self._patterns.guards.instances(rule.prefix, {})
            if isinstance(rule, QueryRule):
                yield from self._probabilities(rule, instances, inner)
            else:
                yield from self._combinations(rule, instances, inner)

    def _probabilities(self, rule: QueryRule, instances: Instances, inner: Scope) -> Iterator[Query]:
        claim, given = (self._known(p, inner) for p in (rule.claim, rule.given))
        self._check_count(instances)
        environment = self._environment()
        for _ in instances.of(environment):
            condition = made(given, environment)
            try:
                yield Query(made(claim, environment), condition)
            except Undefined:
                # Where the condition is false, the claim need not be defined, and nothing is asked.
                if condition != FALSE:
                    raise

    def _combinations(self, rule: CombinedRule, instances: Instances, inner: Scope) -> Iterator[Question]:
        sides = [side for side in (rule.over, rule.under) if side is not None]
        compiled = [[self._weighed(term, inner) for term in side.terms] for side in sides]
        self._check_count(instances)
        environment = self._environment()
        for _ in instances.of(environment):
            terms = (tuple(make(environment) for make in side) for side in compiled)
            sums = [Linear(made, side.constant) for made, side in zip(terms, sides, strict=True)]
            yield simplified(sums[0]) if len(sums) == 1 else Quotient(*sums)

    def _weighed(self, term: Weighed, inner: Scope) -> Maker[Summand]:
        """Compile one weighted probability, or expected value."""
        given = self._known(term.given, inner)
        if isinstance(term.claim, Expected):
            with self._nothing_new():
                variable = self._patterns.variable(term.claim.term, inner)
            return lambda e: Summand(term.weight, _mean(made(variable, e)), made(given, e))
        claim = self._known(term.claim, inner)
        return lambda e: Summand(term.weight, made(claim, e), made(given, e))

    def evidence(self) -> Formula:
        """Return what the theory says was observed, as one formula."""
        values: World = {}
        observed: list[Formula] = []
        for evidence in self.theory.evidence:
            formula = self.formula(evidence.formula, evidence.source)
            observed.append(formula)
            for part in formula.operands if isinstance(formula, And) else (formula,):
                for variable, value in (literals_of(part) or {}).items():
                    if values.setdefault(variable, value) != value:
                        raise ImpossibleEvidence(
                            f"the evidence contradicts itself about {variable}",
                            place=self.theory.place(evidence.source, variable.name),
                            advice="Take one of the observations out.",
                        )
        return conjunction(observed)

    def formula(self, pattern: Pattern, source: Source | None = None, text: str = "") -> Formula:
        """Return the ground formula of a pattern in which nothing is left to bind."""
        with self._placing(source, text, "the formula"):
            return made(self._known(pattern, {}), self._environment())

    def _environment(self) -> Environment:
        return [""] * self._patterns.guards.width

    # ---- rules ----------------------------------------------------------------------------------------

    @cached_property
    def _parts(self) -> tuple[CompiledRule | CodedLines, ...]:
        """The rules, compiled; lines of plain sentences as they are."""
        rules = self.theory.rules
        with uncollected():
            if not isinstance(rules, Rules):
                return tuple(self._compiled_rules(rules))
            return tuple(chain.from_iterable(map(self._compiled_part, rules.parts)))

    def _compiled_part(self, part: Lines | tuple[Rule, ...]) -> Iterable[CompiledRule | CodedLines]:
        if isinstance(part, tuple):
            return self._compiled_rules(part)
        # Whoever reads a short text needs no arrays.
        from credalog.grounding.codes import CodedLines, are_propositions, template_of

        templates = [template_of(form.rule, form.names) for form in part.forms]
        if None in templates or not are_propositions(part, self._patterns.signature):
            return [self.compiled(part.rule(i)) for i in range(len(part))]
        self._patterns.known.update(part.names)
        return [CodedLines(part, tuple(template for template in templates if template is not None))]

    @cached_property
    def _amounts(self) -> Amounts:
        return Amounts(self._patterns.terms)

    def _compiled_rules(self, rules: Iterable[Rule]) -> Iterator[CompiledRule]:
        return (self.compiled(part) for rule in rules for part in self.taken_apart(rule))

    @cached_property
    def _rules(self) -> tuple[CompiledRule, ...]:
        """The rules that were compiled one by one."""
        return tuple(part for part in self._parts if isinstance(part, CompiledRule))

    @property
    def _lines(self) -> int:
        """How many sentences are lines."""
        return sum(len(part.lines) for part in self._parts if not isinstance(part, CompiledRule))

    @cached_property
    def _spoken_of(self) -> frozenset[str]:
        """The undeclared names that occur in rules."""
        return frozenset(self._patterns.assumed) if self._parts else frozenset()

    def _known(self, pattern: Pattern, inner: Scope) -> Compiled:
        """Compile a formula about what the rules and declarations speak of."""
        self._spoken_of  # noqa: B018 -- compiling the rules counts their quantifiers
        self._patterns.expansion = 0
        with self._nothing_new():
            compiled = self._patterns.formula(pattern, inner)
        if self._patterns.expansion > LIMIT:
            raise _too_large(f"to ground the formula takes {_sized(self._patterns.expansion)}")
        return compiled

    def _check_count(self, instances: Instances) -> None:
        if instances.most > LIMIT:
            raise _too_large(f"to ground the statement takes {instances.most:,} instances or more")

    @contextmanager
    def _nothing_new(self) -> Iterator[None]:
        """Complain if an undeclared name is met that occurs in no rule."""
        spoken_of = self._spoken_of
        try:
            yield
        finally:
            unknown = self._patterns.forget_all_but(spoken_of)
        if unknown:
            found = f"there is no {unknown[0]}"
            raise Misstatement(found, lexeme=unknown[0], advice=self._meant(unknown[0]), kind=UnknownName)

    def _meant(self, name: str) -> str:
        """Say what may have been meant by a name that nothing has."""
        known = self._patterns.variables
        if owner := next((one.name for one in known.values() if name in one.values), None):
            return f"It is a value of {owner}: write {owner} = {name}."
        if near := nearest(name, known):
            return near
        return (
            f"The sentences speak of {listed(list(known))}."
            if known
            else "No sentence speaks of anything yet."
        )

    @property
    def signature(self) -> Signature:
        """Return what each name stands for."""
        return self._patterns.signature

    @property
    def estimate(self) -> int:
        """Return at most how many sentences the ground network has, instances of quantifiers counted in."""
        return sum(rule.most for rule in self._rules)

    def compiled(self, rule: Rule) -> CompiledRule:
        """Make a rule ready to be instantiated."""
        patterns = self._patterns
        patterns.expansion = patterns.guards.searched = 0
        try:
            instances, inner = patterns.guards.instances(rule.prefix, {})
            body = rule.assessment
            assert not isinstance(body, Row | FamilyTable), "rows were taken apart"
            numbers = (
                settled_numbers(body, self._amounts.body(body, inner)) if isinstance(body, Computed) else body
            )
            stated = body if isinstance(numbers, Body) else numbers
            pairs, condition = _formulas(stated)
            claims = tuple([patterns.formula(claim, inner) for claim, _ in pairs])
            givens = tuple([patterns.formula(own, inner) for _, own in pairs if own is not None])
            given = patterns.formula(condition, inner)
        except Misstatement as error:
            raise self._placed(error, rule.source) from None
        width, searched = patterns.guards.width, patterns.guards.searched
        sizes = (width, patterns.expansion, searched)
        return CompiledRule(rule, instances, claims, given, numbers, *sizes, inner, givens)

    def taken_apart(self, rule: Rule) -> Iterator[Rule]:
        """Yield the rules that a rule about a row or a table consists of: each bounds one probability."""
        if not rule.wanted and not isinstance(rule.assessment, Row | FamilyTable):
            yield rule
            return
        with self._placing(rule.source):
            yield from taken_apart(rule, self._patterns.signature)

    def instances(self, prefix: Prefix) -> Iterator[tuple[str, ...]]:
        """Yield the elements of each instance of a prefix."""
        instances, _ = self._patterns.guards.instances(prefix, {})
        self._check_count(instances)
        environment, bound = self._environment(), len(instances.levels)
        for _ in instances.of(environment):
            yield tuple(environment[:bound])

    def _check_size(self, limit: int) -> None:
        # An upper bound within the limit settles it; only otherwise are guarded instances counted.
        is_quick = all(rule.search <= TRIES * limit for rule in self._rules)
        # Lines were written out by someone, and are no instances.
        if is_quick and sum(rule.most for rule in self._rules) <= limit:
            return
        count = 0
        for compiled in self._rules:
            more = self._count(compiled, limit - count)
            if more is None or count + more > limit:
                needed = f"more than {TRIES * limit:,} attempts" if more is None else _sized(count + more)
                raise GroundingTooLarge(
                    f"to ground the theory takes {needed}; the limit is {limit:,}",
                    place=self.theory.place(compiled.rule.source),
                    advice="Add guards, make the domains smaller, or raise the limit: {}.",
                    remedies=(Option("limit", 10 * limit),),
                )
            count += more

    def _stated(self, compiled: CompiledRule) -> Iterator[Sentence | Contrast]:
        try:
            if compiled.givens:
                found = map(settled_contrast, compiled.contrasts())
                yield from dict.fromkeys(s for s in found if s is not None)
            else:
                yield from merged(filter(None, map(settled, compiled.sentences())))
        except Misstatement as error:
            raise self._placed(error, compiled.rule.source) from None

    def _in_columns(self, independences: tuple[Independence, ...]) -> Network:
        """Ground rule by rule, at once where that can be done."""
        from credalog.grounding.blocks import CodedSentences, Templates, assembled

        templates = Templates(self._patterns)
        parts: list[CodedBlock | CodedLines | list[Sentence]] = []
        contrasts: list[Contrast] = []
        for compiled in self._parts:
            if not isinstance(compiled, CompiledRule):
                parts.append(compiled)
                continue
            block = self._block(compiled, templates) if compiled.most > 1 else None
            if block is not None:
                parts.append(block)
                continue
            if not parts or not isinstance(parts[-1], list):
                parts.append([])
            last = parts[-1]
            assert isinstance(last, list)
            stated = list(self._stated(compiled))
            last.extend(s for s in stated if isinstance(s, Sentence))
            contrasts.extend(s for s in stated if isinstance(s, Contrast))
        whole = [CodedSentences(tuple(part)) if isinstance(part, list) else part for part in parts]
        others = [*self._others(independences), *(v for contrast in contrasts for v in contrast.scope)]
        found = assembled(self._declared(), whole, others, templates.codes)
        return Network(*found, independences, tuple(contrasts))

    def _block(self, compiled: CompiledRule, templates: Templates) -> CodedBlock | None:
        if not isinstance(compiled.numbers, Assessment):
            # Each row has bounds of its own.
            return None
        try:
            tables = self._tables(compiled)
            rule = replace(compiled.rule, assessment=compiled.numbers)
            return templates.block(rule, tables, compiled.scope)
        except Misstatement as error:
            raise self._placed(error, compiled.rule.source) from None

    def _count(self, compiled: CompiledRule, room: int) -> int | None:
        """Count a rule's instances, at least until there is no room for more; None if that takes too long."""
        tries = TRIES * max(room, 1000)
        if compiled.search > tries:
            return None
        if not any(level.tests for level in compiled.instances.levels):
            return compiled.most
        weight = max(1, compiled.expansion)
        tables = self._tables(compiled, tries // TRIES)
        found, tried = tables.count(limit=room // weight, tries=tries)
        return weight * found if tried <= tries or weight * found > room else None

    def _tables(self, compiled: CompiledRule, most: int | None = None) -> InstanceTables:
        from credalog.grounding.instances import CHUNK, InstanceTables

        elements, chunk = self._patterns.guards.elements, CHUNK if most is None else min(CHUNK, most)
        return InstanceTables(compiled.instances, compiled.scope, compiled.width, elements, chunk)

    # ---- independences and variables ------------------------------------------------------------------

    def _independences(self) -> Iterator[Independence]:
        for rule in self.theory.independences:
            with self._placing(rule.source):
                yield from self._instances_of(rule)

    def _instances_of(self, rule: IndependenceRule) -> Iterator[Independence]:
        instances, blocks = self._blocks(rule)
        self._check_count(instances)
        environment = self._environment()
        for _ in instances.of(environment):
            left, right, given = (tuple(made(v, environment) for v in block) for block in blocks)
            repeated = (v for v in (*left, *right) if v in given or (v in left and v in right))
            if shared := next(repeated, None):
                raise Misstatement(
                    f"{shared} cannot be independent of itself",
                    lexeme=shared.name,
                    advice="Name each variable on one side of the comma or after the bar, not on both.",
                )
            yield Independence(left, right, given)

    def _blocks(self, rule: IndependenceRule) -> tuple[Instances, _Blocks]:
        instances, inner = self._patterns.guards.instances(rule.prefix, {})
        blocks = (rule.left, rule.right, rule.given)
        with self._nothing_new():
            return instances, [[self._patterns.variable(t, inner) for t in block] for block in blocks]

    def _declared(self) -> list[Variable]:
        """Return the variables declared without arguments."""
        plain = [d for d in self.theory.declarations if isinstance(d, Predicate | RandomFunction)]
        return [made(self._patterns.variable(Name(d.name), {}), []) for d in plain if not d.sorts]

    def _others(self, independences: Iterable[Independence]) -> tuple[Variable, ...]:
        """Return the variables of independences and evidence, which no sentence need mention."""
        blocks = (block for i in independences for block in (i.left, i.right, i.given))
        return tuple(chain(*blocks, scope(self.evidence())))

    @contextmanager
    def _placing(self, source: Source | None, text: str = "", inside: str = "") -> Iterator[None]:
        try:
            yield
        except Unbound as error:
            # Nothing can be bound in front of a question, so that an element must be meant.
            raise self._placed(error.element if text else error, source, text, inside) from None
        except Misstatement as error:
            raise self._placed(error, source, text, inside) from None

    def placed(self, error: Misstatement, rule: Rule) -> CredalogError:
        """Return the error that the user sees of an instance of a rule."""
        return self._placed(error, rule.source)

    def _placed(
        self, error: Misstatement, source: Source | None, text: str = "", inside: str = ""
    ) -> CredalogError:
        if text:
            return error.at(place_of(error.lexeme, text, inside=inside))
        return error.at(self.theory.place(source, error.lexeme))


def _mean(variable: Variable) -> Mean:
    try:
        return mean_of(variable)
    except LanguageError as error:
        raise Misstatement(error.message, lexeme=variable.name, advice=error.advice) from None


_Blocks: TypeAlias = list[list[Variable | Maker[Variable]]]


def _sized(count: int) -> str:
    return f"{count:,} sentences and instances of quantifiers, or more"


def _too_large(message: str) -> GroundingTooLarge:
    """Return the complaint about one formula or statement, whose limit is fixed."""
    advice = "Add guards, or make the domains smaller."
    return GroundingTooLarge(f"{message}; the limit is {LIMIT:,}", advice=advice)


def _formulas(
    body: Assessment | ContrastAssessment | Computed,
) -> tuple[list[tuple[Pattern, Pattern | None]], Pattern]:
    """Return the claims of a rule, each with a condition of its own or with none, and the common one."""
    if isinstance(body, Computed) and body.givens:
        return [(claim, own) for (_, claim), own in zip(body.claims, body.givens, strict=True)], YES
    if not isinstance(body, ContrastAssessment):
        return [(claim, None) for _, claim in body.claims], body.given
    terms: list[tuple[Pattern, Pattern | None]] = []
    for term in body.terms:
        assert not isinstance(term.claim, Expected), "the grammar has expected values in questions only"
        terms.append((term.claim, term.given))
    return terms, YES


# ---- constants, and what is said twice --------------------------------------------------------------------
# Ground sentences without what is constant, and without what is said twice.
# Input: instances of rules. Output: sentences in the paper's form, each said once.

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
