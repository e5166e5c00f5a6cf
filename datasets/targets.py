"""The check of a problem's rows before any method sees them."""

from torch import Tensor, int64

from bnnbench.datasets.base import Categorical, Likelihood, Split


def check_rows(split: Split, likelihood: Likelihood) -> None:
    """Raise ValueError, with cause and cure, unless rows can be fitted under the likelihood.

    There are rows, each with a target: a label of type int64 from 0 to `classes` - 1, or `outputs`
    real numbers. Infinities and NaN are left to methods, whose fits then diverge.
    """
    inputs, targets = split.inputs, split.targets
    if not targets.ndim or len(inputs) != len(targets):
        given = f"inputs of shape {tuple(inputs.shape)} with targets of {tuple(targets.shape)}"
        raise ValueError(f"needed a target for each row; got {given}")
    if not len(inputs):
        raise ValueError("needed training rows; got none")
    if not inputs.is_floating_point():
        raise ValueError(f"inputs are {_kind(inputs)}: convert them with inputs.float()")
    if isinstance(likelihood, Categorical):
        _check_labels(targets, likelihood.classes)
    else:
        _check_numbers(targets)


def _check_labels(targets: Tensor, classes: int) -> None:
    if targets.ndim != 1:
        raise ValueError(
            f"class labels have shape {tuple(targets.shape)}: give one label per row, such as "
            "targets.argmax(1) of one-hot rows or targets[:, 0] of one column"
        )
    if targets.dtype != int64:
        raise ValueError(f"class labels are {_kind(targets)}: convert them with targets.long()")
    low, high = int(targets.min()), int(targets.max())
    if low < 0 or high >= classes:
        raise ValueError(
            f"class labels are {low} to {high}, and {classes} classes need labels from 0 to "
            f"{classes - 1}: number the classes from 0, or state more classes"
        )


def _check_numbers(targets: Tensor) -> None:
    if not targets.is_floating_point():
        raise ValueError(
            f"targets of a regression are {_kind(targets)}: convert them with targets.float(), or "
            "state Categorical(classes) if they are class labels"
        )
    if targets.ndim != 2:
        raise ValueError(
            f"targets of a regression have shape {tuple(targets.shape)}: give a row and a column "
            "for each output, such as targets[:, None] for one"
        )


def _kind(values: Tensor) -> str:
    return str(values.dtype).removeprefix("torch.")
