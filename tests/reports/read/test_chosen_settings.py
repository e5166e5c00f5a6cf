"""The settings of records, with those that differ from their defaults."""

import pytest

from bnnbench.engine.declare.description import describe
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.ensemble import Ensemble
from bnnbench.reports.read import chosen_settings as module
from bnnbench.reports.read.chosen_settings import chosen_settings


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
