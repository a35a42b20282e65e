"""What may be held against the bounds of sound propagation, given some models of the network.

Input: a network whose models are known. Output: a list of accusations; an empty one is an acquittal. The
network is asked with several windows, schedules, Markov conditions, numbers of rounds, observations and
warm starts; every interval has to contain what each known model says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from awkward_networks import Awkward
from credalog.errors import CredalogError, ProblemTooLarge
from credalog.methods.intervals import Propagation, Schedule, propagate
from credalog.network.formulas import Variable, World
from credalog.network.graph import Markov
from credalog.network.sentences import Network

__all__ = ["accusations"]

LEAST_EVIDENCE = 1e-4
"""The least P(evidence) at which a model that is not exact still tells a posterior."""


@dataclass(frozen=True, slots=True)
class Call:
    """One way to ask."""

    window: int = 0
    schedule: Schedule = Schedule.RESIDUAL
    markov: Markov = Markov.LOCAL
    rounds: int = 10_000
    evidence: tuple[tuple[Variable, str], ...] = ()

    def __str__(self) -> str:
        seen = ", ".join(f"{v.name}={value}" for v, value in self.evidence) or "nothing"
        how = f"{self.schedule.value}, {self.markov.value}, {self.rounds} rounds"
        return f"window {self.window}, {how}, seen {seen}"

    def ask(self, network: Network, start: Propagation | None = None) -> Propagation:
        """Put the question."""
        return propagate(
            network,
            variant="sound",
            window=self.window,
            schedule=self.schedule,
            markov=self.markov,
            max_iterations=self.rounds,
            evidence=dict(self.evidence),
            start=start,
        )


def calls(rng: np.random.Generator, case: Awkward) -> Iterator[Call]:
    """Choose how to ask: always the plain way, and some of all others."""
    schedules = list(Schedule)
    yield Call()
    yield Call(
        rounds=int(rng.integers(0, 4)), schedule=schedules[rng.integers(2)], window=int(rng.integers(3))
    )
    yield Call(window=int(rng.integers(1, 3)), schedule=schedules[rng.integers(2)])
    yield Call(window=int(rng.integers(2)), markov=Markov.NONE)
    yield Call(schedule=Schedule.SYNCHRONOUS, markov=Markov.GLOBAL)
    for _ in range(2):
        yield Call(window=int(rng.integers(2)), evidence=observation(rng, case))


def observation(rng: np.random.Generator, case: Awkward) -> tuple[tuple[Variable, str], ...]:
    """Observe up to three variables as some world of a model has them, so that the evidence is possible."""
    joint = case.models[0]
    world = np.unravel_index(rng.choice(joint.size, p=joint.ravel() / joint.sum()), joint.shape)
    chosen = rng.permutation(joint.ndim)[: rng.integers(1, 4)]
    return tuple((case.network.variables[i], case.network.variables[i].values[world[i]]) for i in chosen)


def accusations(case: Awkward) -> Iterator[str]:
    """Yield what is wrong with the bounds on a case, in any way it was asked."""
    rng = np.random.default_rng([case.seed, 7])
    for call in calls(rng, case):
        found = _outcome(case.network, call)
        yield from (f"{call}: {fault}" for fault in _faults(case, found, dict(call.evidence)))
    yield from (f"warm: {fault}" for fault in _warm(rng, case))


def _warm(rng: np.random.Generator, case: Awkward) -> Iterator[str]:
    """Start from a network with looser bounds."""
    looser = replace(
        case.network,
        sentences=tuple(
            replace(s, lower=s.lower - Fraction(1, 5), upper=s.upper + Fraction(1, 5))
            if rng.random() < 0.5
            else s
            for s in case.network.sentences
        ),
    )
    call = Call(window=int(rng.integers(2)))
    before = _outcome(looser, replace(call, rounds=int(rng.integers(1, 10))))
    if isinstance(before, Propagation):
        yield from _faults(case, _outcome(case.network, call, before), {})
    else:
        yield f"the looser network fails: {before!r}"


def _outcome(network: Network, call: Call, start: Propagation | None = None) -> Propagation | Exception:
    try:
        return call.ask(network, start)
    except Exception as error:  # noqa: BLE001 - whatever it is, it goes into the report
        return error


def _faults(case: Awkward, found: Propagation | Exception, evidence: World) -> Iterator[str]:
    if isinstance(found, ProblemTooLarge):
        return
    if isinstance(found, Exception):
        kind = "refused" if isinstance(found, CredalogError) else "crashed"
        yield f"{kind}: {found!r}"
        return
    for number, joint in enumerate(case.models):
        seen = _restricted(joint, case.network, evidence)
        mass = float(seen.sum())
        if mass > (LEAST_EVIDENCE if case.rounding > 1e-9 else 0.0):
            faults = _outside(case.network, found, seen / mass, case.rounding / mass)
            yield from (f"model {number}: {fault}" for fault in faults)


def _restricted(joint: NDArray[np.float64], network: Network, evidence: World) -> NDArray[np.float64]:
    """Keep the mass of the worlds that agree with the evidence."""
    kept = joint.copy()
    for variable, value in evidence.items():
        axis = network.variables.index(variable)
        others = [k for k in range(len(variable.values)) if variable.values[k] != value]
        kept[(slice(None),) * axis + (others,)] = 0.0
    return kept


def _outside(
    network: Network, found: Propagation, joint: NDArray[np.float64], rounding: float
) -> Iterator[str]:
    for axis, variable in enumerate(network.variables):
        marginal = joint.sum(axis=tuple(k for k in range(joint.ndim) if k != axis))
        for value, chance in zip(variable.values, marginal, strict=True):
            lower, upper = found.interval(variable, value)
            if not lower - rounding <= chance <= upper + rounding:
                yield f"P({variable.name} = {value}) = {chance!r} is outside [{lower!r}, {upper!r}]"
