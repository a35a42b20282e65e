"""Making Logical Credal Networks: from text, files, data, and from each other.

Input: text, files, or sentences built in Python. Output: `LCN`, immutable and compared by content.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from credalog.errors import CredalogError, LanguageError, Option
from credalog.lcn.analysis import Analysis
from credalog.lcn.grounded import GivenHere, one_of, require
from credalog.network.sentences import Contrast, Network, Number, Sentence
from credalog.text.builder import Stated, sentence_of
from credalog.text.data import Data, extended, library_of
from credalog.text.lifting import theory_of, with_rules
from credalog.text.parse import read, read_file, read_formula
from credalog.text.sheets import NOWHERE, Frame, Library, sheet_of
from credalog.text.unparse import unparse
from credalog.theory import Evidence, Theory, is_wanted, lifted
from credalog.theory.rules import kinds

if TYPE_CHECKING:
    from credalog.questions.diagnose import Repair
    from credalog.show.canvas import Picture

OTHER_FORMATS = (".uai", ".bif")

NOT_MODELS = (".csv", ".tsv", ".parquet")

MANY_TO_SHOW = 2000
"""A notebook shows a network with more sentences in one line."""


def parse(text: str, *, data: Data | None = None) -> LCN:
    """Read an LCN from text, its domains and relations extended by data."""
    if not isinstance(text, str):
        raise LanguageError(
            f"{text!r} is no text", advice='Write parse("P(a) >= 0.3") or LCN.of(P(a) >= 0.3).'
        )
    library = NOWHERE if data is None else library_of(data)
    return _complete(read(text, library=library), data, library)


def load(path: str | Path, *, data: Data | None = None) -> LCN:
    """Read an LCN from a file and the files it includes; also from a .uai or .bif file."""
    if not isinstance(path, (str, Path)):
        raise LanguageError(f"{path!r} is no path", advice='Write load("network.lcn").')
    suffix = Path(path).suffix.lower()
    if suffix in NOT_MODELS:
        advice = "Name the model first; data of a model follow it: {}."
        remedy = Option("data", str(path))
        raise LanguageError(f"{path} is a table, not a model", advice=advice, remedies=(remedy,))
    if suffix in OTHER_FORMATS:
        from credalog.text import readers

        if data is not None:
            advice = "Leave them out; what was observed is evidence."
            raise LanguageError(f"a {suffix} file is complete, and takes no data", advice=advice)
        return LCN.from_network(readers.read(path))
    library = NOWHERE if data is None else library_of(data)
    return _complete(read_file(path, library=library), data, library)


def _complete(theory: Theory, data: Data | None, library: Library = NOWHERE) -> LCN:
    lcn = LCN(theory if data is None else extended(theory, data, library=library))
    lcn.check()
    return lcn


@dataclass(frozen=True, repr=False, eq=False)
class LCN(Analysis):
    """A Logical Credal Network: a theory, its ground network, and what follows from it.

    Two are equal when they say the same in the same words, wherever they were written. A network that was
    read from a file of another format is held as it is: it is ground already.
    """

    # ---- making one -----------------------------------------------------------------------------------

    @classmethod
    def of(cls, *sentences: Sentence | Contrast | Stated | str) -> LCN:
        """Build an LCN from sentences: LCN.of(P(a) >= 0.3, P(b, given=a).between(0.1, 0.2))."""
        return cls(Theory()).with_sentences(*sentences)

    @classmethod
    def structure(cls, parents: Mapping[str, Sequence[str]], data: Frame) -> LCN:
        """Hold a structure that wants its numbers: the parents of each variable, values from a table."""
        from credalog.learning.counting import structure_of_parents

        require(parents, Mapping, "structure", 'Give the parents of each variable: {"b": ["a"], "a": []}.')
        return cls(structure_of_parents(parents, sheet_of(data)))

    @classmethod
    def from_network(cls, network: Network) -> LCN:
        """Hold a ground network."""
        return cls(network)

    def with_sentences(self, *sentences: Sentence | Contrast | Stated | str) -> LCN:
        """Return this LCN with more sentences, or more text in the .lcn language."""
        theory, pending = self.theory, list[Sentence | Contrast]()
        for added in sentences:
            if isinstance(added, str):
                theory, pending = read(added, onto=with_rules(theory, pending)), []
            else:
                pending.append(sentence_of(added))
        theory = with_rules(theory, pending)
        _check_labels(theory)
        # What was there before was checked before: only the new sentences are, so that a copy is cheap.
        added_rules = theory.rules[len(self.theory.rules) :]
        LCN(replace(theory, rules=added_rules, independences=(), queries=(), evidence=())).check()
        return LCN(theory)

    def with_evidence(self, *observed: GivenHere) -> LCN:
        """Return this LCN with more formulas observed to be true."""
        patterns = [read_formula(o) if isinstance(o, str) else lifted(self._given(o)) for o in observed]
        added = tuple(Evidence(pattern) for pattern in patterns)
        if isinstance(self.stated, Network):
            # Tables stay tables: as a theory, each of their numbers would be a rule.
            lcn = LCN(self.stated, self.observed + added)
            lcn.check()
            return lcn
        return _complete(replace(self.theory, evidence=self.theory.evidence + added), None)

    def with_data(self, data: Data) -> LCN:
        """Return this LCN with its domains, relations and functions extended."""
        return _complete(self.theory, data, library_of(data))

    def unparse(self) -> str:
        """Return the LCN as text that reads back as the same."""
        return unparse(self.theory)

    def widen(
        self, *, by: Number | None = None, contaminate: Number | None = None, zeros: bool = False
    ) -> LCN:
        """Return the ground network with every probability an interval: off by so much, or by a share of it.

        What is impossible or certain stays so, unless zeros are to be widened, too.
        """
        from credalog.network.widening import Imprecision, widened

        amount = Imprecision.of(by=by, contaminate=contaminate, zeros=zeros)
        network = widened(self.ground(), self.graph, amount)
        if isinstance(self.stated, Network):
            return LCN(network, self.observed)
        return LCN(theory_of(network, evidence=self.evidence, queries=self.queries))

    @property
    def wanted(self) -> int:
        """Return how many statements still want their numbers from data."""
        if isinstance(self.stated, Network):
            return 0
        return sum(is_wanted(rule) for rule in self.stated.rules)

    def learn(
        self,
        data: Frame,
        *,
        method: str = "dirichlet",
        s: Number | None = None,
        confidence: Number | None = None,
        simultaneous: str | None = None,
        columns: Mapping[str, str] | None = None,
        missing: Iterable[str] = (),
        report: Callable[[str], None] | None = None,
    ) -> LCN:
        """Return this LCN with an interval for every `?`, learned from a table of observations.

        Of a network read from a .bif or .uai file only the structure counts. `columns` names the columns of
        variables that have another heading, `missing` more words for a missing value; `report` is told where
        the data say little.
        """
        from credalog.learning.counting import Observations, structure_of_network
        from credalog.learning.filling import learned
        from credalog.learning.intervals import Recipe

        if not isinstance(columns, Mapping | None):
            raise CredalogError(
                f"{columns!r} are no headings", advice='Give them by name: columns={"smoker": "Smokes?"}.'
            )
        recipe = Recipe.of(method, s=s, confidence=confidence, simultaneous=simultaneous)
        theory = self.stated if isinstance(self.stated, Theory) else structure_of_network(self.stated)
        observations = Observations(
            sheet_of(data), dict(columns or {}), (missing,) if isinstance(missing, str) else tuple(missing)
        )
        found = learned(theory, observations, recipe)
        if report is not None:
            for note in found.notes:
                report(note)
        return _complete(found.theory, None)

    def written(self, form: str = "lcn") -> str:
        """Return this LCN as text: "lcn", or "v-credal", "h-credal", "bayes" or "bif" of a credal network."""
        if form == "lcn":
            return self.unparse()
        from credalog.show.formats import FORMS, formatted

        return formatted(self.ground(), one_of(form, ("lcn", *FORMS), "form"))

    def mended(self, chosen: Repair) -> LCN:
        """Return this LCN with the bounds of a repair: ground, with its evidence and its queries."""
        from credalog.questions.diagnose import Repair
        from credalog.questions.repair_options import mended

        require(chosen, Repair, "repair", "Give one of lcn.repairs(), or diagnosis.repair.")
        network = mended(self.ground(), chosen)
        return LCN(theory_of(network, evidence=self.evidence, queries=self.queries))

    def mended_text(self, chosen: Repair) -> str:
        """Return the text with the bounds of a repair: line by line as it was, where that is possible."""
        from credalog.questions.diagnose import Repair
        from credalog.questions.repair_options import mended, with_changes_in

        require(chosen, Repair, "repair", "Give one of lcn.repairs(), or diagnosis.repair.")
        if len(self.theory.texts) == 1:
            ((file, text),) = self.theory.texts
            changed = with_changes_in(text, chosen.changes, file)
            if changed is not None and _grounds_to(changed, mended(self.ground(), chosen)):
                return changed
        return self.mended(chosen).unparse()

    def plates(self) -> Picture:
        """Draw the predicates and rules before grounding, a plate for each sort that they range over."""
        from credalog.show.plates import picture_of_theory

        return picture_of_theory(self.theory)

    def drawn(self) -> Picture | None:
        """Draw what this LCN says: rules in plates, else the graph; None where it could not be read."""
        from credalog.show.drawing import DRAWABLE

        if isinstance(self.stated, Theory) and any(rule.prefix.binders for rule in kinds(self.stated.rules)):
            return self.plates()
        said = self.stated.variables if isinstance(self.stated, Network) else self.stated.rules
        if len(said) > MANY_TO_SHOW:
            return None
        return self.graph.picture() if 0 < len(self.variables) <= DRAWABLE else None

    def _repr_html_(self) -> str:
        from credalog.show.lexer import LINES, as_source

        if isinstance(self.stated, Network) and len(self.stated.sentences) > MANY_TO_SHOW:
            return f"<p>{escape(repr(self))}</p>"
        texts = [text for _, text in self.theory.texts]
        text = texts[0] if len(texts) == 1 else self.unparse()
        picture = self.drawn()
        return as_source(text, most=LINES) + ("" if picture is None else picture.svg())

    # ---- as a value -----------------------------------------------------------------------------------

    @cached_property
    def _hash(self) -> int:
        return hash(self.theory)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LCN):
            return NotImplemented
        is_same = self.stated == other.stated and self.observed == other.observed
        return is_same or self.theory == other.theory

    def __str__(self) -> str:
        return self.unparse()

    def __repr__(self) -> str:
        said = len(self.stated.sentences if isinstance(self.stated, Network) else self.stated.rules)
        return f"<LCN of {said} sentence{'' if said == 1 else 's'}>"

    def __reduce__(self) -> tuple[type[LCN], tuple[Theory | Network, tuple[Evidence, ...]]]:
        # What is kept between questions does not travel to other processes.
        return (LCN, (self.stated, self.observed))


def _grounds_to(text: str, network: Network) -> bool:
    """Tell whether a text says what a ground network does."""
    try:
        return parse(text).ground() == network
    except CredalogError:
        return False


def _check_labels(theory: Theory) -> None:
    counts = Counter(theory.labels())
    if repeated := next((label for label, count in counts.items() if count > 1), None):
        raise LanguageError(
            f"the label {repeated} is used twice", advice="Give each sentence its own label, or none."
        )
