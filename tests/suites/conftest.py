"""A store that several tests look into."""

import pytest

from bnnbench.suites.engine.store.store import Store
from tests.suites.small_store import OUTCOMES


@pytest.fixture
def store(tmp_path) -> Store:
    """A store of the four runs."""
    found = Store(tmp_path / "results" / "miniature")
    found.write_all((outcome.record, outcome.predictions) for outcome in OUTCOMES)
    return found
