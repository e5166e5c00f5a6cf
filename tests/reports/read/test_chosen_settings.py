"""The settings of records, with those that differ from their defaults."""

import pytest

from bnnbench.engine.declare.description import describe
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.ensemble import Ensemble
from bnnbench.reports.read import chosen_settings as module
from bnnbench.reports.read.chosen_settings import chosen_settings
from bnnbench.reports.read.facts import origins
from tests.records import changed
from tests.reports.synthetic import record


def test_a_setting_is_compared_with_the_default_of_the_class_it_belongs_to():
    described = describe(Ensemble(7, AdamW(epochs=AdamW().epochs + 1)))
    differing = {one.path for one in chosen_settings(described) if one.differs}
    assert {"size", "member.epochs"} <= differing
    assert "member.learning_rate" not in differing


@pytest.mark.parametrize("error", [ValueError, KeyError, IndexError, OverflowError, RecursionError])
def test_a_description_that_no_class_takes_is_shown_without_comparison(error, monkeypatch):
    def refuse(*_):
        raise error("damaged")

    monkeypatch.setattr(module, "differences", refuse)
    settings = chosen_settings(describe(AdamW(epochs=3)))
    assert {(one.path, one.differs) for one in settings} >= {("epochs", None)}


def test_no_class_of_a_stranger_is_constructed():
    assert [s.differs for s in chosen_settings({"type": "os:path", "level": 1})][-1] is None


def run(seed, commit="a", **packages):
    return changed(
        record(seed=seed), provenance={"commit": commit, "packages": {"torch": "2.13", **packages}}
    )


def test_a_package_that_only_one_method_imports_is_no_other_state():
    (state,) = origins([run(0, jaxtyping="0.3"), run(1), run(2, scipy="1.17")])
    assert state.runs == 3
    assert state.entries == {
        "commit": "a",
        "packages.jaxtyping": "0.3",
        "packages.scipy": "1.17",
        "packages.torch": "2.13",
    }


def test_other_versions_and_commits_are_other_states():
    states = origins([run(0, jaxtyping="0.3"), run(1, jaxtyping="0.4"), run(2, commit="b")])
    assert [state.runs for state in states] == [1, 1, 1]
