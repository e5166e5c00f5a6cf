"""Laplace's approximation at the same trained weights: ours, laplace-torch, posteriors."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bnnbench.datasets.base import Categorical, Gaussian, Split
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import Problem
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.laplace.evidence import Precisions
from bnnbench.methods.laplace.gauss_newton import Structure
from bnnbench.methods.laplace.kfac import Kfac
from bnnbench.methods.laplace.method import Approximation, Laplace
from bnnbench.methods.laplace.structures import Diagonal, Full
from bnnbench.methods.networks.architectures import Architecture, Linear, Tanh
from bnnbench.suites.check.problems import classification, regression, stream
from docs.generate.audit.comparison import Answers, Comparison, ask, equal

PRIOR_PRECISION, NOISE_STD, ROWS, FEWER = 2.5, 0.4, 60, 16
OURS: dict[tuple[str, str], tuple[str, Structure]] = {
    ("full", "all"): ("Laplace, full Gauss-Newton", Full()),
    ("full", "last_layer"): ("Laplace, full, last layer", Full("last")),
    ("diag", "all"): ("Laplace, diagonal", Diagonal()),
    ("kron", "all"): ("Laplace, KFAC", Kfac()),
    ("kron", "last_layer"): ("Laplace, KFAC, last layer", Kfac("last")),
}
WORDS = {
    "variance": "variance of outputs",
    "evidence": "log evidence",
    "probs": "probabilities by probits",
}
SEEDS = range(5)


def network(outputs: int, bias: bool) -> Architecture:
    """Return the network of all comparisons."""
    return (Linear(6, bias=bias), Tanh(), Linear(outputs, bias=bias))


def classes(bias: bool = True, seed: int = 0) -> Problem:
    """Return a classification problem in double precision."""
    return classification(seed, ROWS, architecture=network(3, bias), dtype=torch.float64)


def real(bias: bool = True, seed: int = 0) -> Problem:
    """Return a regression problem with known noise in double precision."""
    problem = regression(seed, ROWS, architecture=network(1, bias), dtype=torch.float64)
    return replace(problem, likelihood=Gaussian(NOISE_STD))


PROBLEMS = {"classes": classes, "regression": real}


def mode_of(problem: Problem) -> NetworkPosterior:
    """Return trained weights."""
    mode = AdamW(learning_rate=3e-2, epochs=200).fit(problem, stream(1))
    assert isinstance(mode, NetworkPosterior)
    return mode


def points() -> Tensor:
    """Return test inputs."""
    return 1.5 * torch.randn(40, 4, generator=stream(5), dtype=torch.float64)


def ours(
    structure: Structure, mode: NetworkPosterior, problem: Problem, where: Tensor | None = None
) -> dict[str, Any]:
    """Return variances of linearised outputs, the evidence, and a classifier's probabilities."""
    where = points() if where is None else where
    at = Approximation.of(mode, structure, problem)
    precisions = Precisions(PRIOR_PRECISION, at.noise)
    posterior: Any = Laplace(structure=structure)._around(at, precisions, problem, stream(2))
    found = {
        "variance": posterior._chunk(where, None, False)[1],
        "evidence": at.evidence.log(precisions.prior, precisions.noise),
    }
    if isinstance(problem.likelihood, Categorical):
        found["probs"] = posterior.predict(where, stream(3)).log_probs[0].exp()
    return found


def theirs(
    mode: NetworkPosterior,
    problem: Problem,
    dtype: str = "float64",
    where: Tensor | None = None,
    structures: Collection[tuple[str, str]] = tuple(OURS),
) -> Answers:
    """Return laplace-torch's results for the same weights."""
    likelihood = problem.likelihood
    return ask(
        *("laplace-torch", "laplace_of_weights"),
        {
            **{"inputs": problem.train.inputs, "targets": problem.train.targets},
            **{"weights": mode.weights[0], "points": points() if where is None else where},
        },
        problem.architecture,
        likelihood.classes if isinstance(likelihood, Categorical) else None,
        likelihood.noise_std if isinstance(likelihood, Gaussian) else None,
        structures=[list(key) for key in structures],
        batch_sizes=[ROWS, FEWER],
        prior_precision=PRIOR_PRECISION,
        default_dtype=dtype,
    )


def of_laplace_torch() -> Iterator[Comparison]:
    """Compare all structures with laplace-torch."""
    for title, make in PROBLEMS.items():
        for bias in (True, False):
            problem = make(bias)
            mode = mode_of(problem)
            found = theirs(mode, problem)
            for key in OURS:
                if bias or key[0] == "kron":
                    yield from _of_structure(key, title, bias, mode, problem, found)
    problem = classes()
    mode = mode_of(problem)
    found = theirs(mode, problem, "float32")
    yield equal(
        *("laplace-torch", found.version, OURS["full", "all"][0]),
        "variance of outputs, torch's default type left at single (classes)",
        ours(Full(), mode, problem)["variance"],
        *(found.arrays[f"variance_full_all_{ROWS}"], "theirs"),
    )


def _of_structure(
    key: tuple[str, str],
    title: str,
    bias: bool,
    mode: NetworkPosterior,
    problem: Problem,
    found: Answers,
) -> Iterator[Comparison]:
    method, structure = OURS[key]
    own, name = ours(structure, mode, problem), "_".join(key)
    where = title if bias else f"{title}, no biases"
    kind = "definition" if key[0] == "kron" and bias else "rounding"
    same = "laplace-torch", found.version, method
    for quantity in WORDS:
        if f"{quantity}_{name}_{ROWS}" in found.arrays:
            their = found.arrays[f"{quantity}_{name}_{ROWS}"]
            yield equal(*same, f"{WORDS[quantity]} ({where})", own[quantity], their, kind)
    if key == ("kron", "all"):
        all_rows, few = (found.arrays[f"variance_{name}_{n}"] for n in (ROWS, FEWER))
        text = f"theirs of batches of {FEWER} and of all rows ({where})"
        yield equal(*same, text, all_rows, few)


def of_a_line() -> Iterator[Comparison]:
    """Compare KFAC for a line with the exact posterior, whose slope and offset are dependent."""
    inputs = 3 + torch.linspace(-1, 1, 21, dtype=torch.float64)[:, None]
    train = Split(inputs, 0.5 * inputs - 1)
    problem = Problem(train, Gaussian(NOISE_STD), (Linear(1),))
    columns = torch.cat([inputs, torch.ones_like(inputs)], 1)
    precision = columns.mT @ columns / NOISE_STD**2
    precision += PRIOR_PRECISION * torch.eye(2, dtype=torch.float64)
    at = torch.tensor([[2.0, 1.0], [3.0, 1.0], [4.0, 1.0]], dtype=torch.float64)
    exact = ((at @ precision.inverse()) * at).sum(1, keepdim=True)
    mode = mode_of(problem)
    their = theirs(mode, problem, where=at[:, :1], structures=[("kron", "all")])
    own = ours(Kfac(), mode, problem, at[:, :1])["variance"]
    text = "variance of a line at inputs 2 to 4, against the exact one"
    yield equal("closed form", "", "Laplace, KFAC", f"ours: {text}", exact, own)
    variance = their.arrays[f"variance_kron_all_{ROWS}"]
    same = "laplace-torch", their.version, "Laplace, KFAC"
    yield equal(*same, text, exact, variance, "definition")


def errors_of_kfac() -> dict[str, tuple[float, float]]:
    """Return the mean relative error of variances by both KFACs, compared with the full matrix.

    Each has its standard error over data sets; biases are included.
    """
    found: dict[str, list[float]] = {}
    for title, make in PROBLEMS.items():
        for seed in SEEDS:
            problem = make(seed=seed)
            mode = mode_of(problem)
            exact = ours(Full(), mode, problem)["variance"].numpy()
            their = theirs(mode, problem).arrays[f"variance_kron_all_{ROWS}"]
            own = ours(Kfac(), mode, problem)["variance"].numpy()
            for name, variance in (("ours", own), ("laplace-torch", their)):
                error = float(np.abs(variance / exact - 1).mean())
                found.setdefault(f"{title}: {name}", []).append(error)
            gap = found[f"{title}: ours"][-1] - found[f"{title}: laplace-torch"][-1]
            found.setdefault(f"{title}: difference", []).append(gap)
    return {
        name: (float(np.mean(each)), float(np.std(each, ddof=1) / len(each) ** 0.5))
        for name, each in found.items()
    }


def of_posteriors() -> Iterator[Comparison]:
    """Compare the Gauss-Newton matrix with the library posteriors."""
    problem = classes()
    mode = mode_of(problem)
    found = ask(
        *("posteriors", "posteriors_steps"),
        {
            **{"inputs": problem.train.inputs, "targets": problem.train.targets},
            "weights": mode.weights[0],
        },
        *(problem.architecture, 3),
        **{"steps": 0, "learning_rate": 0.1, "prior_std": 1.0, "seed_of_noise": 0},
    )
    for name, structure, method in (
        ("diag_ggn", Diagonal(), "Laplace, diagonal"),
        ("dense_ggn", Full(), "Laplace, full Gauss-Newton"),
    ):
        spectrum = Approximation.of(mode, structure, problem).spectrum
        identity = torch.eye(len(spectrum.eigenvalues), dtype=torch.float64)
        basis = spectrum.weights(identity, mode.weights.shape[1])
        matrix = basis.mT @ torch.diag(spectrum.eigenvalues) @ basis
        own = matrix.diagonal() if name == "diag_ggn" else matrix
        same = "posteriors", found.version, method
        yield equal(*same, "curvature (classes)", own, found.arrays[name])
