"""`bnnbench.score` on arrays, compared with scikit-learn, SciPy and closed forms."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.stats
from scipy.special import logsumexp
from sklearn import metrics as sk

import bnnbench

RNG = np.random.default_rng(1)
LABELS = RNG.integers(0, 10, 10_000)
LOGITS = RNG.normal(size=(10_000, 10)) + 2 * np.eye(10)[LABELS]
PROBABILITIES = np.exp(LOGITS - logsumexp(LOGITS, 1, keepdims=True))
"""The shape of HMC's published predictions for CIFAR-10."""

HEIGHTS = RNG.normal(3, 2, size=200)
MEANS, VARIANCES = HEIGHTS + RNG.normal(size=200), RNG.gamma(2.0, size=200) + 0.1


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_class_probabilities_score_as_with_scikit_learn(kind):
    found = bnnbench.score(PROBABILITIES.astype(kind), LABELS)
    known = {
        "accuracy": sk.accuracy_score(LABELS, PROBABILITIES.argmax(1)),
        "top5_accuracy": sk.top_k_accuracy_score(LABELS, PROBABILITIES, k=5),
        "nll": sk.log_loss(LABELS, PROBABILITIES),
        "brier": ((PROBABILITIES - np.eye(10)[LABELS]) ** 2).sum(1).mean(),
        "entropy": scipy.stats.entropy(PROBABILITIES, axis=1).mean(),
    }
    for name, value in known.items():
        assert found[name] == pytest.approx(value, rel=1e-5 if kind is np.float32 else 1e-10), name


def test_the_calibration_error_agrees_with_fifteen_bins():
    top, right = PROBABILITIES.max(1), PROBABILITIES.argmax(1) == LABELS
    bins = np.ceil(top * 15).astype(int)
    expected = sum(abs(top[bins == b].sum() - right[bins == b].sum()) for b in range(1, 16)) / len(
        top
    )
    found = bnnbench.score({"probabilities": PROBABILITIES}, LABELS, ["ece"])
    assert found == {"ece": pytest.approx(expected, rel=1e-9)}


def test_draws_are_averaged_as_probabilities():
    draws = RNG.dirichlet(np.ones(4), size=(5, 300))
    labels = RNG.integers(0, 4, 300)
    found = bnnbench.score({"probabilities": draws}, labels)
    assert found["nll"] == pytest.approx(sk.log_loss(labels, draws.mean(0)))
    entropies = scipy.stats.entropy(draws, axis=2)
    assert found["expected_entropy"] == pytest.approx(entropies.mean())
    whole = scipy.stats.entropy(draws.mean(0), axis=1)
    assert found["mutual_information"] == pytest.approx((whole - entropies.mean(0)).mean())


def test_log_probabilities_are_their_exponentials_and_a_zero_is_infinitely_bad():
    with np.errstate(divide="ignore"):
        logs = np.log(np.array([[1.0, 0.0], [0.25, 0.75]]))
    found = bnnbench.score({"log_probabilities": logs}, [0, 1])
    assert found["nll"] == pytest.approx(-np.log(0.75) / 2)
    assert bnnbench.score({"log_probabilities": logs}, [1, 1])["nll"] == np.inf


def test_gaussians_score_as_in_closed_form():
    found = bnnbench.score({"means": MEANS, "variances": VARIANCES}, HEIGHTS)
    std = np.sqrt(VARIANCES)
    z = (HEIGHTS - MEANS) / std
    norm = scipy.stats.norm
    # Gneiting and Raftery (2007), eq. 21.
    crps = std * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))
    low, high = norm.interval(0.9, MEANS, std)
    known = {
        "rmse": sk.root_mean_squared_error(HEIGHTS, MEANS),
        "mae": sk.mean_absolute_error(HEIGHTS, MEANS),
        "log_likelihood": norm.logpdf(HEIGHTS, MEANS, std).mean(),
        "crps": crps.mean(),
        "picp_90": ((low <= HEIGHTS) & (high >= HEIGHTS)).mean(),
        "mpiw_90": (high - low).mean(),
        "sharpness": VARIANCES.mean(),
        "newsvendor_90": sk.mean_pinball_loss(HEIGHTS, norm.ppf(0.9, MEANS, std), alpha=0.9) / 0.1,
    }
    assert {name: found[name] for name in known} == pytest.approx(known, rel=1e-9)


def test_draws_of_gaussians_are_a_mixture():
    means, variances = RNG.normal(size=(6, 50)), RNG.gamma(2.0, size=(6, 50)) + 0.1
    target = RNG.normal(size=50)
    found = bnnbench.score({"means": means, "variances": variances}, target)
    logs = scipy.stats.norm.logpdf(target, means, np.sqrt(variances))
    assert found["log_likelihood"] == pytest.approx((logsumexp(logs, 0) - np.log(6)).mean())
    assert found["rmse"] == pytest.approx(sk.root_mean_squared_error(target, means.mean(0)))
    three = {"means": means[..., None], "variances": variances[..., None]}
    assert bnnbench.score(three, target[:, None]) == found


def test_samples_score_as_by_the_energy_form_over_all_pairs():
    samples = MEANS + RNG.normal(size=(30, 200))
    found = bnnbench.score({"samples": samples}, HEIGHTS)
    pairs = np.abs(samples[:, None] - samples).mean((0, 1))
    expected = (np.abs(samples - HEIGHTS).mean(0) - pairs / 2).mean()
    assert found["crps"] == pytest.approx(expected, rel=1e-10)
    assert found["rmse"] == pytest.approx(sk.root_mean_squared_error(HEIGHTS, samples.mean(0)))
    assert "log_likelihood" not in found


def test_quantiles_score_as_with_scikit_learn_in_whatever_order_of_levels():
    levels = np.array([0.9, 0.05, 0.5, 0.95])
    quantiles = scipy.stats.norm.ppf(levels, MEANS[:, None], np.sqrt(VARIANCES)[:, None])
    found = bnnbench.score({"levels": levels, "quantiles": quantiles}, HEIGHTS)
    losses = [
        sk.mean_pinball_loss(HEIGHTS, quantiles[:, k], alpha=level)
        for k, level in enumerate(levels)
    ]
    assert found["pinball"] == pytest.approx(np.mean(losses))
    assert found["mae_median"] == pytest.approx(sk.mean_absolute_error(HEIGHTS, quantiles[:, 2]))
    assert found["picp_90"] == pytest.approx(
        ((quantiles[:, 1] <= HEIGHTS) & (quantiles[:, 3] >= HEIGHTS)).mean()
    )


def test_intervals_score_by_coverage_width_and_distance_outside():
    low, high = MEANS - 1.5, MEANS + 1.5
    found = bnnbench.score({"level": 0.8, "low": low, "high": high}, HEIGHTS)
    outside = np.maximum(low - HEIGHTS, 0) + np.maximum(HEIGHTS - high, 0)
    assert found["interval_coverage"] == pytest.approx((outside == 0).mean())
    assert found["interval_score"] == pytest.approx((3 + 2 / 0.2 * outside).mean())
    assert "rmse" not in found


def test_sets_score_by_coverage_and_size():
    members = PROBABILITIES > 0.05
    found = bnnbench.score({"level": 0.9, "members": members}, LABELS)
    assert found["set_coverage"] == pytest.approx(members[np.arange(10_000), LABELS].mean())
    assert found["set_size"] == pytest.approx(members.sum(1).mean())
    assert "accuracy" not in found


FEW = np.full((3, 2), 0.5)
BAD = {
    "sum": ({"probabilities": FEW * 1.1}, [0, 1, 1], "sum to 1, the first at point 0 .to 1.1."),
    "negative": ({"probabilities": [[1.5, -0.5]]}, [0], "is negative: are these logits"),
    "logits": ({"log_probabilities": FEW * 4}, [0, 1, 1], "log of more than 1: are these logits"),
    "one class": ({"probabilities": np.ones((3, 1))}, [0, 0, 0], "only one class: give a prob"),
    "nan": (
        {"probabilities": [[0.5, 0.5], [np.nan, 0.5]]},
        [0, 1],
        "probabilities at point 1, column 0 = nan is missing .NaN.: predict every row",
    ),
    "nan in logs": ({"log_probabilities": [[np.nan, 0.0]]}, [0], "is missing .NaN."),
    "four axes": ({"probabilities": np.ones((2, 2, 2, 2))}, [0], "shape .2, 2, 2, 2.: give points"),
    "no axis": ({"probabilities": 0.5}, [0], "shape ..: give points x classes"),
    "empty": ({"probabilities": np.ones((0, 2))}, [], "is empty"),
    "text": ({"probabilities": [["a", "b"]]}, [0], "give an array of real numbers"),
    "complex": ({"probabilities": np.ones((1, 1), complex)}, [0], "give an array of real numbers"),
    "variance": (
        {"means": [0, 1], "variances": [1, -1]},
        [0, 1],
        "variances at point 1 = -1 is negative: give variances .target noise included",
    ),
    "infinite": ({"means": [np.inf, 1], "variances": [1, 1]}, [0, 1], "infinite: give finite"),
    "nan mean": ({"means": [np.nan, 1], "variances": [1, 1]}, [0, 1], "means at point 0 = nan"),
    "no variance": ({"means": [0, 1]}, [0, 1], "prediction from means: give one of: prob"),
    "one variance": (
        {"means": [0, 1], "variances": [1]},
        [0, 1],
        "a variance for each mean .numpy.broadcast_to",
    ),
    "column": (
        {"means": np.zeros((5, 1)), "variances": np.ones((5, 1))},
        np.zeros(5),
        "5 draws for one point: give points as one axis, as means.:, 0.",
    ),
    "one sample": ({"samples": [0.0, 1.0]}, [0, 1], "one sample of each target: give several"),
    "crossing": (
        {"levels": [0.1, 0.9], "quantiles": [[0, 1], [3, 2]]},
        [0, 1],
        "quantiles at point 1, level 1 = 2 is below the quantile of a lower level: sort",
    ),
    "levels": ({"levels": [0, 0.5], "quantiles": [[0, 1]]}, [0], "is not a level: give levels"),
    "twice": ({"levels": [0.5, 0.5], "quantiles": [[0, 1]]}, [0], "a level is given twice"),
    "too few levels": ({"levels": [0.5], "quantiles": [[0, 1]]}, [0], "points x levels"),
    "inverted": ({"level": 0.9, "low": [2], "high": [1]}, [0], "above the high end: are the two"),
    "ends": ({"level": 0.9, "low": [2], "high": [1, 3]}, [0, 1], "give both for each point"),
    "level": ({"level": 90, "low": [1], "high": [2]}, [0], "between 0 and 1, such as 0.9"),
    "members": ({"level": 0.9, "members": [[0.5, 1]]}, [0], "= 0.5 is neither 0 nor 1"),
    "name": ({"probabilites": FEW}, [0, 1, 1], "did you mean 'probabilities'"),
    "nothing": ({}, [0], "cannot make a prediction from nothing"),
    "length": ({"probabilities": FEW}, [0, 1], "3 predictions for targets of shape .2,.: give"),
    "labels": ({"probabilities": FEW}, [0, 1, 2], "not classes 0 to 1: give a class number"),
    "half labels": ({"probabilities": FEW}, [0, 1, 0.5], "not classes 0 to 1"),
    "nan target": ({"means": [0], "variances": [1]}, [np.nan], "targets contain NaN"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_scored_is_refused_with_cause_and_cure(case):
    predictions, targets, reason = BAD[case]
    with pytest.raises(ValueError, match=reason):
        bnnbench.score(predictions, targets)


def test_a_metric_that_the_form_does_not_answer_is_refused():
    with pytest.raises(ValueError, match="cannot be scored by log_likelihood: Interval"):
        bnnbench.score({"level": 0.9, "low": [0], "high": [1]}, [0.5], ["log_likelihood"])
    with pytest.raises(ValueError, match="no metric 'acuracy', did you mean 'accuracy'"):
        bnnbench.score(FEW, [0, 1, 1], ["acuracy"])


def test_bad_arrays_are_refused_before_torch_is_imported():
    code = (
        "import sys, bnnbench\n"
        "try: bnnbench.score({'means': [0.0], 'variances': [-1.0]}, [0.0])\n"
        "except ValueError as error: print(error, 'torch' in sys.modules)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.startswith("variances at point 0 = -1 is negative")
    assert told.stdout.endswith("False\n")
