"""Health checks find what is put into rows, and the rule judges by its thresholds."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import RidgeCV

from bnnbench.commands.data import main
from bnnbench.datasets.base import Table
from bnnbench.datasets.health.checks import Health
from bnnbench.datasets.health.contents import (
    Twins,
    autocorrelation,
    closest_part,
    constant_columns,
    numbering_columns,
    share_of_one_value,
    twins_in,
)
from bnnbench.datasets.health.pilots import column_hits, fits, limited
from bnnbench.datasets.health.rule import failures
from bnnbench.datasets.official.collected import entries
from bnnbench.datasets.official.collected.entries import ENTRIES


def test_twins_and_those_with_other_targets_are_counted():
    inputs = pd.DataFrame({"a": [1, 1, 2, 2, 2, 3], "b": list("xxyyyz")})
    assert twins_in(inputs, np.array([0.0, 1, 5, 5, 5, 9])) == Twins(3, 5, 2)


def test_columns_that_are_constant_or_count_the_rows_are_named():
    frame = pd.DataFrame({"a": [1.0] * 4, "b": [3, 5, 7, 9], "c": [1, 0, 2, 7], "d": list("xxxx")})
    assert constant_columns(frame) == ("a", "d")
    assert numbering_columns(frame) == ("b",)


def test_shares_and_neighbours():
    assert share_of_one_value(np.array([0.0, 0, 1, 2])) == 0.5
    assert autocorrelation(np.arange(50.0)) == pytest.approx(1)


@pytest.mark.parametrize(
    ("part", "function"),
    [
        ("b", lambda x: x[:, 1] ** 3),
        ("a + c", lambda x: np.log(x[:, 0] + x[:, 2] + 20)),
        ("b - c", lambda x: 3 * (x[:, 2] - x[:, 1])),
    ],
)
def test_a_part_of_the_target_is_found_among_columns_sums_and_differences(part, function):
    inputs = np.random.default_rng(0).standard_normal((900, 4))
    found, square = closest_part(inputs, ("a", "b", "c", "d"), function(inputs))
    assert (found, round(square, 9)) == (part, 1)
    noisy = function(inputs) + np.random.default_rng(1).standard_normal(900)
    assert closest_part(inputs, ("a", "b", "c", "d"), noisy)[1] < 0.98


def table(classes: int = 0) -> Table:
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((260, 3))
    targets = 2 * inputs[:, 1] + 0.1 * rng.standard_normal(260)
    if classes:
        targets = (targets > 0).astype(float)
    parts = inputs[:200], targets[:200], inputs[200:], targets[200:]
    return Table(*parts, classes=classes, names=("a", "b", "c"))


def test_simple_models_are_scored_against_the_constant():
    rows = limited(table())
    scores = fits(rows)
    errors = rows.test_targets - rows.train_targets.mean()
    assert scores["constant"].loss == pytest.approx(np.sqrt(np.mean(errors**2)))
    assert scores["constant"].hits == pytest.approx(0)
    ridge = RidgeCV(np.logspace(-3, 4, 15)).fit(rows.train_inputs, rows.train_targets)
    expected = np.sqrt(np.mean((ridge.predict(rows.test_inputs) - rows.test_targets) ** 2))
    assert scores["linear"].loss == pytest.approx(expected)
    assert scores["boosting"].loss < scores["constant"].loss
    assert column_hits(rows).argmax() == 1


def test_classes_are_scored_by_log_loss_and_accuracy():
    rows = limited(table(classes=2))
    scores = fits(rows)
    share = np.bincount(rows.train_targets.astype(int)) / len(rows.train_targets)
    expected = -np.log(share)[rows.test_targets.astype(int)].mean()
    assert scores["constant"].loss == pytest.approx(expected)
    assert scores["linear"].hits > 0.9


HEALTHY = Health(
    *("x", 400, 0, 0, 400, 0.01, 40, (), (), 0.0, "a", 0.5, "a", 0.5),
    *(2.0, 1.0, 1.5, 0.8, 0.7, 0.7, 1.0, 0.1, 10, 1.0),
)
NUMBERS = replace(ENTRIES["hitters"], rows=400)
CLASSES = replace(ENTRIES["bupa"], rows=400)


def test_a_healthy_table_counts():
    assert failures(NUMBERS, HEALTHY) == failures(CLASSES, HEALTHY) == ()


@pytest.mark.parametrize(
    ("entry", "change", "reason"),
    [
        (NUMBERS, {"distinct": 199}, "199 different inputs in 400 rows"),
        (replace(CLASSES, rows=150), {"distinct": 99}, "99 different inputs in 150 rows"),
        (NUMBERS, {"share_of_one_value": 0.21}, "21 % of the targets are one value"),
        (replace(CLASSES, made_by="a logical rule"), {}, "labels are a logical rule"),
        (NUMBERS, {"part": "a + b", "part_square": 0.99995}, "a + b gives the target"),
        (replace(NUMBERS, same_as="bike"), {}, "has the rows of bike"),
        (CLASSES, {"hits_boosting": 0.992}, "too easy: accuracy 0.9920 of boosting"),
        (NUMBERS, {"hits_linear": 0.9991}, "too easy: R2 0.9991 of linear"),
        (
            NUMBERS,
            {"gain": 0.19},
            "nothing is learned: linear gains 0.19 ± 0.1 over the constant, in 10 of ten splits",
        ),
        (
            NUMBERS,
            {"wins": 7},
            "nothing is learned: linear gains 1 ± 0.1 over the constant, in 7 of ten splits",
        ),
        (CLASSES, {"smallest_class": 14}, "a class has 14 rows"),
    ],
)
def test_each_condition_has_its_reason(entry, change, reason):
    assert failures(entry, replace(HEALTHY, **change)) == (reason,)


@pytest.mark.parametrize(
    "change",
    [
        {"share_of_one_value": 0.6},  # only for real targets
        {"hits_linear": 0.9989},
        {"distinct": 200},
        {"wins": 8, "gain": 0.21},
        {"smallest_class": 15},
    ],
)
def test_at_the_thresholds_tables_count(change):
    entry = CLASSES if "share_of_one_value" in change else NUMBERS
    assert failures(entry, replace(HEALTHY, **change)) == ()


def test_lines_are_read_as_they_were_written(tmp_path):
    path = tmp_path / "lines.csv"
    entries.write(Health, [replace(HEALTHY, constant=("a", "b"))], path)
    assert entries.read(Health, path) == [replace(HEALTHY, constant=("a", "b"))]


def test_the_command_checks_a_collected_table(data_folder, monkeypatch, capsys):
    monkeypatch.setenv("BNNBENCH_OFFLINE", "")
    assert main(["health", "servo"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("servo: counts\n")
    assert "distinct             167" in shown
    assert main(["health", "boston"]) == 2
    assert "boston is no collected table" in capsys.readouterr().err
