"""The driver's environment variables in its workers."""

import os
from collections.abc import Mapping

from bnnbench.methods import own_files


def adopt(environment: Mapping[str, str]) -> None:
    """Adopt the driver's environment, which is newer than the one this process inherited."""
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    os.environ.update(environment)
    own_files.search_folders()
