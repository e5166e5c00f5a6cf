"""The family of a method: how it represents what it does not know."""

from collections.abc import Mapping

POINT, ENSEMBLE, TRAJECTORY = "point estimates", "ensembles", "trajectories"
VARIATIONAL, LAPLACE, FUNCTION = "variational", "Laplace", "function space"
SAMPLING, MESSAGES, MOMENTS = "sampling", "message passing", "moments"
PROCESSES = "Gaussian processes"
OTHER = "other"

FAMILIES = (
    *(POINT, ENSEMBLE, TRAJECTORY, LAPLACE, VARIATIONAL),
    *(FUNCTION, PROCESSES, MESSAGES, MOMENTS, SAMPLING, OTHER),
)
"""In the order of a page."""

MODULES: Mapping[str, str] = {
    "methods.marginal": POINT,
    "methods.adamw": POINT,
    "methods.sgd": POINT,
    "methods.backprop": POINT,
    "methods.mc_dropout": ENSEMBLE,
    "methods.ensemble": ENSEMBLE,
    "methods.mfvi": VARIATIONAL,
    "methods.dvi": VARIATIONAL,
    "methods.vsd": VARIATIONAL,
    "methods.ivon": VARIATIONAL,
    "methods.graves_vi": VARIATIONAL,
    "methods.hmc": SAMPLING,
    "methods.hmc_hamiltorch": SAMPLING,
    "methods.pbp": MESSAGES,
    "methods.message_passing": MESSAGES,
    "methods.moment_propagation": MOMENTS,
    "methods.ciber": TRAJECTORY,
    "methods.trajectory": TRAJECTORY,
    "methods.trajectory.sgld": SAMPLING,
    "methods.trajectory.cyclical_sgld": SAMPLING,
    "methods.trajectory.last_iterate": POINT,
    "methods.laplace": LAPLACE,
    "methods.laplace_diagonal": LAPLACE,
    "methods.neural_linear": LAPLACE,
    "methods.function_space": FUNCTION,
    "methods.gp": PROCESSES,
    "methods.linear": SAMPLING,
}
"""Module → family; that of a package holds for its modules."""

CLASSES: Mapping[str, str] = {"methods.function_space.method:WeightSpace": VARIATIONAL}
"""Classes that are of another family than their module."""


def family(path: str) -> str:
    """Return the family of a class such as "methods.ivon:Ivon", "other" where unknown."""
    if path in CLASSES:
        return CLASSES[path]
    module = path.partition(":")[0]
    while module and module not in MODULES:
        module = module.rpartition(".")[0]
    return MODULES.get(module, OTHER)


def family_of(description: object) -> str:
    """Return the family of a method as a record describes it."""
    kind = description.get("type") if isinstance(description, Mapping) else None
    return family(str(kind)) if kind else OTHER
