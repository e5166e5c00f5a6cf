"""Networks, rows and labels that do not fit together are refused with their names."""

from dataclasses import replace

import pytest
import torch

from bnnbench.datasets.base import Categorical, Gaussian, Split
from bnnbench.methods.base import Unsupported
from bnnbench.methods.fitting.targets import require_output_per_target
from bnnbench.methods.hmc.hamiltorch import HmcHamiltorch
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.pbp.method import Pbp
from bnnbench.methods.row_by_row.backprop import Backprop
from bnnbench.methods.row_by_row.graves_vi import GravesVi
from bnnbench.methods.row_by_row.laplace_diagonal import LaplaceDiagonal
from tests.methods.problems import classification, images, regression, stream, streams

METHODS = [
    Backprop(epochs=1, trials=1),
    GravesVi(epochs=1, trials=1),
    LaplaceDiagonal(evidence_updates=1),
    Hmc(draws=4, warmup=0),
    HmcHamiltorch(draws=4),
    Pbp(epochs=1),
    Pbp(epochs=1, backend="reference"),
]
LABELS = classification()


REFUSED = {
    "more outputs than targets": (regression(architecture=mlp([4], 3)), "1 outputs"),
    "fewer outputs than targets": (
        replace(regression(), train=Split(torch.randn(9, 4), torch.randn(9, 2))),
        "2 outputs",
    ),
    "more outputs than classes": (replace(LABELS, architecture=mlp([4], 4)), "3 outputs"),
    "fewer outputs than classes": (replace(LABELS, likelihood=Categorical(4)), "4 outputs"),
}


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_go_together_is_refused(method, case):
    problem, message = REFUSED[case]
    with pytest.raises(Unsupported, match=f"^needed .*{message}"):
        method.fit(problem, stream(0))


@pytest.mark.parametrize("problem", [regression(), LABELS, images(), images(real=True)])
def test_what_goes_together_passes(problem):
    require_output_per_target(problem)


def test_hmc_refuses_a_stack_of_unequal_problems_even_where_no_two_share_a_block():
    wide = mlp([50], 1)
    problems = [regression(rows=rows, architecture=wide) for rows in (4000, 7000)]
    assert problems[0].likelihood == Gaussian()
    with pytest.raises(ValueError, match="equal numbers of rows"):
        Hmc(draws=4, warmup=0, thinning=1).fit_many(problems, streams(0, 1))
