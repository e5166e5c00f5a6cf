"""Errors of saving and loading; each message is one sentence."""


class NotSaved(TypeError):
    """The object has no description as a file; the message names the part and the cure."""


class NotLoaded(ValueError):
    """The files are damaged, of another version, or need code; the message names the cure."""
