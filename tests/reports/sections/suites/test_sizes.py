"""Scores against the size of a perturbation, from artificial runs."""

import re

import numpy as np
import pytest

from bnnbench.reports.pages.exports.tables import tidy
from bnnbench.reports.pages.report.content import content
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.load import read
from bnnbench.reports.sections.suites.sizes import size_drawings, size_tables, sized_families
from bnnbench.reports.style.palette import styles
from tests.reports.first_pages import render
from tests.reports.synthetic import keep, record

FALLING = {"clean": 0.95, "noise_0.5": 0.9, "noise_2": 0.6, "noise_10": 0.2}


def under_noise(method="AdamW", seed=0, loss=1.0, **fields):
    scores = {c: {"accuracy": a - 0.01 * seed, "nll": loss * (1 - a)} for c, a in FALLING.items()}
    return record(method, seed=seed, scores=scores, **fields)


def attacked(method="AdamW", losses=(0.1, 0.5, 2.0), blind=0.0, seed=0, **fields):
    names = ("clean", "fgsm_0.1", "fgsm_0.3")
    scores = {n: {"accuracy": 0.5, "nll": loss} for n, loss in zip(names, losses, strict=True)}
    for name in names[1:]:
        scores[name]["zero_gradient"] = blind
    return record(method, seed=seed, scores=scores, **fields)


def families_of(*records):
    (benchmark,) = benchmarks(records)
    return sized_families(benchmark)


def test_sizes_are_in_the_order_of_numbers_with_clean_data_before_them():
    (family,) = families_of(under_noise())
    assert family.sizes == {"clean": 0.0, "noise_0.5": 0.5, "noise_2": 2.0, "noise_10": 10.0}
    assert family.description == "Gaussian noise, standard deviation 0.5 to 10"


def test_a_size_of_0_that_was_scored_takes_the_place_of_clean_data():
    scores = {c: {"accuracy": 0.5} for c in ("clean", "rotated_0", "rotated_90")}
    (family,) = families_of(record(scores=scores))
    assert list(family.sizes) == ["rotated_0", "rotated_90"]


def test_a_table_has_a_column_for_each_size_and_means_over_seeds():
    (family,) = families_of(*(under_noise(seed=seed) for seed in range(3)))
    accuracy, nll = size_tables(family, ["AdamW"])
    assert [column.heading for column in accuracy.columns] == ["0", "0.5", "2", "10"]
    assert [cell.mean for cell in accuracy.rows[0].cells] == pytest.approx([0.94, 0.89, 0.59, 0.19])
    assert {column.name for column in nll.columns} == {"nll"}
    assert accuracy.title == "CIFAR-10, Gaussian noise: Accuracy"


def test_a_figure_for_each_score_says_its_ends():
    (family,) = families_of(under_noise(), under_noise("IVON", loss=2.0))
    accuracy, nll = size_drawings(family, styles(["AdamW", "IVON"]), "p0", "CIFAR-10")
    assert "AdamW from 0.95 to 0.2; IVON from 0.95 to 0.2" in accuracy.svg
    assert "AdamW from 0.05 to 0.8; IVON from 0.1 to 1.6" in nll.svg
    assert (accuracy.heading, nll.heading) == ("Accuracy", "NLL")


def test_runs_that_lack_a_size_have_no_curve():
    short = record("IVON", scores={c: {"accuracy": 0.5} for c in ("clean", "noise_2")})
    (family,) = families_of(under_noise(), short)
    assert list(family.curves("accuracy")) == ["AdamW"]
    np.testing.assert_allclose(family.curves("accuracy")["AdamW"], [[0.95, 0.9, 0.6, 0.2]])


def test_a_loss_that_falls_in_every_run_is_a_doubt_and_one_that_wavers_is_not():
    (family,) = families_of(*(attacked(losses=(0.1, 0.9, 0.8), seed=s) for s in range(2)))
    assert family.doubts == ["The loss falls as the size grows: AdamW."]
    (family,) = families_of(attacked(losses=(0.1, 0.9, 0.8)), attacked(seed=1))
    assert family.doubts == []


def test_points_without_gradient_are_told_of_by_their_share():
    (family,) = families_of(attacked(blind=0.25), attacked("IVON", blind=0.001))
    assert family.doubts == ["The gradient is exactly 0 at some points: AdamW (25 %)."]


def test_noise_is_no_attack_and_raises_no_doubts():
    (family,) = families_of(under_noise(loss=-1.0))
    assert family.doubts == []


def test_who_is_not_scored_is_said_with_the_reason():
    why = "X has no log_probs"
    missing = record(
        "HMC", scores={"clean": {"accuracy": 0.5}}, not_scored={"fgsm_0.1": why, "fgsm_0.3": why}
    )
    (family,) = families_of(attacked(), missing)
    assert family.not_scored == [f"Not scored: HMC: {why}."]
    (table, *_) = size_tables(family, ["AdamW", "HMC"])
    assert table.rows[1].cells[1:] == ("not scored", "not scored")


def test_a_single_size_and_counted_conditions_are_no_family():
    scores = {c: {"accuracy": 0.5} for c in ("clean", "noise_2", "acquired_1", "acquired_2")}
    assert families_of(record(scores=scores)) == []


def test_the_page_shows_families_together_and_their_conditions_folded_away(tmp_path):
    records = [attacked(seed=s) for s in range(2)]
    keep(tmp_path, records)
    found = content(read(tmp_path))
    (section,) = found.parts[0].datasets
    assert [condition for condition, _ in section.named_tables] == ["clean"]
    assert [condition for condition, _ in section.tables_by_size] == ["fgsm_0.1", "fgsm_0.3"]
    assert found.parts[0].other_conditions == {"Gradient signs (FGSM), ε 0.1 to 0.3": "original"}
    page = render(found)
    assert "Columns: ε; at 0 the test data are unchanged." in page
    assert "All metrics at every size" in page
    assert 'aria-label="Accuracy against ε on CIFAR-10' in page
    identifiers = re.findall(r'\sid="([^"]+)"', page)
    assert len(identifiers) == len(set(identifiers))
    assert "Gradient signs (FGSM): NLL" in tidy(found.tables)
