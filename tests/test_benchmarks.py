"""Benchmarks say what is missing, run on a part of their data, and write a page only when asked to."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
SCRIPTS = sorted(
    path
    for path in BENCHMARKS.glob("*.py")
    if path.name not in {"pages.py", "attack.py", "limit_networks.py", "limit_runs.py"}
)


def run(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / name), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    "name", ["crepo.py", "decide.py", "map.py", "propagation.py", "published.py", "scale.py"]
)
def test_a_benchmark_without_its_data_says_what_to_pass(name: str, tmp_path: Path) -> None:
    done = run(name, "--data", str(tmp_path / "nowhere"))
    assert done.returncode == 1
    assert "--data FOLDER" in done.stderr


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_results_pages_are_written_by_one_function_only_when_asked(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "finish(" in text
    assert not re.search(r'\.md"|RESULTS', text)


def test_one_row_in_sixty_of_crepo_is_a_run_that_says_so(shared_data: Path) -> None:
    page = BENCHMARKS / "results" / "crepo.md"
    before = page.read_bytes()
    done = run("crepo.py", "--every", "60", "--data", str(shared_data / "crepo"))
    assert done.returncode == 0, done.stderr
    assert "Not the usual run: every 60" in done.stdout
    assert page.read_bytes() == before
