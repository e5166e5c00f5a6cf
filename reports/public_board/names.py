"""Names of the board's columns."""

LEVELS = (20, 40, 60, 80, 90, 95)
"""Percentages of central intervals."""
BETAS = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 1.1, 1.3, 1.5, 1.7, 1.8, 1.9)
"""Exponents of energy scores."""
ORDERS = (1.01, 1.2, 1.5, 2.0)
"""Orders of continuous ranked Tsallis scores."""
IDENTITY = ("model", "dataset", "fold")
TIMES = ("fit_time", "predict_time", "train_time")

HIGHER_IS_BETTER = ("r2",)
LOWER_IS_BETTER = (
    *("mae", "rmse", "crps", "crls", "log_score", "cde_loss"),
    *("wcrps_left", "wcrps_center", "wcrps_right"),
    *(f"interval_score_{level}" for level in LEVELS),
    *(f"energy_score_beta_{beta}" for beta in BETAS),
    *(f"crts_alpha_{order}" for order in ORDERS),
)
