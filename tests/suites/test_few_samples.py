"""The study of few draws: the measurements of its probe, and a small version of the suite."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import integrate, special

from bnnbench.datasets.generated.linear import PRIOR_STD, LinearTruth
from bnnbench.engine.store.store import Store
from bnnbench.methods.base import Problem
from bnnbench.methods.exact_linear_regression.integrals import Collapsed, MonteCarlo
from bnnbench.methods.exact_linear_regression.method import DrawsPosterior, LinearFromDraws
from bnnbench.reports.papers.published import table
from bnnbench.suites.few_samples import QUICK, SUITES
from bnnbench.suites.probes.few_samples import FewSamples
from tests.methods.problems import stream
from tests.suites.commands import call

SOURCE = LinearTruth()
DATA = SOURCE.load(0)


def posterior(integral, source=SOURCE) -> DrawsPosterior:
    method = LinearFromDraws(integral, prior_std=PRIOR_STD)
    data = source.load(0)
    return method.fit(Problem(data.train, data.likelihood, QUICK.cases[0].network), stream(0))


@pytest.mark.long
@pytest.mark.parametrize("integral", [MonteCarlo(), Collapsed("minmax"), Collapsed("moment")])
@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_divergences_agree_with_adaptive_quadrature(integral, correlation):
    source = LinearTruth(correlation)
    data, own = source.load(0), posterior(integral, source)
    measured = FewSamples((2, 6)).measure(own, data, stream(1))
    weights = own.exact.draws(6, stream(1))
    mean, variance = own.exact.of_function(data.test.inputs)
    for count in (2, 6):
        wanted = {"kl_to_exact": 0.0, "logistic_error": 0.0}
        for n, x in enumerate(data.test.inputs):
            m, v = float(mean[n]), float(variance[n])
            few, s = weights[:count], math.sqrt(v + 1)
            prediction = integral.predictive(few, x[None], 1.0)
            y = np.linspace(m - 40 * s, m + 40 * s, 80_001)
            at = integral.log_density(few, x[None], 1.0, torch.from_numpy(y)[None])[0].numpy()
            log_p = -0.5 * ((y - m) / s) ** 2 - math.log(s * math.sqrt(2 * math.pi))
            q = np.exp(at)
            terms = np.where(q > 0, q * (np.where(q > 0, at, 0.0) - log_p), 0.0)
            wanted["kl_to_exact"] += integrate.trapezoid(terms, y) / len(mean)
            assert integrate.trapezoid(q, y) == pytest.approx(1, abs=1e-6)
            assert float(prediction.variance) > 0
            z = np.linspace(-12, 12, 4001)
            normal = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
            truth = integrate.trapezoid(normal * special.expit(m + math.sqrt(v) * z), z)
            error = abs(float(integral.logistic(few, x[None])) - truth)
            wanted["logistic_error"] += error / len(mean)
        scores = measured[f"samples_{count}"].scores
        for name, value in wanted.items():
            assert scores[name] == pytest.approx(value, rel=2e-3, abs=1e-6), name


def test_densities_of_bounded_support_have_no_divergence_back():
    names = {
        type(i): set(FewSamples((5,)).measure(posterior(i), DATA, stream(1))["samples_5"].scores)
        for i in (MonteCarlo(), Collapsed())
    }
    shared = {"kl_to_exact", "total_variation", "logistic_error"}
    assert names == {
        MonteCarlo: shared | {"kl_from_exact"},
        Collapsed: shared | {"cubic_error"},
    }


def test_the_first_draws_agree_with_every_count():
    own = posterior(MonteCarlo())
    few, more = (FewSamples(c).measure(own, DATA, stream(1)) for c in ((5, 40), (5, 10, 40)))
    assert few["samples_5"] == more["samples_5"]
    other = FewSamples((5, 40)).measure(own, DATA, stream(2))
    assert other["samples_5"] != few["samples_5"]


def test_many_draws_are_exact_by_monte_carlo_and_not_by_a_box():
    """The error of Monte Carlo falls as one over the draws; the error of the box stays."""
    means = {}
    for integral in (MonteCarlo(), Collapsed("minmax"), Collapsed("moment")):
        own = posterior(integral)
        found = [FewSamples((50, 800)).measure(own, DATA, stream(k)) for k in range(6)]
        means[integral] = [
            sum(f[f"samples_{n}"].scores["kl_to_exact"] for f in found) / 6 for n in (50, 800)
        ]
    first, last = means[MonteCarlo()]
    assert first / last == pytest.approx(16, rel=0.5)
    # The extremes of more draws are further apart.
    assert means[Collapsed("minmax")][1] > means[Collapsed("minmax")][0]
    # The moments of 800 draws are exact to 5 %: a triangle and a box of uniforms remain.
    assert 1e-4 < means[Collapsed("moment")][1] < 0.01


def test_counts_that_span_no_box_are_refused():
    with pytest.raises(ValueError, match="at least 2"):
        FewSamples((1, 5))


def test_all_methods_share_their_prior_and_the_counts_have_their_multiples():
    for suite in SUITES.values():
        assert {method.prior_std for method in suite.methods.values()} == {PRIOR_STD}
        (probe,) = suite.probes
        assert {k * n for n in (5, 50) for k in (1, 2, 4)} <= set(probe.counts)
        assert {case.source.correlation for case in suite.cases} >= {0.0}


def test_the_paper_prints_what_the_suite_claims_to_follow():
    printed = {r.method: r.value for r in table("002", "sec 4.3") if r.metric == "kl_predictive"}
    assert printed == {"ciber": 0.069, "monte carlo": 0.13}
    (claim,) = QUICK.reproduces
    assert (claim.paper, claim.table) == ("002", "sec 4.3")


@pytest.mark.long
def test_a_small_run_measures_every_count_and_shows_it(tmp_path):
    suite = replace(QUICK, probes=(FewSamples((5, 10, 20, 40)),))
    answer = call(tmp_path, "--folds", "2", "--datasets", "linear_correlation_0", suite=suite)
    assert answer.code == 0, answer.output + answer.errors
    assert "kl_to_exact" in answer.output
    records = list(Store(tmp_path / "few_samples").records())
    assert len(records) == 10
    for record in records:
        assert {f"samples_{n}" for n in (5, 10, 20, 40)} <= record.outcome.scores.keys()
    draws = {r.method: r.outcome.diagnostics["draws"] for r in records}
    assert set(draws.values()) == {5.0}
