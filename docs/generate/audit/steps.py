"""Steps of one optimiser or sampler from the same weights, with the same noise."""

from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch

from bnnbench.methods.fitting.training import Stack
from bnnbench.methods.ivon import Ivon, NaturalGradient
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.trajectory import langevin
from bnnbench.suites.check.problems import stream
from docs.generate.audit.comparison import Comparison, ask, equal
from docs.generate.audit.laplace import classes

STEPS, SEED_OF_NOISE = 25, 11


def of_ivon() -> Iterator[Comparison]:
    """Compare 25 steps on all rows with those of ivon-opt."""
    problem = classes()
    start = TorchNetwork(problem.architecture, (4,)).initial_weights(
        [stream(1)], dtype=torch.float64
    )
    settings: dict[str, Any] = {
        **{"learning_rate": 0.2, "initial_hessian": 0.3, "beta1": 0.9, "beta2": 0.99},
        "weight_decay": 1e-2,
    }
    found, single = (
        ask(
            *("ivon-opt", "ivon_steps"),
            {
                **{"inputs": problem.train.inputs, "targets": problem.train.targets},
                "weights": start[0],
            },
            *(problem.architecture, 3),
            **{"steps": STEPS, "seed_of_noise": SEED_OF_NOISE, "default_dtype": dtype, **settings},
        )
        for dtype in ("float64", "float32")
    )
    stack = Stack([problem], [stream(1)], len(problem.train))
    assert torch.equal(stack.weights, start)
    ascent = NaturalGradient([Ivon(**settings)], float(len(problem.train)), stack.weights)
    noise, inputs, targets = stream(SEED_OF_NOISE), problem.train.inputs, problem.train.targets
    means, hessians = [], []
    for _ in range(STEPS):
        normals = torch.randn(start.shape[1], generator=noise, dtype=torch.float64)[None]
        sample = ascent.sample(normals).requires_grad_()
        loss = stack.loss(sample, inputs[None], targets[None])
        ascent.step(normals, *torch.autograd.grad(loss.sum(), sample))
        means.append(ascent.mean[0].clone())
        hessians.append(ascent.hessian[0].clone())
    for name, own in (("means", means), ("hessians", hessians)):
        title = "mean weights" if name == "means" else "Hessian's diagonal"
        same = "ivon-opt", found.version, "IVON"
        yield equal(*same, f"{title}, {STEPS} steps", torch.stack(own), found.arrays[name])
    text = "Hessian's diagonal, torch's default type left at single"
    own, their = torch.stack(hessians), single.arrays["hessians"]
    yield equal("ivon-opt", single.version, "IVON", text, own, their, "theirs")


def of_sgld() -> Iterator[Comparison]:
    """Compare 25 steps on all rows with those of posteriors."""
    problem = classes()
    stack = Stack([problem], [stream(1)], len(problem.train))
    settings = {"learning_rate": 0.1, "prior_std": 0.7}
    found = ask(
        *("posteriors", "posteriors_steps"),
        {
            **{"inputs": problem.train.inputs, "targets": problem.train.targets},
            "weights": stack.weights[0],
        },
        *(problem.architecture, 3),
        **{"steps": STEPS, "seed_of_noise": SEED_OF_NOISE, **settings},
    )
    noise = stream(SEED_OF_NOISE)

    def drawn(rngs: object, count: int, dtype: torch.dtype) -> torch.Tensor:
        return torch.randn(count, generator=noise, dtype=dtype)[None]

    with mock.patch.object(langevin, "normal", drawn):
        chain = langevin.chains(
            *(stack, STEPS, settings["prior_std"]),
            lambda step: (settings["learning_rate"], 1.0),
            range(1, STEPS + 1),
        )
    same = "posteriors", found.version, "SGLD"
    yield equal(*same, f"weights, {STEPS} steps", chain[0], found.arrays["chain"])
