"""The family of a method, by its representation of uncertainty."""

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
"""The families in page order."""

METHOD_FAMILIES: Mapping[str, str] = {
    **dict.fromkeys(("marginal", "adamw", "sgd", "backprop", "sgd_last_iterate"), POINT),
    **dict.fromkeys(("label_smoothing", "belief_matching"), POINT),
    "map_estimate": POINT,
    **dict.fromkeys(("mc_dropout", "ensemble"), ENSEMBLE),
    **dict.fromkeys(("swa", "swag", "pca_slices", "pca_vi", "ciber", "ciber_of_hmc"), TRAJECTORY),
    **dict.fromkeys(("laplace", "laplace_diagonal", "neural_linear"), LAPLACE),
    **dict.fromkeys(("mfvi", "dvi", "vsd", "ivon", "graves_vi", "weight_space"), VARIATIONAL),
    "function_space": FUNCTION,
    **dict.fromkeys(
        ("deep_kernel", "orthogonal_gp", "deep_gp", "gaussian_process", "fastfood"), PROCESSES
    ),
    "gaussian_process_left_out": PROCESSES,
    **dict.fromkeys(("pbp", "ep", "message_passing", "message_passing_crossed"), MESSAGES),
    **dict.fromkeys(("moment_propagation", "moment_prediction"), MOMENTS),
    **dict.fromkeys(("moment_approximation", "untrained_network"), MOMENTS),
    **dict.fromkeys(("hmc", "hmc_hamiltorch", "sgld", "cyclical_sgld"), SAMPLING),
    **dict.fromkeys(("exact_linear", "linear_from_draws"), SAMPLING),
    **dict.fromkeys(("posteriors_sghmc", "blackjax_nuts", "numpyro_nuts"), SAMPLING),
    **dict.fromkeys(("torch_uncertainty_ensemble", "torch_uncertainty_dropout"), ENSEMBLE),
    **{"laplace_torch": LAPLACE, "ivon_opt": VARIATIONAL, "sklearn_gp": PROCESSES},
    **dict.fromkeys(("sklearn_forest", "sklearn_boosting", "sklearn_ridge"), OTHER),
}
"""Registered name of a method → its family."""

PLAIN = ("AdamW", "MAP", "SGD", "AdamW (tempered)")
"""Labels of the plain network, the baseline for others: the first of them that was run counts."""

FLOORS = ("Class frequency", "Training mean")
"""Labels of methods that ignore inputs: shown for scale, never the best of a figure."""

WRAPPERS = ("tuned", "tempered", "conformal")
"""Wrappers, which have the family of the wrapped method."""


def family_of(description: object) -> str:
    """Return the family of a method as described in a record; "other" if unknown."""
    name = description.get("type") if isinstance(description, Mapping) else None
    if isinstance(description, Mapping) and name in WRAPPERS:
        return family_of(description.get("method"))
    return METHOD_FAMILIES.get(str(name), OTHER)
