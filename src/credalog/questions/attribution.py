"""Which sentences a linear program's proof rests on.

Input: an encoding and the multipliers of a proof, of a bound or of infeasibility. Output: a weight for each
sentence that the proof uses. A sentence without weight is not needed by this proof: what it proves holds
without the sentence too.

Statements have rows of their own. What is local to theta(x | configuration) shows only in the range of a
ratio and in rows inside its clique, so its sentences share those weights.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from credalog.methods.automatic import Engine
from credalog.methods.cliques.encoding import Encoding
from credalog.network.formulas import Variable
from credalog.network.polytopes import Configuration, local_polytopes
from credalog.program.program import Floats

SILENT = 1e-9
"""A multiplier below this is a rounding error."""


@dataclass(frozen=True, slots=True)
class _Parents:
    parent_indices: tuple[tuple[int, ...], ...]


class Attribution:
    """The way back from the rows of a network's programs to its sentences, by number."""

    def __init__(self, engine: Engine) -> None:
        structure = engine.problem.structure
        assessment = local_polytopes(engine.network, _Parents(structure.parents))
        self._at: dict[tuple[Variable, Configuration], list[int]] = defaultdict(list)
        self._about: dict[Variable, list[int]] = defaultdict(list)
        for number, places in enumerate(assessment.places):
            for x, configuration in places:
                self._at[engine.problem.variables[x], configuration].append(number)
            for x in {x for x, _ in places}:
                self._about[engine.problem.variables[x]].append(number)

    def weights(self, encoding: Encoding, multipliers: Floats) -> Mapping[int, float]:
        """Return the weight of every sentence that multipliers use."""
        program = encoding.program
        contexts = len(program.ratios.of)
        ends = np.cumsum([program.inequalities.shape[0], contexts, contexts])
        stated, low, high, rest = np.split(multipliers, ends)
        found: dict[int, float] = defaultdict(float)
        for origin, weight in zip(program.inequality_origin, stated, strict=True):
            found[origin] += max(float(weight), 0.0)
        for origin, weight in zip(program.equality_origin, rest[:-1], strict=True):
            found[origin] += abs(float(weight))
        self._add_ratios(found, encoding, low, high)
        self._add_contexts(found, encoding, stated)
        return {number: weight for number, weight in sorted(found.items()) if number >= 0 and weight > SILENT}

    def _add_ratios(self, found: dict[int, float], encoding: Encoding, low: Floats, high: Floats) -> None:
        ratios, problem = encoding.program.ratios, encoding.problem
        used = np.bincount(ratios.of, np.maximum(low, 0.0) + np.maximum(high, 0.0), len(ratios.lower))
        for ratio in np.flatnonzero(used > SILENT):
            key = encoding.keys[ratio]
            if len(key.left) == 1 and key.given == problem.structure.parents[key.left[0]]:
                for number in self._at.get((problem.variables[key.left[0]], key.configuration), ()):
                    found[number] += float(used[ratio])

    def _add_contexts(self, found: dict[int, float], encoding: Encoding, stated: Floats) -> None:
        """Add rows without an origin to whatever is local to the variable whose clique they stand in."""
        program = encoding.program
        anonymous = np.array([origin < 0 for origin in program.inequality_origin], dtype=bool)
        for row in np.flatnonzero(anonymous & (stated > SILENT)):
            column = program.inequalities.indices[program.inequalities.indptr[row]]
            clique = next(i for i, columns in enumerate(encoding.columns) if column in columns)
            for x in encoding.factorization.cliques[clique].block:
                for number in self._about.get(encoding.problem.variables[x], ()):
                    found[number] += float(stated[row])
