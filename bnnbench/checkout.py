"""Run `python -m suites.cifar10` in a checkout as the command `bnnbench cifar10`.

The folders `suites`, `reports` and `datasets` call `run_as_bnnbench` if Python imports one of
them by its bare name, so that no module is ever loaded under two names.
"""

import runpy
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

ALIASES: Mapping[str, str] = {
    "suites": "list",
    "reports": "report",
    "datasets": "data",
    "suites.own": "compare",
    "datasets.corruptions": "corruptions",
}
"""Module run by `python -m` in a checkout → command; any other `suites.NAME` is a suite."""


def run_as_bnnbench(package: str) -> NoReturn:
    """Run the module that `-m` names on this command line as a `bnnbench` command, and exit.

    Raises ImportError if the package was imported in another way.
    """
    name = module_to_run(sys.orig_argv)
    if name is None or name.partition(".")[0] != package or sys.argv[:1] != ["-m"]:
        raise ImportError(f"the package {package} is imported as bnnbench.{package}", name=None)
    sys.argv = ["bnnbench", *(command_of(name) or (name,)), *sys.argv[1:]]
    runpy.run_module("bnnbench", run_name="__main__")
    sys.exit()


def command_of(module: str) -> tuple[str, ...] | None:
    """Return the arguments of `bnnbench` in place of `python -m MODULE`; None for others."""
    if module == "bnnbench":
        return ()
    if module in ALIASES or module.startswith("suites."):
        return (ALIASES.get(module, module.removeprefix("suites.")),)
    return None


def module_to_run(arguments: Sequence[str]) -> str | None:
    """Return the module that Python's command line runs with `-m`; None if absent."""
    for position, argument in enumerate(arguments[1:-1], start=1):
        if argument == "-m":
            return arguments[position + 1]
    return None
