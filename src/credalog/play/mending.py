"""Repairs in the words of the page: each file with the bounds that a repair gives it.

Input: a page and a repair. Output: the texts of the files that change; "" is the page's own text.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

from credalog.errors import CredalogError
from credalog.lcn import LCN
from credalog.network.sentences import Sentence
from credalog.play.pages import Page
from credalog.questions.diagnose import Change, Repair
from credalog.questions.mending import mended, with_changes_in

__all__ = ["mended_files"]


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
