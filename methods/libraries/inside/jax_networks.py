"""Perceptrons in JAX, and the log density of the model sampled by our Hamiltonian Monte Carlo.

Weights are z / sqrt(λ) times a scale per weight, z standard normal. λ and the noise precision γ are
given, or have Gamma priors and are sampled as their logarithms.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import jax.numpy as jnp
import numpy as np

from bnnbench.methods.libraries.inside.task import Task

jax.config.update("jax_enable_x64", True)

ELEMENTWISE: dict[str, Callable[[Any], Any]] = {
    "ReLU": jax.nn.relu,
    "Tanh": jnp.tanh,
    "Sigmoid": jax.nn.sigmoid,
    "Swish": jax.nn.silu,
}
SHAPE = RATE = 6.0
"""Parameters of the Gamma priors of both precisions."""


class Model:
    """The log density of a state: z, then log λ and log γ if they are not given."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.inputs = jnp.asarray(task.arrays["inputs"], dtype=float)
        self.targets = jnp.asarray(task.arrays["targets"])
        self.scales = jnp.asarray(task.arrays["scales"], dtype=float)
        self.size = len(self.scales)
        self.prior_precision = task.settings["prior_precision"]
        known = task.settings["noise_precision"]
        self.noise_precision = known if task.noise_std is None else task.noise_std**-2
        self.learns_noise = task.classes is None and self.noise_precision is None
        self.dimension = self.size + (self.prior_precision is None) + self.learns_noise

    def precisions(self, state: Any) -> tuple[Any, Any]:
        """Return λ and γ; γ is 1 for a classifier."""
        rest = list(jnp.exp(state[self.size :]))
        prior = rest.pop(0) if self.prior_precision is None else self.prior_precision
        noise = rest.pop(0) if self.learns_noise else self.noise_precision
        return prior, 1.0 if self.task.classes else noise

    def weights(self, state: Any) -> Any:
        """Return the plain weights of a state."""
        return state[: self.size] * self.scales * self.precisions(state)[0] ** -0.5

    def outputs(self, weights: Any, inputs: Any) -> Any:
        """Return the network's outputs."""
        values, at = inputs.reshape(len(inputs), -1), 0
        for layer in self.task.architecture:
            kind = layer["layer"]
            if kind == "Linear":
                shape = layer["outputs"], values.shape[1]
                size = shape[0] * shape[1]
                values, at = values @ weights[at : at + size].reshape(shape).T, at + size
                if layer["bias"]:
                    values, at = values + weights[at : at + shape[0]], at + shape[0]
            elif kind == "LeakyReLU":
                values = jax.nn.leaky_relu(values, layer["slope"])
            elif kind != "Flatten":
                values = ELEMENTWISE[kind](values)
        return values

    def log_density(self, state: Any) -> Any:
        """Return the log of the joint density, up to a constant."""
        prior, noise = self.precisions(state)
        outputs = self.outputs(self.weights(state), self.inputs)
        if self.task.classes:
            logs = jax.nn.log_softmax(outputs)
            likelihood = jnp.take_along_axis(logs, self.targets[:, None], 1).sum()
        else:
            squares = ((outputs - self.targets) ** 2).sum()
            likelihood = self.targets.size / 2 * jnp.log(noise) - noise * squares / 2
        total = likelihood - (state[: self.size] ** 2).sum() / 2
        if self.prior_precision is None:
            total += SHAPE * jnp.log(prior) - RATE * prior  # with the logarithm's Jacobian
        if self.learns_noise:
            total += SHAPE * jnp.log(noise) - RATE * noise
        return total

    def start(self, seed: int, chains: int) -> Any:
        """Return an initial state for each chain: z drawn from its prior, precisions of 1."""
        normals = np.random.default_rng(seed).standard_normal((chains, self.dimension))
        normals[:, self.size :] = 0.0
        return jnp.asarray(normals)


@dataclass
class Draws:
    """The posterior as the states of all chains."""

    model: Model
    states: Any
    diagnostics: dict[str, float]
    work: dict[str, int]

    def predict(self, inputs: np.ndarray, seed: int) -> dict[str, np.ndarray]:
        """Return the outputs of every state; nothing is drawn."""
        model, points = self.model, jnp.asarray(inputs, dtype=float)
        outputs = jax.lax.map(lambda s: model.outputs(model.weights(s), points), self.states)
        dtype = inputs.dtype
        if model.task.classes:
            return {"log_probs": np.asarray(jax.nn.log_softmax(outputs)).astype(dtype)}
        noise = jax.vmap(lambda s: jnp.asarray(model.precisions(s)[1], float))(self.states)
        variances = jnp.broadcast_to(1 / noise[:, None, None], outputs.shape)
        return {
            "means": np.asarray(outputs).astype(dtype),
            "variances": np.asarray(variances).astype(dtype),
        }


PROBES, CONVERGED, LEAST_DRAWS = 50, 1.05, 4


def converged(model: Model, states: Any, r_hat: Callable[[Any], Any]) -> dict[str, float]:
    """Return the worst R-hat of outputs at some training rows, for states (chains, draws, size)."""
    if states.shape[1] < LEAST_DRAWS:
        return {"converged": 0.0}
    probes = model.inputs[:PROBES]
    of_state = jax.vmap(jax.vmap(lambda s: model.outputs(model.weights(s), probes).ravel()))
    worst = float(np.max(np.asarray(r_hat(of_state(states)))))
    if not np.isfinite(worst):
        return {"converged": 0.0}
    return {"converged": float(worst <= CONVERGED), "r_hat": worst}
