"""Ground lines of plain sentences.

Input: `Lines`. Output: a block for each of their forms, before variables are numbered.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from credalog.grounding.codes import Coded, Codes
from credalog.grounding.patterns import Patterns
from credalog.grounding.terms import Signature
from credalog.lines import NONE, Form, Lines
from credalog.network.columns import Block, Bounds, Mixed, Numbers, Variables, filled, slot
from credalog.network.formulas import FALSE, Formula, Truth, Variable
from credalog.network.sentences import Sentence, Source
from credalog.theory import Assessment, Predicate, Rule, Theory

__all__ = ["CodedLines", "are_propositions", "template_of"]


@dataclass(frozen=True, slots=True, eq=False)
class _LineNames:
    lines: Lines
    where: NDArray[np.int64]

    def of(self, row: int) -> tuple[str, Source | None]:
        return self.lines.naming(int(self.where[row]))


@dataclass(frozen=True, slots=True, eq=False)
class CodedLines:
    """The blocks of lines, and the codes of their variables."""

    lines: Lines
    templates: tuple[Sentence, ...]

    def occurring(self, codes: Codes) -> Coded:
        """Return the codes of all variables, in the order in which they occur."""
        code_of = self._code_of(codes)
        starts = self._starts()
        flat = np.empty(starts[-1], dtype=np.int64)
        for template, form in zip(self.templates, self.lines.forms, strict=True):
            found = code_of[form.columns[:, _order(template, form)]]
            flat[starts[form.where][:, None] + np.arange(found.shape[1])] = found
        return flat

    def _starts(self) -> NDArray[np.int64]:
        widths = np.array([len(template.scope) for template in self.templates], dtype=np.int64)
        return np.concatenate([[0], np.cumsum(widths[self.lines.form_of])])

    def _code_of(self, codes: Codes) -> Coded:
        """Return the code of each word that is a name."""
        code_of = np.full(len(self.lines.words.spelt), -1, dtype=np.int64)
        is_name = np.zeros(len(code_of), dtype=np.bool_)
        for form in self.lines.forms:
            is_name[form.columns] = True
        for word in np.flatnonzero(is_name).tolist():
            code_of[word] = codes.of_proposition(self.lines.words.spelt[word])
        return code_of

    def numbered(self, numbers: NDArray[np.int32], variables: Variables) -> Mixed:
        """Return the blocks with the numbers of their variables, which are given in one row."""
        starts, lines = self._starts(), self.lines
        blocks = []
        for template, form in zip(self.templates, lines.forms, strict=True):
            columns: Numbers = numbers[starts[form.where][:, None] + np.arange(len(template.scope))]
            naming = _LineNames(lines, form.where)
            blocks.append(Block(template, columns, variables, _bounds(lines, form), naming))
        return Mixed(tuple(blocks), tuple(form.where for form in lines.forms), lines.form_of, lines.row_of)


def _order(template: Sentence, form: Form) -> list[int]:
    """Return which column stands in each slot; slots are numbered like columns."""
    return [int(variable.name[1:]) for variable in template.scope]


def _bounds(lines: Lines, form: Form) -> Bounds:
    """Return the bounds of each line, as places in a list of the numbers that occur."""
    said = form.said
    words = np.unique(np.concatenate([form.lower, form.upper]))
    words = words[words != NONE]
    numbers: list[Fraction] = [found for i in words if (found := lines.words.numbers[i]) is not None]
    ends = []
    for own, bound in ((form.lower, said.lower), (form.upper, said.upper)):
        numbers.append(bound)
        places = np.searchsorted(words, own)
        ends.append(np.where(own == NONE, len(numbers) - 1, places).astype(np.int32))
    return Bounds(tuple(numbers), ends[0], ends[1])


def template_of(rule: Rule, names: tuple[str, ...]) -> Sentence | None:
    """Return the sentence of a rule over placeholders, with slots for them; None if it is decided."""
    patterns = Patterns(Signature(Theory()))
    slots = {Variable(name): slot(i, Variable(name).values) for i, name in enumerate(names)}

    def formula(compiled: object) -> Formula:
        assert isinstance(compiled, Formula)
        return filled(compiled, slots)

    said = rule.assessment
    assert isinstance(said, Assessment)
    claims = tuple((weight, formula(patterns.formula(claim, {}))) for weight, claim in said.claims)
    given = formula(patterns.formula(said.given, {}))
    if isinstance(claims[0][1], Truth) or given == FALSE:
        return None
    return Sentence(claims, given, said.lower, said.upper, rule.tau)


def are_propositions(lines: Lines, signature: Signature) -> bool:
    """Tell whether all names of lines are propositions, declared or, where that is allowed, not."""
    if signature.is_empty:
        return True
    return all(_is_proposition(name, signature) for name in lines.names)


def _is_proposition(name: str, signature: Signature) -> bool:
    declared = signature[name]
    if declared is None:
        return not signature.is_strict and not signature.is_listed(name)
    return isinstance(declared, Predicate) and not declared.sorts
