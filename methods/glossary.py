"""One line for each setting that has no docstring in its class: names that many methods share."""

import ast
import dataclasses
import functools
import inspect
import re
import textwrap
from collections.abc import Mapping

SHARED: Mapping[str, str] = {
    "learning_rate": "Learning rate at the start of training.",
    "weight_decay": "Strength of the decay of weights, in training.",
    "momentum": "Momentum of the gradient steps.",
    "epochs": "Passes over the training rows.",
    "batch_size": "Rows of a minibatch.",
    "schedule": "The learning rate's course over the epochs.",
    "draws": "Draws from the posterior that a prediction averages.",
    "training": "The training of the network, with settings of its own.",
    "prior_std": "Standard deviation of the prior of every weight.",
    "initial_std": "Standard deviation of every weight's posterior before training.",
    "heteroscedastic": "True: the noise variance of a regression depends on the input.",
    "initialisation": "The law of the initial weights, or their rescaling.",
    "noise_shape": "Shape of the Gamma prior of the noise precision.",
    "noise_rate": "Rate of the Gamma prior of the noise precision.",
    "prior_shape": "Shape of the Gamma prior of the precision of the weights.",
    "prior_rate": "Rate of the Gamma prior of the precision of the weights.",
    "prior_precision": "Precision of the prior of every weight.",
    "chains": "Independent chains.",
    "warmup": "Iterations of a chain before the first draw, in which its steps are adapted.",
    "target_acceptance": "Rate of acceptance at which the adaptation of step sizes aims.",
    "leapfrog_steps": "Leapfrog steps of a trajectory.",
    "thinning": "Iterations of a chain per draw that is kept.",
    "trials": "Trials of the search for settings on held-out training rows.",
    "validation_share": "Share of training rows held out to choose settings.",
    "temperature": "Temperature of the posterior: less than 1 is a cold one.",
    "kl_weight": "Weight of the divergence from the prior; 1 aims at the posterior.",
    "model": "The model of the weights, with settings of its own.",
    "formulas": "Formulas by which moments pass the layers.",
    "inducing": "Inducing points.",
    "bounds": "Bounds of a weight: range of its iterates, or the uniform of their moments.",
    "collapse": "The weights that are integrated in closed form.",
    "size": "Number of members.",
}
"""Setting → its meaning in whatever method."""

SPECIAL: Mapping[str, str] = {
    "McDropout.rate": "Probability that a unit is dropped.",
    "Ensemble.member": "The method that is fitted `size` times, with settings of its own.",
    "Dvi.hyperprior": "Prior of the variance of each layer's prior.",
    "Dvi.covariance": "Covariances of units that are propagated: all, or variances alone.",
    "Vsd.sharing": "Whether the outputs of a layer share their noise.",
    "Vsd.reflections": "Householder reflections that rotate the noise.",
    "Ivon.initial_hessian": "Initial estimate of the Hessian's diagonal.",
    "Ivon.beta1": "Decay of the running mean of gradients.",
    "Ivon.beta2": "Decay of the running mean of the Hessian.",
    "Hmc.draws": "Weight vectors that are kept, of all chains together.",
    "HmcHamiltorch.draws": "Weight vectors that are kept, of all chains together.",
    "Hmc.mass": "Masses: all 1, or adapted to each weight's variance.",
    "MessagePassing.iterations": "Rounds of messages of a batch's visit, by epoch.",
    "MessagePassing.schedule": "Order of a batch's examples, and how many send at a time.",
    "MessagePassing.accuracy": "Approximations of sums of messages.",
    "MessagePassing.prior": "Means and variances of the prior of weights.",
    "MessagePassing.head": "The likelihood of classes.",
    "MomentPropagation.training": "What training propagates: means and variances (ap2), means "
    "alone (ap1), or samples.",
    "MomentPropagation.prediction": "What a prediction propagates: means and variances (ap2), or "
    "means alone (ap1).",
    "Approximation.propagation": "What a prediction propagates: means and variances (ap2), or "
    "means alone (ap1).",
    "MomentPrediction.method": "The method whose posterior predicts.",
    "LinearFromDraws.integral": "The integral over draws that makes the prediction.",
    "LinearFromDraws.draws": "Draws from the exact posterior that are known.",
    "FunctionSpace.index": "Points at which functions are compared with the prior.",
    "FunctionSpace.prior": "Concentration of the Dirichlet prior for every class; None: all 1.",
    "CyclicalSgld.cycles": "Cycles of the learning rate.",
    "CyclicalSgld.draws_per_cycle": "Most weight vectors that are kept of a cycle.",
    "CiberOfHmc.sampler": "The sampler, with settings of its own.",
    "Ciber.classes": "The weights that a classifier collapses, and their integral.",
    "Ciber.floor_range": "Range of the density's floor: of training targets, or of those scored.",
    "LaplaceDiagonal.initial_prior_precision": "Precision of the prior before the first update.",
    "LaplaceDiagonal.initial_noise_precision": "Precision of the noise before the first update.",
    "Laplace.structure": "Approximation of the curvature.",
    "Laplace.prediction": "Outputs linearised in the weights in closed form (glm), by draws "
    "(glm_mc), or draws of weights (mc).",
    "NeuralLinear.noise_shape": "Shape of the inverse Gamma prior of the noise variance.",
    "DeepGp.width": "Most hidden processes.",
    "Tuned.method": "The method whose settings are chosen, with settings of its own.",
}
"""Class and setting → its meaning there."""


def meaning(kind: type, setting: str) -> str:
    """Return one line about a setting of a class; "" where nothing says what it means."""
    special = SPECIAL.get(f"{kind.__name__}.{setting}")
    return _docstrings(kind).get(setting) or special or SHARED.get(setting, "")


def source_of(kind: type) -> str:
    """Return the papers that the docstring of a class or its module names, "" where there is none.

    They follow "Source:" or "Sources:", up to the end of the paragraph.
    """
    for text in (kind.__doc__, getattr(inspect.getmodule(kind), "__doc__", None)):
        if match := re.search(r"\bSources?[^.:]*:\s+(.*?)(\n\s*\n|\Z)", text or "", re.DOTALL):
            return " ".join(match[1].split())
    return ""


@functools.cache
def _docstrings(kind: type) -> Mapping[str, str]:
    """Return setting → first sentence of the string below it, of a class and those it inherits."""
    lines: dict[str, str] = {}
    for one in reversed([base for base in kind.__mro__ if dataclasses.is_dataclass(base)]):
        try:
            (tree,) = ast.parse(textwrap.dedent(inspect.getsource(one))).body
        except (OSError, TypeError, SyntaxError, ValueError):
            continue
        if not isinstance(tree, ast.ClassDef):
            continue
        for statement, below in zip(tree.body, tree.body[1:], strict=False):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                text = _string(below)
                lines |= {statement.target.id: text} if text else {}
    return lines


def _string(statement: ast.stmt) -> str:
    """Return a string statement's first sentence, "" for another statement."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    if not (isinstance(value, ast.Constant) and isinstance(value.value, str)):
        return ""
    return re.split(r"(?<=\.)\s", " ".join(value.value.split()), maxsplit=1)[0]
