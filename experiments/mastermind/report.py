"""The results page: Table 1 beside the paper's, what was proved, and what was cross-checked.

Input: the results of all seeds and of the cross-checks. Output: Markdown text.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.mastermind.engine_check import Agreement
from experiments.mastermind.methods import PAPER
from experiments.mastermind.study import SeedResult

__all__ = ["Checks", "Row", "page", "rows"]


@dataclass(frozen=True, slots=True)
class Row:
    """One method: mean and standard deviation over seeds, beside the paper's."""

    method: str
    mean: float
    deviation: float
    paper: tuple[float, float] | str

    @property
    def verdict(self) -> str:
        """Say how far the mean is from the paper's, in the paper's standard deviations."""
        if isinstance(self.paper, str):
            return "see below"
        mean, deviation = self.paper
        return f"{(self.mean - mean) / deviation:+.1f} sd"

    @property
    def printed(self) -> tuple[str, str, str, str]:
        """Return the cells of the table."""
        paper = self.paper if isinstance(self.paper, str) else f"{self.paper[0]:.1f} ± {self.paper[1]:.1f}"
        return self.method, paper, f"{self.mean:.1f} ± {self.deviation:.1f}", self.verdict


@dataclass(frozen=True, slots=True)
class Checks:
    """What was compared with independent software, and what the run took."""

    problog: tuple[float, ...]
    engine: list[Agreement]
    jobs: int
    seconds: float


def rows(results: list[SeedResult]) -> list[Row]:
    """Average every method over the seeds."""
    return [_row(name, [result.accuracy[name] for result in results]) for name in PAPER]


def _row(name: str, accuracy: list[float]) -> Row:
    deviation = float(np.std(accuracy, ddof=1)) if len(accuracy) > 1 else 0.0
    return Row(name, float(np.mean(accuracy)), deviation, PAPER[name])


def page(results: list[SeedResult], checks: Checks, command: str) -> str:
    """Write the page."""
    outcomes = [outcome for result in results for outcome in result.outcomes]
    optimist, pessimist = np.mean([outcome.certified for outcome in outcomes], axis=0)
    return PAGE.format(
        command=command,
        jobs=checks.jobs,
        seconds=checks.seconds,
        seeds=len(results),
        puzzles=len(outcomes) / len(results),
        rounds=np.mean([result.rounds for result in results]),
        single=np.mean([outcome.single_map for outcome in outcomes]),
        table="\n".join(f"| {' | '.join(row.printed)} |" for row in rows(results)),
        optimist=optimist,
        pessimist=pessimist,
        gap=max(outcome.gap for outcome in outcomes),
        entropy=max(outcome.entropy_gap for outcome in outcomes),
        vacuous=np.mean([outcome.nilsson_vacuous for outcome in outcomes]),
        boards=len(checks.problog),
        problog=max(checks.problog),
        engine="\n".join(f"| {' | '.join(_cells(found))} |" for found in checks.engine),
    )


def _cells(found: Agreement) -> tuple[str, ...]:
    witnessed = ", ".join("none" if w is None else f"{w:.6f}" for w in found.witnessed)
    return (
        str(found.rounds),
        found.codes,
        f"[{found.fast[0]:.6f}, {found.fast[1]:.6f}]",
        f"[{found.engine[0]:.6f}, {found.engine[1]:.6f}]",
        f"[{witnessed}]",
        f"{found.status}, {found.seconds:.0f} s",
        "yes" if found.holds else "NO",
    )


PAGE = """\
# Mastermind with a lying code-maker: the paper's Table 1

Written by `{command}`:
{seeds} seeds, {puzzles:.0f} puzzles each on average, {rounds:.1f} rounds a puzzle, {single:.0%} with a
single MAP code; {seconds:.0f} s for all methods, processes: {jobs}.

Accuracy in percent, mean ± standard deviation over seeds. The last column is the distance of the two means
in the paper's standard deviations.

| Method | Paper | Here | Distance |
|---|---|---|---|
{table}

![A board and the posterior intervals of its leading codes](board.png)

## What is proved

- LCN_maximax: in {optimist:.2%} of the puzzles the chosen code provably has the largest upper posterior of
  all 1296 codes; LCN_maximin: in {pessimist:.2%} the largest lower posterior. Where the proof did not finish,
  another code could be better by at most {gap:.1g} in posterior probability.
- LCN_maxent: on no puzzle has any model more entropy than the one used by more than {entropy:.1g} nats.
- Nilsson: on {vacuous:.2%} of the puzzles some distribution avoids the lies of every code and satisfies all
  sentences with slack. Hence every lower bound is 0, and every code whose lies no other code shares has
  upper bound 1. The bounds are vacuous, and the accuracy of Nilsson_maximax is that of drawing one of those
  codes. The paper calls this row intractable and guesses the effect; here it is proved, puzzle by puzzle.
  (With all 1296 codes tied, drawing one makes Nilsson_maximin 0.1 rather than 0.)

## What is cross-checked

- ProbLog: the `problog` package answers {boards} boards; its posterior of every code is within {problog:.0e}
  of the closed form.
- The general engine reads the board in [`puzzle.lcn`](puzzle.lcn) as text, and is asked for the posterior of
  a set of codes after some of its rounds. They agree where, up to the tolerances of
  both, the engine's bounds enclose the fast path's interval and the values its witnesses attain lie inside.
  The last row reads the whole board as a network of its lies alone, [`puzzle_lies.lcn`](puzzle_lies.lcn).

| Rounds | Codes | Fast path | Engine, bounds | Engine, witnessed | Status | Agree |
|---|---|---|---|---|---|---|
{engine}

## How the text was read

- 6 colours, 4 pegs; Knuth's five-guess strategy, three runs a puzzle, each until no code fits the answers;
  the round that contradicts stays on the board. Colours and places are renamed at random for each run. An
  attempt is dropped when a guess equals the hidden code, whatever was answered.
- A lie is drawn uniformly from the answers that some code gives to the guess, except the truth and (4,0).
- Rounds are numbered through all runs; P(l_i) is uniform in [0.3, 0.7]. The knowledge is AND, OR, AND, ... of
  consecutive l_i with bounds drawn as in the paper's appendix, tau = False.
- The ground truth is the set of codes with the greatest posterior under the true P(l_i). A method whose
  answer is a tie scores the share of MAP codes among the tied ones. Counting any tied MAP code as a full
  success would put Bayesian_midpoint above 75, far from the paper's 65.7.
- The Bayesian, credal, ProbLog, cProbLog and MLN rows are closed forms; cProbLog and MLN are two formulas for
  the same model.
"""
