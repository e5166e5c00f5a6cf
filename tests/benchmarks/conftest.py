"""Benchmarks compute as workers do."""

from suites.engine.executors import prepare_process

prepare_process()
