"""Average pooling: a weighted sum of equal constants, exact."""

from bnnbench.methods.message_passing.factors import weighted_sum
from bnnbench.methods.message_passing.factors.max_pool import scattered, windows
from bnnbench.methods.message_passing.gaussian import Gaussian


def forward(z: Gaussian, size: int | None) -> Gaussian:
    """Return the message to the mean of each window, or of the whole image (1 x 1) for None.

    Its precision is at least 1e-8. A ragged border is dropped.
    """
    terms = _terms(z, size)
    return weighted_sum.forward([1 / len(terms)] * len(terms), terms).floored()


def backward(z: Gaussian, back: Gaussian, size: int | None) -> Gaussian:
    """Return the message to each input, with a precision of at least 1e-8.

    Inputs in the border that pooling dropped get a uniform message.
    """
    terms = _terms(z, size)
    messages = weighted_sum.backward([1 / len(terms)] * len(terms), terms, back)
    messages = [message.floored() for message in messages]
    if size is not None:
        return scattered(messages, z, size)
    whole = Gaussian.uniform(*z.shape, pattern=messages[0].rho)
    for position, message in enumerate(messages):
        row, column = divmod(position, z.shape[-1])
        whole.tau[..., row, column] = message.tau[..., 0, 0]
        whole.rho[..., row, column] = message.rho[..., 0, 0]
    return whole


def _terms(z: Gaussian, size: int | None) -> list[Gaussian]:
    if size is not None:
        return windows(z, size)
    height, width = z.shape[-2:]
    return [
        z[..., row : row + 1, column : column + 1]
        for row in range(height)
        for column in range(width)
    ]
