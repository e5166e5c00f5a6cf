"""Successive budgets of a search: lengths that double each time."""

import math

SHORTEST = 25
"""Epochs of the shortest fit, unless there are too few doublings."""
MOST_DOUBLINGS = 5
FEWEST = 4
"""Minimum number of lengths."""


def ladder(rows: int, batch_size: int, updates: int) -> tuple[int, ...]:
    """Return the numbers of epochs to try, for gradient descent on this number of rows.

    The longest fit has about `updates` gradient steps, within 25 to 800 epochs. The shortest has 25
    epochs or, if that gives fewer than four lengths, an eighth of the longest, rounded up.
    """
    steps = math.ceil(rows / min(batch_size, rows))
    doublings = round(math.log2(max(updates / (SHORTEST * steps), 1e-9)))
    doublings = min(max(doublings, 0), MOST_DOUBLINGS)
    longest = SHORTEST * 2**doublings
    halvings = max(doublings, FEWEST - 1)
    return tuple(math.ceil(longest / 2**halving) for halving in range(halvings, -1, -1))
