"""Certificates: what is proved can be checked by others, and nothing false is accepted."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest
from tools import trusted

import credalog
from certificate_mutations import judged, mutated
from credalog import LCN, CredalogError, parse
from credalog.cli import main
from credalog.errors import Refused
from credalog.methods.automatic import Engine
from credalog.network.graph import Markov
from credalog.network.markov import MarkovCondition
from credalog.numbers.budget import Budget
from credalog.questions.certificates.writing import Writing
from credalog.questions.decide import Verdict
from credalog.verify import verify
from random_networks import random_case

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
VERIFIER = ROOT / "src" / "credalog" / "verify.py"

GOLDEN = (
    ("appendix.lcn", "P(c)", 0, Fraction(1, 3)),
    ("appendix.lcn", "P(a | b)", Fraction(6, 7), 1),
    ("parity.lcn", "P(x xor y)", Fraction(42, 100), Fraction(58, 100)),
    ("two_sources.lcn", "P(b)", Fraction(3, 10), Fraction(35, 100)),
    ("smokers.lcn", "P(Ca(Tim) or Ca(Tom))", 0, Fraction(784, 10000)),
)
"""The paper's own examples, with what arithmetic on paper says."""

TIES = "\n".join(
    [*(f"0.2 <= P(s{i}) <= 0.7" for i in range(12)), *(f"P(s{i} xor s{i + 1}) <= 0.1" for i in range(11))]
)
CREDAL = """
variable C in {red, green, blue}
0.1 <= P(C = red) <= 0.3
0.2 <= P(C = green) <= 0.5
0.3 <= P(a | C = red) <= 0.6
0.1 <= P(a | C = green) <= 0.2
0.7 <= P(a | C = blue) <= 0.8
0.5 <= P(b | a) <= 0.9
0.1 <= P(b | !a) <= 0.3
"""


def lines_of(lcn: LCN, *asked: str, markov: str = "local") -> list[str]:
    answers = [lcn.query(text, markov=Markov(markov)) for text in asked]
    certificate = lcn.certificate(*answers, markov=Markov(markov))
    assert not certificate.missing
    return certificate.text.splitlines()


def bounds_in(lines: list[str], asked: str, end: str) -> list[Fraction]:
    claims = [json.loads(line) for line in lines[1:]]
    return [Fraction(c["bound"]) for c in claims if c["query"] == asked and c["claim"] == end]


# ---- what is written is accepted, and true --------------------------------------------------------------


@pytest.mark.parametrize(("file", "asked", "low", "high"), GOLDEN)
def test_the_papers_answers_are_proved_and_attained(file, asked, low, high):
    lcn = credalog.load(EXAMPLES / file)
    lines = lines_of(lcn, asked)
    claims = list(verify(lcn.ground(), lines))
    for bound in bounds_in(lines, str(lcn.question(asked)), "lower"):
        assert low - Fraction(1, 10**5) <= bound <= low
    for bound in bounds_in(lines, str(lcn.question(asked)), "upper"):
        assert high <= bound <= high + Fraction(1, 10**5)
    assert sum("attains" in claim for claim in claims) == 2


@pytest.mark.parametrize("markov", ["local", "global", "none"])
def test_each_markov_condition_has_certificates(markov):
    lcn = credalog.load(EXAMPLES / "parity.lcn")
    lines = lines_of(lcn, "P(x xor y)", markov=markov)
    assert list(verify(lcn.ground(), lines, markov=markov))


def test_a_chain_of_ties_is_proved_without_a_table_of_all_of_them():
    lcn = parse(TIES)
    lines = lines_of(lcn, "P(s0 and s1)", "P(s5)")
    assert list(verify(lcn.ground(), lines))
    widest = max(len(shown) for line in lines[1:] for shown, _ in json.loads(line).get("tables", ()))
    assert widest < 6


def test_posteriors_of_variables_with_many_values_are_proved():
    lcn = parse(CREDAL)
    lines = lines_of(lcn, "P(C = red | b)")
    assert len(bounds_in(lines, "P(C = red | b)", "lower")) == 1
    assert list(verify(lcn.ground(), lines))


RESPONSE = (0, 0, 0, 1, 1, 0, 1, 1)
"""What follows from two hidden causes and a visible one: nothing, that one, its opposite, or all."""


def twin() -> str:
    """Return Pearl's network of instrument, treatment and recovery, with its published frequencies."""
    lines = ["0 <= P(U2 | U1) <= 1", "0 <= P(U3 | U1 or U2) <= 1", "0 <= P(U4 | U1 or U2 or U3) <= 1"]
    for effect, causes in (("X2", ("U1", "U2", "X1")), ("X3", ("U3", "U4", "X2"))):
        for signs, value in zip(product(("!", ""), repeat=3), RESPONSE, strict=True):
            given = " & ".join(sign + cause for sign, cause in zip(signs, causes, strict=True))
            lines.append(f"P({effect} | {given}) = {value}")
    frequencies = (0.288, 0.288, 0.036, 0.288, 0.002, 0.017, 0.067, 0.014)
    for signs, frequency in zip(product(("!", ""), repeat=3), frequencies, strict=True):
        lines.append("P({}X1 & {}X3 & {}X2) = {}".format(*signs, frequency))
    return "\n".join(lines)


@pytest.mark.slow
def test_a_probability_that_ties_decide_is_proved():
    """Claims that tie X1 to X2 and X3 make it independent of all causes given these two.

    So X2 is the same for both values of X1, U1 and U2 are equal, and X2 is what they are: P(U1) = P(X2).
    """
    lcn = parse(twin())
    lines = lines_of(lcn, "P(U1)")
    assert len(list(verify(lcn.ground(), lines))) == len(lines) - 1
    known = Fraction(288 + 288 + 17 + 14, 1000)
    assert any(known - Fraction(1, 10**5) <= bound <= known for bound in bounds_in(lines, "P(U1)", "lower"))
    assert any(known <= bound <= known + Fraction(1, 10**5) for bound in bounds_in(lines, "P(U1)", "upper"))


@pytest.mark.slow
def test_conditional_probabilities_are_narrowed_to_what_is_known_of_them():
    network = parse(twin()).ground()
    engine, asked = Engine(network, Markov.LOCAL), parse(twin()).question("P(U1)")
    writing = Writing(engine, network, 20)
    writing.narrow(asked, engine.part(asked), Budget.of(20))
    lines = writing.certificate.text.splitlines()
    assert len(list(verify(network, lines))) == len(lines) - 1
    for given, part, whole in (("X2 and X3", 14, 302), ("!X2 and !X3", 2, 290), ("!X2 and X3", 67, 103)):
        known, near = Fraction(part, whole), Fraction(1, 10**5)
        (low,), (high,) = (bounds_in(lines, f"P(X1 | {given})", end) for end in ("lower", "upper"))
        assert known - near <= low <= known <= high <= known + near


def ring(rng: Random) -> str:
    """Draw four votes in a ring, each given its neighbours and the kind of the case."""
    lines = ["0.3 <= P(r) <= 0.4"]
    for x, before, after in ("adb", "bac", "cbd", "dca"):
        for signs in product(("!", ""), repeat=3):
            low = round(rng.uniform(0.1, 0.6), 2)
            given = " and ".join(sign + y for sign, y in zip(signs, ("r", before, after), strict=True))
            lines.append(f"{low} <= P({x} | {given}) <= {round(low + 0.3, 2)}")
    return "\n".join(lines)


@pytest.mark.slow
def test_bounds_are_proved_by_cases_of_a_root_with_products_of_bounds():
    lcn = parse(ring(Random(0)))
    answer = lcn.query("P(a)", tolerance=5e-3)
    lines = answer.certificate(timeout=20).text.splitlines()
    claims = list(verify(lcn.ground(), lines))
    assert {"P(a)", "P(a | r)", "P(a | !r)"} <= {json.loads(line).get("query") for line in lines}
    assert any(row[0] == "product" for line in lines for row in json.loads(line).get("rows", ()))
    attained = [Fraction(json.loads(line)["value"]) for line in lines if '"model"' in line]
    (low,), (high,) = (bounds_in(lines, "P(a)", end) for end in ("lower", "upper"))
    assert low <= min(attained) <= low + Fraction(1, 100)
    assert high - Fraction(1, 100) <= max(attained) <= high
    assert sum("attains" in claim for claim in claims) == 2


def test_a_contradiction_is_proved():
    lcn = parse("P(a) >= 0.6\nP(b) >= 0.6\nP(a and b) <= 0.1 ; tau=False")
    certificate = lcn.certificate(timeout=5)
    assert list(verify(lcn.ground(), certificate.text.splitlines())) == ["there is no model"]


def test_that_there_is_a_model_is_shown_by_one():
    lcn = credalog.load(EXAMPLES / "smokers.lcn")
    (claim,) = verify(lcn.ground(), lcn.certificate().text.splitlines())
    assert claim.startswith("a model attains P(true) = 1")


def test_a_decision_is_certified_at_its_threshold():
    lcn = parse("0.1 <= P(a) <= 0.3\n0.2 <= P(b) <= 0.6\n0.2 <= P(a or b) <= 0.7 ; tau=False")
    decision = lcn.decide("P(a) >= 0.1")
    assert decision.verdict is Verdict.CERTAIN
    (claim,) = verify(lcn.ground(), lcn.certificate(decision).text.splitlines())
    assert claim == "every model has P(a) >= 0.100000000"


@pytest.mark.parametrize(("criterion", "alpha"), [("maximax", 1), ("maximin", 0), ("hurwicz", 0.5)])
def test_a_best_assignment_is_proved_against_every_other(criterion, alpha):
    """The scores of all assignments are computed one by one."""
    lcn = parse(CREDAL)
    found = lcn.map(["a", "b"], given="C = red", criterion=criterion)
    lines = lcn.certificate(found).text.splitlines()
    claims = list(verify(lcn.ground(), lines))
    assert claims[-1].startswith("no assignment but that of P(")
    answers = [lcn.query(f"P({a} and {b} | C = red)") for a in ("a", "!a") for b in ("b", "!b")]
    scores = sorted(alpha * answer.upper + (1 - alpha) * answer.lower for answer in answers)
    line = json.loads(lines[-1])
    assert scores[-2] - 1e-6 <= float(Fraction(line["score"])) <= scores[-1] + 1e-5
    lower = json.dumps({**line, "score": str(Fraction(scores[-2]) - Fraction(1, 1000))})
    with pytest.raises(Refused, match="no other assignment"):
        list(verify(lcn.ground(), [*lines[:-1], lower]))


def test_map_writes_what_verify_accepts(tmp_path, capsys):
    model, out = tmp_path / "m.lcn", tmp_path / "c"
    model.write_text(CREDAL, encoding="utf-8")
    assert main(["map", str(model), "--variables", "a", "b", "--certificate", str(out)]) == 0
    assert main(["verify", str(model), str(out)]) == 0
    assert "no assignment but that of" in capsys.readouterr().out


def test_a_bound_that_is_only_claimed_has_no_certificate():
    pytest.importorskip("pyscipopt")
    lcn = credalog.load(EXAMPLES / "two_sources.lcn")
    certificate = lcn.query("P(b)", method="scip").certificate()
    assert any("only claimed" in missing for missing in certificate.missing)
    assert not any(line.get("claim") == "lower" for line in certificate.lines)


@pytest.mark.parametrize(
    "kind", ["free", "cyclic", "credal", "declared", "multivalued", "linear", "overlapping"]
)
def test_certificates_of_random_networks_hold_against_the_table_of_all_worlds(kind):
    for seed in range(2):
        case = random_case(kind, seed)
        lcn = LCN.from_network(case.network)
        try:
            answer = lcn.query(case.query, timeout=1)
            truth = lcn.query(case.query, method="joint", timeout=1)
        except CredalogError:
            continue
        lines = answer.certificate(timeout=1).text.splitlines()
        assert len(lines) == 1 or list(verify(lcn.ground(), lines))
        for bound in bounds_in(lines, str(case.query), "lower"):
            assert truth.lower_witnessed is None or bound <= Fraction(truth.lower_witnessed) + Fraction(
                1, 10**8
            )
        for bound in bounds_in(lines, str(case.query), "upper"):
            assert truth.upper_witnessed is None or bound >= Fraction(truth.upper_witnessed) - Fraction(
                1, 10**8
            )


# ---- what is not accepted ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("file", "asked"), [("appendix.lcn", "P(a | b)"), ("parity.lcn", "P(x xor y)")])
def test_no_small_change_makes_a_false_claim_pass(file, asked):
    lcn, rng = credalog.load(EXAMPLES / file), Random(7)
    lines = lines_of(lcn, asked)
    false = [claim for _ in range(200) for claim in judged(lcn, mutated(lines, rng))[1]]
    assert not false


@pytest.mark.parametrize(("name", "change"), [("bound", Fraction(1, 10**4)), ("bound", Fraction(1, 100))])
def test_a_tighter_bound_is_refused(name, change):
    lcn = credalog.load(EXAMPLES / "two_sources.lcn")
    lines = lines_of(lcn, "P(b)")
    claim = json.loads(lines[1])
    assert claim["claim"] == "lower"
    tighter = json.dumps({**claim, name: str(Fraction(claim[name]) + change)})
    with pytest.raises(Refused, match="leaf 0"):
        list(verify(lcn.ground(), [lines[0], tighter]))


def test_a_cut_must_cover_the_range():
    lcn = credalog.load(EXAMPLES / "parity.lcn")
    lines = lines_of(lcn, "P(x xor y)")
    claim = json.loads(lines[1])
    split = claim["nodes"][0]
    assert split[0] in ("cut", "ends", "split")
    twice = {**claim, "nodes": [[*split[:-1], split[-2]], *claim["nodes"][1:]]}
    with pytest.raises(Refused):
        list(verify(lcn.ground(), [lines[0], json.dumps(twice)]))


def test_an_independence_that_does_not_hold_is_no_reason():
    lcn = parse("P(a) = 0.5\n0.4 <= P(b | a) <= 0.6\n0.2 <= P(b | !a) <= 0.3")
    lines = lines_of(lcn, "P(b)")
    row = ["ratio", "lower", [[1, 1]], [], [[0, 1]], 1, 1]
    tables = {"table": 1, "tables": [[[], []], [[0, 1], []]]}
    claim = {"claim": "lower", "query": "P(b)", "bound": "3/10", **tables}
    forged = {**claim, "rows": [row], "nodes": [["leaf", "1", "0", [[0, "1"]]]]}
    with pytest.raises(Refused, match="independent"):
        list(verify(lcn.ground(), [lines[0], json.dumps(forged)]))


def test_a_certificate_of_another_network_is_not_looked_at():
    lcn = parse("0.2 <= P(a) <= 0.3\n0.5 <= P(b | a) <= 0.6")
    other = parse("0.2 <= P(a) <= 0.3\n0.5 <= P(b | a) <= 0.61")
    lines = lines_of(lcn, "P(a and b)")
    with pytest.raises(CredalogError, match="another network") as error:
        list(verify(other.ground(), lines))
    assert error.value.exit_code == 2


def test_a_certificate_under_another_condition_is_not_looked_at():
    lcn = credalog.load(EXAMPLES / "parity.lcn")
    with pytest.raises(CredalogError, match="another Markov condition"):
        list(verify(lcn.ground(), lines_of(lcn, "P(x xor y)"), markov="none"))


def test_a_model_that_misses_a_sentence_is_refused():
    lcn = parse("0.2 <= P(a) <= 0.3")
    head = lines_of(lcn, "P(a)")[0]
    claim = {"claim": "model", "query": "P(a)", "value": "0.4", "within": "0.01", "residual": "0"}
    forged = {**claim, "factors": [[[0], [], 10, [6, 4]]]}
    with pytest.raises(Refused, match="satisfied"):
        list(verify(lcn.ground(), [head, json.dumps(forged)]))


def test_a_model_with_a_dependence_is_refused():
    lcn = parse("0.2 <= P(a) <= 0.6\n0.2 <= P(b) <= 0.6")
    head = lines_of(lcn, "P(a)")[0]
    claim = {"claim": "model", "query": "P(a and b)", "value": "0.5", "within": "0.01", "residual": "0"}
    copied = [[[0], [], 2, [1, 1]], [[1], [0], 2, [2, 0, 0, 2]]]
    with pytest.raises(Refused, match="satisfied"):
        list(verify(lcn.ground(), [head, json.dumps({**claim, "factors": copied})]))


@pytest.mark.parametrize(
    "lines",
    [[], ["{}"], ["[]"], ["not json"], ['{"format": "credalog certificate", "version": 99}']],
)
def test_what_is_no_certificate_is_said_to_be_none(lines):
    with pytest.raises(CredalogError):
        list(verify(parse("P(a) = 0.5").ground(), lines))


# ---- who is trusted ---------------------------------------------------------------------------------------


def test_the_verifier_is_one_short_module():
    assert len(VERIFIER.read_text(encoding="utf-8").splitlines()) <= 400


@pytest.mark.slow
def test_the_page_says_how_much_has_to_be_read():
    assert trusted.TABLE.findall(trusted.PAGE.read_text(encoding="utf-8")) == [trusted.table()]


def test_what_has_to_be_read_has_all_that_the_verifier_imports():
    """Formulas, sentences, the parser, grounding and errors beside what the table lists."""
    listed = {*trusted.READ, *(path for paths in trusted.SHARED.values() for path in paths)}
    language = {"network/formulas.py", "network/sentences.py", "network/expressions.py", "errors.py"}
    pages = {path: ast.parse((trusted.SOURCE / path).read_text(encoding="utf-8")) for path in trusted.READ}
    nodes = (n for page in pages.values() for n in ast.walk(page) if isinstance(n, ast.ImportFrom))
    used = {f"{node.module.removeprefix('credalog.').replace('.', '/')}.py" for node in nodes if node.module}
    ours = {path for path in used if path.startswith("network/")}
    assert ours <= listed | language


def test_the_verifier_imports_the_standard_library_parser_grounding_and_markov_condition_alone():
    allowed = {"errors", "grounding", "network", "text", "theory"}
    for node in ast.walk(ast.parse(VERIFIER.read_text(encoding="utf-8"))):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            top, *rest = name.split(".")
            assert top in sys.stdlib_module_names or (top == "credalog" and rest[0] in allowed)


@pytest.mark.slow
def test_the_verifier_runs_without_arrays_and_solvers(tmp_path):
    model, certificate = EXAMPLES / "appendix.lcn", tmp_path / "a.cert"
    credalog.load(model).query("P(c)").certificate().write(certificate)
    blocked = "numpy", "scipy", "highspy", "numba", "joblib", "rich", "pyscipopt", "ipyopt"
    code = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({blocked!r}))\n"
        "from credalog.verify import main\n"
        f"sys.exit(main([{str(model)!r}, {str(certificate)!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "every model has P(c) <= 0.33333333" in done.stdout


# ---- on the command line ----------------------------------------------------------------------------------


def test_query_writes_what_verify_accepts(tmp_path, capsys):
    model, out = str(EXAMPLES / "two_sources.lcn"), str(tmp_path / "out.cert")
    assert main(["query", model, "P(b)", "--certificate", out]) == 0
    assert main(["verify", model, out, "P(b)"]) == 0
    assert "every model has P(b) >= 0.300000000" in capsys.readouterr().out


def test_verify_refuses_what_does_not_follow_with_5(tmp_path, capsys):
    model, out = str(EXAMPLES / "two_sources.lcn"), tmp_path / "out.jsonl"
    lines = lines_of(credalog.load(model), "P(b)")
    claim = json.loads(lines[1])
    out.write_text("\n".join([lines[0], json.dumps({**claim, "bound": "0.9"})]), encoding="utf-8")
    assert main(["verify", model, str(out)]) == 5
    assert "refused" in capsys.readouterr().err


def test_verify_refuses_another_question_with_2(tmp_path):
    model, out = str(EXAMPLES / "two_sources.lcn"), str(tmp_path / "out.cert")
    assert main(["query", model, "P(b)", "--certificate", out]) == 0
    assert main(["verify", model, out, "P(a)"]) == 2
    assert main(["verify", str(EXAMPLES / "parity.lcn"), out]) == 2
    assert main(["verify", model, out, "--markov", "none"]) == 2


def test_a_damaged_file_is_refused(tmp_path):
    out = tmp_path / "out.cert"
    out.write_bytes(b"\x1f\x8b" + bytes(40))
    assert main(["verify", str(EXAMPLES / "two_sources.lcn"), str(out)]) == 5


def test_check_certifies_a_contradiction(tmp_path, capsys):
    model, out = tmp_path / "bad.lcn", str(tmp_path / "out.cert")
    model.write_text("P(a) >= 0.3\nP(a) <= 0.2\n", encoding="utf-8")
    assert main(["check", str(model), "--certificate", out]) == 3
    assert main(["verify", str(model), out]) == 0
    assert capsys.readouterr().out.endswith("there is no model\n")


# ---- the Markov condition --------------------------------------------------------------------------------


def test_independences_of_random_networks_hold_in_products_of_tables():
    """What separation says holds in a random Bayesian network along the same arrows."""
    rng = np.random.default_rng(5)
    for seed in range(6):
        case = random_case("credal", seed, smallest=4, largest=4)
        condition = MarkovCondition(case.network, Markov.LOCAL)
        joint = _random_joint(condition, rng)
        for _ in range(30):
            roles = rng.integers(0, 4, size=4)
            left, right, given = (frozenset(np.flatnonzero(roles == role).tolist()) for role in range(3))
            if left and right and condition.independent(left, right, given):
                assert _dependence(joint, left, right, given) < 1e-9


def _random_joint(condition: MarkovCondition, rng: np.random.Generator) -> np.ndarray:
    sizes = [len(v.values) for v in condition.graph.variables]
    joint = np.ones(sizes)
    for x, parents in enumerate(condition.parents):
        table = rng.random([n if y in parents or y == x else 1 for y, n in enumerate(sizes)])
        joint = joint * (table / table.sum(axis=x, keepdims=True))
    found: np.ndarray = joint
    return found


def _dependence(
    joint: np.ndarray, left: frozenset[int], right: frozenset[int], given: frozenset[int]
) -> float:
    def over(kept: frozenset[int]) -> np.ndarray:
        axes = tuple(x for x in range(joint.ndim) if x not in kept)
        return np.asarray(joint.sum(axis=axes, keepdims=True))

    apart = over(left | right | given) * over(given) - over(left | given) * over(right | given)
    return float(np.abs(apart).max())


def test_a_question_about_nothing_said_is_not_certified():
    lcn = parse("domain D = {u, v}\npredicate R(D)\nP(R(u)) = 0.5")
    answer = lcn.query("P(R(v))")
    with pytest.raises(CredalogError, match="does not mention"):
        answer.certificate()
