r"""TabM: many members that share their hidden layers and differ by the first scales and the last.

The members are those of BatchEnsemble. Only the scales of the network's inputs start as random
signs, all others at 1, and each member has its own last layer.

Source: Gorishniy, Kotelnikov and Babenko (2025), "TabM: Advancing Tabular Deep Learning with
Parameter-Efficient Ensembling".
"""

from dataclasses import dataclass
from typing import ClassVar

from bnnbench.methods.batch_ensemble.method import BatchEnsemble
from bnnbench.methods.card import Card


@dataclass(frozen=True)
class TabM(BatchEnsemble):
    """TabM of the problem's network, with an equal-weight mixture of its members as prediction.

    The paper averages a regression's means, without a variance. Every input has its own sign, which
    suits inputs that are columns of a table; an encoded category has one sign for each of its
    columns.
    """

    card: ClassVar[Card] = Card(
        "ensembles",
        problems=("mlp regression", "mlp classification", "cnn regression", "cnn classification"),
    )
    random_signs: ClassVar[str] = "first"
    separate_last: ClassVar[bool] = True

    size: int = 32
