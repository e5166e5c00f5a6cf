"""Checks of `fit_many`: problems fitted together must equal single fits."""

import dataclasses

import torch

from bnnbench.datasets.base import Split
from bnnbench.methods.base import InferenceDiverged
from bnnbench.suites.check.fits import Fits, require, require_identical, said
from bnnbench.suites.check.problems import stream, streams

ALONE = "a problem fitted together with others must equal a single fit, to the last bit"


def equals_fits_alone(fits: Fits) -> None:
    """Fitting together equals fitting separately, bit for bit."""
    problems = [fits.make(seed) for seed in range(3)]
    together = fits.method.fit_many(problems, streams(10, 11, 12))
    require(len(together) == 3, f"fit_many returned {len(together)} results for 3 problems")
    for number, (problem, posterior) in enumerate(zip(problems, together, strict=True)):
        require_identical(posterior, fits.alone(number), problem.train.inputs, ALONE)


def equals_fits_alone_in_float64(fits: Fits) -> None:
    """Fitting together equals fitting separately in float64, too."""
    problems = [fits.make(seed, dtype=torch.float64) for seed in range(2)]
    together = fits.method.fit_many(problems, streams(10, 11))
    for number, (problem, posterior) in enumerate(zip(problems, together, strict=True)):
        single = fits.method.fit(problem, stream(10 + number))
        require_identical(posterior, single, problem.train.inputs, ALONE)


def is_not_coupled_by_the_last_batch(fits: Fits) -> None:
    """The size of the last batch does not couple problems."""
    for rows in (16, 17, 31):
        problems = [fits.make(seed, rows) for seed in range(2)]
        together = fits.method.fit_many(problems, streams(10, 11))
        single = fits.method.fit(problems[1], stream(11))
        message = f"{ALONE}; with {rows} rows it does not"
        require_identical(together[1], single, problems[1].train.inputs, message)


def does_not_depend_on_company(fits: Fits) -> None:
    """A problem's fit does not depend on the other problems or on their order."""
    a, c = fits.make(0), fits.make(2)
    together = fits.method.fit_many([c, a], streams(12, 10))
    require_identical(together[0], fits.alone(2), c.train.inputs, ALONE)
    require_identical(together[1], fits.alone(0), a.train.inputs, ALONE)


def shares_data_between_seeds(fits: Fits) -> None:
    """Seeds of one fold may share its data."""
    shared = fits.make(0)
    together = fits.method.fit_many([shared, shared], streams(9, 10))
    require_identical(together[1], fits.alone(0), shared.train.inputs, ALONE)


def fails_alone(fits: Fits) -> None:
    """A failing problem does not affect the others."""
    problems = [fits.make(seed) for seed in range(3)]
    sick = problems[1].train
    infinite = Split(sick.inputs.clone().fill_(torch.inf), sick.targets)
    problems[1] = dataclasses.replace(problems[1], train=infinite)
    together = fits.method.fit_many(problems, streams(10, 11, 12))
    if not isinstance(together[1], InferenceDiverged):
        tensors, _ = said(together[1], problems[0].train.inputs)
        finite = all(tensor.isfinite().all() for tensor in tensors)
        require(finite, "a fit to infinite inputs must return InferenceDiverged in its place")
    for number in (0, 2):
        message = f"{ALONE}, even if another problem's inference fails"
        inputs = problems[number].train.inputs
        require_identical(together[number], fits.alone(number), inputs, message)
