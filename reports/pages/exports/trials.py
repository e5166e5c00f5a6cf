"""Every trial of hyperparameter searches, for `bnnbench report export --format trials`."""

import json
from collections.abc import Iterator, Sequence

from bnnbench.engine.store.tables import csv_text
from bnnbench.reports.judge.summaries.tuning import Choice, choices
from bnnbench.reports.read.load import Results

TRIAL_COLUMNS = (
    *("suite", "profile", "dataset", "method", "fold", "seed", "trial", "chosen", "settings"),
    *("length", "held_out_score", "held_out_error"),
    *("held_out_noise_variance", "held_out_temperature", "seconds"),
    *("metric", "value"),
)


def trial_table(suites: Sequence[Results]) -> str:
    """Return one line of CSV for each trial, length and test metric.

    Test scores belong to the trial's fit to all training rows, which exists only at its own best
    length. Scores on held-out rows are in nats, in standardised units.
    """
    chosen = (choice for results in suites for choice in choices(results.records))
    return csv_text(TRIAL_COLUMNS, (row for choice in chosen for row in _rows(choice)))


def _rows(choice: Choice) -> Iterator[tuple[object, ...]]:
    record, search = choice.record, choice.search
    names = record.suite, record.profile, record.dataset, record.method, record.fold, record.seed
    best = search.best_lengths
    for trial, settings in enumerate(search.settings):
        for rung, length in enumerate(search.lengths):
            is_best = rung == best[trial]
            cell = (
                *(trial, int(is_best and trial == choice.trial), json.dumps(dict(settings))),
                *("" if length is None else length, _number(search.scores[trial, rung])),
                _number(search.error[trial, rung].mean()),
                _number(search.noise_variance[trial, rung]),
                _number(search.temperature[trial, rung]),
                _number(search.seconds[trial, rung]),
            )
            tested = record.outcome.trial_scores.get(str(trial), {}) if is_best else {}
            for metric, value in tested.items() or [("", "")]:
                yield *names, *cell, metric, value


def _number(value: float) -> float | str:
    """Return six digits of a number; "" if it is not finite because a fit diverged."""
    return float(f"{value:.6g}") if abs(value) < float("inf") else ""
