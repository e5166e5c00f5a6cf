"""Risk against coverage, fronts of cost and quality, distances to a reference."""

import itertools
import math
import re

import numpy as np
import pytest
import torch

from bnnbench.commands.report import main
from bnnbench.engine.records.cost import Cost
from bnnbench.methods.predictions.predictive import CategoricalPredictive
from bnnbench.metrics.selective import aurc
from bnnbench.reports.figures import ticks
from bnnbench.reports.figures.canvas import drawing
from bnnbench.reports.figures.evidence import COVERAGES, Evidence, risk
from bnnbench.reports.sections.costs import Point, draw_costs, front
from bnnbench.reports.sections.suites.distances import Distance, draw_distances
from bnnbench.reports.style.palette import styles
from tests.reports.synthetic import classified, keep, record, regressed, scored


def predicted(confidences, right):
    """Return predictions of two classes with these confidences in the first, and the targets."""
    p = torch.tensor(confidences)
    return CategoricalPredictive(torch.stack([p, 1 - p], 1).log()[None]), (
        ~torch.tensor(right)
    ).long()


def test_the_risk_counts_errors_among_the_most_confident():
    confidences = torch.linspace(0.99, 0.6, 100).tolist()
    right = [k % 10 != 9 for k in range(50)] + [k % 2 == 0 for k in range(50)]
    found = risk(*predicted(confidences, right))
    errors = np.cumsum(~np.array(right))
    assert found[0] == 0.0
    at = {round(c, 2): value for c, value in zip(COVERAGES, found, strict=True)}
    assert at[0.5] == pytest.approx(errors[49] / 50)
    assert at[1.0] == pytest.approx(errors[99] / 100)


def test_the_risk_at_full_coverage_is_the_error_rate_and_its_mean_the_area():
    prediction, target = classified(np.random.default_rng(0), 1.0, points=5000)
    found = risk(prediction, target)
    wrong = (prediction.log_probs[0].argmax(1) != target).double().mean()
    assert found[-1] == pytest.approx(wrong.item())
    assert found.mean() == pytest.approx(aurc(prediction, target).item(), abs=0.01)


def test_fewer_points_than_coverages_still_give_a_curve():
    found = risk(*predicted([0.9, 0.8, 0.7], [True, True, False]))
    assert found[0] == 0
    assert found[-1] == pytest.approx(1 / 3)


def test_only_the_main_condition_has_a_risk():
    evidence, rng = Evidence(), np.random.default_rng(0)
    for condition in ("clean", "noise_0.1"):
        evidence.add(condition, *classified(rng, 1.0))
    assert len(evidence.risks) == 1


def test_the_front_leaves_out_what_another_beats():
    points = {
        "cheap": Point(1.0, 5.0, None),
        "better": Point(2.0, 3.0, 0.1),
        "dear and worse": Point(3.0, 3.5, None),
        "as good and dearer": Point(2.5, 3.0, None),
        "twin": Point(2.0, 3.0, None),
        "best": Point(9.0, 1.0, None),
    }
    assert front(points) == ["cheap", "better", "twin", "best"]
    assert front({}) == []


def test_random_fronts_agree_with_the_definition():
    rng = np.random.default_rng(1)
    for _ in range(50):
        pairs = rng.integers(0, 6, (8, 2)).astype(float)
        points = {str(k): Point(*pair, None) for k, pair in enumerate(pairs)}
        kept = {
            name
            for name, p in points.items()
            if not any(
                q.cost <= p.cost and q.score <= p.score and (q.cost, q.score) != (p.cost, p.score)
                for q in points.values()
            )
        }
        assert set(front(points)) == kept


def test_costs_of_nothing_and_infinite_scores_are_not_drawn():
    points = {"A": Point(0.0, 1.0, None), "B": Point(1.0, math.inf, None)}
    points |= {"C": Point(2.0, 2.0, 0.1), "D": Point(3.0, 1.0, 0.1)}
    found = draw_costs(points, styles(points), "x", "there", ("seconds", "NLL"))
    assert found.caption == "Front: C; D"
    assert "A 0" not in found.svg
    assert "inf" not in found.svg


@pytest.mark.parametrize("value", [0.1, 2.0, 16.0])
def test_a_single_method_has_a_place(value):
    found = draw_costs({"A": Point(value, 1.5, 0.1)}, styles(["A"]), "x", "there", ("s", "NLL"))
    assert found.caption == "Front: A"


def test_a_page_has_risks_and_three_costs(tmp_path):
    runs, predictions = [], {}
    for k, method in enumerate(("AdamW", "IVON")):
        kept = {"clean": classified(np.random.default_rng(k), 1.0 + k)}
        runs.append(record(method, scores=scored(kept, {"clean": ("nll", "accuracy")})))
        predictions[runs[-1].key] = kept
    keep(tmp_path / "cifar10", runs, predictions)
    assert main([str(tmp_path)]) == 0
    page = (tmp_path / "cifar10" / "report.html").read_text()
    assert "Risk and coverage" in page
    named = re.findall(r'aria-label="NLL against ([^"]+?) on CIFAR-10', page)
    assert named == ["seconds to fit", "seconds to predict", "memory to fit, MiB"]


def test_methods_that_do_not_train_are_on_no_front(tmp_path):
    floor = {
        "settings": {"type": "marginal"},
        "cost": Cost(1e-4, 1e-5, 1.0),
    }
    runs = [record("Class frequency", **floor), record("IVON"), record("AdamW")]
    keep(tmp_path / "cifar10", runs)
    assert main([str(tmp_path)]) == 0
    page = (tmp_path / "cifar10" / "report.html").read_text()
    (fit,) = re.findall(r'aria-label="NLL against seconds to fit on CIFAR-10: ([^"]+)"', page)
    assert "AdamW" in fit
    assert "frequency" not in fit


SHARED = ("SWAG", "KFAC", "Laplace KFAC", "MC Dropout fVI", "Rank1 fVI", "NL", "DVI")


def test_methods_of_several_suites_look_alike_in_whatever_company():
    alone = {label: styles([label])[label] for label in SHARED}
    together = styles([*SHARED, "AdamW", "IVON", "Something", "Else"])
    assert {label: together[label] for label in SHARED} == alone
    assert len(set(together.values())) == len(together)


def test_the_nearest_method_is_named_first_and_zero_is_no_place():
    found = {
        "far": Distance(3.0, 2.0, 0.1, 5.0),
        "near": Distance(0.5, 0.1),
        "same": Distance(0, 0),
    }
    drawn = draw_distances(found, styles(found), "x", "cubic", "m")
    assert "near W2 0.5, KL 0.1; far W2 3, KL 2" in drawn.svg
    assert "same" not in drawn.svg
    assert "NaN" not in drawn.svg


def test_a_page_has_distances_only_where_they_are_scored(tmp_path):
    for suite, extra in (("toy", {"wasserstein2": 0.3, "kl_from_reference": 0.2}), ("plain", {})):
        runs = [
            record(m, suite=suite, scores={"clean": {"rmse": 1.0 + k, **extra}})
            for k, m in enumerate(("PBP", "VI"))
        ]
        kept = {r.key: {"clean": regressed(np.random.default_rng(0), 0.1, 0.1)} for r in runs}
        keep(tmp_path / suite, runs, kept)
    assert main([str(tmp_path)]) == 0
    said = {s: (tmp_path / s / "report.html").read_text() for s in ("toy", "plain")}
    assert "Distance to the reference" in said["toy"]
    assert "Distance to the reference" not in said["plain"]


@pytest.mark.parametrize("which", ["x", "y"])
@pytest.mark.parametrize("values", [[1.0], [1e-3, 5e4], [2.0, 3.0]])
def test_a_logarithmic_axis_holds_its_values_and_has_ticks(which, values):
    with drawing(2.0) as figure:
        axes = figure.subplots()
        ticks.logarithmic(axes, values, which)
        low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
        placed = axes.get_xticks() if which == "x" else axes.get_yticks()
    assert low < min(values) <= max(values) < high
    assert 3 <= len(placed) <= 5
    assert high / low >= 4


@pytest.mark.parametrize("values", [[2e-4, 4e-2], [1e-4, 100.0], [1e-8, 1e-2], [0.1, 99.0]])
def test_labels_across_leave_room_for_each_other(values):
    with drawing(2.0) as figure:
        axes = figure.subplots()
        ticks.logarithmic(axes, values)
        figure.canvas.draw()
        boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
    assert len(boxes) >= 2
    assert all(one.x1 + 2 < other.x0 for one, other in itertools.pairwise(boxes))
