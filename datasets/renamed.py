"""A source under another name, so that one suite can hold several cuts of it."""

from dataclasses import dataclass

from datasets.base import Origin, Part, Table
from datasets.derived import Derived
from datasets.images import Labelled


@dataclass(frozen=True)
class Renamed(Derived):
    """All rows of `source`, in tables and on the command line as `alias`.

    Suites whose cuts differ in size, or that show one to several networks, need a name for each.
    """

    alias: str = ""

    def __post_init__(self) -> None:
        if not self.alias:
            raise ValueError(f"needed another name for {self.source.name}; got none")

    @property
    def name(self) -> str:
        """The other name."""
        return self.alias

    @property
    def origin(self) -> Origin:
        """The source's."""
        return self.source.origin

    def images(self, part: Part) -> Labelled:
        """Return the source's raw images and labels."""
        return self._image_source.images(part)

    def table(self, fold: int) -> Table:
        """Return the source's raw rows."""
        return self._table_source.table(fold)
