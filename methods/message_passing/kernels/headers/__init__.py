"""Formulas of single messages, which the kernels in C and in CUDA share."""

from pathlib import Path

FOLDER = Path(__file__).parent
