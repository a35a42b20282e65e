"""What the page asks: intervals as they close, marginals, reasons, models, proofs, repairs.

Input: a model and a question. Output: events for the page, one object each, the last one the answer.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from math import isfinite
from pathlib import PurePath
from time import monotonic
from typing import Any, TypeAlias

from credalog.errors import CredalogError
from credalog.lcn import LCN
from credalog.methods.answer import Answer, Progress, Report, marginal_atoms
from credalog.network.sentences import Query, Sentence
from credalog.numbers.interval import End, Interval
from credalog.numbers.printed import plain
from credalog.play.limits import ANSWERING, CERTIFYING, LISTED, LONGEST
from credalog.play.pages import Page
from credalog.play.reading import place_of, spans
from credalog.questions.diagnose import Change, Conflict, Repair
from credalog.questions.repair_options import mended, with_changes_in
from credalog.tables.conditional import chances
from credalog.text.unparse import said
from credalog.verify import verify

__all__ = ["Asked", "Events", "events", "mended_files"]

Events: TypeAlias = Iterator[dict[str, Any]]

PAUSE = 0.05
"""Seconds between two reports of one end: nobody sees more."""


@dataclass(slots=True)
class Asked:
    """A question of the page, the model it is put to, and where events go that cannot wait."""

    page: Page
    model: LCN
    sent: Mapping[str, Any]
    tell: Callable[[dict[str, Any]], None]
    _reported: dict[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Return how long the question may be worked on."""
        wanted = self.sent.get("seconds", ANSWERING)
        is_number = isinstance(wanted, int | float) and isfinite(wanted)
        return min(max(float(wanted), 0.1), LONGEST) if is_number else ANSWERING

    @property
    def question(self) -> str:
        """Return the question in words."""
        return str(self.sent.get("question", ""))

    def report(self, progress: Progress) -> None:
        """Tell the page what is known of one end of the interval."""
        now = monotonic()
        if progress.end is None or now - self._reported.get(progress.task, 0.0) < PAUSE:
            return
        self._reported[progress.task] = now
        self.tell(
            {
                "event": "progress",
                "end": progress.task,
                "bound": finite(progress.bound),
                "witnessed": finite(progress.witnessed),
                "seconds": progress.seconds,
                "leaves": progress.leaves,
                "stage": progress.stage,
            }
        )

    def answer(self, report: Report | None = None) -> Answer:
        """Answer the question."""
        return self.model.query(self.question, timeout=self.seconds, report=report)


def finite(number: float | None) -> float | None:
    """Return a number that JSON can hold; what is infinite or not known is none."""
    return number if number is not None and isfinite(number) else None


def shown(interval: Interval) -> dict[str, str]:
    """Write both ends so that what is written still holds."""
    low, high = interval.lower.bound, interval.upper.bound
    return {"low": plain(low, down=True), "high": plain(high, down=False)}


def told(answer: Answer) -> dict[str, Any]:
    """Return an answer for the page."""
    found = answer.to_dict()
    plain = {key: finite(value) if isinstance(value, float) else value for key, value in found.items()}
    return plain | shown(answer.interval)


# ---- kinds of questions -------------------------------------------------------------------------------


def ask(asked: Asked) -> Events:
    """Bound one probability, a sum or a quotient."""
    answer = asked.answer(asked.report)
    yield {"event": "answer", **told(answer)}
    reasons = asked.model.reasons(answer)
    if reasons:
        yield {"event": "reasons", "reasons": list(reasons)}


def marginals(asked: Asked) -> Events:
    """Bound all variables, or those that are drawn in their order, for as long as there is time."""
    model, ends_at = asked.model, monotonic() + asked.seconds
    rank = {str(name): i for i, name in enumerate(asked.sent.get("names") or ())}
    atoms = [atom for atom in marginal_atoms(model.ground()) if not rank or atom.variable.name in rank]
    at_once = {} if rank else model.marginals_at_once(timeout=asked.seconds)
    for atom in sorted(atoms, key=lambda atom: rank.get(atom.variable.name, 0)):
        query = Query(atom, model.evidence)
        left = ends_at - monotonic()
        if left <= 0.0:
            return
        seconds = min(left, max(1.0, asked.seconds / 4))
        answer = at_once.get(query) or model.query(Query(atom), timeout=seconds)
        yield {"event": "marginal", "name": atom.variable.name, "value": atom.value, **told(answer)}


def explain(asked: Asked) -> Events:
    """Find the sentences that hold the ends of an interval."""
    found = asked.model.explain(asked.question, timeout=asked.seconds)
    for end, holding in ((End.LOWER, found.holding_lower), (End.UPPER, found.holding_upper)):
        for one in islice(holding, LISTED):
            move = one.lower_move if end is End.LOWER else one.upper_move
            without = shown(one.answer.interval)
            words = {"says": said(one.sentence), "name": one.sentence.name, **place_of(one.sentence)}
            yield {"event": "holds", "end": end.value, "move": move, "without": without, **words}
    untried = {"silent": len(found.silent), "untried": len(found.untried)}
    yield {"event": "explained", **untried, "doubt": found.doubt, **told(found.answer)}


def witness(asked: Asked) -> Events:
    """Show the models that attain the ends of an interval."""
    answer = asked.answer()
    for end, model in ((End.LOWER, answer.lower_witness), (End.UPPER, answer.upper_witness)):
        if model is None:
            yield {"event": "witness", "end": end.value, "rows": None}
            continue
        rows = [{"says": str(query), "chance": chance} for query, chance in islice(chances(model), LISTED)]
        attained = finite(answer.interval[end].witnessed)
        yield {"event": "witness", "end": end.value, "attained": attained, "rows": rows}
    yield {"event": "answer", **told(answer)}


def certificate(asked: Asked) -> Events:
    """Prove an answer, and check the proof by the verifier that trusts no solver."""
    answer = asked.answer()
    found = asked.model.certificate(answer, timeout=min(asked.seconds, CERTIFYING))
    packed = b64encode(found.to_bytes()).decode()
    claims = list(verify(asked.model.ground(), found.text.splitlines()))
    yield {"event": "certificate", "content": packed, "missing": list(found.missing), "claims": claims}


def repairs(asked: Asked) -> Events:
    """Say which sentences contradict each other, and what would settle it."""
    found = asked.model.repairs(timeout=asked.seconds)
    verdict = {"verdict": found.diagnosis.verdict.name, "means": found.diagnosis.verdict.value}
    yield {"event": "diagnosis", **verdict, **_conflict(asked.page, found.diagnosis.conflict)}
    for one in found:
        files = mended_files(asked.page, asked.model, one)
        yield {"event": "repair", **_repair(one), "files": files}


def _conflict(page: Page, found: Conflict | None) -> dict[str, Any]:
    if found is None:
        return {"summary": "", "culprits": []}
    places = [place_of(culprit.sentence) for culprit in found.culprits]
    culprits = [
        {"says": said(culprit.bound), "lines": _lines(page, place), **place}
        for culprit, place in zip(found.culprits, places, strict=True)
    ]
    return {"summary": found.summary, "culprits": culprits}


def _lines(page: Page, place: Mapping[str, Any]) -> int:
    """Return how many lines the statement takes in which a sentence stands."""
    text = page.files.get(place["file"], page.text if not place["file"] else "")
    return spans(text).get(place["line"], 1)


def _repair(found: Repair) -> dict[str, Any]:
    total = sum((change.widening for change in found.changes), Fraction(0))
    changes = [
        {"before": said(c.before), "after": said(c.after), **place_of(c.before)} for c in found.changes
    ]
    price = {"total": float(total), "price": found.price, "at_least": found.at_least}
    return {"changes": changes, **price, "checked": found.is_checked, "proviso": found.proviso}


KINDS: Mapping[str, Callable[[Asked], Events]] = {
    "ask": ask,
    "marginals": marginals,
    "explain": explain,
    "witness": witness,
    "certificate": certificate,
    "repairs": repairs,
}


def events(asked: Asked) -> Events:
    """Yield what is found of a question of any kind."""
    kind = KINDS.get(str(asked.sent.get("kind")))
    if kind is None:
        raise CredalogError("the page asked for something unknown", advice="Load it again.")
    yield from kind(asked)


# ---- repairs ----------------------------------------------------------------------------------------------
# Repairs in the words of the page: each file with the bounds that a repair gives it.
# Input: a page and a repair. Output: the texts of the files that change; "" is the page's own text.


def mended_files(page: Page, model: LCN, chosen: Repair) -> dict[str, str]:
    """Return the changed files of a page, line by line as they were where that is possible."""
    changed = _line_by_line(page, chosen)
    if changed is not None and _says(page, changed, model, chosen):
        return changed
    return {"": model.mended(chosen).unparse()}


def _line_by_line(page: Page, chosen: Repair) -> dict[str, str] | None:
    """Return the files with new bounds in their lines; None where a sentence has no line of its own."""
    by_file = dict[str, list[Change]]()
    for change in chosen.changes:
        if change.before.source is None:
            return None
        file = change.before.source.file
        by_file.setdefault(file, []).append(replace(change, after=_as_in(file, change.after)))
    changed = dict[str, str]()
    for file, changes in by_file.items():
        text = with_changes_in(page.files.get(file, page.text if not file else ""), tuple(changes), file)
        if text is None:
            return None
        changed[file] = text
    return changed


def _as_in(file: str, sentence: Sentence) -> Sentence:
    """Return a sentence with the label that it has in its file, where others need not be told apart."""
    return replace(sentence, label=sentence.label and sentence.label.removeprefix(f"{PurePath(file).stem}."))


def _says(page: Page, changed: dict[str, str], model: LCN, chosen: Repair) -> bool:
    """Tell whether the changed files say what the repair does."""
    files = {name: changed.get(name, text) for name, text in page.files.items()}
    after = replace(page, text=changed.get("", page.text), files=files)
    try:
        return after.stated().ground() == mended(model.ground(), chosen)
    except CredalogError:
        return False
