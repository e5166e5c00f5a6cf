"""A method of a library that does not exist, with the tests' environment."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, cast

import torch

from bnnbench.methods import environments
from bnnbench.methods.base import Posterior, Problem
from bnnbench.methods.libraries.adapter import OfLibrary, fitted

LIBRARY = "fake-library"
SCRIPT = str(Path(__file__).parent / "fake_script.py")

# Child processes that import this class know the library, too.
cast(dict[str, str], environments.LIBRARIES)[LIBRARY] = "fake_library"


@dataclass(frozen=True)
class Fake(OfLibrary):
    label: ClassVar[str] = "fake-library: mean"
    library: ClassVar[str] = LIBRARY
    script: ClassVar[str] = SCRIPT

    deed: str = ""
    argument: str = ""

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        return fitted(self, problem, rng)
