"""The No-U-Turn sampler of blackjax, after its window adaptation.

Source: Hoffman and Gelman (2014), "The No-U-Turn Sampler"; Cabezas et al. (2024), "BlackJAX:
Composable Bayesian inference in JAX".
"""

import blackjax
import jax
import jax.numpy as jnp
import numpy as np

from bnnbench.methods.libraries.inside.jax_networks import Draws, Model, converged
from bnnbench.methods.libraries.inside.task import Diverged, Task

DISTRIBUTIONS = ("blackjax", "jax")


def fit(task: Task) -> Draws:
    """Return the draws of all chains, each adapted separately."""
    model, settings = Model(task), task.settings
    chains, draws_per_chain = settings["chains"], settings["draws"] // settings["chains"]
    starts, steps, states = model.start(task.seed, chains), 0, []
    divergences = 0
    adaptation = blackjax.window_adaptation(
        blackjax.nuts,
        model.log_density,
        target_acceptance_rate=settings["target_acceptance"],
    )

    @jax.jit
    def chain(key, start):
        first, second = jax.random.split(key)
        (state, parameters), _ = adaptation.run(first, start, num_steps=settings["warmup"])
        sampler = blackjax.nuts(model.log_density, **parameters)

        def move(state, key):
            state, info = sampler.step(key, state)
            return state, (state.position, info.num_integration_steps, info.is_divergent)

        _, states = jax.lax.scan(move, state, jax.random.split(second, draws_per_chain))
        return states

    for number, key in enumerate(jax.random.split(jax.random.key(task.seed), chains)):
        positions, leapfrogs, diverged = chain(key, starts[number])
        states.append(positions)
        steps += int(leapfrogs.sum())
        divergences += int(diverged.sum())
        task.report(number + 1, chains, float(-model.log_density(positions[-1])))
    together = jnp.stack(states)
    if not np.isfinite(np.asarray(together)).all():
        raise Diverged("the chain is no longer finite")
    details = converged(model, together, blackjax.diagnostics.potential_scale_reduction)
    details |= {"divergences": float(divergences)}
    flat = together.reshape(-1, model.dimension)
    return Draws(model, flat, details, {"leapfrog_steps": steps})
