"""The order of cuts, with times of methods by hand."""

from dataclasses import replace

import pytest

from bnnbench.commands.planning.cuts import Cut, Fixed, cut_to
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.marginal import Marginal
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.tuning.method import Tuned
from tests.suites.fakes import Line

METHODS = {"Mean": Marginal(), "AdamW": AdamW(), "IVON": Ivon(), "MFVI": Mfvi()}
SUITE = Suite(
    "own",
    "own",
    (Case(Line(folds=5), ()),),
    {label: Tuned(method, trials=16) for label, method in METHODS.items()},
    (Evaluation(Clean(), ("rmse",)),),
    folds=5,
)
WEIGHTS = {"Mean": 0.0, "AdamW": 1.0, "IVON": 2.0, "MFVI": 4.0}


def seconds(suite):
    """Return the number of splits times that of trials, with a weight for each method."""
    return suite.folds * sum(WEIGHTS[n] * m.trials for n, m in suite.methods.items())


STEPS = [
    (560, Cut()),  # 5 splits of 16 trials of 7
    (280, Cut(8)),
    (140, Cut(4)),
    (84, Cut(4, 3)),
    (36, Cut(4, 3, ("MFVI",))),
    (12, Cut(4, 3, ("MFVI", "IVON"))),
]


@pytest.mark.parametrize(("limit", "cut"), STEPS)
def test_trials_then_splits_then_the_slowest_methods_are_cut_until_it_fits(limit, cut):
    assert cut_to(SUITE, limit, seconds) == cut
    assert seconds(cut.of(SUITE)) == limit


def test_two_methods_stay_whatever_the_limit():
    assert list(cut_to(SUITE, 0.0, seconds).of(SUITE).methods) == ["Mean", "AdamW"]


def test_what_the_command_line_asks_for_is_not_cut():
    assert cut_to(SUITE, 0.0, seconds, Fixed(methods=True)) == Cut(4, 3)
    assert cut_to(SUITE, 84.0, seconds, Fixed(splits=True)) == Cut(4, None, ("MFVI",))
    stated = Fixed(trials=frozenset(["MFVI"]))
    assert cut_to(SUITE, 0.0, seconds, stated).left_out[0] == "MFVI"
    assert Cut(4).of(SUITE, stated).methods["MFVI"] == SUITE.methods["MFVI"]


def test_a_cut_changes_no_key_of_the_runs_that_stay():
    before = {(run.label, run.fold): run.key for run in SUITE.runs()}
    rest = Cut(splits=3, left_out=("MFVI",)).of(SUITE)
    assert {(run.label, run.fold): run.key for run in rest.runs()}.items() <= before.items()
    fewer = {run.label: run.key for run in Cut(8).of(SUITE).runs() if run.fold == 0}
    assert fewer["AdamW"] != before["AdamW", 0]
    assert fewer["Mean"] == before["Mean", 0]  # nothing to try, so nothing is cut


def test_a_cut_is_told_in_words():
    assert Cut().in_words(SUITE) == ""
    assert Cut(4, 3, ("MFVI", "IVON")).in_words(SUITE) == (
        "4 of 16 trials, 3 of 5 splits and no MFVI or IVON"
    )
    assert Cut(8).in_words(replace(SUITE, folds=1)) == "8 of 16 trials"
