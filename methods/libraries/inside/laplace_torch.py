"""laplace-torch around weights that another process trained.

Source: Daxberger et al. (2021), "Laplace Redux: Effortless Bayesian Deep Learning".
"""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import laplace as library
import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset

from bnnbench.methods.libraries.inside.task import Task
from bnnbench.methods.libraries.inside.torch_networks import network, require_finite

DISTRIBUTIONS = ("laplace-torch", "curvlinops-for-pytorch", "torch")
STEPS, RATE = 200, 0.1
"""Number of Adam steps on the log marginal likelihood, and their learning rate."""


@dataclass
class Posterior:
    """A fitted `Laplace` and its prediction settings."""

    laplace: Any
    link: str
    draws: int
    classes: int | None
    diagnostics: dict[str, float]
    work: dict[str, int]

    def predict(self, inputs: np.ndarray, seed: int) -> dict[str, np.ndarray]:
        """Return class probabilities, or means and variances including noise."""
        torch.manual_seed(seed)
        points = torch.from_numpy(inputs)
        with torch.no_grad():
            if self.classes is None:
                mean, variance = self.laplace(points)
                noise = self.laplace.sigma_noise.square()
                both = mean, variance.reshape(mean.shape) + noise
                names = ("means", "variances")
                return {n: v[None].numpy() for n, v in zip(names, both, strict=True)}
            probs = self.laplace(points, link_approx=self.link, n_samples=self.draws)
            return {"log_probs": probs.log()[None].numpy()}


def fit(task: Task) -> Posterior:
    """Return the approximation, with the precisions of maximum evidence unless one is given."""
    warnings.simplefilter("ignore")
    torch.manual_seed(task.seed)
    settings = task.settings
    inputs, targets = (torch.from_numpy(task.arrays[name]) for name in ("inputs", "targets"))
    torch.set_default_dtype(inputs.dtype)  # the library makes some of its matrices in this type
    noise = {} if task.classes else {"sigma_noise": settings["noise_std"]}
    package: Any = library
    laplace = package.Laplace(
        network(task),
        "classification" if task.classes else "regression",
        subset_of_weights="last_layer" if settings["layers"] == "last" else "all",
        hessian_structure=settings["structure"],
        prior_precision=settings["prior_precision"] or 1.0,
        **noise,
    )
    rows = targets.long() if task.classes else targets
    laplace.fit(DataLoader(TensorDataset(inputs, rows), batch_size=len(inputs)))
    if settings["prior_precision"] is None:
        _maximise_evidence(laplace, task)
    precisions = laplace.prior_precision.detach(), laplace.sigma_noise.detach()
    require_finite(torch.cat([each.flatten() for each in precisions]))
    diagnostics = {
        "prior_precision": float(precisions[0].mean()),
        "log_evidence": float(laplace.log_marginal_likelihood().detach()),
    }
    if not task.classes:
        diagnostics["noise_std"] = float(precisions[1])
    work = {"curvature_rows": len(inputs)}
    return Posterior(laplace, settings["link"], settings["draws"], task.classes, diagnostics, work)


def _maximise_evidence(laplace: Any, task: Task) -> None:
    """Set the prior precision, and a regression's unknown noise, as in the library's guide."""
    dtype = torch.from_numpy(task.arrays["inputs"][:1]).dtype
    prior = torch.zeros(1, dtype=dtype, requires_grad=True)
    start = math.log(task.settings.get("noise_std") or 1.0)
    noise = torch.full((1,), start, dtype=dtype, requires_grad=True)
    learns = task.classes is None and task.noise_std is None
    optimiser = torch.optim.Adam([prior, noise] if learns else [prior], lr=RATE)
    for step in range(STEPS):
        optimiser.zero_grad()
        noise_std = {"sigma_noise": noise.exp()} if learns else {}
        loss = -laplace.log_marginal_likelihood(prior.exp(), **noise_std)
        loss.backward()
        optimiser.step()
        task.report(step + 1, STEPS, float(loss.detach()))
    laplace.prior_precision = prior.detach().exp()
    if learns:
        laplace.sigma_noise = noise.detach().exp()
