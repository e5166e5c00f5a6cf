"""Learning curves r_0, ..., r_T: a score, such as the RMSE, after each acquisition."""

import numpy as np
from jaxtyping import Float


def area(curves: Float[np.ndarray, "*repeats steps"]) -> Float[np.ndarray, "*repeats"]:
    """Return the area under each curve by the trapezoidal rule, divided by T.

    Raises ValueError for a curve without acquisitions.
    """
    steps = curves.shape[-1] - 1
    if steps < 1:
        raise ValueError("the area under a learning curve needs at least one acquisition")
    return np.asarray(np.trapezoid(curves, axis=-1) / steps)


def final_value(curves: Float[np.ndarray, "*repeats steps"]) -> Float[np.ndarray, "*repeats"]:
    """Return the score after the last acquisition."""
    return np.asarray(curves[..., -1])


def share_of_wins(
    active: Float[np.ndarray, " repeats"],
    random: Float[np.ndarray, " others"],
    higher_is_better: bool = False,
) -> float:
    """Return the share of repeats in which active acquisition beats random acquisition.

    Repeats are paired by split; a tie is not a win.
    Raises ValueError unless both have equally many repeats.
    """
    if active.shape != random.shape:
        raise ValueError(f"needed paired repeats; got {len(active)} active, {len(random)} random")
    wins = active > random if higher_is_better else active < random
    return float(wins.mean())
