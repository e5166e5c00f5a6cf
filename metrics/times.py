"""Times of training, relative to a plain network's."""

from jaxtyping import Float64
from torch import Tensor


def relative_train_time(
    seconds: Float64[Tensor, " turns"], plain: Float64[Tensor, " turns"]
) -> Float64[Tensor, ""]:
    r"""Return the ratio of the shortest times, $\min t / \min t_0$: what else runs only adds time.

    Source: paper 001, appendix D.1.
    """
    return seconds.min() / plain.min()
