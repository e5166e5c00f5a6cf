"""Deviations from a paper's protocol, stated on pages before there are runs, and by records later.

Importing this file takes no time, so that a page of printed numbers needs no suite.
"""

from collections.abc import Mapping

OF_TABLE_1_OF_000 = (
    "MP: groups of 32 examples are solved jointly, by five steps of conjugate gradients, and "
    "after a visit's first iteration move half of the way; the paper passes the messages of one "
    "example after another",
    "MP: an example's own force is removed from the messages to its later layers (cavities); the "
    "paper uses marginals",
    "MP: sums over examples run in the order of a GPU's fused kernels, in float32 without TF32; "
    "a visit that fails is repeated with smaller groups",
    "MP: images are normalised by channel, as for all methods here; its script uses one mean and "
    "one deviation for all channels",
    "MP predicts from the marginals of all batches; its script from the state after the last batch",
    "AdamW and IVON: channels are standardised with the training images' mean and deviation, not "
    "with rounded constants",
)

# Paper and table of a profile that needs a GPU → our deviations from their protocol.
AWAITED: Mapping[tuple[str, str], tuple[str, ...]] = {("000", "1"): OF_TABLE_1_OF_000}
