"""The speed-up of a search's trials in one stack over one by one."""

import pytest
import torch

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.fitting.randomness import spawn
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.sgd import Sgd
from bnnbench.methods.tuning import trials
from bnnbench.methods.tuning.fits import fit_all
from bnnbench.methods.tuning.space import configured, space_of
from bnnbench.methods.tuning.stacks import Variants
from tests.benchmarks.test_methods import cpu_seconds, fold
from tests.methods.problems import streams

FOLDS, TRIALS = 5, 16
METHODS: dict[str, Variants] = {
    "AdamW": AdamW(epochs=25, batch_size=32),
    "SGD": Sgd(epochs=25, batch_size=32),
    "Ensemble": Ensemble(5, AdamW(epochs=25, batch_size=32)),
    "MFVI": Mfvi(epochs=25, batch_size=32),
    "IVON": Ivon(epochs=25, batch_size=32),
}


@pytest.mark.parametrize("name", METHODS)
def test_sixteen_trials_of_five_folds_in_a_stack_and_one_by_one(name, benchmark):
    """Eighty fits of one length to the rows of a fold of Boston housing; some may fail."""
    method = METHODS[name]
    settings = trials.settings(space_of(method), TRIALS)
    variants = [configured(method, chosen) for chosen in settings] * FOLDS
    problems = [fold(seed) for seed in range(FOLDS) for _ in range(TRIALS)]
    (rng,) = streams(0)
    rngs = spawn(rng, len(problems))
    fit_all(variants[:2], problems[:2], rngs[:2])  # imports what torch imports on first use

    def in_a_stack() -> None:
        fit_all(variants, problems, rngs)

    def one_by_one() -> None:
        for one in zip(variants, problems, rngs, strict=True):
            fit_all(*([part] for part in one))

    benchmark.pedantic(in_a_stack, rounds=2)
    stacked = min(cpu_seconds(in_a_stack) for _ in range(2))
    single = cpu_seconds(one_by_one)
    benchmark.extra_info["one_by_one_seconds"] = single
    benchmark.extra_info["ratio"] = single / stacked
    assert torch.get_num_threads() == 1
