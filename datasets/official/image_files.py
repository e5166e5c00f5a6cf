"""The base of the official image sets, whose two parts are in separate files."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from bnnbench.datasets.base import Dataset, ImageSource
from bnnbench.datasets.origins import Origin, Part
from bnnbench.datasets.reading import files, images
from bnnbench.datasets.reading.cache import cached
from bnnbench.datasets.reading.files import DataFile
from bnnbench.datasets.reading.images import Labelled


class ImageFiles(ABC):
    """A source with one fold that names its files; a subclass reads them in `images`.

    A part whose files are available can be used without the other.
    """

    FILES: ClassVar[Mapping[Part, tuple[DataFile, ...]]]
    name: str
    classes: int
    licence: str
    bytes: int
    folds = 1

    @property
    def origin(self) -> Origin:
        """The origin "original": the official files, by checksum."""
        return "original"

    @property
    def data_files(self) -> tuple[DataFile, ...]:
        """The files of both parts."""
        return files.needed(self.FILES, None)

    @abstractmethod
    def images(self, part: Part) -> Labelled:
        """Return raw images and labels in the official order."""
        ...

    @cached(1)
    def load(self, fold: int) -> Dataset:
        """Return the fold, standardised."""
        return images.load(self, fold)

    def missing(self, part: Part | None = None) -> tuple[str, ...]:
        """Return the files that `load`, or one part, needs and the data folder lacks."""
        return files.missing(files.needed(self.FILES, part))

    def fetch(self, part: Part | None = None) -> None:
        """Download missing files."""
        files.fetch(files.needed(self.FILES, part))

    @abstractmethod
    def fallbacks(self, part: Part | None = None) -> tuple[ImageSource, ...]:
        """Return the sources that may replace it for training, or as images of one part."""
        ...
