"""Facts for documentation and reports, stated in the class of their method.

A card changes no result: it is part of a digest of meaning only if the digested code reads it.
"""

import ast
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeGuard, get_args

from bnnbench.methods import METHODS
from bnnbench.methods.source_code.files import file_of

Family = Literal[
    "point estimates",
    "ensembles",
    "trajectories",
    "Laplace",
    "variational",
    "function space",
    "Gaussian processes",
    "message passing",
    "moments",
    "sampling",
    "not a network",
    "pretrained on tables",
    "other",
]
"""The representation of uncertainty."""

FAMILIES: tuple[Family, ...] = get_args(Family)
"""The families in page order."""

PROBLEMS: Mapping[str, str] = {
    "mlp regression": "regression by a perceptron",
    "mlp classification": "classification by a perceptron",
    "linear regression": "linear regression with known noise",
    "cnn regression": "regression of images by convolutions",
    "cnn classification": "classification of images by convolutions",
}
"""Kind of problem → a description."""


@dataclass(frozen=True)
class Card:
    """Facts about a method.

    A class states them as literals, `card: ClassVar[Card] = Card("variational")`, so that
    `card_of` reads them without importing it.
    """

    family: Family = "other"
    problems: tuple[str, ...] = tuple(PROBLEMS)
    """The kinds of problems that the method covers."""
    around: str = ""
    """For a wrapper, a clause on what it does to the wrapped method, whose family it has."""
    gradients: bool = True
    """True if a classifier's predictions have gradients with respect to the inputs."""
    trained: bool = False
    """True if a problem must bring a trained network, and rows that it has not seen."""
    restarts: str = ""
    """Why an interrupted fit starts again; "" if it continues from its checkpoint."""


@functools.cache
def card_of(name: str) -> Card:
    """Return the card of a registered method, without importing it; an empty one for another."""
    module, _, kind = METHODS.get(name, "").partition(":")
    file = file_of(module) if module else None
    statements = ast.parse(file.read_bytes()).body if file else []
    classes = [one for one in statements if isinstance(one, ast.ClassDef) and one.name == kind]
    return next((_read(one) for each in classes for one in each.body if _is_card(one)), Card())


def _is_card(statement: ast.stmt) -> TypeGuard[ast.AnnAssign]:
    return isinstance(statement, ast.AnnAssign) and ast.unparse(statement.target) == "card"


def _read(statement: ast.AnnAssign) -> Card:
    assert isinstance(statement.value, ast.Call)
    named = {str(given.arg): ast.literal_eval(given.value) for given in statement.value.keywords}
    return Card(*map(ast.literal_eval, statement.value.args), **named)
