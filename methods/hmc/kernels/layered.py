"""Leapfrog steps of a rectified perceptron whose prior has a precision for every weight."""

from bnnbench.methods.compiled.numba_code import fused, fused_inline
from bnnbench.methods.hmc.kernels.trajectories import _gradient


@fused
def leapfrog(
    layers, scales, slope, work, states, gradients, data, losses, momenta, drift, of_data, of_prior,
    steps,
):  # fmt: skip
    """Move states and momenta of every member by its number of steps.

    A member has one factor for the kicks of the data, and one per weight for those of the prior.
    """
    for member in range(len(states)):
        state, gradient, momentum = states[member], gradients[member], momenta[member]
        kick, kicks = of_data[member, 0], of_prior[member]
        _kick(momentum, gradient, state, kick / 2, kicks, 2)
        for step in range(steps[member]):
            for place in range(len(state)):
                state[place] += momentum[place] * drift[member, place]
            losses[member] = _gradient(layers, scales, slope, work, state, gradient, data, member)
            share = 2 if step == steps[member] - 1 else 1
            _kick(momentum, gradient, state, kick / share, kicks, share)


@fused_inline
def _kick(momentum, gradient, state, of_data, of_prior, share):
    for place in range(len(state)):
        momentum[place] += of_data * gradient[place] + of_prior[place] / share * state[place]
