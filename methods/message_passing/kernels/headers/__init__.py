"""Formulas of single messages, shared by the C and CUDA kernels."""

from pathlib import Path

FOLDER = Path(__file__).parent
