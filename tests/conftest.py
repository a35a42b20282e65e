"""What all tests share: public data, a command to run, a Hypothesis profile that never flakes."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from credalog.cli import main

PROJECT = Path(__file__).resolve().parent.parent
SHARED_DATA = PROJECT.parent / "shared" / "data"

# A busy machine is no reason to fail, and a failure must come back on the next run.
settings.register_profile("steady", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("steady")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Under nohup Ctrl-C is ignored, by all child processes too: those that test it need the usual handler.
    signal.signal(signal.SIGINT, signal.default_int_handler)


COMPILED = {
    "test_experiments": "experiments",
    **dict.fromkeys(
        ("test_propagation", "test_propagation_attack", "test_sound_bounds", "test_local_programs"),
        "propagation",
    ),
}
"""The files of tests that compile functions, and which: one worker compiles them for all."""

REMEMBERING = (
    "test_certificate_attacks",
    "test_context_certificates",
    "test_maxent",
    "test_evidence",
    "test_notebook",
    "test_rendering",
    "test_schemas",
)
"""The files whose tests share what one of them has solved: one worker solves it."""

FIRST = ("test_the_site_builds", "test_a_notebook_runs", "test_the_published_court", "test_a_killed_process")
"""Tests that take longer than most: begun last, they would keep one worker while the others are done."""

FEW = 4
"""How many cases of one test the fast tier runs, evenly spread over all of them."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep on one worker what compiles or solves the same; begin with what takes long."""
    for item in items:
        name = item.path.stem
        is_compiled = name == "test_conformance" and item.name.endswith(("-bp]", "-printed]", "-sound]"))
        group = (
            "propagation" if is_compiled else COMPILED.get(name) or (name if name in REMEMBERING else None)
        )
        if group is not None:
            item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: not item.name.startswith(FIRST))
    _leave_few_cases(items)


def _leave_few_cases(items: list[pytest.Item]) -> None:
    """Mark as slow all but a few cases of each test that has many."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for same in cases.values():
        chosen = {round(i * (len(same) - 1) / (FEW - 1)) for i in range(FEW)}
        for number, item in enumerate(same):
            if len(same) > FEW and number not in chosen:
                item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of public data, or skip: it is not part of the project."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the public data folder ../shared/data is not there")
    return SHARED_DATA


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., str]:
    """Return a function that writes a text to a file and returns its path."""

    def write_down(text: str, name: str = "model.lcn") -> str:
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write_down


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs a command and returns its exit code, output and complaints."""

    def run(*words: str) -> tuple[int, str, str]:
        code = main(words)
        seen = capsys.readouterr()
        return code, seen.out, seen.err

    return run


@pytest.fixture(scope="session")
def served() -> Iterator[object]:
    """One playground for all tests that talk to it."""
    pytest.importorskip("uvicorn", reason="the playground needs credalog[play]")
    from playing import playground

    with playground() as found:
        yield found
