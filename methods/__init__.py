"""Inference methods under one interface. To add one: a file here, and a line below."""

import importlib
from collections.abc import Mapping

METHODS: Mapping[str, str] = {
    "marginal": "methods.marginal:Marginal",
    "adamw": "methods.adamw:AdamW",
    "sgd": "methods.sgd:Sgd",
    "mc_dropout": "methods.mc_dropout:McDropout",
    "ensemble": "methods.ensemble:Ensemble",
    "mfvi": "methods.mfvi:Mfvi",
    "dvi": "methods.dvi.method:Dvi",
    "vsd": "methods.vsd.method:Vsd",
    "ivon": "methods.ivon:Ivon",
    "hmc": "methods.hmc.method:Hmc",
    "hmc_hamiltorch": "methods.hmc_hamiltorch:HmcHamiltorch",
    "pbp": "methods.pbp.method:Pbp",
    "message_passing": "methods.message_passing.method:MessagePassing",
    "moment_propagation": "methods.moment_propagation.method:MomentPropagation",
    "moment_prediction": "methods.moment_propagation.predictive:MomentPrediction",
    "backprop": "methods.backprop:Backprop",
    "graves_vi": "methods.graves_vi:GravesVi",
    "function_space": "methods.function_space.method:FunctionSpace",
    "weight_space": "methods.function_space.method:WeightSpace",
    "sgd_last_iterate": "methods.trajectory.last_iterate:LastIterate",
    "swa": "methods.trajectory.swa:Swa",
    "swag": "methods.trajectory.swag:Swag",
    "sgld": "methods.trajectory.sgld:Sgld",
    "cyclical_sgld": "methods.trajectory.cyclical_sgld:CyclicalSgld",
    "pca_slices": "methods.trajectory.pca_slices:PcaSlices",
    "pca_vi": "methods.trajectory.pca_vi:PcaVi",
    "ciber": "methods.ciber.method:Ciber",
    "laplace_diagonal": "methods.laplace_diagonal:LaplaceDiagonal",
    "laplace": "methods.laplace.method:Laplace",
    "neural_linear": "methods.neural_linear:NeuralLinear",
    "deep_kernel": "methods.gp.deep_kernel:DeepKernel",
    "orthogonal_gp": "methods.gp.orthogonal:OrthogonalGp",
    "deep_gp": "methods.gp.deep:DeepGp",
}


def method_type(path: str) -> type:
    """Return the class that a "module:Class" path names.

    Raises ImportError when the module is missing something, ValueError for another spelling.
    """
    module, _, name = path.partition(":")
    if not (module and name):
        raise ValueError(f"a method's path reads module:Class, not {path!r}")
    found = getattr(importlib.import_module(module), name, None)
    if not isinstance(found, type):
        raise ImportError(f"module {module} has no class {name}")
    return found
