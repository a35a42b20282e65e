"""Ground a theory.

Input: a `Theory`. Output: a `Network`, with each rule's instances as sentences over ground variables.
The size is estimated before anything is built, and instances of a rule that come out the same are kept once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from credalog.errors import CredalogError, GroundingTooLarge, ImpossibleEvidence, Option, UnknownName
from credalog.garbage import uncollected
from credalog.grounding.guards import Instances
from credalog.grounding.patterns import Compiled, Patterns, Undefined
from credalog.grounding.terms import Environment, Maker, Scope, Signature, Unbound, listed, nearest
from credalog.lines import Lines, Rules
from credalog.network.columns import Mixed, Sentences
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
from credalog.network.sentences import Independence, Network, Query, Sentence, Source
from credalog.theory import (
    IndependenceRule,
    Misstatement,
    Name,
    Pattern,
    Predicate,
    QueryRule,
    RandomFunction,
    Rule,
    Theory,
    place_of,
    span,
    written,
)

if TYPE_CHECKING:
    from credalog.grounding.blocks import CodedBlock, Templates
    from credalog.grounding.coded_lines import CodedLines
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


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A rule ready to be instantiated."""

    rule: Rule
    instances: Instances
    claims: tuple[tuple[Fraction, Compiled], ...]
    given: Compiled
    width: int
    expansion: int
    """At most how many instances of quantifiers the formulas of one sentence have."""
    searched: int
    """At most how many instances of quantifiers a guard looks through."""
    scope: Scope
    """The logical variables that the rule binds."""

    @property
    def most(self) -> int:
        """Return a number that the sentences and the instances of their quantifiers do not exceed."""
        return self.instances.most * max(1, self.expansion)

    def sentences(self) -> Iterator[Sentence]:
        """Yield the sentences of all instances, as they are written."""
        environment, bound = [""] * self.width, len(self.instances.levels)
        for _ in self.instances.of(environment):
            label = self.rule.label
            if bound and label:
                label = f"{label}[{','.join(map(written, environment[:bound]))}]"
            if (sentence := self.sentence(environment, label)) is not None:
                yield sentence

    def sentence(self, environment: Environment, label: str) -> Sentence | None:
        """Return the sentence of one instance; None where its condition is false."""
        rule = self.rule
        # The condition comes first: where it is false, the claims need not even be defined.
        given = _made(self.given, environment)
        if given == FALSE:
            return None
        claims = tuple([(weight, _made(claim, environment)) for weight, claim in self.claims])
        lower, upper = rule.assessment.lower, rule.assessment.upper
        return Sentence(claims, given, lower, upper, rule.tau, label, rule.source)


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
            sentences = tuple(s for compiled in self._rules for s in self._sentences(compiled))
            declared, others = self._declared(), self._others(independences)
            occurring = (variable for sentence in sentences for variable in sentence.scope)
            return Network(tuple(dict.fromkeys((*declared, *occurring, *others))), sentences, independences)

    def queries(self) -> tuple[Query, ...]:
        """Return the theory's queries."""
        return tuple(query for rule in self.theory.queries for query in self.ground_queries(rule))

    def ground_queries(self, rule: QueryRule, text: str = "") -> Iterator[Query]:
        """Yield the instances of one query; `text` is what it was read from, if not part of the theory."""
        with self._placing(rule.source, text, "the question"):
            instances, inner = self._patterns.guards.instances(rule.prefix, {})
            claim, given = (self._known(p, inner) for p in (rule.claim, rule.given))
            self._check_count(instances)
            environment = self._environment()
            for _ in instances.of(environment):
                condition = _made(given, environment)
                try:
                    yield Query(_made(claim, environment), condition)
                except Undefined:
                    # Where the condition is false, the claim need not be defined, and nothing is asked.
                    if condition != FALSE:
                        raise

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
            return _made(self._known(pattern, {}), self._environment())

    def _environment(self) -> Environment:
        return [""] * self._patterns.guards.width

    # ---- rules ----------------------------------------------------------------------------------------

    @cached_property
    def _parts(self) -> tuple[CompiledRule | CodedLines, ...]:
        """The rules, compiled; lines of plain sentences as they are."""
        rules = self.theory.rules
        with uncollected():
            if not isinstance(rules, Rules):
                return tuple(map(self.compiled, rules))
            return tuple(chain.from_iterable(map(self._compiled_part, rules.parts)))

    def _compiled_part(self, part: Lines | tuple[Rule, ...]) -> Iterable[CompiledRule | CodedLines]:
        if isinstance(part, tuple):
            return map(self.compiled, part)
        # Whoever reads a short text needs no arrays.
        from credalog.grounding.coded_lines import CodedLines, are_propositions, template_of

        templates = [template_of(form.rule, form.names) for form in part.forms]
        if None in templates or not are_propositions(part, self._patterns.signature):
            return [self.compiled(part.rule(i)) for i in range(len(part))]
        self._patterns.known.update(part.names)
        return [CodedLines(part, tuple(template for template in templates if template is not None))]

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
            known = list(self._patterns.variables)
            others = f"The sentences speak of {listed(known)}." if known else "There are no sentences."
            advice = nearest(unknown[0], known) or others
            found = f"there is no {unknown[0]}"
            raise Misstatement(found, lexeme=unknown[0], advice=advice, kind=UnknownName)

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
            claims = tuple([(w, patterns.formula(claim, inner)) for w, claim in rule.assessment.claims])
            given = patterns.formula(rule.assessment.given, inner)
        except Misstatement as error:
            raise self._placed(error, rule.source) from None
        width, searched = patterns.guards.width, patterns.guards.searched
        return CompiledRule(rule, instances, claims, given, width, patterns.expansion, searched, inner)

    def _check_size(self, limit: int) -> None:
        # An upper bound within the limit settles it; only otherwise are guarded instances counted.
        is_quick = all(_search(rule) <= TRIES * limit for rule in self._rules)
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

    def _sentences(self, compiled: CompiledRule) -> Iterator[Sentence]:
        try:
            yield from _merged(filter(None, map(settled, compiled.sentences())))
        except Misstatement as error:
            raise self._placed(error, compiled.rule.source) from None

    def _in_columns(self, independences: tuple[Independence, ...]) -> Network:
        """Ground rule by rule, at once where that can be done."""
        from credalog.grounding.blocks import CodedSentences, Templates, assembled

        templates = Templates(self._patterns)
        parts: list[CodedBlock | CodedLines | list[Sentence]] = []
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
            last.extend(self._sentences(compiled))
        whole = [CodedSentences(tuple(part)) if isinstance(part, list) else part for part in parts]
        found = assembled(self._declared(), whole, self._others(independences), templates.codes)
        return Network(*found, independences)

    def _block(self, compiled: CompiledRule, templates: Templates) -> CodedBlock | None:
        try:
            tables = self._tables(compiled)
            return templates.block(compiled.rule, tables, compiled.scope)
        except Misstatement as error:
            raise self._placed(error, compiled.rule.source) from None

    def _count(self, compiled: CompiledRule, room: int) -> int | None:
        """Count a rule's instances, at least until there is no room for more; None if that takes too long."""
        tries = TRIES * max(room, 1000)
        if _search(compiled) > tries:
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
            left, right, given = (tuple(_made(v, environment) for v in block) for block in blocks)
            if shared := next((v for v in left if v in right or v in given), None):
                raise Misstatement(f"{shared} cannot be independent of itself", lexeme=shared.name)
            yield Independence(left, right, given)

    def _blocks(self, rule: IndependenceRule) -> tuple[Instances, _Blocks]:
        instances, inner = self._patterns.guards.instances(rule.prefix, {})
        blocks = (rule.left, rule.right, rule.given)
        with self._nothing_new():
            return instances, [[self._patterns.variable(t, inner) for t in block] for block in blocks]

    def _declared(self) -> list[Variable]:
        """Return the variables declared without arguments."""
        plain = [d for d in self.theory.declarations if isinstance(d, Predicate | RandomFunction)]
        return [_made(self._patterns.variable(Name(d.name), {}), []) for d in plain if not d.sorts]

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

    def _placed(
        self, error: Misstatement, source: Source | None, text: str = "", inside: str = ""
    ) -> CredalogError:
        if text:
            return error.at(place_of(error.lexeme, text, inside=inside))
        return error.at(self.theory.place(source, error.lexeme))


_Blocks: TypeAlias = list[list[Variable | Maker[Variable]]]


@overload
def _made(compiled: Compiled, environment: Environment) -> Formula: ...
@overload
def _made(compiled: Variable | Maker[Variable], environment: Environment) -> Variable: ...
def _made(compiled: Any, environment: Environment) -> Any:
    return compiled(environment) if callable(compiled) else compiled


def _sized(count: int) -> str:
    return f"{count:,} sentences and instances of quantifiers, or more"


def _too_large(message: str) -> GroundingTooLarge:
    """Return the complaint about one formula or statement, whose limit is fixed."""
    advice = "Add guards, or make the domains smaller."
    return GroundingTooLarge(f"{message}; the limit is {LIMIT:,}", advice=advice)


def _search(compiled: CompiledRule) -> int:
    """Return at most how many instances the quantifiers of a rule's guards look through."""
    return compiled.searched * compiled.instances.most


# ---- what is constant, and what is said twice -------------------------------------------------------------


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
        raise Misstatement("no distribution satisfies this sentence", advice=f"It is {sentence.name}.")
    return replace(sentence, claims=((_ONE, sentence.given),), given=TRUE, lower=_ZERO, upper=_ZERO)


def _merged(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
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
