"""A source under another name."""

import numpy as np
import pytest

from bnnbench.datasets.cuts.held_out import HeldOut
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.cuts.renamed import Renamed
from bnnbench.datasets.generated.sine import Sine
from bnnbench.datasets.official.cifar100 import Cifar100
from bnnbench.datasets.stand_ins import DiabetesAsUci, DigitsAsMnist


@pytest.mark.parametrize("source", [Limited(DigitsAsMnist(), train=50), Sine(), DiabetesAsUci()])
def test_only_the_name_changes(source):
    renamed = Renamed(source, "other")
    assert (renamed.name, source.name != "other") == ("other", True)
    ours, theirs = renamed.load(0), source.load(0)
    for part in ("train", "test"):
        np.testing.assert_array_equal(getattr(ours, part).inputs, getattr(theirs, part).inputs)
        np.testing.assert_array_equal(getattr(ours, part).targets, getattr(theirs, part).targets)
    assert (ours.origin, ours.likelihood) == (theirs.origin, theirs.likelihood)
    assert (renamed.folds, renamed.licence) == (source.folds, source.licence)


def test_two_names_of_one_source_are_two_sources():
    one, two = Renamed(DigitsAsMnist(), "one"), Renamed(DigitsAsMnist(), "two")
    assert one != two
    assert len({one, two, Renamed(DigitsAsMnist(), "one")}) == 2


def test_a_name_is_needed():
    with pytest.raises(ValueError, match="another name for digits"):
        Renamed(DigitsAsMnist())


def test_a_cut_of_it_and_what_takes_its_place_keep_the_name():
    renamed = Renamed(Limited(Cifar100(), train=9), "few")
    assert HeldOut(renamed).name == Limited(renamed, train=5).name == "few"
    assert {fallback.name for fallback in renamed.fallbacks("test")} == {"few"}
    assert renamed.fallbacks("test")[0].origin == "stand-in"
