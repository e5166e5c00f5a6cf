"""Every approximation of laplace-torch around given weights, with given precisions."""

import warnings

import numpy as np
import torch
from laplace import Laplace
from torch.utils.data import DataLoader, TensorDataset

from bnnbench.methods.libraries.inside.torch_networks import network

DISTRIBUTIONS = ("laplace-torch",)


class Found:
    def __init__(self, arrays):
        self.arrays, self.diagnostics = arrays, {}

    def predict(self, inputs, seed):
        return self.arrays


def fit(task):
    warnings.simplefilter("ignore")
    settings, found = task.settings, {}
    torch.set_default_dtype(getattr(torch, settings["default_dtype"]))
    inputs, targets = (torch.from_numpy(task.arrays[name]) for name in ("inputs", "targets"))
    points = torch.from_numpy(task.arrays["points"])
    kind = "classification" if task.classes else "regression"
    for structure, layers in settings["structures"]:
        for batch_size in settings["batch_sizes"]:
            laplace = Laplace(
                network(task),
                kind,
                subset_of_weights=layers,
                hessian_structure=structure,
                prior_precision=settings["prior_precision"],
                **({} if task.classes else {"sigma_noise": task.noise_std}),
            )
            data = TensorDataset(inputs, targets.long() if task.classes else targets)
            laplace.fit(DataLoader(data, batch_size=batch_size))
            name = f"{structure}_{layers}_{batch_size}"
            with torch.no_grad():
                _, variance = laplace._glm_predictive_distribution(points)
            found[f"variance_{name}"] = variance.diagonal(dim1=1, dim2=2).numpy()
            found[f"evidence_{name}"] = np.array(float(laplace.log_marginal_likelihood()))
            if task.classes:
                found[f"probs_{name}"] = laplace(points, link_approx="probit").numpy()
    return Found(found)
