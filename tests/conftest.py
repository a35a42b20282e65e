"""What all tests share: where other people's data lies, and a Hypothesis profile that never flakes."""

from pathlib import Path

import pytest
from hypothesis import settings

PROJECT = Path(__file__).resolve().parent.parent
SHARED_DATA = PROJECT.parent / "shared" / "data"

# A busy machine is no reason to fail, and a failure must come back on the next run.
settings.register_profile("steady", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("steady")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of public data, or skip: it is not part of the project."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the public data folder ../shared/data is not there")
    return SHARED_DATA
