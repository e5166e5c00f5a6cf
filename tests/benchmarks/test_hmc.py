"""Leapfrog steps per second of HMC: one chain, many chains, and compared with hamiltorch."""

import pytest
import torch

from bnnbench.datasets.base import Gaussian
from bnnbench.methods.base import PackageMissing, Problem
from bnnbench.methods.hmc.chains import Chains
from bnnbench.methods.hmc.compiled import CompiledPerceptron
from bnnbench.methods.hmc.hamiltorch import import_hamiltorch, seeded_and_quiet
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.hmc.precisions import GammaPrior
from bnnbench.methods.hmc.scaled_perceptron import ScaledPerceptron
from bnnbench.methods.networks.catalogue import mlp
from tests.benchmarks.test_methods import cpu_seconds, fold
from tests.methods.problems import regression, stream, streams

STEPS, MOVES = 50, 4


def moves(problem: Problem, chains: int, kind: type[ScaledPerceptron] = CompiledPerceptron):
    """Return work that moves chains along trajectories of leapfrog steps."""
    prior = GammaPrior(6.0, 6.0)
    walkers = Chains(kind(problem), [problem], [stream(0)], chains, 1000, prior, prior)
    step_size = torch.tensor([1e-3], dtype=torch.float64)
    steps = torch.tensor([STEPS])

    def work() -> None:
        for _ in range(MOVES):
            walkers.move(step_size, steps)

    return work


def rate(work, steps: int, rounds: int) -> float:
    """Return leapfrog steps per second, the best of some rounds."""
    work()
    return steps / min(cpu_seconds(work) for _ in range(rounds))


PROBLEMS = {
    "13-50-1 on 455 rows": lambda: fold(0),
    "4-10-1 on 20 rows": lambda: regression(0, 20, architecture=mlp([10], 1)),
}


@pytest.mark.parametrize("chains", [1, 20])
@pytest.mark.parametrize("network", PROBLEMS)
def test_leapfrog_steps(network, chains, benchmark):
    """The target: 20 chains at 0.75 of one chain's rate each, or more."""
    problem = PROBLEMS[network]()
    work = moves(problem, chains)
    benchmark.pedantic(work, rounds=5, warmup_rounds=1)
    one, many = (rate(moves(problem, n), n * STEPS * MOVES, 8) for n in (1, chains))
    torch_alone = rate(moves(problem, chains, ScaledPerceptron), chains * STEPS * MOVES, 8)
    benchmark.extra_info["chain_steps_per_second"] = many
    benchmark.extra_info["per_chain_relative_to_one"] = many / one
    benchmark.extra_info["times_the_rate_of_torch"] = many / torch_alone


def test_leapfrog_steps_beside_hamiltorch(benchmark):
    """The target is a ratio of at least 15. Rounds of both alternate."""
    try:
        with seeded_and_quiet(stream(0)):
            hamiltorch = import_hamiltorch()
    except PackageMissing as missing:
        pytest.skip(str(missing))
    problem = fold(0)
    model = torch.nn.Sequential(torch.nn.Linear(13, 50), torch.nn.ReLU(), torch.nn.Linear(50, 1))
    start = hamiltorch.util.flatten(model).detach().clone()

    def theirs() -> None:
        with seeded_and_quiet(stream(0)):
            hamiltorch.sample_model(
                model, problem.train.inputs, problem.train.targets, start,
                model_loss="regression", num_samples=MOVES, num_steps_per_sample=STEPS,
                step_size=1e-4, burn=-1, tau_out=1.0, verbose=False,
            )  # fmt: skip

    ours = moves(problem, chains=1)
    benchmark.pedantic(ours, rounds=5, warmup_rounds=1)
    theirs()
    rounds = [(cpu_seconds(ours), cpu_seconds(theirs)) for _ in range(8)]
    mine, peer = (STEPS * MOVES / min(times) for times in zip(*rounds, strict=True))
    benchmark.extra_info["steps_per_second"] = mine
    benchmark.extra_info["hamiltorch_steps_per_second"] = peer
    benchmark.extra_info["ratio"] = mine / peer


@pytest.mark.parametrize("hidden", [10, 50])
def test_twenty_problems_side_by_side_and_one_by_one(hidden, benchmark):
    """Networks of 10 units on 20 rows, as in active learning, and networks of the UCI folds."""
    if hidden == 10:
        network = mlp([10], 1)
        problems = [regression(seed, 20, architecture=network) for seed in range(20)]
    else:
        problems = [fold(seed) for seed in range(20)]
    method = Hmc(draws=40, thinning=1, warmup=20, leapfrog_steps=20)

    def together() -> None:
        method.fit_many(problems, streams(*range(20)))

    def one_by_one() -> None:
        for problem, rng in zip(problems, streams(*range(20)), strict=True):
            method.fit(problem, rng)

    benchmark.pedantic(together, rounds=2, warmup_rounds=1)
    many, single = (min(cpu_seconds(work) for _ in range(2)) for work in (together, one_by_one))
    benchmark.extra_info["one_by_one_seconds"] = single
    benchmark.extra_info["ratio"] = single / many


def test_predicting_a_pool(benchmark):
    """45,000 points by 500 draws of a network of 10 units."""
    problem = regression(0, 20, architecture=mlp([10], 1))
    posterior = Hmc(thinning=1, warmup=20, leapfrog_steps=5).fit(problem, stream(0))
    pool = torch.randn(45_000, 4, generator=stream(1))
    assert isinstance(problem.likelihood, Gaussian)
    benchmark.pedantic(lambda: posterior.predict(pool, stream(0)), rounds=3, warmup_rounds=1)
