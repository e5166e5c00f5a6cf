"""Scalar functions in C that the kernels of several methods share, on processors and on GPUs."""

from pathlib import Path

FOLDER = Path(__file__).parent
