"""Departures from a paper's protocol that pages name before there are runs, and records after.

Importing this file takes no time, so that a page of printed numbers needs no suite.
"""

from collections.abc import Mapping

OF_TABLE_1_OF_000 = (
    "MP: groups of 32 examples are solved for together, by five steps of conjugate gradients, and "
    "after a visit's first iteration move half of the way; the paper passes the messages of one "
    "example after another",
    "MP: an example's own force is taken out of what its later layers receive (cavities), where "
    "the paper has marginals",
    "MP: sums over examples run in the order of a GPU's fused kernels, in float32 without TF32; "
    "where a visit goes wrong it is repeated with smaller groups",
    "MP: images are normalised by channel, as for all methods here; its script has one mean and "
    "one deviation for all channels",
    "MP predicts from the marginals of all batches; its script from the state that the last "
    "batch left",
    "AdamW and IVON: channels have the training images' own mean and deviation, not rounded "
    "constants",
)

# Paper and table that a profile follows and that waits for a GPU, and our departures from it.
AWAITED: Mapping[tuple[str, str], tuple[str, ...]] = {("000", "1"): OF_TABLE_1_OF_000}
