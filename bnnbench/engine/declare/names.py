"""Registered names of the classes described in records.

Keys and random streams depend on these names, never on a class's module: moving a file changes a
path in a table, and no number.
"""

import functools
import sys
from collections.abc import Mapping
from typing import Any

from bnnbench.datasets.names import KINDS
from bnnbench.methods import METHODS
from bnnbench.methods.names import LAYERS, SETTINGS
from bnnbench.methods.own_files import imported

ENGINE: Mapping[str, str] = {
    "evaluation": "bnnbench.engine.declare.grid:Evaluation",
    "acquisition": "bnnbench.engine.declare.acquisition:Acquisition",
    "fgsm": "bnnbench.engine.declare.attacks:Fgsm",
    "pgd": "bnnbench.engine.declare.attacks:Pgd",
    "surrogate": "bnnbench.engine.declare.surrogate:Surrogate",
    "dataset_statistics": "bnnbench.suites.probes.dataset_statistics:DatasetStatistics",
    "few_samples": "bnnbench.suites.probes.few_samples:FewSamples",
    "training_step": "bnnbench.suites.probes.training_step:TrainingStep",
    "far_cdf": "bnnbench.suites.probes.far_cdf:FarCdf",
    "precision_steps": "bnnbench.suites.probes.precision_steps:PrecisionSteps",
    "scored_elsewhere": "bnnbench.engine.declare.third_party:ScoredElsewhere",
    "output_samples": "bnnbench.suites.probes.output_samples:OutputSamples",
    "moment_accuracy": "bnnbench.suites.probes.moment_accuracy:MomentAccuracy",
    "reference_model": "bnnbench.suites.truth.references.model:Model",
    "fixed_noise": "bnnbench.suites.truth.references.model:FixedNoise",
    "oracle_scores": "bnnbench.suites.probes.oracle:OracleScores",
    "oracle_problem": "bnnbench.suites.truth.known.distributions:OracleProblem",
    "network_law": "bnnbench.suites.truth.known.distributions:NetworkLaw",
    "process_law": "bnnbench.suites.truth.known.distributions:ProcessLaw",
    "gaussian_targets": "bnnbench.suites.truth.known.distributions:GaussianTargets",
    "class_targets": "bnnbench.suites.truth.known.distributions:ClassTargets",
    "rung_scores": "bnnbench.suites.probes.approximation_levels:RungScores",
    "rung_exact_form": "bnnbench.methods.approximation_levels.levels:ExactForm",
    "rung_row_sites": "bnnbench.methods.approximation_levels.levels:RowSites",
    "rung_row_messages": "bnnbench.methods.approximation_levels.levels:RowMessages",
    "rung_nearest": "bnnbench.methods.approximation_levels.levels:Nearest",
    "rung_restarts": "bnnbench.methods.approximation_levels.restarts:Restarts",
    "rung_package": "bnnbench.methods.approximation_levels.levels:Package",
    "reference_recipe": "bnnbench.suites.truth.references.model:Recipe",
}

TABLES = (KINDS, METHODS, LAYERS, SETTINGS, ENGINE)

PROJECT = "bnnbench."


def path_of(name: str) -> str:
    """Return "module:Class" for a registered name; the path of a third-party class unchanged."""
    return _paths().get(name, name)


def class_name(name: str) -> str:
    """Return the class named by a registered name or a path, without its module."""
    return path_of(name).rpartition(":")[2].rpartition(".")[2]


def kind_of(name: str) -> type:
    """Return the class of a registered name, or of a third-party "module:Class".

    Raises ImportError if there is no such class.
    """
    module, _, attribute = path_of(name).partition(":")
    result = getattr(imported(module), attribute, None) if attribute else None
    if not isinstance(result, type):
        raise ImportError(f"there is no class {name}")
    return result


def name_of(kind: type) -> str:
    """Return the registered name of a class, or "module:Class" of a third-party class.

    Raises TypeError for a class of this project without a registered name.
    """
    path = type_path(kind)
    name = _names().get(path, path)
    if name.startswith(f"{PROJECT}methods.tuning.space:"):
        raise TypeError(
            f"a search space is not a setting, but a setting holds a {kind.__name__}: write "
            "space: ClassVar[Space] = ..."
        )
    if name.startswith(PROJECT):
        raise TypeError(f"{path} has no registered name: add a line next to those of its package")
    return name


def type_path(kind: type) -> str:
    """Return "module:Class", the same whether its module is imported, run, or run again by a
    worker process."""
    module = kind.__module__
    if module in ("__main__", "__mp_main__"):
        spec = getattr(sys.modules["__main__"], "__spec__", None)
        module = spec.name if spec else "__main__"
    return f"{module}:{kind.__qualname__}"


@functools.cache
def _paths() -> dict[str, str]:
    return {name: path for table in TABLES for name, path in table.items()}


@functools.cache
def _names() -> dict[str, str]:
    return {path: name for name, path in _paths().items()}


def names_in(described: Any) -> set[str]:
    """Return the names of all classes in a description."""
    if isinstance(described, Mapping):
        names = {str(described["type"])} if "type" in described else set()
        return names.union(*map(names_in, described.values()))
    if isinstance(described, (list, tuple)):
        return set().union(*map(names_in, described))
    return set()
