"""Names of data sets and methods on ScoringBench."""

import re
from collections.abc import Mapping

DATASETS: Mapping[str, str] = {
    "boston": "boston",
    "concrete": "concrete_compressive_strength",
    "energy": "Energy_Efficiency",
    "kin8nm": "kin8nm",
}
"""Our data set → its name there (OpenML 531, 44959, 44960 and 189)."""


def model_name(label: str) -> str:
    """Return a method's label as the name of a model and of its file."""
    return "bnnbench_" + re.sub(r"[^a-z0-9]+", "_", label.lower().replace("@", " at ")).strip("_")
