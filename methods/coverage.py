"""The problems that each method takes; a contract test checks this table against fits."""

from collections.abc import Mapping

PROBLEMS: Mapping[str, str] = {
    "mlp regression": "regression by a perceptron",
    "mlp classification": "classification by a perceptron",
    "linear regression": "linear regression with known noise",
    "cnn regression": "regression of images by convolutions",
    "cnn classification": "classification of images by convolutions",
}
"""Kind of problem → a description."""

MLPS = ("mlp regression", "mlp classification")

COVERED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("exact_linear", "linear_from_draws"), ("linear regression",)),
    **dict.fromkeys(("pbp", "backprop", "graves_vi", "laplace_diagonal"), MLPS),
    **dict.fromkeys(
        ("dvi", "orthogonal_gp", "deep_gp"),
        ("mlp regression", "linear regression"),
    ),
    **dict.fromkeys(("deep_kernel", "ep"), ("mlp regression",)),
    **dict.fromkeys(
        ("gaussian_process", "gaussian_process_left_out", "fastfood"),
        ("mlp regression", "linear regression"),
    ),
    "mc_dropout": (*MLPS, "cnn regression", "cnn classification"),
    "sklearn_ridge": ("mlp regression", "linear regression", "cnn regression"),
    **dict.fromkeys(("blackjax_nuts", "numpyro_nuts"), (*MLPS, "linear regression")),
    "torch_uncertainty_dropout": (*MLPS, "cnn regression", "cnn classification"),
    "neural_linear": ("mlp regression", "cnn regression"),
    "ciber_of_hmc": ("mlp regression", "linear regression", "cnn regression"),
    **dict.fromkeys(
        ("function_space", "weight_space", "tempered", "label_smoothing", "belief_matching"),
        ("mlp classification", "cnn classification"),
    ),
}
"""Method → the kinds of problems that it takes; a method that is absent here takes all."""


def covered(name: str) -> tuple[str, ...]:
    """Return the kinds of problems that a registered method takes."""
    return COVERED.get(name, tuple(PROBLEMS))
