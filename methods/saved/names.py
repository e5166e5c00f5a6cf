"""Short names of all classes and functions that a saved posterior may consist of."""

from collections.abc import Mapping

HERE = "bnnbench.methods"

PARTS: Mapping[str, str] = {
    "categorical_likelihood": "bnnbench.datasets.base:Categorical",
    "gaussian_likelihood": "bnnbench.datasets.base:Gaussian",
    "split": "bnnbench.datasets.base:Split",
    "problem": f"{HERE}.base:Problem",
    "marginal_posterior": f"{HERE}.marginal:MarginalPosterior",
    "network_posterior": f"{HERE}.fitting.network_posterior:NetworkPosterior",
    "diagonal_gaussian_posterior": f"{HERE}.fitting.network_posterior:DiagonalGaussianPosterior",
    "ensemble_posterior": f"{HERE}.ensemble:EnsemblePosterior",
    "mc_dropout_posterior": f"{HERE}.mc_dropout:McDropoutPosterior",
    "sampled_posterior": f"{HERE}.function_space.base:SampledPosterior",
    "dvi_posterior": f"{HERE}.dvi.posterior:DviPosterior",
    "vsd_posterior": f"{HERE}.vsd.method:VsdPosterior",
    "rotated_noise": f"{HERE}.vsd.noise:RotatedNoise",
    "hmc_posterior": f"{HERE}.hmc.posterior:HmcPosterior",
    "perceptron": f"{HERE}.networks.perceptron:Perceptron",
    "pbp_posterior": f"{HERE}.pbp.method:PbpPosterior",
    "pbp_state": f"{HERE}.pbp.state:State",
    "pbp_layout": f"{HERE}.pbp.state:Layout",
    "ep_posterior": f"{HERE}.ep.method:EpPosterior",
    "ep_weights": f"{HERE}.ep.solver:Weights",
    "message_passing_posterior": f"{HERE}.message_passing.method:MessagePassingPosterior",
    "crossed_posterior": f"{HERE}.message_passing.crossed:CrossedPosterior",
    "message": f"{HERE}.message_passing.gaussian:Gaussian",
    "message_weights": f"{HERE}.message_passing.layers.weighted:Weights",
    "classification_head": f"{HERE}.message_passing.heads:Classification",
    "regression_head": f"{HERE}.message_passing.heads:Regression",
    "moment_posterior": f"{HERE}.moment_propagation.posterior:MomentPosterior",
    "approximate_posterior": f"{HERE}.moment_propagation.approximation:ApproximatePosterior",
    "linear_posterior": f"{HERE}.exact_linear_regression.posterior:LinearPosterior",
    "draws_posterior": f"{HERE}.exact_linear_regression.method:DrawsPosterior",
    "collapsed_posterior": f"{HERE}.ciber.posterior:CollapsedPosterior",
    "ciber_samples": f"{HERE}.ciber.samples:Samples",
    "ciber_fit": f"{HERE}.ciber.fit:Fit",
    "row_laplace_posterior": f"{HERE}.row_by_row.laplace_diagonal:LaplacePosterior",
    "linearised_posterior": f"{HERE}.laplace.linearised:LinearisedPosterior",
    "some_curvature": f"{HERE}.laplace.structures:SomeWeights",
    "kronecker": f"{HERE}.laplace.kfac:Kronecker",
    "neural_linear_posterior": f"{HERE}.neural_linear:NeuralLinearPosterior",
    "features": f"{HERE}.neural_linear:Features",
    "conjugate_regression": f"{HERE}.neural_linear:Regression",
    "sparse_gp_posterior": f"{HERE}.gp.training:GpPosterior",
    "fastfood_posterior": f"{HERE}.gp.fastfood:FastfoodPosterior",
    "fastfood_kernel": f"{HERE}.gp.fastfood:Kernel",
    "fastfood_frequencies": f"{HERE}.gp.fastfood:Frequencies",
    "exact_gp_posterior": f"{HERE}.gp.exact:ExactGpPosterior",
    "conformal_posterior": f"{HERE}.post_hoc.conformal:ConformalPosterior",
    "tempered_posterior": f"{HERE}.tuning.temperature:TemperedPosterior",
    "with_noise": f"{HERE}.tuning.noise:WithNoise",
    "tuned_posterior": f"{HERE}.tuning.posterior:TunedPosterior",
    "search": f"{HERE}.tuning.search:Search",
    "held_out": f"{HERE}.tuning.rows:HeldOut",
    "sklearn_gp_posterior": f"{HERE}.libraries.sklearn_gp:GpPosterior",
    "sklearn_forest_posterior": f"{HERE}.libraries.sklearn_forest:ForestPosterior",
    "sklearn_boosted_quantiles": f"{HERE}.libraries.sklearn_boosting:BoostedQuantiles",
    "sklearn_ridge_posterior": f"{HERE}.libraries.sklearn_ridge:RidgePosterior",
    "sklearn_classifier_posterior": f"{HERE}.libraries.sklearn_rows:ClassifierPosterior",
}
"""Name → "module:Class" of a dataclass, which is stored as its fields."""

BUILT: Mapping[str, str] = {
    "network": f"{HERE}.networks.torch_network:TorchNetwork",
    "heteroscedastic_network": f"{HERE}.networks.heteroscedastic:HeteroscedasticNetwork",
    "structured_network": f"{HERE}.vsd.network:StructuredNetwork",
    "scaled_network": f"{HERE}.hmc.scaled_networks:AnyScaledNetwork",
    "scaled_perceptron": f"{HERE}.hmc.scaled_perceptron:ScaledPerceptron",
    "compiled_perceptron": f"{HERE}.hmc.compiled:CompiledPerceptron",
    "layer_recorder": f"{HERE}.laplace.layer_recorder:LayerRecorder",
    "sparse_gp": f"{HERE}.gp.models:SparseGp",
    "orthogonal_mean": f"{HERE}.gp.models:OrthogonalMean",
    "network_module": f"{HERE}.gp.models:NetworkModule",
    "gp_regression": f"{HERE}.gp.models:GpRegression",
}
"""Name → "module:Class" of a class that is stored as the `arguments` of its constructor."""

FUNCTIONS: Mapping[str, str] = {
    "relu": "torch:relu",
    "tanh": "torch:tanh",
    "normal_cdf": "torch.special:ndtr",
}
"""Name → "module:function" of a function without settings."""
