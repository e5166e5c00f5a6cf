"""Settings in TOML files that cannot be read are refused in words."""

import os

import pytest

from bnnbench.engine.method_settings.expressions import Misspelt, parsed
from bnnbench.engine.method_settings.files import read

BAD = {
    "brackets": "[adamw]\nepochs = " + "[" * 5000 + "1" + "]" * 5000,
    "tables": "[adamw." + ".".join("a" * 5000) + "]\nx = 1",
    "digits": "[adamw]\nepochs = " + "9" * 5000,
    "text": "[adamw]\nepochs = \udcff",
    "nothing": "",
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_cannot_be_read_is_named(tmp_path, name):
    file = tmp_path / "settings.toml"
    file.write_bytes(BAD[name].encode(errors="surrogateescape"))
    with pytest.raises(Misspelt, match=r"settings\.toml"):
        read(file)


def test_a_fifo_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OSError, match="not a regular file"):
        read(tmp_path / "fifo")


def test_deeply_nested_methods_are_refused():
    depth = 400
    with pytest.raises(Misspelt, match="nested more than"):
        parsed("ensemble(member=" * depth + "adamw" + ")" * depth)
