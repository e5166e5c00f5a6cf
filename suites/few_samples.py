"""Numbers of draws needed for a posterior predictive, by Monte Carlo and by integrals over a box.

Bayesian linear regression, in which posterior and predictive are known exactly. Draws are from
the exact posterior, so that errors result only from their number. Paper 002 states neither the
number of features nor the noise nor the data: ten features, and a posterior standard deviation
of the function of 1.5 times the noise's, are ours. Boxes along the weights ignore correlations:
the posterior has none, or those that result from correlations of 0.5 and 0.9 between neighbouring
features.
"""

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.generated.linear import PRIOR_STD, LinearTruth
from bnnbench.engine.declare.case import cases_of
from bnnbench.engine.declare.grid import Evaluation, Reproduces, Suite
from bnnbench.methods.exact_linear_regression.integrals import (
    Collapsed,
    MomentMatched,
    MonteCarlo,
)
from bnnbench.methods.exact_linear_regression.method import LinearFromDraws
from bnnbench.methods.networks.architectures import Linear
from bnnbench.suites.probes.few_samples import FewSamples

QUICK = Suite(
    name="few_samples",
    title="Number of draws for a posterior predictive, by Monte Carlo and by integrals over a box",
    profile="quick",
    cases=cases_of((LinearTruth(), LinearTruth(0.5), LinearTruth(0.9)), (Linear(1, bias=False),)),
    methods={
        "Monte Carlo": LinearFromDraws(MonteCarlo(), prior_std=PRIOR_STD),
        "CIBER min/max": LinearFromDraws(Collapsed("minmax"), prior_std=PRIOR_STD),
        "CIBER moment": LinearFromDraws(Collapsed("moment"), prior_std=PRIOR_STD),
        "CIBER principal": LinearFromDraws(Collapsed(axes="principal"), prior_std=PRIOR_STD),
        "Gaussian of the draws": LinearFromDraws(MomentMatched(), prior_std=PRIOR_STD),
    },
    # For 5 draws, as in the paper's figure 3.
    evaluations=(Evaluation(Clean(), ("picp_90", "mpiw_90", "picp_50", "mpiw_50")),),
    folds=50,
    probes=(FewSamples(),),
    reproduces=(
        Reproduces(
            "002",
            "sec 4.3",
            departures=("features, data and noise are ours: the paper does not describe its own",),
            whole=False,
        ),
    ),
)

SUITES = {"quick": QUICK}
