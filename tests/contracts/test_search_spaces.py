"""Search spaces name existing settings, and contain the settings that suites ship."""

import dataclasses
from typing import Any

import pytest

from bnnbench.engine.declare.description import describe
from bnnbench.methods import METHODS, method_type
from bnnbench.methods.tuning.method import Tuned
from bnnbench.methods.tuning.space import (
    Choice,
    Single,
    configured,
    setting,
    space_of,
)
from bnnbench.suites.uci import SUITES
from tests.contracts.test_every_method import MISSING, VARIANTS

UCI: dict[str, Any] = {}
for suite in SUITES.values():
    UCI |= {f"{suite.profile}: {label}": method for label, method in suite.methods.items()}
ALL = {
    **{name: method_type(path)() for name, path in METHODS.items() if name not in MISSING},
    **VARIANTS,
    **UCI,
}
EDGE = 0.05


def test_every_setting_of_a_space_can_be_set_to_both_ends_of_its_law(subtests):
    for name in ALL:
        with subtests.test(name):
            method = ALL[name]
            space = space_of(method)
            for path, law in space.fields.items():
                inner = law.of if isinstance(law, Single) else law
                ends = inner.values if isinstance(inner, Choice) else (law.at(0.0), law.at(1.0))
                for value in ends:
                    changed = configured(method, {path: value})
                    assert setting(changed, path) == value
                    assert type(changed) is type(method)
                    assert describe(changed) == describe(method) or value != setting(method, path)
                    present = setting(method, path)
                    assert present is None or isinstance(value, type(present)), path


def test_the_length_is_a_number_or_a_tuple_of_them_and_is_in_the_description(subtests):
    for name in ALL:
        with subtests.test(name):
            method = ALL[name]
            space = space_of(method)
            if space.length is None:
                assert not space.lengths
                continue
            changed = configured(method, {space.length: 7})
            assert setting(changed, space.length) in (7, (7,))
            assert describe(changed) != describe(method)
            if not space.lengths:  # the rungs of lengths need the batch size
                batch_size = ".".join([*space.length.split(".")[:-1], "batch_size"])
                assert setting(method, batch_size) >= 1


@pytest.mark.parametrize("name", [name for name in UCI if name.startswith(("quick", "paper:"))])
def test_what_uci_ships_lies_well_inside(name):
    method = UCI[name]
    for path, law in space_of(method).fields.items():
        value = setting(method, path)
        if value is not None and not isinstance(law, Choice):
            assert EDGE < law.place(value) < 1 - EDGE, f"{path} = {value}"


def test_a_space_is_no_part_of_a_description():
    for method in ALL.values():
        assert "space" not in {field.name for field in dataclasses.fields(method)}


def test_a_method_without_a_space_is_refused_with_an_example():
    @dataclasses.dataclass(frozen=True)
    class Mine:
        def fit(self, problem, rng): ...

    with pytest.raises(TypeError, match=r'Mine declares no search space(.|\n)*Space\(\{"learning'):
        Tuned(Mine())  # pyright: ignore[reportArgumentType]
