"""Steps of ivon-opt on all rows at once, from given weights, with noise from a given seed."""

import ivon
import numpy as np
import torch

from bnnbench.methods.libraries.inside.torch_networks import Likelihood, network, weights_of

DISTRIBUTIONS = ("ivon-opt",)


class Found:
    def __init__(self, arrays):
        self.arrays, self.diagnostics = arrays, {}

    def predict(self, inputs, seed):
        return self.arrays


def fit(task):
    torch.set_default_dtype(getattr(torch, task.settings["default_dtype"]))
    settings, built, likelihood = task.settings, network(task), Likelihood(task)
    inputs, targets = (torch.from_numpy(task.arrays[name]) for name in ("inputs", "targets"))
    optimiser = ivon.IVON(
        built.parameters(),
        lr=settings["learning_rate"],
        ess=float(len(inputs)),
        hess_init=settings["initial_hessian"],
        beta1=settings["beta1"],
        beta2=settings["beta2"],
        weight_decay=settings["weight_decay"],
    )
    torch.manual_seed(settings["seed_of_noise"])
    means, hessians = [], []
    for _ in range(settings["steps"]):
        with optimiser.sampled_params(train=True):
            optimiser.zero_grad()
            likelihood.loss(built(inputs), targets).backward()
        optimiser.step()
        means.append(weights_of(built).numpy())
        hessians.append(optimiser.param_groups[0]["hess"].clone().numpy())
    return Found({"means": np.stack(means), "hessians": np.stack(hessians)})
