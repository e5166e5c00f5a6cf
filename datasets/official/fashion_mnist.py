"""Fashion-MNIST: 28x28 grey images of ten kinds of clothing, 60,000 to train, 10,000 to test.

Source: Xiao, Rasul and Vollgraf (2017), arXiv:1708.07747.
"""

from dataclasses import dataclass

from bnnbench.datasets.official.mnist import Mnist
from bnnbench.datasets.origins import Part
from bnnbench.datasets.reading import files
from bnnbench.datasets.reading.files import DataFile


def _file(name: str, md5: str, sha256: str, size: int) -> DataFile:
    path = f"FashionMNIST/raw/{name}"
    urls = (
        f"https://storage.googleapis.com/tensorflow/tf-keras-datasets/{name}",
        f"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/{name}",
    )
    return DataFile("fashion_mnist", path, f"md5:{md5}", size, urls, sha256=sha256)


FILES: dict[Part, tuple[DataFile, ...]] = {
    "train": (
        _file(
            "train-images-idx3-ubyte.gz",
            "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
            "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
            26_421_880,
        ),
        _file(
            "train-labels-idx1-ubyte.gz",
            "25c81989df183df01b3e8a0aad5dffbe",
            "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
            29_515,
        ),
    ),
    "test": (
        _file(
            "t10k-images-idx3-ubyte.gz",
            "bef4ecab320f06d8554ea6380940ec79",
            "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
            4_422_102,
        ),
        _file(
            "t10k-labels-idx1-ubyte.gz",
            "bb300cfdad3c16e7a12a480ee83cd310",
            "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
            5_148,
        ),
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
