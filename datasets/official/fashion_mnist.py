"""Fashion-MNIST: 28x28 grey images of ten kinds of clothing, 60,000 and 10,000.

Source: Xiao, Rasul and Vollgraf (2017), arXiv:1708.07747.
"""

from dataclasses import dataclass

from bnnbench.datasets.base import Part
from bnnbench.datasets.official.mnist import Mnist
from bnnbench.datasets.reading import files
from bnnbench.datasets.reading.files import DataFile


def _file(name: str, md5: str, size: int) -> DataFile:
    urls = (
        f"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/{name}",
        f"https://storage.googleapis.com/tensorflow/tf-keras-datasets/{name}",
    )
    return DataFile("fashion_mnist", f"FashionMNIST/raw/{name}", f"md5:{md5}", size, urls)


FILES: dict[Part, tuple[DataFile, ...]] = {
    "train": (
        _file("train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d", 26_421_880),
        _file("train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe", 29_515),
    ),
    "test": (
        _file("t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79", 4_422_102),
        _file("t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310", 5_148),
    ),
}


@dataclass(frozen=True)
class FashionMnist(Mnist):
    """Fashion-MNIST in its four original files."""

    FILES = FILES
    name = "fashion_mnist"
    classes = 10
    licence = "MIT"
    bytes = sum(file.bytes for file in files.needed(FILES, None))
