"""A case of a suite: data, the network that learns it, and the names of both."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from bnnbench.datasets.base import DataSource
from bnnbench.methods.networks.architectures import Architecture
from bnnbench.methods.networks.priors import FixedPrecision


@dataclass(frozen=True)
class Case:
    """A source and the network that learns it; one source may be paired with several networks.

    Name and title are only for display: no key and no random stream depends on them.
    """

    source: DataSource
    network: Architecture
    name: str = ""
    """Name in tables, on the command line and as `dataset` of a record; by default the source's."""
    title: str = ""
    """Title on pages, such as "MNIST, 640 images, MLP"; by default pages use the name."""
    prior: FixedPrecision | None = None
    """The prior of the weights, if the target posterior is part of the case."""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.source.name)

    def on(self, source: DataSource) -> "Case":
        """Return the case on another source; a name taken from the old source is replaced."""
        has_other_name = self.name != self.source.name
        return replace(self, source=source, name=self.name if has_other_name else source.name)


def cases_of(sources: Iterable[DataSource], network: Architecture) -> tuple[Case, ...]:
    """Return a case for each source, all with one network and named after their sources."""
    return tuple(Case(source, network) for source in sources)
