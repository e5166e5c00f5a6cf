"""Steps of SGLD by posteriors with a given seed, and the curvature at given weights."""

import numpy as np
import posteriors
import torch
from torch.nn import functional

from bnnbench.methods.libraries.inside.torch_networks import network

DISTRIBUTIONS = ("posteriors",)


class Found:
    def __init__(self, arrays):
        self.arrays, self.diagnostics = arrays, {}

    def predict(self, inputs, seed):
        return self.arrays


def fit(task):
    settings, built = task.settings, network(task)
    inputs, targets = (torch.from_numpy(task.arrays[name]) for name in ("inputs", "targets"))
    batch, rows = (inputs, targets.long()), len(inputs)
    names, shapes = zip(*((n, p.shape) for n, p in built.named_parameters()), strict=True)
    sizes = [shape.numel() for shape in shapes]

    def logits(flat):
        pieces = flat.split(sizes)
        parameters = {n: p.view(s) for n, p, s in zip(names, pieces, shapes, strict=True)}
        return torch.func.functional_call(built, parameters, inputs)

    def log_posterior(flat, batch):
        loss = functional.cross_entropy(logits(flat), batch[1])
        return -loss - flat.square().sum() / (2 * rows * settings["prior_std"] ** 2), loss

    torch.manual_seed(settings["seed_of_noise"])
    sampler = posteriors.sgmcmc.sgld.build(
        log_posterior, lr=settings["learning_rate"], temperature=1 / rows
    )
    weights = torch.from_numpy(task.arrays["weights"])
    state, chain = sampler.init(weights.clone()), []
    for _ in range(settings["steps"]):
        state, _ = sampler.update(state, batch)
        chain.append(state.params.clone().numpy())
    found = {"chain": np.array(chain)}

    def forward(flat, batch):
        return logits(flat), torch.tensor([])

    def log_likelihood(outputs, batch):
        return -functional.cross_entropy(outputs, batch[1], reduction="sum")

    for name in ("diag_ggn", "dense_ggn"):
        build = getattr(posteriors.laplace, name).build
        curvature = build(forward, log_likelihood)
        after, _ = curvature.update(curvature.init(weights.clone()), batch)
        kept = after.prec_diag if name == "diag_ggn" else after.prec
        found[name] = kept.detach().numpy()
    return Found(found)
