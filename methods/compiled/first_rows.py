"""Compilation of kernels by a small fit with the types of the full one."""

from dataclasses import replace

import torch

from bnnbench.methods.base import Method, Problem


def fit_first_rows(method: Method, problem: Problem, rows: int = 2) -> None:
    """Fit a method to a problem's first rows, predict them, and discard the result.

    The method is a short version of the one to be compiled: a single epoch suffices.
    """
    first_rows = problem.train.rows(slice(rows))
    rng = torch.Generator(first_rows.inputs.device)
    method.fit(replace(problem, train=first_rows), rng).predict(first_rows.inputs, rng)
