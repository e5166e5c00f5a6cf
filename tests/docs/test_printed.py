"""Printed numbers next to runs that are named after the paper's method."""

from statistics import fmean

import pytest

from docs.generate.finished_runs import printed_tables, records
from docs.generate.probed import probed_table

pytestmark = pytest.mark.long


def test_a_variant_stands_for_the_method_that_it_is_named_after():
    numbers = [n for table in printed_tables(variant="less noise") for n in table.numbers]
    judged = [n for n in numbers if n.judgement]
    assert {n.published.method for n in judged} == {"hmc-r", "hmc-a", "ep-r", "ep-a"}
    (energy,) = (
        n for n in judged if (n.published.method, n.published.dataset) == ("hmc-r", "energy")
    )
    ours = fmean(
        r.scores["acquired_9"]["rmse"]
        for r in records("active_learning_less_noise")
        if (r.method, r.dataset) == ("HMC (less noise)-R", "energy")
    )
    assert energy.ours == pytest.approx(ours, rel=1e-12)


def test_printed_layers_stand_below_those_of_each_network():
    options = {"suite": "moment_accuracy", "profile": "quick", "methods": "AP1,AP2 paper"}
    network = "mnist-lrelu0.01-dropout0.2"
    asked = options | {"metric": "eps_mu", "printed": "ap1", "datasets": network}
    heading, _, *rows = probed_table(asked)
    assert [row[1] for row in rows] == ["AP1", "AP2 paper", "printed"]
    assert {row[0] for row in rows} == {"lrelu0.01, dropout0.2"}
    # Paper 001, table 2, dropout.
    printed = dict(zip(heading[2:], rows[-1][2:], strict=True))
    assert printed == {
        "1 CA": "0.01", "2 C": "0.02", "3 A": "0.04", "4 C": "0.17", "5 A": "0.06", "6 F": "0.1"
    }  # fmt: skip
