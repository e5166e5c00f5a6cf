"""Checks of a visit: of its messages, and of a member's predictions after it."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.heads import Head, Noise
from bnnbench.methods.message_passing.layers.base import Visit
from bnnbench.methods.message_passing.layers.weighted import Weights
from bnnbench.methods.message_passing.network import Network, all_proper
from bnnbench.methods.message_passing.schedule import Sequential

MOST_REPLACED = 0.2
"""The share of replaced forward messages above which a visit has failed."""
WATCHED = 64
"""The maximum number of watched examples per member."""
HOPELESS = 30.0
"""A visit has failed if the misfit of its examples exceeds this multiple of an uninformed
prediction's; a fit that ends in this state has diverged."""
MOST_LOST = 0.1
"""A visit has failed if the watched examples' mean loss rises by more nats than this,"""
MOST_LOST_SHARE = 0.5
"""and by more than this share of it: early in training, sound visits vary more."""


def sound_messages(network: Network, visit: Visit) -> Bool[Tensor, " members"]:
    """Return which members have proper weights and few replaced messages in this iteration."""
    sound = all_proper([layer.marginal for layer in network.weighted])
    replaced = visit.replaced
    if replaced is not None and not isinstance(visit.schedule, Sequential):
        sound &= replaced <= MOST_REPLACED * visit.sent
    return sound


def is_hopeless(head: Head, z: Gaussian, loss: Tensor) -> Bool[Tensor, " members"]:
    """Return which members' predictions are hopeless for all examples of an open head.

    `loss` is the loss of those examples.
    """
    return ~(head.misfit(z, loss) <= HOPELESS)  # NaN counts as hopeless


class Watch:
    """Examples from all batches, which no single visit should make much less likely.

    All messages of a visit may be sound and the fit may still fail: occasionally a visit of
    large groups leaves all batches badly predicted, sometimes all but its own. In sound fits that
    predict well, a visit raises the mean loss by a few hundredths at most.
    """

    def __init__(
        self,
        network: Network,
        head: Head,
        inputs: Shaped[Tensor, "members watched *features"],
        targets: Shaped[Tensor, "members watched *target"],
    ) -> None:
        self.network, self.head, self.inputs, self.targets = network, head, inputs, targets
        self.expected: Float[Tensor, " members"] | None = None
        """Their mean loss after the last visit; None if unknown."""

    def begin(self, weights: Sequence[Weights], noise: Noise | None) -> None:
        """Compute all members' loss with these weights, if it is unknown."""
        if self.expected is None:
            self.network.start_from(weights)
            self.expected = self._loss(self._everyone, noise)

    def worse(
        self, index: Int[Tensor, " some"], noise: Noise | None, sound: Bool[Tensor, " some"]
    ) -> Bool[Tensor, " some"]:
        """Return which members predict clearly worse than before, with the network's weights.

        The losses of the other members, if sound, become the reference for the next visit.
        """
        assert self.expected is not None, "begin comes first"
        loss, before = self._loss(index, noise), self.expected[index]
        most = before + (MOST_LOST_SHARE * before).clamp_min(MOST_LOST)
        worse = ~(loss <= most)  # NaN counts as worse
        accepted = sound & ~worse
        self.expected[index] = torch.where(accepted, loss, before)
        return worse

    def hopeless(self, weights: Sequence[Weights], noise: Noise | None) -> Bool[Tensor, " members"]:
        """Return which members' predictions are hopeless with these weights."""
        self.network.start_from(weights)
        head, z = self._predict(self._everyone, noise)
        return is_hopeless(head, z, head.loss(z, slice(None)))

    def _loss(self, index: Tensor, noise: Noise | None) -> Tensor:
        """Return the mean loss of some members' examples."""
        head, z = self._predict(index, noise)
        return head.loss(z, slice(None)).double() / self.targets.shape[1]

    def _predict(self, index: Tensor, noise: Noise | None) -> tuple[Head, Gaussian]:
        """Return the open head of some members, and the messages to their outputs."""
        head = self.head.of_members(index)
        inputs, targets = self.inputs, self.targets
        if len(index) != len(targets):
            inputs, targets = inputs[index], targets[index]
        head.open(targets, noise, self.network.kernels)
        return head, self.network.predict(inputs)

    @property
    def _everyone(self) -> Int[Tensor, " members"]:
        return torch.arange(len(self.targets), device=self.targets.device)
