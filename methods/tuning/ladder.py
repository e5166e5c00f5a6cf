"""The lengths that a search tries: each twice the one before it."""

import math

SHORTEST = 25
"""Epochs of the shortest fit, where there are many steps of the ladder."""
MOST_DOUBLINGS = 5
FEWEST = 4
"""Least number of lengths."""


def ladder(rows: int, batch_size: int, updates: int) -> tuple[int, ...]:
    """Return the numbers of epochs to try, for gradient descent on so many rows.

    The longest has about `updates` gradient steps, but 25 to 800 epochs; the shortest has 25 epochs
    or, for fewer than four lengths, an eighth of the longest, rounded up.
    """
    steps = math.ceil(rows / min(batch_size, rows))
    doublings = round(math.log2(max(updates / (SHORTEST * steps), 1e-9)))
    doublings = min(max(doublings, 0), MOST_DOUBLINGS)
    longest = SHORTEST * 2**doublings
    halvings = max(doublings, FEWEST - 1)
    return tuple(math.ceil(longest / 2**halving) for halving in range(halvings, -1, -1))
