"""Errors of data sources."""


class NothingToLearn(ValueError):
    """All training targets are equal, up to rounding."""


class ExtremeScale(ValueError):
    """A column's numbers are too large or too small to be standardised."""


class PoolTooSmall(ValueError):
    """A pool for active learning has fewer rows than will be acquired."""


class DataUnavailable(Exception):
    """Files are not in the data folder and cannot be downloaded; the message says what to do."""


class DataDamaged(Exception):
    """A file is truncated or altered; the message names the file and the remedy."""
