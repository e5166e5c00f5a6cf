"""Predictions of third-party classes whose code runs in another process.

An `Asked` prediction has the attributes of its class, so that metrics cannot tell them apart. The
numbers that it is asked about are mixed with decoys: for every point its own number at a random
place among those of other points. A prediction is a function, so that a fresh process must give the
same answers in any order; a class that adapts its answers to earlier questions is refused.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from typing import Any

import torch
from torch import Tensor

from bnnbench.engine.run.packing import kind_of
from bnnbench.engine.workers.answers.questions import (
    CALLS,
    OF_TARGETS,
    PROPERTIES,
    array_of,
    question,
)
from bnnbench.engine.workers.channel import Channel, Malformed, Plain
from bnnbench.methods.base import InferenceDiverged
from bnnbench.methods.predictions import PREDICTIVES
from bnnbench.methods.predictions.base import CannotAnswer

DECOYS = 3
"""Number of decoys of each point and question."""

DENSITIES = ("log_prob", "draw_log_probs")
"""Answers that decide scores, of which there are few."""

ASKED_AGAIN, BYTES_AGAIN = 40, 2**27
"""Maximum number of answers that a second process must repeat, and of their bytes but for one."""


class ClassFailed(RuntimeError):
    """A third-party class of predictions raised an error; the message has its traceback."""


class AnswersDiffer(ValueError):
    """A third-party class of predictions gave two answers to one question."""


@dataclass(frozen=True)
class _Answered:
    """A question, its answer, and a random place among others."""

    place: int
    asked: tuple[Any, ...]
    reply: Plain

    @property
    def bytes(self) -> int:
        """The size of question and answer."""
        arrays = (one.nbytes for one in self.asked if isinstance(one, Tensor))
        return sum(arrays) + sum(map(len, self.reply.files))


@dataclass
class Answering:
    """A process with the objects of one third-party class, and a second to repeat its answers."""

    born: Callable[[], Channel]
    path: str
    arrays: Mapping[str, Tensor]
    _channel: Channel | None = None
    _objects: list[tuple[Any, ...]] = field(default_factory=list)
    """How each object came about: the arguments of the question whose answer it was."""
    _sample: list[_Answered] = field(default_factory=list)
    _scored: list[tuple[tuple[Any, ...], Plain]] = field(default_factory=list)

    def open(self) -> "Asked":
        """Return the prediction with the arrays."""
        self._channel = self._started()
        names = list(self.arrays)
        unpacking = ("unpack", 0, self.path, *names, *(self.arrays[name] for name in names))
        return self._made(unpacking, self._sent(self._channel, unpacking))

    def ask(self, name: str, subject: int, *arguments: Any, scored: bool = False) -> Any:
        """Return an answer; one that is `scored` is certain to be asked for again.

        Raises `CannotAnswer`, `InferenceDiverged`, `ClassFailed` and `Malformed`.
        """
        self._channel = self._channel or self._started()
        asked = name, subject, *arguments
        reply = self._sent(self._channel, asked)
        if isinstance(reply.content, Mapping) and "object" in reply.content:
            return self._made(asked, reply)
        if scored:
            self._scored.append((asked, reply))
        else:
            self._remember(_Answered(secrets.randbits(64), asked, reply))
        return _decoded(reply)

    def _remember(self, answered: _Answered) -> None:
        """Keep a random sample of all answers so far: those with the lowest places."""
        self._sample.append(answered)
        self._sample.sort(key=lambda one: one.place)
        while len(self._sample) > 1 and (
            len(self._sample) > ASKED_AGAIN or sum(one.bytes for one in self._sample) > BYTES_AGAIN
        ):
            self._sample.pop()

    def settle(self) -> None:
        """Do as `repeat` does, and end the process; another question starts a new one."""
        self.repeat()
        self._scored.clear()
        self._sample.clear()
        self.close()

    def close(self) -> None:
        """End the process."""
        if self._channel:
            self._channel.close()
        self._channel = None

    def repeat(self) -> None:
        """Raise `AnswersDiffer` unless a fresh process repeats the scored answers and a sample.

        The scored ones come first, so that nothing can be learned before them.
        """
        if not (self._scored or self._sample):
            return
        again = self._started()
        try:
            sample = [(one.asked, one.reply) for one in self._sample]  # their places are random
            for asked, reply in (*self._scored, *sample):
                if not _alike(self._sent(again, asked), reply):
                    raise AnswersDiffer(
                        f"{self.path}.{asked[0]} gave two answers to one question: a prediction "
                        "must not depend on what it was asked before"
                    )
        finally:
            again.close()

    def _started(self) -> Channel:
        """Return a channel to a new process with all objects so far."""
        channel = self.born()
        for origin in self._objects:
            self._sent(channel, origin)
        return channel

    def _made(self, asked: tuple[Any, ...], reply: Plain) -> "Asked":
        content = reply.content
        if "object" not in content:
            _decoded(reply)
            raise TypeError(f"{self.path} gave no prediction to the question {asked[0]!r}")
        if content["object"] != len(self._objects):
            raise Malformed("an object of another number")
        self._objects.append(asked)
        return _type_of(self.path, content)(self, content["object"], content["length"])

    def _sent(self, channel: Channel, asked: tuple[Any, ...]) -> Plain:
        try:
            channel.tell(question(*asked))
            while True:
                wait([channel.socket])
                if (reply := channel.told()) is not None:
                    break
        except (EOFError, OSError) as error:
            raise ClassFailed(f"the process of {self.path} ended when asked {asked[0]}") from error
        if isinstance(reply.content, Mapping) and "unconfined" in reply.content:
            raise ClassFailed(f"{self.path} was not asked: {reply.content['unconfined']}")
        return reply


class Asked:
    """A prediction whose class is in another process; the subclass has the class's attributes."""

    def __init__(self, process: Answering, number: int, length: int) -> None:
        self._process, self._number, self._length = process, number, length
        self._answers: dict[str, Any] = {}
        self._targets: Tensor | None = None

    def __len__(self) -> int:
        return self._length

    def pack(self) -> Mapping[str, Tensor]:
        """Return the arrays from which the prediction was made, or can be made."""
        return self._process.ask("pack", self._number) if self._number else self._process.arrays

    def unpack(self, arrays: Mapping[str, Tensor]) -> "Asked":
        """Raise TypeError: only the process with the class can make its objects."""
        raise TypeError("the class is in another process")

    def answer(self, name: str) -> Any:
        """Return the value of a property, asked for once."""
        if name not in self._answers:
            self._answers[name] = self._process.ask(name, self._number)
        return self._answers[name]

    def call(self, name: str, *arguments: Any) -> Any:
        """Return what a method of the class returns; targets are hidden among decoys."""
        if name not in OF_TARGETS:
            answered = self._process.ask(name, self._number, *arguments)
            return tuple(answered.values()) if isinstance(answered, dict) else answered
        (numbers,) = arguments
        return self.many(name, numbers[None], scored=name in DENSITIES)[0]

    def many(self, name: str, numbers: Tensor, scored: bool = False) -> Tensor:
        """Return the answers to several arrays of numbers, stacked in the first dimension."""
        hidden, places = self._hidden(numbers)
        asked = hidden.flatten(0, 1)
        answers = self._process.ask("each", self._number, name, asked, scored=scored)
        axis = 1 + OF_TARGETS[name]
        if not isinstance(answers, Tensor) or answers.shape[:1] + answers.shape[
            axis : axis + 1
        ] != (
            len(asked),
            numbers.shape[1],
        ):
            raise ValueError(f"{self._process.path}.{name}: needed an answer for every point")
        answers = answers.view(len(numbers), DECOYS + 1, *answers.shape[1:]).movedim(axis + 1, 1)
        index = places.view(*places.shape, *[1] * (answers.ndim - 2)).expand(
            -1, -1, 1, *answers.shape[3:]
        )
        return answers.gather(2, index).squeeze(2).movedim(1, axis)

    def settle(self) -> None:
        """Raise `AnswersDiffer` unless the answers so far can be repeated, and end the process."""
        self._process.settle()

    def hide_among(self, targets: Tensor) -> None:
        """Mix numbers like these targets with all that the class is asked about."""
        self._targets = targets

    def _hidden(self, numbers: Tensor) -> tuple[Tensor, Tensor]:
        """Return arrays that contain every point's number once, and its places among them.

        From `arrays points ...` they are `arrays decoys points ...`, and `arrays points`. A decoy
        is a number of another point, a target, or a number beside a target.
        """
        rng = torch.Generator().manual_seed(secrets.randbits(63))
        arrays, points = numbers.shape[:2]
        form = arrays, DECOYS + 1, points
        others = torch.randint(points, form, generator=rng)
        hidden = numbers[torch.arange(arrays)[:, None, None], others]
        if self._targets is not None and len(self._targets) == points:
            targets = self._targets[torch.randint(points, form, generator=rng)].to(hidden)
            if hidden.is_floating_point() and points > 1:
                beside = torch.randint(2, form, generator=rng).view(*form, *[1] * (hidden.ndim - 3))
                noise = torch.randn(hidden.shape, generator=rng).to(hidden)
                targets = targets + beside * noise * self._targets.std()
            chosen = torch.randint(2, form, generator=rng).bool()
            hidden[chosen] = targets[chosen]
        places = torch.randint(DECOYS + 1, (arrays, points), generator=rng)
        hidden[torch.arange(arrays)[:, None], places, torch.arange(points)] = numbers
        return hidden, places


def _type_of(path: str, content: Mapping[str, Any]) -> type[Asked]:
    """Return a class with the name and the attributes of the third-party class."""
    module, _, name = path.partition(":")
    attributes: dict[str, Any] = {"__module__": module, "__qualname__": name}
    for one in content["names"]:
        if one in PROPERTIES:
            attributes[one] = property(lambda self, one=one: self.answer(one))
        elif one in CALLS:
            attributes[one] = lambda self, *given, one=one: self.call(one, *given)
    if content["of_classes"] is not None:
        attributes["of_classes"] = bool(content["of_classes"])
    attributes["may_be_infinite"] = tuple(map(str, content["may_be_infinite"]))
    return type(name.rpartition(".")[2], (Asked,), attributes)


def _decoded(reply: Plain) -> Any:
    content = reply.content
    if not isinstance(content, Mapping):
        raise Malformed("an answer of another form")
    if "cannot" in content:
        raise CannotAnswer(str(content["cannot"]))
    if "diverged" in content:
        raise InferenceDiverged(str(content["diverged"]))
    if "error" in content:
        raise ClassFailed(f"{content['error']}\n{content.get('trace')}")
    if "array" in content:
        return array_of(reply.files[0])
    if "arrays" in content:
        arrays = [array_of(file) for file in reply.files]
        return dict(zip(map(str, content["arrays"]), arrays, strict=True))
    return content["value"]


def _alike(one: Plain, other: Plain) -> bool:
    if one.content != other.content or len(one.files) != len(other.files):
        return False
    for first, second in zip(one.files, other.files, strict=True):
        a, b = array_of(first), array_of(second)
        if a.shape != b.shape or not torch.allclose(a, b, 1e-6, 1e-9, equal_nan=True):
            return False
    return True


@contextmanager
def asked_apart(born: Callable[[], Channel]) -> Iterator[Callable[[str], Any]]:
    """Yield a function from the name of a class to the class, or to what stands for it.

    At the end of the block, answers are repeated, and the processes end.
    """
    opened: list[Answering] = []

    class Opening:
        def __init__(self, path: str) -> None:
            self.path = path

        def unpack(self, arrays: Mapping[str, Tensor]) -> Asked:
            opened.append(Answering(born, self.path, arrays))
            return opened[-1].open()

    try:
        yield lambda name: kind_of(name) if name in PREDICTIVES else Opening(name)
        for process in opened:
            process.repeat()
    finally:
        for process in opened:
            process.close()
