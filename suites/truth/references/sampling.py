"""Runs of Hamiltonian Monte Carlo, and all quantities that a certificate monitors."""

import io
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from bnnbench.datasets.reading import npz
from bnnbench.datasets.reading.whole_files import write_whole
from bnnbench.engine.declare.description import canonical_json, describe, digest
from bnnbench.engine.declare.streams import stream
from bnnbench.methods.checkpoints.checkpoint import checkpointing
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.hmc.posterior import HmcPosterior
from bnnbench.suites.truth.references.model import Model

TRAINING_PROBES = 50
"""Number of first training rows at which functions are monitored."""


@dataclass(frozen=True)
class Traces:
    """Every iteration of all chains after warm-up, in standardised target units."""

    f_test: Float[np.ndarray, "chains draws points"]
    f_train: Float[np.ndarray, "chains draws probes"]
    loss: Float[np.ndarray, "chains draws"]
    """Half the sum of squared residuals over all training rows."""
    sum_of_squares: Float[np.ndarray, "chains draws"]
    """Sum of all squared weights, on the scale in which all have the same prior."""
    log_density: Float[np.ndarray, "chains draws"]
    """Joint log density of weights and training targets, all constants included."""
    acceptance: float
    divergences: int
    seconds: float

    @property
    def quantities(self) -> Mapping[str, Float[np.ndarray, "chains draws quantities"]]:
        """The quantities of a certificate; all are invariant to permutations of hidden units."""
        scalars = ("loss", "sum_of_squares", "log_density")
        return {
            "f_test": self.f_test,
            "f_train": self.f_train,
            **{name: getattr(self, name)[:, :, None] for name in scalars},
        }


def require_sampler(sampler: Hmc, model: Model) -> None:
    """Raise ValueError unless a sampler targets the model's posterior and keeps every draw."""
    if sampler.prior_precision != model.prior.precision:
        raise ValueError(
            f"the model has prior precision {model.prior.precision}, the sampler has "
            f"{sampler.prior_precision}: set prior_precision of Hmc"
        )
    if sampler.thinning != 1:
        raise ValueError(f"needed thinning = 1, so that all iterations count; got {sampler}")


def sample(model: Model, sampler: Hmc, seed: int) -> Traces:
    """Return the traces of one run, in float64.

    Raises `InferenceDiverged` if every trajectory diverges, and ValueError for a sampler of another
    posterior.
    """
    require_sampler(sampler, model)
    start = time.monotonic()
    posterior = sampler.fit(model.problem, stream("reference", model, seed))
    assert isinstance(posterior, HmcPosterior)
    return traces_of(model, posterior, sampler.chains, time.monotonic() - start)


def traces_of(model: Model, posterior: HmcPosterior, chains: int, seconds: float = 0.0) -> Traces:
    """Return the quantities for a posterior's draws, which hold all chains in order."""
    problem, network = model.problem, posterior.network
    y = problem.train.targets[:, 0]
    test = model.data.test.inputs.double()
    f_test, f_train, losses = [], [], []
    for states in posterior.states.chunk(chains):
        f_test.append(network.outputs(states, test)[:, :, 0])
        f = network.outputs(states, problem.train.inputs)[:, :, 0]
        losses.append((f - y).square().sum(1) / 2)
        f_train.append(f[:, :TRAINING_PROBES].clone())
    squares = posterior.states.square().sum(1).unflatten(0, (chains, -1))
    loss = torch.stack(losses)
    rows, weights = len(y), int(network.free.sum())
    constants = rows / 2 * math.log(2 * math.pi * model.noise.std**2)
    constants += weights / 2 * math.log(2 * math.pi / model.prior.precision)
    energy = loss / model.noise.std**2 + model.prior.precision * squares / 2
    return Traces(
        torch.stack(f_test).numpy(),
        torch.stack(f_train).numpy(),
        loss.numpy(),
        squares.numpy(),
        (-energy - constants).numpy(),
        posterior.diagnostics["acceptance"],
        int(posterior.diagnostics["divergences"]),
        seconds,
    )


def kept_run(model: Model, sampler: Hmc, seed: int, folder: Path) -> Traces:
    """Return a run's traces, read from the folder if stored there, else computed and stored.

    An interrupted run continues from its last checkpoint.
    """
    described = {"model": model.description, "sampler": describe(sampler), "seed": seed}
    identity = {**described, "data": dict(model.checksums)}
    path = folder / f"run-{digest(identity)}.npz"
    if path.exists():
        arrays = npz.arrays_of(path, [field.name for field in fields(Traces)])
        return Traces(**{name: _plain(array) for name, array in arrays.items()})
    with checkpointing(folder / path.stem, {"run": canonical_json(identity)}) as checkpoints:
        traces = sample(model, sampler, seed)
    buffer = io.BytesIO()
    np.savez(buffer, **vars(traces))
    write_whole(path, buffer.getvalue())
    for file in (*checkpoints.folder.glob("*"),):
        file.unlink()
    return traces


def _plain(array: Any) -> Any:
    return array if array.ndim else array.item()
