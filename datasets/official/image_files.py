"""What the official image sets share: two parts, each in files of its own."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from bnnbench.datasets.base import Dataset, ImageSource, Origin, Part
from bnnbench.datasets.reading import files, images
from bnnbench.datasets.reading.cache import cached
from bnnbench.datasets.reading.files import DataFile
from bnnbench.datasets.reading.images import Labelled


class ImageFiles(ABC):
    """A source in one fold that names its files; a subclass reads them in `images`.

    A part whose files are there can be used without the other.
    """

    FILES: ClassVar[Mapping[Part, tuple[DataFile, ...]]]
    name: str
    classes: int
    licence: str
    bytes: int
    folds = 1

    @property
    def origin(self) -> Origin:
        """The official files, by checksum."""
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
        """Return the files that `load`, or one part, lacks."""
        return files.missing(files.needed(self.FILES, part))

    def fetch(self, part: Part | None = None) -> None:
        """Download what is missing."""
        files.fetch(files.needed(self.FILES, part))

    @abstractmethod
    def fallbacks(self, part: Part | None = None) -> tuple[ImageSource, ...]:
        """Return what may take the source's place, to learn or as images of one part."""
        ...
