"""Settings chosen on held-out rows: the rows, the refit."""

import pytest
import torch

from bnnbench.methods.base import InferenceDiverged, Unsupported
from bnnbench.methods.fitting import progress
from bnnbench.methods.fitting.validation_search import held_out, tuned
from tests.methods.fitting.test_expected_improvement import RANGES, bowl
from tests.methods.problems import regression, stream


@pytest.mark.parametrize(("rows", "expected"), [(2, 1), (3, 1), (10, 2), (37, 7), (101, 20)])
def test_every_row_is_either_fitted_or_held_out(rows, expected):
    train = regression(rows=rows).train
    rest, validation = held_out(train, 0.2, stream(0))
    assert len(validation) == expected
    together = torch.cat([rest.inputs, validation.inputs])
    assert sorted(map(tuple, together.tolist())) == sorted(map(tuple, train.inputs.tolist()))
    pairs = dict(zip(map(tuple, train.inputs.tolist()), train.targets.tolist(), strict=True))
    for part in (rest, validation):
        for row, target in zip(part.inputs.tolist(), part.targets.tolist(), strict=True):
            assert pairs[tuple(row)] == target


def test_other_streams_hold_out_other_rows_and_one_row_is_refused():
    train = regression().train
    first, second = (held_out(train, 0.2, stream(seed))[1] for seed in (0, 1))
    assert not torch.equal(first.inputs, second.inputs)
    with pytest.raises(Unsupported, match="needed at least 2"):
        held_out(regression(rows=1).train, 0.2, stream(0))


class Fits:
    """A stand-in for a fit, which remembers its calls and fails where it is told to."""

    def __init__(self, fails):
        self.fails, self.calls = fails, []

    def __call__(self, problem, settings, rng):
        draw = int(torch.randint(10**6, (1,), generator=rng))
        self.calls.append((len(problem.train), settings, draw))
        progress.report(1, 1, 0.0)
        if self.fails(len(problem.train), settings):
            raise InferenceDiverged("told to")
        return settings


def test_a_trial_that_diverges_in_predicting_loses():
    def loss(fitted, split, rng):
        if fitted["rate"] > 1e-3:
            raise InferenceDiverged("no Cholesky factor")
        return bowl(fitted)

    best = tuned(
        *(regression(), Fits(lambda rows, settings: False), loss, RANGES),
        **{"trials": 12, "share": 0.2, "ceiling": 10.0, "rng": stream(0)},
    )
    assert best.trial.settings["rate"] <= 1e-3
    assert 0 < best.diverged_trials < 12


def tune(fits, trials=12):
    def loss(fitted, split, rng):
        assert len(split) == 7
        return bowl(fitted)

    return tuned(
        regression(), fits, loss, RANGES, trials=trials, share=0.2, ceiling=10.0, rng=stream(0)
    )


def test_the_best_settings_are_fitted_to_all_rows():
    fits = Fits(lambda rows, settings: False)
    result = tune(fits)
    *searched, last = fits.calls
    assert [rows for rows, _, _ in searched] == [30] * 12
    assert last[0] == 37
    assert last[1] == min((settings for _, settings, _ in searched), key=bowl) == result.fitted
    assert result.diagnostics["validation_loss"] == bowl(result.fitted)
    assert result.diagnostics["skipped_settings"] == result.diagnostics["diverged_trials"] == 0


def test_all_trials_draw_the_same_numbers_and_the_last_fit_others():
    fits = Fits(lambda rows, settings: False)
    tune(fits)
    draws = [draw for _, _, draw in fits.calls]
    assert len(set(draws[:-1])) == 1
    assert draws[-1] != draws[0]


def test_settings_that_fail_on_all_rows_give_way_to_the_next_best_and_are_counted():
    first = Fits(lambda rows, settings: False)
    best = tune(first).fitted
    result = tune(Fits(lambda rows, settings: rows == 37 and settings == best))
    second = sorted((settings for _, settings, _ in first.calls[:-1]), key=bowl)[1]
    assert result.fitted == second
    assert result.diagnostics["skipped_settings"] == 1
    assert result.diagnostics["validation_loss"] == bowl(second)


def test_diverged_trials_are_counted_and_no_usable_trial_is_a_divergence():
    fits = Fits(lambda rows, settings: settings["momentum"] > 0.5)
    result = tune(fits)
    assert 0 < result.diverged_trials == sum(s["momentum"] > 0.5 for _, s, _ in fits.calls) < 12
    with pytest.raises(InferenceDiverged, match="each of 3 trials"):
        tune(Fits(lambda rows, settings: True), trials=3)


def test_progress_counts_the_trials_and_the_last_fit_as_equal_parts():
    heard = []
    with progress.listening(lambda *report: heard.append(report[:2])):
        tune(Fits(lambda rows, settings: False), trials=3)
    assert heard == [(1, 4), (2, 4), (3, 4), (4, 4)]
