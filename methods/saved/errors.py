"""What can go wrong with saved posteriors, in one sentence each."""


class NotSaved(TypeError):
    """The object has no description as a file; the message names the part and the cure."""


class NotLoaded(ValueError):
    """The files are damaged, of another version, or need code; the message names the cure."""
