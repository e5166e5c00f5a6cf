"""TabICL: a transformer that embeds columns and rows of a table, trained on synthetic tables.

A regression is a set of quantiles. Weights are not part of this project, and the package, which
would download them, gets a file that exists.

Sources: Qu et al. (2025), "TabICL: A Tabular Foundation Model for In-Context Learning on Large
Data"; the package tabicl 2.2.0.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from bnnbench.methods.card import Card
from bnnbench.methods.libraries.sklearn_rows import answers
from bnnbench.methods.predictions.quantiles import LEVELS, QuantilePredictive
from bnnbench.methods.pretrained.in_context import Pretrained


@dataclass(frozen=True)
class TabIcl(Pretrained):
    """TabICL with the weights in a file; it ignores the problem's network."""

    card: ClassVar[Card] = Card(
        "pretrained on tables", gradients=False, restarts="rows are only stored"
    )
    label: ClassVar[str] = "TabICL"
    library: ClassVar[str] = "tabicl"
    weights_from: ClassVar[str] = "https://huggingface.co/jingang/TabICL"

    most_rows: int = 60_000
    """Maximum number of training rows."""
    levels: tuple[float, ...] = LEVELS
    """Levels of the quantiles of a regression."""

    def estimator(self, of_classes: bool, seed: int, device: torch.device) -> Any:
        """Return the package's estimator, not yet fitted."""
        package = self.package()
        kind = package.TabICLClassifier if of_classes else package.TabICLRegressor
        return kind(
            model_path=self.weights,
            allow_auto_download=False,
            n_estimators=self.size,
            random_state=seed,
            device=str(device),
        )

    def real(self, estimator: Any, points: np.ndarray) -> QuantilePredictive:
        """Return the quantiles of each point, in the units of the training targets."""
        levels = list(self.levels)

        def quantiles(rows: np.ndarray) -> np.ndarray:
            return estimator.predict(rows, output_type="quantiles", alphas=levels)

        values = torch.from_numpy(np.sort(answers(quantiles, points), 1)).double()
        return QuantilePredictive(torch.tensor(levels, dtype=torch.float64), values[:, None])
