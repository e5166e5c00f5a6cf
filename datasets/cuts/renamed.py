"""A source under another name, so that one suite can hold several cuts of it."""

from dataclasses import dataclass

from bnnbench.datasets.cuts.derived import Derived


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
