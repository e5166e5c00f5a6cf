"""Scalar functions in C, shared by the CPU and GPU kernels of several methods."""

from pathlib import Path

FOLDER = Path(__file__).parent
