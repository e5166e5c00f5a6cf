"""One line for each setting that many methods share; its docstring in a class comes first."""

import ast
import dataclasses
import functools
import inspect
import re
import textwrap
from collections.abc import Mapping

SHARED: Mapping[str, str] = {
    "learning_rate": "Learning rate at the start of training.",
    "weight_decay": "Weight decay in training.",
    "momentum": "Momentum of the gradient steps.",
    "epochs": "Passes over the training rows.",
    "batch_size": "Rows of a minibatch.",
    "schedule": "Schedule of the learning rate over the epochs.",
    "draws": "Posterior draws that a prediction averages.",
    "training": "The network's training method and its settings.",
    "prior_std": "Standard deviation of the prior of every weight.",
    "initial_std": "Standard deviation of every weight's posterior before training.",
    "heteroscedastic": "If true, a regression's noise variance depends on the input.",
    "initialisation": "Distribution of the initial weights, or their rescaling.",
    "noise_shape": "Shape of the Gamma prior of the noise precision.",
    "noise_rate": "Rate of the Gamma prior of the noise precision.",
    "prior_shape": "Shape of the Gamma prior of the precision of the weights.",
    "prior_rate": "Rate of the Gamma prior of the precision of the weights.",
    "prior_precision": "Precision of the prior of every weight.",
    "chains": "Independent chains.",
    "warmup": "Iterations of a chain before its first draw, in which its steps are adapted.",
    "target_acceptance": "Acceptance rate that the adaptation of step sizes aims at.",
    "leapfrog_steps": "Leapfrog steps per trajectory.",
    "thinning": "Iterations of a chain per recorded draw.",
    "trials": "Trials in the search for settings on held-out training rows.",
    "validation_share": "Share of training rows held out to choose settings.",
    "temperature": "Temperature of the posterior; below 1 it is a cold posterior.",
    "kl_weight": "Weight of the divergence from the prior; 1 aims at the posterior.",
    "model": "The model of the weights and its settings.",
    "formulas": "Formulas that propagate moments through the layers.",
    "inducing": "Inducing points.",
    "bounds": "Bounds of a weight: range of its iterates, or of the uniform with their moments.",
    "collapse": "Weights that are integrated in closed form.",
    "size": "Number of members.",
}
"""Setting → its meaning in every method."""


def meaning(kind: type, setting: str) -> str:
    """Return one line about a setting of a class; "" if there is none."""
    return _docstrings(kind).get(setting) or SHARED.get(setting, "")


def source_of(kind: type) -> str:
    """Return the papers named in the docstring of a class or its module, "" if there are none.

    They follow "Source:" or "Sources:", up to the end of the paragraph.
    """
    for text in (kind.__doc__, getattr(inspect.getmodule(kind), "__doc__", None)):
        if match := re.search(r"\bSources?[^.:]*:\s+(.*?)(\n\s*\n|\Z)", text or "", re.DOTALL):
            return " ".join(match[1].split())
    return ""


@functools.cache
def _docstrings(kind: type) -> Mapping[str, str]:
    """Return setting → first sentence of the string below it, for a class and its base classes."""
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
