"""Leapfrog steps along the gradients of a loss."""

from abc import ABC, abstractmethod

from jaxtyping import Float, Int
from torch import Tensor


class SteppedLoss(ABC):
    """A loss of some members whose trajectories move in step."""

    states: Float[Tensor, "members size"]
    gradients: Float[Tensor, "members size"]

    @abstractmethod
    def differentiate(self) -> None:
        """Write the gradients of the losses at the states; gradients of padding are arbitrary."""
        ...

    def leapfrog(
        self,
        momenta: Float[Tensor, "members size"],
        drift: Float[Tensor, "members size"],
        data_kick: Float[Tensor, "members 1"],
        prior_kick: Float[Tensor, "members #size"],
        steps: Int[Tensor, " members"],
    ) -> None:
        """Move the states and the momenta by this number of steps, in place.

        A step is half a kick p += data_kick ∇loss + prior_kick w, a drift w += drift p, and half a
        kick; two half kicks between drifts become one. The gradients must match the states, before
        and after. Members at the end of their trajectory stay where they are.
        """
        states, gradients = self.states, self.gradients
        ends = sorted(set(steps.tolist()))
        steps = steps[:, None]
        momenta.addcmul_(gradients, data_kick, value=0.5).addcmul_(states, prior_kick, value=0.5)
        for step in range(1, ends[-1] + 1):
            states.addcmul_(momenta, drift)
            self.differentiate()
            if step in ends:
                is_moving = (steps > step).to(states)
                share = is_moving + 0.5 * (steps == step)
                momenta.addcmul_(gradients, data_kick * share)
                momenta.addcmul_(states, prior_kick * share)
                drift, data_kick, prior_kick = (
                    drift * is_moving,
                    data_kick * is_moving,
                    prior_kick * is_moving,
                )
            else:
                momenta.addcmul_(gradients, data_kick).addcmul_(states, prior_kick)
