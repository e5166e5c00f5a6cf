"""Errors of data sources."""


class NothingToLearn(ValueError):
    """All training targets are equal."""


class PoolTooSmall(ValueError):
    """A pool for active learning has fewer rows than are to be acquired."""


class DataUnavailable(Exception):
    """The files are not in the data folder and cannot be downloaded; says what to do."""


class DataDamaged(Exception):
    """A file is truncated or altered; the message names the file and the cure."""
