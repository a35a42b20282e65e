"""The models that a worker holds.

Input: `Source`s, as text or as a pickled theory. Output: `Models`: each is read and compiled when it is first
needed, and kept while there is room. What is kept is never needed for an answer, only for its speed.
"""

from __future__ import annotations

import pickle
import re
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from credalog.errors import CredalogError
from credalog.lcn import LCN, load, parse

__all__ = ["Missing", "Models", "Source"]

MOST_MODELS = 64
"""So many models are kept by one worker."""

READS_FILES = re.compile(r'\b(?:include|from|columns)\b[^\n]*"')
"""What a text says that reads other files, which a worker elsewhere may not have."""


class Missing(LookupError):
    """A worker has never been sent a model."""


@dataclass(frozen=True, slots=True)
class Source:
    """A model as it is sent to a worker: its text, or its theory as bytes; `key` tells it from others."""

    key: str
    content: str | bytes

    @classmethod
    def of_text(cls, text: str) -> Source:
        """Send a model as text."""
        return cls(sha256(text.encode()).hexdigest()[:16], text)

    @classmethod
    def of_model(cls, model: LCN) -> Source:
        """Send a model as it was read."""
        content = pickle.dumps(model, protocol=pickle.HIGHEST_PROTOCOL)
        return cls(sha256(content).hexdigest()[:16], content)

    @classmethod
    def of_file(cls, path: Path) -> Source:
        """Send a file: as text where that says it all, so that the worker is the one who reads it."""
        if path.suffix.lower() == ".lcn":
            from credalog.text.statements import text_of

            text = text_of(path)
            if not READS_FILES.search(text):
                return cls.of_text(text)
        return cls.of_model(load(path))

    def read(self) -> LCN:
        """Return the model."""
        if isinstance(self.content, str):
            return parse(self.content)
        model: LCN = pickle.loads(self.content)
        return model


class Models:
    """The models of one worker: at most so many, the one that was used last is the last to go."""

    def __init__(self, most: int = MOST_MODELS) -> None:
        self._most = most
        self._sources: dict[str, Source] = {}
        self._read: OrderedDict[str, LCN] = OrderedDict()

    def learn(self, source: Source) -> None:
        """Remember the source of a model for as long as the worker lives."""
        self._sources[source.key] = source

    def forget(self, key: str) -> None:
        """Forget a model and its source."""
        self._sources.pop(key, None)
        self._read.pop(key, None)

    def knows(self, key: str) -> bool:
        """Tell whether a model can be had without being sent again."""
        return key in self._sources or key in self._read

    def clear(self) -> None:
        """Let go of everything that can be had again."""
        self._read.clear()

    def get(self, key: str, sources: dict[str, Source]) -> LCN:
        """Return a model that is kept, or read it; what cannot be read is not kept."""
        if key in self._read:
            self._read.move_to_end(key)
            return self._read[key]
        source = sources.get(key) or self._sources.get(key)
        if source is None:
            raise Missing(key)
        try:
            model = source.read()
        except CredalogError as error:
            error.message = f"the model cannot be read: {error.message}"
            raise
        self._read[key] = model
        while len(self._read) > self._most:
            self._read.popitem(last=False)
        return model
