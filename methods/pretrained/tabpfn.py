"""TabPFN: a transformer that was trained on synthetic tables predicts from rows as its context.

A regression is a histogram with half-normal tails. Weights are not part of this project, and the
package, which would download them, gets a file that exists.

Sources: Hollmann et al. (2025), "Accurate Predictions on Small Data with a Tabular Foundation
Model"; the package tabpfn 9.2.0.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from bnnbench.methods.card import Card
from bnnbench.methods.predictions.bars import BarPredictive
from bnnbench.methods.pretrained.in_context import Pretrained


@dataclass(frozen=True)
class TabPfn(Pretrained):
    """TabPFN with the weights in a file; it ignores the problem's network."""

    card: ClassVar[Card] = Card(
        "pretrained on tables", gradients=False, restarts="rows are only stored"
    )
    label: ClassVar[str] = "TabPFN"
    library: ClassVar[str] = "tabpfn"
    weights_from: ClassVar[str] = "https://huggingface.co/Prior-Labs"

    def estimator(self, of_classes: bool, seed: int, device: torch.device) -> Any:
        """Return the package's estimator, not yet fitted."""
        package = self.package()
        kind = package.TabPFNClassifier if of_classes else package.TabPFNRegressor
        return kind(
            model_path=self.weights,
            n_estimators=self.size,
            random_state=seed,
            device=str(device),
            ignore_pretraining_limits=True,  # `most_rows` and `most_classes` are the limits
        )

    def real(self, estimator: Any, points: np.ndarray) -> BarPredictive:
        """Return the histogram of each point, in the units of the training targets."""
        given = points if len(points) else np.zeros((1, points.shape[1]))
        output = estimator.predict(given, output_type="full")
        log_bars = output["logits"].double().log_softmax(-1)[: len(points)]
        return BarPredictive(output["criterion"].borders.double(), log_bars)
