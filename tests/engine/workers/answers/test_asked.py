"""Questions to a class in another process: answers are sampled, repeated and let go."""

import os

import pytest
import torch

from bnnbench.engine.run.sandbox.sandbox import Sandbox, SandboxUnavailable
from bnnbench.engine.workers.answers import answering, asked
from bnnbench.engine.workers.answers.asked import Answering, AnswersDiffer, ClassFailed
from bnnbench.engine.workers.channel import Channel, Plain
from tests.faults.own_classes import Normal, Remembering

ARRAYS = {"centre": torch.zeros(9, 1), "spread": torch.ones(9, 1)}


class Here(Channel):
    """The channel to a process that answers, in this process; always ready to be read."""

    opened = 0

    def __init__(self):
        self.objects, self.reply = [], None
        self.socket, self._other = os.pipe()
        os.write(self._other, b"1")
        Here.opened += 1

    def tell(self, message: Plain):
        self.reply = answering._answer(self.objects, message)

    def told(self):
        return self.reply

    def close(self):
        os.close(self.socket)
        os.close(self._other)
        Here.opened -= 1


@pytest.fixture
def process(request):
    Here.opened = 0
    Remembering.asked.clear()
    made = Answering(Here, f"tests.faults.own_classes:{request.param.__name__}", ARRAYS)
    yield made
    made.close()
    assert Here.opened == 0


@pytest.mark.parametrize("process", [Normal], indirect=True)
def test_a_process_ends_once_its_prediction_is_settled_and_another_answers_later(process):
    prediction = process.open()
    first = prediction.log_prob(torch.zeros(9, 1))
    moved = prediction.rescaled(1.0, 2.0)
    prediction.settle()
    assert Here.opened == 0
    assert torch.equal(prediction.log_prob(torch.zeros(9, 1)), first)
    assert Here.opened == 1
    normal = torch.distributions.Normal(1.0, 2.0).log_prob(torch.zeros(9).double())
    assert torch.allclose(moved.log_prob(torch.zeros(9, 1)), normal)


def unconfined(self):
    raise SandboxUnavailable("no Landlock here")


def test_why_a_process_could_not_be_confined_is_the_reason_why_it_was_not_asked(monkeypatch):
    monkeypatch.setattr(Sandbox, "confine", unconfined)
    nursery = answering.Nursery()
    try:
        process = Answering(lambda: nursery.born(Sandbox()), "never_imported:Class", ARRAYS)
        with pytest.raises(ClassFailed, match="never_imported:Class was not asked: no Landlock"):
            process.open()
        process.close()
    finally:
        nursery._control.close()


@pytest.mark.parametrize("process", [Remembering], indirect=True)
def test_a_class_that_adapts_is_refused_when_its_prediction_is_settled(process):
    prediction = process.open()
    for _ in range(30):
        prediction.log_prob(torch.zeros(9, 1))
    with pytest.raises(AnswersDiffer):
        prediction.settle()


@pytest.mark.parametrize("process", [Normal], indirect=True)
def test_the_sample_of_answers_is_random_and_bounded(process, monkeypatch):
    answers = [
        asked._Answered(7 * n % 101, ("cdf", 0, torch.zeros(n)), Plain({}, (b"1" * n,)))
        for n in range(100)
    ]
    for one in answers:
        process._remember(one)
    by_place = sorted(answers, key=lambda one: one.place)
    assert process._sample == by_place[: asked.ASKED_AGAIN]
    limit = sum(one.bytes for one in by_place[:5])
    assert by_place[3].bytes == 4 * len(by_place[3].asked[2]) + len(by_place[3].reply.files[0])
    process._sample.clear()
    monkeypatch.setattr(asked, "BYTES_AGAIN", limit)
    for one in answers:
        process._remember(one)
    assert process._sample == by_place[:5]
    monkeypatch.setattr(asked, "BYTES_AGAIN", 0)
    process._remember(answers[9])
    assert len(process._sample) == 1
