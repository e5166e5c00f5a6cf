"""Rounds of visits captured as CUDA graphs, which launch hundreds of kernels in one host call.

A visit consists of a first round, middle rounds and a last one, or of a single round. Each kind is
captured once per number of examples, after one visit of that form without capture, in which custom
kernels are compiled and the library selects its algorithms. A first round leaves the messages that
a visit stores in tensors that later rounds read; a middle round, which may be replayed, copies its
results back into them. Weights, inputs and targets are copied into fixed tensors before a visit.
All graphs share one memory pool and are replayed one after another.
"""

# pyright: reportPrivateImportUsage=false
# Torch exports its multi-tensor functions only under private names.
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.heads import Head, Noise
from bnnbench.methods.message_passing.layers.base import Slots, Visit
from bnnbench.methods.message_passing.layers.residual import Residual
from bnnbench.methods.message_passing.layers.weighted import Weights
from bnnbench.methods.message_passing.network import Network
from bnnbench.methods.message_passing.state import arranged, numbers_of

Replay = Callable[[], object]
Capture = Callable[[Callable[[], Any]], tuple[Replay, Any]]
Open = Callable[[list[Weights], Tensor, Noise | None, Visit], None]
PassRound = Callable[[Tensor, Visit, int], Any]
"""Returns the `Round` defined in straight.py."""


@dataclass
class Form:
    """Visits with the same number of examples."""

    cavity: list[Tensor]
    inputs: Tensor
    targets: Tensor
    graphs: dict[str, tuple[Replay, Any]]
    """Kind of round → its replay function and the outcome that the replay fills."""
    left: list[dict[str, Any]]
    """The tensors that the layers hold after a first round."""
    sent: int = 0
    """Forward messages of activations in a round; a replay does not report them to the host."""


class CapturedRounds:
    """The rounds of a network's visits; captures a form of visit the second time it occurs."""

    def __init__(self, network: Network, head: Head, capture: Capture | None = None) -> None:
        self.network, self.head = network, head
        self._capture = capture or _on_a_gpu()
        self._visited: set[tuple[int, bool, bool]] = set()
        self._forms: dict[int, Form] = {}

    def rounds(
        self,
        cavity: list[Weights],
        inputs: Tensor,
        targets: Tensor,
        visit: Visit,
        open_visit: Open,
        pass_round: PassRound,
    ) -> list[Any]:
        """Return the outcome of every round of a visit; the next replay overwrites them."""
        count = visit.iterations
        assert count is not None
        form_of_visit = inputs.shape[1], count > 1, count > 2
        if form_of_visit not in self._visited:
            self._visited.add(form_of_visit)
            open_visit(cavity, targets, None, visit)
            return [pass_round(inputs, visit, number) for number in range(count)]
        form = self._form(cavity, inputs, targets)
        torch._foreach_copy_(form.cavity, numbers_of(cavity))
        form.inputs.copy_(inputs)
        form.targets.copy_(targets)
        outcomes = []
        for number in range(count):
            kind = _kind(number, count)
            if kind not in form.graphs:
                work = self._work(form, cavity, kind, number, visit, open_visit, pass_round)
                form.graphs[kind] = self._capture(work)
            visit.start(number)
            visit.sent = form.sent
            replay, outcome = form.graphs[kind]
            replay()
            outcomes.append(outcome.copied() if kind == "middle" else outcome)
        self.network.start_from(outcomes[-1].marginals)
        return outcomes

    def _form(self, cavity: list[Weights], inputs: Tensor, targets: Tensor) -> Form:
        examples = inputs.shape[1]
        if examples not in self._forms:
            fixed = [t.clone() for t in numbers_of(cavity)]
            self._forms[examples] = Form(fixed, inputs.clone(), targets.clone(), {}, [])
        return self._forms[examples]

    def _work(
        self,
        form: Form,
        cavity: Sequence[Weights],
        kind: str,
        number: int,
        visit: Visit,
        open_visit: Open,
        pass_round: PassRound,
    ) -> Callable[[], Any]:
        """Return the function that runs one kind of round, to be captured."""

        def begin() -> Any:
            open_visit(arranged(cavity, form.cavity), form.targets, None, visit)
            outcome = pass_round(form.inputs, visit, number)
            form.sent = visit.sent
            if kind == "first":
                form.left = [_held(holder) for holder in self._holders()]
            return outcome

        def continue_visit() -> Any:
            for holder, held in zip(self._holders(), form.left, strict=True):
                vars(holder).update({name: _shallow(value) for name, value in held.items()})
            outcome = pass_round(form.inputs, visit, number)
            if kind == "middle":
                after = [t for h in self._holders() for t in _tensors(_held(h))]
                before = [t for held in form.left for t in _tensors(held)]
                torch._foreach_copy_(before, after)
            return outcome

        return begin if kind in ("first", "only") else continue_visit

    def _holders(self) -> list[Any]:
        """Return all objects that store a visit's values: the layers and the head."""
        return [*_every_layer(self.network.layers), self.head]


def _kind(number: int, count: int) -> str:
    if count == 1:
        return "only"
    return "first" if number == 0 else "last" if number + 1 == count else "middle"


def _on_a_gpu() -> Capture:
    """Return a function that captures work as a graph on this process's GPU."""
    pool = torch.cuda.graph_pool_handle()

    def capture(work: Callable[[], Any]) -> tuple[Replay, Any]:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            outcome = work()
        return graph.replay, outcome

    return capture


def _every_layer(layers: Sequence[Any]) -> Iterator[Any]:
    for layer in layers:
        yield layer
        if isinstance(layer, Residual):
            yield from _every_layer((*layer.body, *layer.shortcut))


HELD = ("slots", "marginal", "prior", "sums", "bias_sums", "_labels", "_kernels")
"""Attributes of layers and heads that a visit's later rounds read."""


def _held(holder: Any) -> dict[str, Any]:
    return {name: _shallow(vars(holder)[name]) for name in HELD if name in vars(holder)}


def _shallow(value: Any) -> Any:
    """Return a new container with the same tensors."""
    if isinstance(value, Slots):
        return Slots(dict(value.values))
    return list(value) if isinstance(value, list) else value


def _tensors(held: Any) -> Iterator[Tensor]:
    """Yield the tensors that a round changes, in the same order after every round."""
    if isinstance(held, Tensor):
        yield held
    elif isinstance(held, Gaussian):
        yield from (held.tau, held.rho)
    elif isinstance(held, Weights):
        yield from (t for part in held.parts() for t in _tensors(part))
    elif isinstance(held, Slots):
        for name in sorted(held.values):
            yield held.values[name]
    elif isinstance(held, list):
        yield from (t for part in held for t in _tensors(part))
    elif isinstance(held, dict):
        for name in ("slots", "marginal", "sums", "bias_sums"):
            yield from _tensors(held.get(name))
