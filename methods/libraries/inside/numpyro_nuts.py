"""The No-U-Turn sampler of NumPyro.

Source: Phan, Pradhan and Jankowiak (2019), "Composable Effects for Flexible and Accelerated
Probabilistic Programming in NumPyro".
"""

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.diagnostics import split_gelman_rubin
from numpyro.infer import MCMC, NUTS

from bnnbench.methods.libraries.inside.jax_networks import Draws, Model, converged
from bnnbench.methods.libraries.inside.task import Diverged, Task

DISTRIBUTIONS = ("numpyro", "jax")


def fit(task: Task) -> Draws:
    """Return the draws of all chains, each adapted separately."""
    model, settings = Model(task), task.settings
    chains = settings["chains"]
    kernel = NUTS(
        potential_fn=lambda state: -model.log_density(state),
        target_accept_prob=settings["target_acceptance"],
    )
    sampler = MCMC(
        kernel,
        num_warmup=settings["warmup"],
        num_samples=settings["draws"] // chains,
        num_chains=chains,
        chain_method="sequential",
        progress_bar=False,
    )
    starts = model.start(task.seed, chains)
    sampler.run(
        jax.random.key(task.seed),
        init_params=starts if chains > 1 else starts[0],
        extra_fields=("num_steps", "diverging"),
    )
    states = jnp.asarray(sampler.get_samples(group_by_chain=True))
    if not np.isfinite(np.asarray(states)).all():
        raise Diverged("the chain is no longer finite")
    extra = sampler.get_extra_fields()
    details = converged(model, states, lambda f: split_gelman_rubin(np.asarray(f)))
    details |= {"divergences": float(extra["diverging"].sum())}
    work = {"leapfrog_steps": int(extra["num_steps"].sum())}
    return Draws(model, states.reshape(-1, model.dimension), details, work)
