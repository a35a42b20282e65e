"""The reproduction of the paper's tables: its parts against brute force, and the quick runs."""

import re
from collections import defaultdict
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from experiments.fraud import __main__ as fraud_run
from experiments.fraud.cross_check import compare as compare_transaction
from experiments.fraud.history import antecedents
from experiments.fraud.methods import Evidence, lcn_interval, predictions
from experiments.fraud.study import draw_tasks, prepare, scores
from experiments.fraud.synthetic import generate
from experiments.fraud.transactions import Transactions, load
from experiments.mastermind import __main__ as mastermind_run
from experiments.mastermind import game
from experiments.mastermind.board import Knowledge, read_board
from experiments.mastermind.bounds import maximax, maximin, posterior_interval
from experiments.mastermind.engine_check import compare as compare_board
from experiments.mastermind.engine_check import opening
from experiments.mastermind.entropy import entropy, most_entropic
from experiments.mastermind.game import CODES, FEEDBACK, FEEDBACKS, LYING, Puzzle, achievable
from experiments.mastermind.methods import PAPER, evaluate
from experiments.mastermind.nilsson import nilsson_bounds, upper_by_linear_program
from experiments.mastermind.problog_check import largest_difference
from experiments.mastermind.study import puzzles, run

import credalog

pytestmark = pytest.mark.slow

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.lcn"))
STATED = re.compile(r"^query (?P<query>.*?)\s*# \[(?P<lower>[^,]+), (?P<upper>[^\]]+)\]$", re.MULTILINE)

CASES = list(puzzles(3, 40))
SMALL = min(CASES, key=lambda case: case[0].rounds)


# ---- the paper's small examples -------------------------------------------------------------------------


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_has_the_answers_it_states(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    stated = list(STATED.finditer(text))
    assert len(stated) == len(re.findall(r"^query ", text, re.MULTILINE)) > 0
    for found in stated:
        answer = credalog.load(path).query(found["query"], timeout=60.0)
        expected = (float(Fraction(found["lower"])), float(Fraction(found["upper"])))
        assert (answer.lower, answer.upper) == pytest.approx(expected, abs=1e-4)


def test_parity_is_vacuous_in_nilssons_logic() -> None:
    (path,) = (path for path in EXAMPLES if path.stem == "parity")
    answer = credalog.load(path).query("P(x xor y)", markov="none")
    assert (answer.lower, answer.upper) == pytest.approx((0.0, 1.0))


# ---- Mastermind: the game -------------------------------------------------------------------------------


def feedback_by_hand(guess: int, code: int) -> tuple[int, int]:
    one, other = list(CODES[guess]), list(CODES[code])
    black = sum(a == b for a, b in zip(one, other, strict=True))
    common = sum(min(one.count(colour), other.count(colour)) for colour in set(one))
    return black, common - black


def test_feedback_is_that_of_the_rules() -> None:
    rng = np.random.default_rng(0)
    for guess, code in rng.integers(len(CODES), size=(300, 2)):
        assert FEEDBACKS[FEEDBACK[guess, code]] == feedback_by_hand(guess, code)


def test_knuths_strategy_finds_every_code_in_five_guesses_when_nobody_lies() -> None:
    worst, total = 0, 0
    for code in range(len(CODES)):
        history: tuple[tuple[int, int], ...] = ()
        while not history or history[-1][0] != code:
            guess = game._knuth(history)
            assert guess is not None
            history += ((guess, int(FEEDBACK[guess, code])),)
        worst, total = max(worst, len(history)), total + len(history)
    # Knuth (1976): never more than 5 guesses, 5801 in all.
    assert (worst, total) == (5, 5801)


def test_a_board_ends_each_run_with_a_contradiction_and_never_guesses_the_code() -> None:
    for puzzle, _ in CASES:
        assert puzzle.hidden not in puzzle.guesses
        assert all(shown in achievable(g) for g, shown in zip(puzzle.guesses, puzzle.shown, strict=True))
        assert all(LYING[0] <= p <= LYING[1] for p in puzzle.lying)


def test_puzzles_are_reproducible_from_the_seed_and_three_quarters_survive() -> None:
    assert [p for p, _ in puzzles(3, 40)] == [p for p, _ in CASES]
    assert 640 <= len(list(puzzles(1, 1000))) <= 810


def likelihood_by_hand(puzzle: Puzzle, code: int, lying: np.ndarray) -> float:
    result = 1.0
    for guess, shown, p in zip(puzzle.guesses, puzzle.shown, lying, strict=True):
        truth = FEEDBACK[guess, code]
        lies = [f for f in np.unique(FEEDBACK[guess]) if f != truth and FEEDBACKS[f] != (4, 0)]
        result *= (1 - p) if shown == truth else p / len(lies)
    return result


def test_groups_of_codes_have_the_posterior_of_every_single_code() -> None:
    for puzzle, _ in CASES[:3]:
        board, lying = read_board(puzzle), np.array(puzzle.lying)
        likelihood = np.array([likelihood_by_hand(puzzle, code, lying) for code in range(len(CODES))])
        expected = likelihood / likelihood.sum()
        np.testing.assert_allclose(np.exp(board.log_posterior(lying))[board.group_of], expected, rtol=1e-9)


def test_the_knowledge_is_true() -> None:
    for puzzle, knowledge in CASES:
        assert knowledge.violation(np.array(puzzle.lying)) <= 0.0


# ---- Mastermind: certified bounds -----------------------------------------------------------------------


def random_models(knowledge: Knowledge, count: int) -> np.ndarray:
    """Draw lying probabilities and keep those that satisfy the knowledge."""
    rounds = knowledge.is_or.size + 1
    drawn = np.random.default_rng(1).uniform(*LYING, size=(count, rounds))
    return np.array([p for p in drawn if knowledge.violation(p) <= 0.0])


def loose(knowledge: Knowledge) -> Knowledge:
    """Widen the knowledge, so that random models are easily found."""
    return Knowledge(knowledge.is_or, knowledge.lower - 0.05, knowledge.upper + 0.05)


def test_no_model_leaves_the_posterior_interval_and_both_ends_are_nearly_met() -> None:
    knowledge, board = loose(SMALL[1]), read_board(SMALL[0])
    found = random_models(knowledge, 100_000)
    assert len(found) > 100
    posteriors = np.exp([board.log_posterior(p) for p in found])
    for group in range(min(board.groups, 6)):
        lower, upper = posterior_interval(board, knowledge, group)
        assert lower <= posteriors[:, group].min() and posteriors[:, group].max() <= upper
        # Random models come near a corner only within a factor.
        assert posteriors[:, group].max() >= 0.5 * upper and posteriors[:, group].min() <= 2.0 * lower


def test_without_knowledge_the_interval_is_that_of_the_credal_network() -> None:
    board = read_board(SMALL[0])
    rounds = board.rounds
    nothing = Knowledge(np.zeros(rounds - 1, bool), np.full(rounds - 1, 0.0), np.full(rounds - 1, 1.0))
    corners = np.array(list(product(LYING, repeat=rounds)))
    every = np.exp([board.log_posterior(p) for p in corners])
    for group in range(board.groups):
        lower, upper = posterior_interval(board, nothing, group)
        assert (lower, upper) == pytest.approx((every[:, group].min(), every[:, group].max()), rel=1e-4)


@pytest.mark.parametrize("number", range(4))
def test_a_certified_choice_has_the_best_bound_of_all_groups(number: int) -> None:
    puzzle, knowledge = sorted(CASES, key=lambda case: read_board(case[0]).groups)[number]
    board = read_board(puzzle)
    intervals = [posterior_interval(board, knowledge, g, tolerance=1e-2) for g in range(board.groups)]
    optimist, pessimist = maximax(board, knowledge), maximin(board, knowledge)
    assert optimist.certified and pessimist.certified
    # The others' bounds are at most 1 % too good, so none may be better by more than that.
    assert optimist.upper >= max(upper for _, upper in intervals) * 0.99
    assert pessimist.upper >= max(lower for lower, _ in intervals)
    assert intervals[optimist.group][1] * 1.0001 >= optimist.lower


@pytest.mark.parametrize("number", range(3))
def test_no_random_model_has_more_entropy_than_the_most_entropic(number: int) -> None:
    knowledge = loose(CASES[number][1])
    best = most_entropic(knowledge)
    assert knowledge.violation(best.lying) <= 1e-9
    assert best.gap <= 1e-3
    models = random_models(knowledge, 20_000)
    assert all(entropy(p) <= entropy(best.lying) + best.gap for p in models)


def test_nilssons_bounds_are_those_of_the_linear_program_over_all_lies() -> None:
    for puzzle, knowledge in CASES[:4]:
        board = read_board(puzzle)
        bounds = nilsson_bounds(board, knowledge)
        assert bounds.vacuous
        for group in range(0, board.groups, 17):
            assert upper_by_linear_program(board, knowledge, group) == pytest.approx(
                bounds.upper[group], abs=1e-6
            )


def test_contradictory_knowledge_is_reported() -> None:
    board = read_board(SMALL[0])
    rounds = board.rounds
    nonsense = Knowledge(np.zeros(rounds - 1, bool), np.full(rounds - 1, 0.5), np.full(rounds - 1, 0.9))
    with pytest.raises(ValueError, match="contradicts itself"):
        maximax(board, nonsense)


# ---- Mastermind: other software, and the run ------------------------------------------------------------


def test_problog_itself_has_the_closed_forms_posterior() -> None:
    assert largest_difference(SMALL[0]) <= 1e-9


def test_the_general_engine_agrees_on_the_opening_of_a_board() -> None:
    puzzle, knowledge = SMALL
    agreement = compare_board(*opening(puzzle, knowledge.rounded(3), 2), timeout=60.0)
    assert agreement.holds
    assert agreement.status == "EXACT"


def test_cproblog_and_markov_logic_are_the_same_model() -> None:
    names = list(PAPER)
    for case in CASES:
        scores_of = dict(zip(names, evaluate(*case).scores, strict=True))
        assert scores_of["cProbLog_midpoint"] == pytest.approx(scores_of["MLN_midpoint"])


def test_processes_do_not_change_the_results() -> None:
    one, two = run(range(1), 10, 1), run(range(1), 10, 2)
    assert one[0].accuracy == two[0].accuracy


def test_the_quick_run_prints_all_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert mastermind_run.main(["--quick"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in PAPER)


# ---- fraud ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def synthetic() -> Transactions:
    return generate(np.random.default_rng(5))


def test_antecedents_are_those_of_the_accounts_past(synthetic: Transactions) -> None:
    amount, zips = synthetic.numbers("amount"), synthetic.column("zip1")
    past: dict[int, list[int]] = defaultdict(list)
    for row, found in enumerate(antecedents(synthetic)):
        before = past[int(synthetic.account[row])]
        fraud = any(synthetic.fraud[r] for r in before)
        zero = any(amount[r] == 0 for r in before)
        several = len({int(zips[r]) for r in before}) >= 2
        assert tuple(found) == (fraud, zero, several)
        before.append(row)


def test_accounts_are_never_split_between_training_and_test(synthetic: Transactions) -> None:
    problem = prepare(synthetic)
    for task in draw_tasks(problem, np.random.default_rng(0)).tasks:
        assert not set(synthetic.account[task.training]) & set(synthetic.account[task.test])
        for rows in (task.training, task.test):
            chosen = np.isin(synthetic.account, synthetic.account[rows])
            assert (chosen == rows).all()


def evidence(ratio: float, *holds: bool) -> Evidence:
    lower, upper = np.array([0.65, 0.31, 0.44]), np.array([0.74, 0.66, 0.72])
    return Evidence(np.array([np.log(ratio)]), np.array([holds]), 0.01, lower, upper)


def test_the_lcn_calls_fraud_exactly_where_an_antecedent_holds() -> None:
    for ratio in (1e-6, 0.5, 1.0, 40.0, 1e6):
        for holds in product((False, True), repeat=3):
            called = predictions(evidence(ratio, *holds))
            assert called["LCN"][0] == any(holds)
            assert called["Nilsson"][0] and called["Credal"][0]


def test_the_closed_form_of_the_lcn_is_the_engines_answer() -> None:
    for ratio, holds in (
        (3.0, (False, False, False)),
        (0.2, (True, False, False)),
        (2.0, (True, True, False)),
    ):
        text = "\n".join(
            [
                "P(X) = 0.01",
                f"P(seen | X) = {0.1 * ratio}",
                "P(seen | !X) = 0.1",
                *(
                    f"{l} <= P(W{j}) <= {u}"
                    for j, l, u in ((1, 0.65, 0.74), (2, 0.31, 0.66), (3, 0.44, 0.72))
                ),
                *(f"P(X | A{j} & W{j}) = 1" for j in (1, 2, 3)),
            ]
        )
        history = " & ".join(("" if h else "!") + f"A{j}" for j, h in enumerate(holds, start=1))
        answer = credalog.parse(text).query(f"P(X | seen & {history})", timeout=60.0)
        (lower,), (upper,) = lcn_interval(evidence(ratio, *holds))
        assert (answer.lower, answer.upper) == pytest.approx((lower, upper), abs=1e-4)


def test_a_whole_transaction_is_answered_from_its_text(shared_data: Path) -> None:
    problem = prepare(load(shared_data / "ucsd-fico"))
    draw = draw_tasks(problem, np.random.default_rng(0))
    for case in fraud_run.cases_of(problem, draw)[:2]:
        found = compare_transaction(case, timeout=60.0)
        assert found.engine == pytest.approx(found.closed, abs=1e-4)
        assert found.nilsson == pytest.approx((0.0, 1.0), abs=1e-6)
        assert found.problog == pytest.approx(found.problog_closed, abs=1e-9)


def test_the_contests_data_have_the_papers_counts(shared_data: Path) -> None:
    problem = prepare(load(shared_data / "ucsd-fico"))
    transactions, single = problem.transactions, problem.single
    assert (len(transactions), int(transactions.fraud.sum())) == (100_000, 2_654)
    assert int(single.sum()) == 55_750
    assert int((~single).sum()) == 44_250
    assert len(np.unique(transactions.account[~single])) == 14_374


def test_the_order_of_the_papers_rows_is_found_on_the_contests_data(shared_data: Path) -> None:
    problem = prepare(load(shared_data / "ucsd-fico"))
    mean = {
        name: s.mean() for name, s in scores(problem, draw_tasks(problem, np.random.default_rng(0))).items()
    }
    assert mean["Rule A1 alone"] > mean["LCN"] > mean["ProbLog_midpoint"] > mean["Naive_Bayes"]
    assert mean["Naive_Bayes"] > mean["Bayesian_midpoint"] > mean["Credal"] == mean["Nilsson"]


def test_the_quick_run_works_without_the_contests_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fraud_run.main(["--quick", "--data", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "synthetic" in printed and "Naive_Bayes" in printed
