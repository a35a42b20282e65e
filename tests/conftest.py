"""What all tests share: public data, a Hypothesis profile that never flakes, and Ctrl-C as usual."""

import signal
from pathlib import Path

import pytest
from hypothesis import settings

PROJECT = Path(__file__).resolve().parent.parent
SHARED_DATA = PROJECT.parent / "shared" / "data"

# A busy machine is no reason to fail, and a failure must come back on the next run.
settings.register_profile("steady", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("steady")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Under nohup Ctrl-C is ignored, by all child processes too: those that test it need the usual handler.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of public data, or skip: it is not part of the project."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the public data folder ../shared/data is not there")
    return SHARED_DATA
