"""Kernels are compiled by a small fit, which calls them with the types of the large one."""

from dataclasses import replace

import torch

from bnnbench.methods.base import Method, Problem


def fit_first_rows(method: Method, problem: Problem, rows: int = 2) -> None:
    """Fit a method to a problem's first rows, have it predict them, and forget the result.

    The method is a short version of the one whose kernels are meant: a single epoch suffices.
    """
    few = problem.train.rows(slice(rows))
    rng = torch.Generator(few.inputs.device)
    method.fit(replace(problem, train=few), rng).predict(few.inputs, rng)
