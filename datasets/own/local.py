"""The common part of sources that are files of the user."""

from pathlib import Path

from bnnbench.datasets.origins import Part


class Local:
    """A source in a file or folder of the user, which is neither downloaded nor replaced."""

    path: str

    @property
    def files(self) -> tuple[str, ...]:
        """All files and folders with the data."""
        return (self.path,)

    def missing(self, part: Part | None = None) -> tuple[str, ...]:
        """Return the files that do not exist."""
        return tuple(file for file in self.files if not Path(file).exists())

    def fetch(self, part: Part | None = None) -> None:
        """Do nothing: the user's data are not downloaded."""

    def fallbacks(self, part: Part | None = None) -> tuple[()]:
        """Return no fallbacks: nothing replaces the user's data."""
        return ()
