"""The error of a family that cannot be trusted."""


class Refused(ValueError):
    """A family of functions cannot be trusted; the message names file, key and cause."""
