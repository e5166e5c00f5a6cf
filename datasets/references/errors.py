"""The error of a reference that cannot be trusted."""


class Refused(ValueError):
    """A reference cannot be trusted; the message names file, key and cause."""
