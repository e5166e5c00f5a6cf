"""The error of a reference that cannot be trusted."""


class Refused(ValueError):
    """A reference is not to be used; the message names file, key and cause."""
