"""Benchmarks compute as workers do, and share the fixtures of real images."""

from bnnbench.engine.workers.base import prepare_process
from tests.datasets.corruptions.conftest import cifar10, frost_textures

__all__ = ["cifar10", "frost_textures"]

prepare_process()
