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


def test_memory_that_an_earlier_block_freed_is_counted_again():
    sizes, held = [], []
    for _ in range(3):
        with growth(torch.device("cpu")) as grown:
            pieces = [torch.ones(2**14) for _ in range(2**10)]  # 64 KiB each, out of the heap
            held.append(torch.ones(2**14))  # above them, so that the heap does not shrink
            del pieces
        sizes.append(grown.bytes)
    assert min(sizes) > 56 * MEBIBYTE
