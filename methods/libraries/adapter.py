"""Passes a problem to a library's process, and its predictions back."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Categorical, Gaussian, Likelihood
from bnnbench.methods import environments
from bnnbench.methods.base import PackageMissing, Problem, Unsupported
from bnnbench.methods.fitting.starts import require_weights_of
from bnnbench.methods.fitting.targets import require_output_per_target
from bnnbench.methods.libraries.process import INSIDE, LibraryFailed, LibraryProcess
from bnnbench.methods.networks.architectures import (
    AvgPool2d,
    Conv2d,
    Flatten,
    GlobalAvgPool2d,
    LeakyReLU,
    Linear,
    MaxPool2d,
    ReLU,
    Sigmoid,
    Swish,
    Tanh,
    to_json,
)
from bnnbench.methods.networks.heteroscedastic import states_variance
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.predictions.base import Predictive
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from bnnbench.methods.predictions.quantiles import QuantilePredictive

POINTS_AT_ONCE = 2000
ELEMENTWISE = (ReLU, LeakyReLU, Tanh, Sigmoid, Swish)
PERCEPTRONS = (Linear, Flatten, *ELEMENTWISE)
SEQUENTIAL = (*PERCEPTRONS, Conv2d, MaxPool2d, AvgPool2d, GlobalAvgPool2d)
FORMS: Mapping[frozenset[str], type[Any]] = {
    frozenset({"log_probs"}): CategoricalPredictive,
    frozenset({"means", "variances"}): GaussianPredictive,
    frozenset({"levels", "values"}): QuantilePredictive,
}
"""Names of a prediction's arrays → its class."""


class OfLibrary:
    """A method run by a script in the environment of a library."""

    label: ClassVar[str]
    """Name in tables, "library: method"."""
    library: ClassVar[str]
    script: ClassVar[str]
    """Module of the script, written as text so that it counts among the method's sources."""

    @property
    def lacks(self) -> str:
        """The installation that the method lacks, "" if nothing is missing."""
        if environments.interpreter_of(self.library):
            return ""
        return f"needs {self.library}: {environments.cure(self.library)}"

    def warm_up(self, problem: Problem) -> None:
        """Do nothing: every fit has a new process, whose start does not count as its cost."""


@dataclass(frozen=True)
class LibraryPosterior:
    """A posterior inside a library's process."""

    process: LibraryProcess
    likelihood: Likelihood
    diagnostics: dict[str, float]

    @property
    def not_saved(self) -> str:
        """Why it can be neither saved nor pickled."""
        return (
            f"a process of {self.process.library} holds this posterior and ends with this one: "
            "predict here, or fit again"
        )

    def __reduce__(self) -> str:
        raise TypeError(self.not_saved)

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return the library's prediction; points are sent in parts, with equal draws.

        For no points, which not every library takes, one is sent and its prediction dropped.
        """
        seed = drawn_seed(rng)
        sent = inputs if len(inputs) else inputs.new_zeros(1, *inputs.shape[1:])
        parts = [self.process.predict(part, seed) for part in sent.split(POINTS_AT_ONCE)]
        arrays = {name: _joined([part[name] for part in parts], name) for name in parts[0]}
        if not len(inputs):
            arrays = {name: _none_of(array, name) for name, array in arrays.items()}
        return predictive(arrays, self.likelihood, len(inputs), self.process.library, inputs)


def fitted(
    method: OfLibrary,
    problem: Problem,
    rng: torch.Generator,
    arrays: Mapping[str, Tensor] = {},
    **settings: Any,
) -> LibraryPosterior:
    """Return the posterior of a method's script, which gets `settings` and the method's settings.

    Settings that are methods themselves are not sent. Raises `PackageMissing` without the library.
    """
    library = method.library
    interpreter = environments.interpreter_of(library)
    if interpreter is None:
        raise PackageMissing(f"needed {library} in an environment: {environments.cure(library)}")
    likelihood = problem.likelihood
    process = LibraryProcess(library, file_of(method.script), interpreter)
    description = {
        "settings": plain_settings(method) | settings,
        "classes": likelihood.classes if isinstance(likelihood, Categorical) else None,
        "noise_std": likelihood.noise_std if isinstance(likelihood, Gaussian) else None,
        "architecture": to_json(problem.architecture),
        "seed": drawn_seed(rng),
    }
    train = {"inputs": problem.train.inputs, "targets": problem.train.targets}
    return LibraryPosterior(process, likelihood, process.fit(description, train | dict(arrays)))


def file_of(script: str) -> Path:
    """Return the file of a script, given as a module in `inside` or as a path."""
    return Path(script) if script.endswith(".py") else INSIDE / f"{script.rpartition('.')[2]}.py"


def plain_settings(method: object) -> dict[str, Any]:
    """Return a method's settings that are numbers, texts, None or tuples of these."""
    values = {f.name: getattr(method, f.name) for f in dataclasses.fields(method)}  # pyright: ignore[reportArgumentType]
    return {name: v for name, v in values.items() if not dataclasses.is_dataclass(v)}


def drawn_seed(rng: torch.Generator) -> int:
    """Return a seed that NumPy, torch and JAX accept."""
    return int(torch.randint(2**31 - 1, (1,), generator=rng, device=rng.device))


def initial_weights(problem: Problem, rng: torch.Generator) -> Float[Tensor, " parameters"]:
    """Return our methods' initial weights, for a network of one output per target."""
    require_output_per_target(problem, continues=not states_variance(problem.architecture))
    network = TorchNetwork(problem.architecture, problem.input_shape)
    if problem.start is not None:
        require_weights_of(problem.start, network)
        return problem.start.weights.to(problem.train.inputs)
    return network.initial_weights([rng], dtype=problem.train.inputs.dtype)[0]


def require_layers(problem: Problem, method: OfLibrary, kinds: tuple[type, ...]) -> None:
    """Raise `Unsupported` for a network with layers that the method's script does not build."""
    for layer in problem.architecture:
        plain = isinstance(layer, kinds)
        if isinstance(layer, Conv2d):
            plain &= isinstance(layer.padding, int) and layer.padding_mode == "zeros"
        if not plain:
            names = ", ".join(kind.__name__ for kind in kinds)
            zeros = " (padded with zeros, equally on all sides)" if Conv2d in kinds else ""
            raise Unsupported(
                f"{type(method).__name__} needed a sequence of the layers {names}{zeros}; "
                f"got {layer}"
            )


def predictive(
    arrays: Mapping[str, Tensor],
    likelihood: Likelihood,
    points: int,
    library: str,
    pattern: Tensor,
) -> Predictive:
    """Return the predictive for a prediction's arrays; raises `LibraryFailed` for another form."""
    kind = FORMS.get(frozenset(arrays))
    of_classes = isinstance(likelihood, Categorical)
    if kind is None or kind.of_classes != of_classes:
        wanted = "log_probs" if of_classes else "means and variances, or levels and values"
        raise LibraryFailed(f"{library}: needed arrays {wanted}; got {', '.join(sorted(arrays))}")
    width = {"log_probs": 3, "means": 3, "variances": 3, "values": 3, "levels": 1}
    for name, array in arrays.items():
        axis = 0 if name == "values" else 1
        shape = tuple(array.shape)
        if array.ndim != width[name] or (name != "levels" and shape[axis] != points):
            raise LibraryFailed(f"{library}: {name} of {points} points have the shape {shape}")
    return kind(**{name: array.to(pattern.device) for name, array in arrays.items()})


def _none_of(array: Tensor, name: str) -> Tensor:
    """Return a prediction's array without its points."""
    return array if name == "levels" else array.narrow(0 if name == "values" else 1, 0, 0)


def _joined(parts: list[Tensor], name: str) -> Tensor:
    if name == "levels":
        return parts[0]
    return torch.cat(parts, dim=0 if name == "values" else 1)
