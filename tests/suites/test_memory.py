"""Growth of memory."""

import torch

from suites.engine.memory import growth

MEBIBYTE = 2**20


def test_what_a_block_allocates_and_frees_is_seen():
    with growth(torch.device("cpu")) as grown:
        torch.ones(64 * MEBIBYTE // 4).sum()
    assert 60 * MEBIBYTE < grown.bytes < 90 * MEBIBYTE


def test_what_was_allocated_before_is_not_counted():
    held = torch.ones(64 * MEBIBYTE // 4)
    with growth(torch.device("cpu")) as grown:
        held.sum()
    assert grown.bytes < 16 * MEBIBYTE
