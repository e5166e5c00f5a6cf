"""Registered names of layers, priors, schedules and other settings of methods.

Records know a class by its name here. Moving a class changes its path but no key of a run.
"""

from collections.abc import Mapping

LAYERS: Mapping[str, str] = {
    name: f"bnnbench.methods.networks.architectures:{kind}"
    for name, kind in {
        "linear": "Linear",
        "conv2d": "Conv2d",
        "flatten": "Flatten",
        "relu": "ReLU",
        "leaky_relu": "LeakyReLU",
        "tanh": "Tanh",
        "sigmoid": "Sigmoid",
        "normal_cdf": "NormalCdf",
        "swish": "Swish",
        "logistic_bernoulli": "LogisticBernoulli",
        "max_pool2d": "MaxPool2d",
        "avg_pool2d": "AvgPool2d",
        "global_avg_pool2d": "GlobalAvgPool2d",
        "batch_norm": "BatchNorm",
        "analytic_norm": "AnalyticNorm",
        "feature_response_norm": "FeatureResponseNorm",
        "dropout": "Dropout",
        "gaussian_noise": "GaussianNoise",
        "mean_and_log_variance": "MeanAndLogVariance",
        "residual": "Residual",
    }.items()
} | {"torch_module": "bnnbench.methods.networks.torch_module:TorchModule"}

FACTORIES = frozenset({"bnnbench.methods.networks.lecun_mlp:lecun_mlp"})
"""Functions of this project that make the module of a `TorchModule`."""

SETTINGS: Mapping[str, str] = {
    "descent": "bnnbench.methods.trajectory.collector:Descent",
    "constant_rate": "bnnbench.methods.trajectory.schedules:Constant",
    "cosine": "bnnbench.methods.trajectory.schedules:Cosine",
    "plateau": "bnnbench.methods.trajectory.schedules:Plateau",
    "high_then_low": "bnnbench.methods.trajectory.schedules:HighThenLow",
    "class_weights": "bnnbench.methods.ciber.classes:ClassWeights",
    "last_layer": "bnnbench.methods.ciber.collapse:LastLayer",
    "second_layer": "bnnbench.methods.ciber.collapse:SecondLayer",
    "inverse_gamma": "bnnbench.methods.dvi.prior:InverseGamma",
    "box_integral": "bnnbench.methods.exact_linear_regression.integrals:Collapsed",
    "monte_carlo": "bnnbench.methods.exact_linear_regression.integrals:MonteCarlo",
    "moment_matched": "bnnbench.methods.exact_linear_regression.integrals:MomentMatched",
    "training_data": "bnnbench.methods.function_space.index_sets:TrainingData",
    "index_grid": "bnnbench.methods.function_space.index_sets:Grid",
    "rotated_copies": "bnnbench.methods.function_space.index_sets:RotatedCopies",
    "map_model": "bnnbench.methods.function_space.models:Map",
    "dropout_model": "bnnbench.methods.function_space.models:Dropout",
    "mean_field_model": "bnnbench.methods.function_space.models:MeanField",
    "members_model": "bnnbench.methods.function_space.models:Members",
    "radial_model": "bnnbench.methods.function_space.radial:Radial",
    "rank1_model": "bnnbench.methods.function_space.rank1:Rank1",
    "gp_training": "bnnbench.methods.gp.training:GpTraining",
    "fixed_precision": "bnnbench.methods.networks.priors:FixedPrecision",
    "kfac": "bnnbench.methods.laplace.kfac:Kfac",
    "diagonal_curvature": "bnnbench.methods.laplace.structures:Diagonal",
    "full_curvature": "bnnbench.methods.laplace.structures:Full",
    "subnetwork": "bnnbench.methods.laplace.structures:Subnetwork",
    "message_accuracy": "bnnbench.methods.message_passing.network:MessageAccuracy",
    "informed_prior": "bnnbench.methods.message_passing.informed:InformedPrior",
    "spectral_prior": "bnnbench.methods.message_passing.priors:SpectralPrior",
    "sequential": "bnnbench.methods.message_passing.schedule:Sequential",
    "group_sequential": "bnnbench.methods.message_passing.schedule:GroupSequential",
    "coupled": "bnnbench.methods.message_passing.schedule:Coupled",
    "moment_covariances": "bnnbench.methods.moments.covariances.covariance:Covariances",
    "moment_formulas": "bnnbench.methods.moments.rules:Formulas",
}
