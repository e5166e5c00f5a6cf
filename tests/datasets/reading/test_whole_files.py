"""Files that appear whole or not at all."""

import stat

import pytest

from bnnbench.datasets.reading import whole_files
from bnnbench.datasets.reading.whole_files import whole, write_whole


def test_a_file_is_replaced_with_its_content_for_everyone_to_read(tmp_path):
    place = tmp_path / "folder" / "file"
    write_whole(place, b"first")
    write_whole(place, b"second")
    assert place.read_bytes() == b"second"
    assert stat.S_IMODE(place.stat().st_mode) == 0o644
    assert list(place.parent.iterdir()) == [place]


def test_a_block_that_raises_leaves_what_was_there(tmp_path):
    place = tmp_path / "file"
    write_whole(place, b"first")

    def stopped():
        with whole(place) as file:
            file.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        stopped()
    assert place.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [place]


def test_nothing_is_at_the_place_before_the_end_of_the_block(tmp_path):
    place = tmp_path / "file"
    with whole(place) as file:
        file.write(b"content")
        assert not place.exists()
    assert place.read_bytes() == b"content"


def test_a_name_may_depend_on_the_content(tmp_path):
    size = 0
    with whole(tmp_path / "state", lambda: tmp_path / f"state-{size}") as file:
        size = file.write(b"1234")
    assert [path.name for path in tmp_path.iterdir()] == ["state-4"]


def test_the_content_is_on_the_disk_before_the_name_is(tmp_path, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        act = getattr(whole_files.os, name)
        monkeypatch.setattr(
            whole_files.os, name, lambda *a, name=name, act=act: (calls.append(name), act(*a))[1]
        )
    write_whole(tmp_path / "file", b"content")
    assert calls == ["fsync", "replace", "fsync"]


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(whole_files.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(tmp_path / "file", b"content")
    assert list(tmp_path.iterdir()) == []
