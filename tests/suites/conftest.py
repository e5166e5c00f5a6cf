"""A store that several tests look into."""

import pytest

from bnnbench.commands import suite
from bnnbench.engine.store.store import Store
from tests.suites.small_store import OUTCOMES
from tests.warm import python


@pytest.fixture(scope="module")
def warm_reports():
    """Let commands in this process write their reports by a Python that starts at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suite, "REPORT", python("-m", "bnnbench", "report"))
        yield


@pytest.fixture
def store(tmp_path) -> Store:
    """A store of the four runs."""
    found = Store(tmp_path / "results" / "miniature")
    found.write_all((outcome.record, outcome.predictions) for outcome in OUTCOMES)
    return found
