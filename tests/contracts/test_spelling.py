"""Names that commands check in sources are those of the classes and suites themselves."""

import dataclasses
import importlib

import pytest

from bnnbench.commands.running.suite_labels import SuiteLabels
from bnnbench.engine.method_settings.spelling import check_methods, settings_of
from bnnbench.methods import METHODS, method_type
from bnnbench.methods.names import LAYERS, SETTINGS
from bnnbench.methods.tuning.method import Tuned
from bnnbench.suites import SUITES


def test_settings_in_sources_are_the_fields_of_classes():
    for path in (*METHODS.values(), *LAYERS.values(), *SETTINGS.values()):
        fields = [field.name for field in dataclasses.fields(method_type(path)) if field.init]
        assert settings_of(path) == tuple(fields), path


@pytest.mark.parametrize(
    "name",
    [name if name == "uci" else pytest.param(name, marks=pytest.mark.long) for name in SUITES],
)
def test_every_label_and_setting_of_a_suite_passes(name):
    """Labels of a suite may be those of registered methods, but stand for other classes."""
    suites = importlib.import_module(f"bnnbench.suites.{name}").SUITES.values()
    requests = {
        f"{label}({field.name}=1)"
        for suite in suites
        for label, method in suite.methods.items()
        for field in dataclasses.fields(method.method if isinstance(method, Tuned) else method)
    }
    check_methods(requests, SuiteLabels(name))
