"""Settings are checked by the fields and types of a class."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import pytest

from bnnbench.engine.method_settings.expressions import parsed
from bnnbench.engine.method_settings.labels import differences, with_differences
from bnnbench.engine.method_settings.registry import class_of
from bnnbench.engine.method_settings.settings import changed, constructed
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.function_space.index_sets import RotatedCopies, TrainingData
from bnnbench.methods.function_space.method import FunctionSpace
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.laplace.structures import Subnetwork
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.schedule import Coupled, Sequential
from bnnbench.methods.trajectory.collector import Descent
from bnnbench.methods.trajectory.swag import Swag
from bnnbench.wording import UsageError


class Unchecked(Protocol):
    """A protocol that cannot be checked at run time."""

    def nothing(self) -> None: ...


@dataclass(frozen=True)
class Typed:
    """Settings of many types."""

    truth: bool = False
    whole: int = 1
    real: float = 1.0
    text: str = "a"
    choice: Literal["a", 2] = "a"
    maybe: float | None = None
    many: tuple[float, ...] = ()
    pair: tuple[int, str] = (1, "a")
    row: Sequence[int] = (1,)
    inner: AdamW | None = None
    shape: Unchecked | None = None
    anything: Any = None
    unchecked: "NoSuchType" = None  # pyright: ignore
    derived: int = field(default=0, init=False)


def built(text: str) -> Any:
    spelled = parsed(text)
    return constructed(class_of(spelled.name), spelled.settings)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ivon", Ivon()),
        ("ivon(learning_rate=0.3, epochs=200)", Ivon(learning_rate=0.3, epochs=200)),
        ("ensemble(size=3, member=adamw(epochs=5))", Ensemble(3, AdamW(epochs=5))),
        ("Ensemble(member=ivon)", Ensemble(member=Ivon())),
        ("swag(training.epochs=7)", Swag(replace(Swag().training, epochs=7))),
        ("swag(training=descent(epochs=9), training.every=2)", Swag(Descent(epochs=9, every=2))),
        ("message_passing(schedule=coupled(size=8))", MessagePassing(schedule=Coupled(8))),
        ("message_passing(schedule=sequential)", MessagePassing(schedule=Sequential())),
        ("laplace(structure=subnetwork(size=4))", Laplace(structure=Subnetwork(4))),
        (
            "function_space(index=(training_data, rotated_copies(angles=(1.0,))))",
            FunctionSpace(index=(TrainingData(), RotatedCopies(angles=(1.0,)))),
        ),
        ("bnnbench.methods.ivon:Ivon(draws=3)", Ivon(draws=3)),
    ],
)
def test_a_text_makes_the_method_that_python_makes(text, expected):
    made = built(text)
    assert made == expected
    assert type(made) is type(expected)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"truth": 1}, "truth: needed True or False; got 1"),
        ({"whole": 1.0}, "whole: needed a whole number; got 1.0"),
        ({"whole": True}, "whole: needed a whole number; got True"),
        ({"real": "1"}, "real: needed a number; got '1'"),
        ({"real": parsed("adamw")}, "real: needed a number; got adamw"),
        ({"text": parsed("a")}, "needed a text in quotes; got a: write 'a' in quotes"),
        ({"choice": "b"}, "choice: needed 'a' or 2; got 'b'"),
        ({"choice": parsed("a")}, "write 'a' in quotes"),
        ({"maybe": "x"}, "maybe: needed a number or None; got 'x'"),
        ({"many": 1.0}, r"needed a tuple \(a number, ...\); got 1.0: write a tuple, as in \(1,\)"),
        ({"many": (1, "a")}, "many: needed a number; got 'a'"),
        ({"pair": (1, "a", 2)}, "pair: needed 2 values; got 3"),
        ({"inner": parsed("ivon")}, r"inner: needed adamw\(...\) or None; got ivon"),
        ({"inner": parsed("adamw(epoch=1)")}, "inner: adamw has no setting 'epoch', did you mean"),
        ({"inner": parsed("admw")}, "inner: 'admw' is unknown, did you mean 'adamw'"),
        ({"wohle": 1}, "has no setting 'wohle', did you mean 'whole'"),
        ({"derived": 1}, "has no setting 'derived'"),
        ({"whole.part": 1}, "1 has no settings, such as part"),
    ],
)
def test_a_wrong_setting_is_named_with_what_is_needed(settings, reason):
    with pytest.raises(UsageError, match=reason):
        constructed(Typed, settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"many": (1, 2.5)},
        {"maybe": None},
        {"choice": 2},
        {"row": (1, 2)},
        {"inner": parsed("adamw(epochs=3)")},
        {"inner": "adamw(epochs=3)"},
        {"shape": parsed("sequential")},
        {"anything": {"a": 1}},
        {"unchecked": 3},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_a_setting_of_the_right_type_is_taken(settings):
    assert isinstance(constructed(Typed, settings), Typed)


def test_a_whole_number_for_a_real_one_is_the_same_setting():
    made = constructed(Typed, {"real": 2, "many": (1,)})
    assert isinstance(made.real, float)
    assert isinstance(made.many[0], float)


def test_what_the_class_refuses_is_said_in_its_words():
    with pytest.raises(UsageError, match="AdamW needs learning_rate to be positive"):
        changed(AdamW(), {"learning_rate": -1.0})


@dataclass(frozen=True)
class Needing:
    """Has no default."""

    rate: float


def test_a_setting_without_default_is_asked_for_and_may_be_given():
    with pytest.raises(UsageError, match=r"write .*Needing\(rate=...\)"):
        constructed(Needing, {})
    assert constructed(Needing, {"rate": 2}) == Needing(2.0)
    assert differences(Needing(2.0)) == {"rate": 2.0}


@pytest.mark.parametrize(
    "method",
    [
        Ensemble(3, AdamW(epochs=5)),
        Swag(Descent(epochs=7), rank=3),
        FunctionSpace(index=(RotatedCopies(angles=(1.0, 2.0)),), prior=(1.0,)),
        MessagePassing(iterations=(1,), schedule=Sequential(), target_variance=None),
        Laplace(structure=Subnetwork(4), prior_precisions=(1.0, 10.0), prediction="mc"),
    ],
    ids=lambda method: type(method).__name__,
)
def test_a_label_means_the_method_that_it_names(method):
    name = type(method).__module__ + ":" + type(method).__name__
    label = with_differences(name, differences(method))
    assert "," not in label
    assert built(label) == method
