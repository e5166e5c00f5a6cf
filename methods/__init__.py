"""Inference methods under one interface. To add one: a file here, and a line below."""

import difflib
import functools
import importlib.metadata
from collections.abc import Mapping

from bnnbench.methods import own_files

METHODS: Mapping[str, str] = {
    "marginal": "bnnbench.methods.marginal:Marginal",
    "given": "bnnbench.methods.given:Given",
    "adamw": "bnnbench.methods.adamw:AdamW",
    "sgd": "bnnbench.methods.sgd:Sgd",
    "map_estimate": "bnnbench.methods.map_estimate:MapEstimate",
    "label_smoothing": "bnnbench.methods.label_smoothing:LabelSmoothing",
    "belief_matching": "bnnbench.methods.belief_matching:BeliefMatching",
    "mc_dropout": "bnnbench.methods.mc_dropout:McDropout",
    "ensemble": "bnnbench.methods.ensemble:Ensemble",
    "batch_ensemble": "bnnbench.methods.batch_ensemble.method:BatchEnsemble",
    "tabm": "bnnbench.methods.batch_ensemble.tabm:TabM",
    "epinet": "bnnbench.methods.epinet.method:Epinet",
    "mfvi": "bnnbench.methods.mfvi:Mfvi",
    "dvi": "bnnbench.methods.dvi.method:Dvi",
    "vsd": "bnnbench.methods.vsd.method:Vsd",
    "ivon": "bnnbench.methods.ivon:Ivon",
    "vbll": "bnnbench.methods.vbll.method:Vbll",
    "hmc": "bnnbench.methods.hmc.method:Hmc",
    "hmc_by_layer": "bnnbench.methods.hmc.by_layer:HmcByLayer",
    "hmc_heteroscedastic": "bnnbench.methods.mile.companion:HeteroscedasticHmc",
    "mile": "bnnbench.methods.mile.method:Mile",
    "hmc_hamiltorch": "bnnbench.methods.hmc.hamiltorch:HmcHamiltorch",
    "pbp": "bnnbench.methods.pbp.method:Pbp",
    "ep": "bnnbench.methods.ep.method:Ep",
    "message_passing": "bnnbench.methods.message_passing.method:MessagePassing",
    "message_passing_crossed": "bnnbench.methods.message_passing.crossed:CrossFitted",
    "moment_propagation": "bnnbench.methods.moment_propagation.method:MomentPropagation",
    "moment_prediction": "bnnbench.methods.moment_propagation.predictive:MomentPrediction",
    "moment_approximation": ("bnnbench.methods.moment_propagation.approximation:Approximation"),
    "sigmoids_as_bernoulli": (
        "bnnbench.methods.moment_propagation.sigmoids_as_bernoulli:SigmoidsAsBernoulli"
    ),
    "untrained_network": "bnnbench.methods.moment_propagation.untrained:Untrained",
    "linear_from_draws": "bnnbench.methods.exact_linear_regression.method:LinearFromDraws",
    "exact_linear": "bnnbench.methods.exact_linear_regression.method:ExactLinear",
    "backprop": "bnnbench.methods.row_by_row.backprop:Backprop",
    "evidential": "bnnbench.methods.evidential:Evidential",
    "graves_vi": "bnnbench.methods.row_by_row.graves_vi:GravesVi",
    "function_space": "bnnbench.methods.function_space.method:FunctionSpace",
    "weight_space": "bnnbench.methods.function_space.method:WeightSpace",
    "sgd_last_iterate": "bnnbench.methods.trajectory.last_iterate:LastIterate",
    "swa": "bnnbench.methods.trajectory.swa:Swa",
    "swag": "bnnbench.methods.trajectory.swag:Swag",
    "sgld": "bnnbench.methods.trajectory.sgld:Sgld",
    "cyclical_sgld": "bnnbench.methods.trajectory.cyclical_sgld:CyclicalSgld",
    "pca_slices": "bnnbench.methods.trajectory.pca_slices:PcaSlices",
    "pca_vi": "bnnbench.methods.trajectory.pca_vi:PcaVi",
    "one_descent": "bnnbench.methods.trajectory.one_descent:OneDescent",
    "ciber_of_hmc": "bnnbench.methods.ciber.from_draws:CiberOfHmc",
    "ciber": "bnnbench.methods.ciber.method:Ciber",
    "ciber_by_grid": "bnnbench.methods.ciber.grid:CiberByGrid",
    "laplace_diagonal": "bnnbench.methods.row_by_row.laplace_diagonal:LaplaceDiagonal",
    "laplace": "bnnbench.methods.laplace.method:Laplace",
    "neural_linear": "bnnbench.methods.neural_linear:NeuralLinear",
    "deep_kernel": "bnnbench.methods.gp.deep_kernel:DeepKernel",
    "orthogonal_gp": "bnnbench.methods.gp.orthogonal:OrthogonalGp",
    "deep_gp": "bnnbench.methods.gp.deep:DeepGp",
    "sngp": "bnnbench.methods.sngp.method:Sngp",
    "fastfood": "bnnbench.methods.gp.fastfood:Fastfood",
    "gaussian_process": "bnnbench.methods.gp.exact:GaussianProcess",
    "gaussian_process_left_out": "bnnbench.methods.gp.leave_one_out:LeaveOneOutGp",
    "gaussian_process_cross_validated": ("bnnbench.methods.gp.cross_validated:CrossValidatedGp"),
    "tempered": "bnnbench.methods.post_hoc.tempered:Tempered",
    "rescaled": "bnnbench.methods.post_hoc.rescaled:Rescaled",
    "conformal": "bnnbench.methods.post_hoc.conformal:Conformal",
    "on_last_layer": "bnnbench.methods.post_hoc.on_last_layer:OnLastLayer",
    "guarded": "bnnbench.methods.post_hoc.guarded:Guarded",
    "checkpoints": "bnnbench.methods.post_hoc.checkpoints:Checkpoints",
    "sklearn_gp": "bnnbench.methods.libraries.sklearn_gp:SklearnGp",
    "sklearn_forest": "bnnbench.methods.libraries.sklearn_forest:SklearnForest",
    "sklearn_boosting": "bnnbench.methods.libraries.sklearn_boosting:SklearnBoosting",
    "sklearn_ridge": "bnnbench.methods.libraries.sklearn_ridge:SklearnRidge",
    "histogram_boosting": "bnnbench.methods.trees.histogram_boosting:HistogramBoosting",
    "forest_density": "bnnbench.methods.trees.forest_density:ForestDensity",
    "quantile_forest": "bnnbench.methods.trees.quantile_forest:QuantileForest",
    "ngboost": "bnnbench.methods.trees.ngboost:NgBoost",
    "catboost": "bnnbench.methods.trees.catboost:CatBoost",
    "bayesian_linear": "bnnbench.methods.linear.bayesian:BayesianLinear",
    "logistic_regression": "bnnbench.methods.linear.logistic:LogisticRegression",
    "tabpfn": "bnnbench.methods.pretrained.tabpfn:TabPfn",
    "tabicl": "bnnbench.methods.pretrained.tabicl:TabIcl",
    "laplace_torch": "bnnbench.methods.libraries.laplace_torch:LaplaceTorch",
    "ivon_opt": "bnnbench.methods.libraries.ivon_opt:IvonOpt",
    "posteriors_sghmc": "bnnbench.methods.libraries.posteriors_sghmc:PosteriorsSghmc",
    "blackjax_nuts": "bnnbench.methods.libraries.nuts:BlackjaxNuts",
    "numpyro_nuts": "bnnbench.methods.libraries.nuts:NumpyroNuts",
    "torch_uncertainty_ensemble": (
        "bnnbench.methods.libraries.torch_uncertainty:TorchUncertaintyEnsemble"
    ),
    "torch_uncertainty_dropout": (
        "bnnbench.methods.libraries.torch_uncertainty:TorchUncertaintyDropout"
    ),
    "tuned": "bnnbench.methods.tuning.method:Tuned",
}

PLUG_INS = "bnnbench.methods"
"""Group of entry points through which an installed package adds methods: name → "module:Class"."""

own_files.search_folders()


@functools.cache
def plug_ins() -> Mapping[str, str]:
    """Return the methods of installed packages, except for names that `METHODS` already has.

    The packages are not imported.
    """
    points = importlib.metadata.entry_points(group=PLUG_INS)
    ours = {name.casefold() for name in METHODS}
    return {p.name: p.value.strip() for p in points if p.name.casefold() not in ours}


def method_type(path: str) -> type:
    """Return the class that a "module:Class" path names.

    Raises ImportError if the module or the class is missing, or if the module calls `sys.exit`, and
    ValueError for another form of path.
    """
    module, _, name = path.partition(":")
    if not (module and name):
        raise ValueError(f"needed a method's path of the form module:Class; got {path!r}")
    members = vars(own_files.imported(module))
    attribute = members.get(name)
    if not isinstance(attribute, type):
        classes = {
            known.casefold(): known
            for known, kind in members.items()
            if isinstance(kind, type) and kind.__module__ == module
        }
        near = difflib.get_close_matches(name.casefold(), classes, 1)
        hint = f"; did you mean {classes[near[0]]}?" if near else ""
        raise ImportError(f"module {module} has no class {name}{hint}")
    return attribute
