"""The error of a family that cannot be trusted."""


class Refused(ValueError):
    """A family of functions is not to be used; the message names file, key and cause."""
