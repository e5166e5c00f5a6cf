r"""CatBoost: oblivious trees for the mean and the log standard deviation, or for classes.

The loss "RMSEWithUncertainty" is the negative log likelihood of a Gaussian. Its raw outputs are the
mean and the log of the standard deviation, whereas the package's own prediction of this name has
the variance. Only the fit needs the package: its trees are kept as arrays.

Sources: Prokhorenkova et al. (2018), "CatBoost: Unbiased Boosting with Categorical Features";
Malinin, Prokhorenkova and Ustimenko (2021), "Uncertainty in Gradient Boosting via Ensembles",
section 3.
"""

import importlib
import importlib.util
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import torch

from bnnbench.datasets.base import Categorical, Split
from bnnbench.methods.base import PackageMissing, Posterior, PriorUse, Problem, Unsupported
from bnnbench.methods.card import Card
from bnnbench.methods.fitting import progress, work
from bnnbench.methods.fitting.settings import require_between, require_count, require_positive
from bnnbench.methods.fitting.validation_search import set_aside
from bnnbench.methods.libraries.sklearn_rows import (
    ClassifierPosterior,
    OneClass,
    labels,
    seed_of,
    single_target,
    vectors,
)
from bnnbench.methods.trees.additive import ClassTrees, ObliviousTrees, UncertainTrees
from bnnbench.methods.trees.catboost_arrays import constant, trees_of
from bnnbench.methods.tuning.space import Integers, Log, Space

CURE = "pip install bnnbench[boosting]"
Rows = tuple[np.ndarray, np.ndarray]
"""Inputs and targets."""


@dataclass(frozen=True)
class CatBoost:
    """CatBoost with as many trees as predict held-out rows best, refitted to all rows.

    Its own treatment of categories is not used: all methods of a comparison get the same features,
    in which a category is a column of zeros and ones. Calibration rows take the place of held-out
    rows if a problem brings them.
    """

    card: ClassVar[Card] = Card(
        "not a network", gradients=False, restarts="two fits, whose state CatBoost holds"
    )
    label: ClassVar[str] = "CatBoost"
    library: ClassVar[str] = "catboost"
    prior_use: ClassVar[PriorUse] = "none"
    space: ClassVar[Space] = Space(
        {"learning_rate": Log(0.03, 0.3), "depth": Integers(3, 7), "l2": Log(0.3, 30.0)}
    )

    learning_rate: float = 0.05
    """Share of each tree's prediction that is added."""
    depth: int = 6
    """Levels of a tree."""
    l2: float = 3.0
    """Strength of the penalty on squared leaf values."""
    most_trees: int = 1000
    """Maximum number of trees."""
    patience: int = 50
    """Trees without a better prediction of held-out rows after which growth ends."""
    validation_share: float = 0.15
    """Share of rows held out to stop by."""

    def __post_init__(self) -> None:
        require_count(self, "depth", "most_trees", "patience")
        require_positive(self, "learning_rate", "l2", "validation_share")
        require_between(self, 0.0, 1.0, "validation_share")
        require_between(self, 1, 17, "depth")

    @property
    def lacks(self) -> str:
        """The installation that the method lacks, "" if nothing is missing."""
        return "" if importlib.util.find_spec("catboost") else f"needs catboost: {CURE}"

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the trees.

        Raises `PackageMissing` without catboost, and `Unsupported` for several targets, a single
        row, and rows of equal inputs.
        """
        package, seed = _package(), seed_of(rng)
        if isinstance(problem.likelihood, Categorical):
            return self._classifier(package, problem, problem.likelihood.classes, seed, rng)
        targets = single_target(problem, self)
        mean, std = float(targets.mean()), float(targets.std())
        if not std:  # CatBoost would start at a log deviation of -inf
            return constant(mean)
        rest, validation = set_aside(problem, self.validation_share, rng)
        parts = [_real_rows(rows, mean, std) for rows in (rest.train, validation, problem.train)]
        kind = package.CatBoostRegressor
        trees, start, diagnostics = self._grown(kind, "RMSEWithUncertainty", parts, seed)
        return UncertainTrees(trees, start, mean, std, diagnostics)

    def _classifier(
        self,
        package: ModuleType,
        problem: Problem,
        classes: int,
        seed: int,
        rng: torch.Generator,
    ) -> Posterior:
        rows = len(problem.train)
        if len(seen := np.unique(labels(problem))) == 1:
            return ClassifierPosterior(OneClass(seen), classes, rows, {})
        rest, validation = set_aside(problem, self.validation_share, rng)
        fitted = np.unique(labels(rest))
        parts = [
            _class_rows(rest.train, fitted),
            _class_rows(validation, fitted),
            _class_rows(problem.train, seen),
        ]
        kind = package.CatBoostClassifier
        trees, start, diagnostics = self._grown(kind, "MultiClass", parts, seed)
        return ClassTrees(trees, start, torch.from_numpy(seen), classes, rows, diagnostics)

    def _grown(
        self, kind: Any, loss: str, parts: list[Rows], seed: int
    ) -> tuple[ObliviousTrees, torch.Tensor, dict[str, float]]:
        """Return the trees from all rows, and their start, for the best number of trees."""
        rest, validation, whole = parts
        if (rest[0] == rest[0][0]).all():
            raise Unsupported(
                "CatBoost needed rows whose inputs differ; got equal ones: use Marginal"
            )
        options = {
            **{"loss_function": loss, "learning_rate": self.learning_rate, "depth": self.depth},
            **{"l2_leaf_reg": self.l2, "random_seed": seed, "thread_count": 1},
            **{"allow_writing_files": False, "allow_const_label": True, "verbose": False},
        }
        best = self._best_count(kind(iterations=self.most_trees, **options), rest, validation)
        progress.report(1, 2, float("nan"))
        model = kind(iterations=best, **options).fit(*whole)
        progress.report(2, 2, float("nan"))
        work.count("tree_rows", best * len(whole[0]))
        diagnostics = {"rounds": float(best), "stopped": float(best < self.most_trees)}
        return *trees_of(model), diagnostics

    def _best_count(self, model: Any, rest: Rows, validation: Rows) -> int:
        """Return the number of trees of least held-out loss.

        One tree if no held-out row has a class of the others, or these have only one target.
        """
        if not len(validation[0]) or (rest[1] == rest[1][0]).all():
            return 1
        model.fit(*rest, eval_set=validation, early_stopping_rounds=self.patience)
        (losses,) = model.get_evals_result()["validation"].values()
        work.count("tree_rows", len(losses) * len(rest[0]))
        return int(np.argmin(losses)) + 1


def _package() -> ModuleType:
    """Return the package; raises `PackageMissing` if it is not installed."""
    try:
        return importlib.import_module("catboost")
    except ImportError as missing:
        raise PackageMissing(f"needed catboost for its trees: {CURE}") from missing


def _real_rows(rows: Split, mean: float, std: float) -> Rows:
    targets = rows.targets[:, 0].double().cpu().numpy()
    return vectors(rows.inputs), (targets - mean) / std


def _class_rows(rows: Split, seen: np.ndarray) -> Rows:
    """Return rows with classes numbered among those seen in training."""
    targets = rows.targets.cpu().numpy()
    known = np.isin(targets, seen)
    return vectors(rows.inputs)[known], np.searchsorted(seen, targets[known])
