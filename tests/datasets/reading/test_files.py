"""Downloads from a server on this machine; damaged files; archives; no network."""

import io
import os
import socket
import tarfile
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
import requests

from bnnbench.datasets.errors import DataDamaged, DataUnavailable
from bnnbench.datasets.reading import files
from bnnbench.datasets.reading.files import DataFile
from tests.datasets.conftest import md5

CONTENT = bytes(range(256)) * 500


def one(*urls: str, content: bytes = CONTENT) -> DataFile:
    return DataFile("mnist", "sub/file.bin", md5(content), len(content), urls)


def left_in(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def dead_url() -> str:
    """A URL with a port on which nothing listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{unused.getsockname()[1]}/file"


def test_a_missing_file_is_downloaded_whole_and_read_back(folder, server):
    file = one(server.serve("/file", CONTENT))
    assert files.missing([file]) == (str(folder / "sub/file.bin"),)
    files.fetch([file])
    assert files.missing([file]) == ()
    assert files.read(file) == CONTENT
    assert left_in(folder) == ["sub/file.bin"]


def test_a_file_that_is_there_is_not_downloaded_again(folder, server):
    file = one(server.serve("/file", CONTENT))
    files.fetch([file])
    server.requests.clear()
    files.fetch([file])
    assert server.requests == []


def test_a_broken_transfer_is_tried_again_from_the_start(folder, server):
    half = len(CONTENT) // 2
    server.answers["/file"] = lambda n: (200, CONTENT[: half if n < 2 else None], len(CONTENT))
    files.fetch([one(server.url("/file"))])  # request 0 asks whether the host answers
    assert server.requests == ["/file"] * 3
    assert left_in(folder) == ["sub/file.bin"]


def test_a_transfer_that_always_breaks_leaves_nothing(folder, server):
    server.answers["/file"] = lambda _: (200, CONTENT[:100], len(CONTENT))
    with pytest.raises(DataUnavailable, match="after a part of the file"):
        files.fetch([one(server.url("/file"))])
    assert left_in(folder) == []


def test_another_content_is_refused_and_leaves_nothing(folder, server):
    with pytest.raises(DataUnavailable, match="does not have md5:"):
        files.fetch([one(server.serve("/file", b"a login page"))])
    assert left_in(folder) == []


def test_the_mirror_is_used_where_the_official_address_has_no_file(folder, server):
    files.fetch([one(server.url("/gone"), server.serve("/mirror", CONTENT))])
    assert files.read(one()) == CONTENT


def test_the_mirror_is_used_where_the_official_host_is_down(folder, server):
    files.fetch([one(dead_url(), server.serve("/mirror", CONTENT))])
    assert files.read(one()) == CONTENT


def test_every_address_that_was_tried_is_named(folder, server):
    with pytest.raises(DataUnavailable) as refusal:
        files.fetch([one(server.url("/gone"), server.serve("/other", b"x"))])
    for hint in ("/gone", "404", "/other", "bnnbench data fetch mnist", str(folder)):
        assert hint in str(refusal.value)


def test_an_interrupted_download_leaves_nothing(folder, server, monkeypatch):
    def interrupted(*_, **__):
        yield CONTENT[:1000]
        raise KeyboardInterrupt

    monkeypatch.setattr(requests.Response, "iter_content", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.fetch([one(server.serve("/file", CONTENT))])
    assert left_in(folder) == []


def test_a_damaged_file_survives_a_fetch_that_fails(folder, server):
    folder.joinpath("sub").mkdir(parents=True)
    folder.joinpath("sub/file.bin").write_bytes(b"damaged")
    with pytest.raises(DataUnavailable):
        files.fetch([one(server.url("/gone"))])
    assert folder.joinpath("sub/file.bin").read_bytes() == b"damaged"


@pytest.mark.parametrize("damage", [CONTENT[:-1], CONTENT + b"x", b"", b"x" + CONTENT[1:]])
def test_a_truncated_or_altered_file_is_named_with_its_cure_and_replaced(folder, server, damage):
    file = one(server.serve("/file", CONTENT))
    folder.joinpath("sub").mkdir(parents=True)
    folder.joinpath("sub/file.bin").write_bytes(damage)
    with pytest.raises(DataDamaged) as refusal:
        files.read(file)
    assert str(folder / "sub/file.bin") in str(refusal.value)
    assert "bnnbench data fetch mnist" in str(refusal.value)
    files.fetch([file])
    assert files.read(file) == CONTENT


def test_a_file_altered_after_it_was_verified_is_noticed(folder, server):
    file = one(server.serve("/file", CONTENT))
    files.fetch([file])
    files.read(file)
    file.place.write_bytes(b"x" + CONTENT[1:])
    os.utime(file.place, ns=(1, 1))
    with pytest.raises(DataDamaged):
        files.read(file)


def test_offline_never_opens_a_connection(folder, monkeypatch):
    def refuse(*_):
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setenv("BNNBENCH_OFFLINE", "1")
    with pytest.raises(DataUnavailable, match="BNNBENCH_OFFLINE"):
        files.fetch([one("http://127.0.0.1:9/file")])


def test_without_a_network_hosts_are_asked_once_and_no_third_one(folder, monkeypatch):
    asked = []

    def unreachable(url, **_):
        asked.append(url)
        raise requests.ConnectionError

    monkeypatch.setattr(requests, "get", unreachable)
    for number in range(4):
        with pytest.raises(DataUnavailable, match="no answer"):
            files.fetch([one("http://a.invalid/1", f"http://b{number}.invalid/1")])
    assert asked == ["http://a.invalid/1", "http://b0.invalid/1"]


def test_a_silent_host_is_given_up_within_the_connect_time(folder, monkeypatch):
    monkeypatch.setattr(files, "CONNECT_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        start = time.monotonic()
        with pytest.raises(DataUnavailable, match="no answer"):
            files.fetch([one(f"http://127.0.0.1:{silent.getsockname()[1]}/file")])
    assert time.monotonic() - start < 3


def test_a_folder_that_cannot_be_written_is_named(folder, server):
    folder.parent.joinpath("data").write_text("a file where the folder should be")
    with pytest.raises(DataUnavailable, match="--data-dir"):
        files.fetch([one(server.serve("/file", CONTENT))])


# Archives


def tar_of(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def archived(content: bytes, url: str = "", name: str = "pack.tar.gz") -> DataFile:
    archive = DataFile("mnist", name, md5(content), len(content), (url,) if url else ())
    return replace(one(), archive=archive)


GOOD = (tarfile.TarInfo("sub/file.bin"), CONTENT)


def test_members_are_taken_out_and_a_downloaded_archive_is_removed(folder, server):
    pack = tar_of(GOOD)
    files.fetch([archived(pack, server.serve("/pack", pack))])
    assert files.read(one()) == CONTENT
    assert left_in(folder) == ["sub/file.bin"]


def test_an_archive_that_is_already_there_is_used_offline_and_kept(folder, monkeypatch):
    monkeypatch.setenv("BNNBENCH_OFFLINE", "1")
    pack = tar_of(GOOD)
    folder.mkdir()
    folder.joinpath("pack.tar.gz").write_bytes(pack)
    files.fetch([archived(pack)])
    assert left_in(folder) == ["pack.tar.gz", "sub/file.bin"]


@pytest.mark.parametrize("evil", ["../evil", "/tmp/bnnbench_evil", "sub/../../evil"])
def test_no_member_leaves_the_folder(folder, server, evil):
    pack = tar_of((tarfile.TarInfo(evil), b"evil"), GOOD)
    files.fetch([archived(pack, server.serve("/pack", pack))])
    assert left_in(folder.parent) == ["data/sub/file.bin"]
    assert not Path("/tmp/bnnbench_evil").exists()


def test_a_member_that_is_a_link_out_of_the_archive_is_refused(folder, server):
    link = tarfile.TarInfo("sub/file.bin")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    pack = tar_of((link, b""))
    with pytest.raises(DataDamaged, match=r"pack\.tar\.gz"):
        files.fetch([archived(pack, server.serve("/pack", pack))])
    assert left_in(folder) == []


def test_a_member_with_another_content_is_refused(folder, server):
    pack = tar_of((tarfile.TarInfo("sub/file.bin"), b"other"))
    with pytest.raises(DataDamaged, match="member"):
        files.fetch([archived(pack, server.serve("/pack", pack))])
    assert left_in(folder) == []


def test_a_zip_archive_serves_as_well(folder, server):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as zipped:
        zipped.writestr("../evil", b"evil")
        zipped.writestr("inner.bin", CONTENT)
    pack = buffer.getvalue()
    file = archived(pack, server.serve("/pack", pack), "pack.zip")
    files.fetch([replace(file, member="inner.bin")])
    assert left_in(folder.parent) == ["data/sub/file.bin"]


def reversed_(content: bytes) -> bytes:
    return content[::-1]


def test_files_are_made_from_members_of_one_archive_inside_another(folder, server):
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w") as zipped:
        zipped.writestr("a", b"first"[::-1])
        zipped.writestr("b", b"second"[::-1])
    inner = wheel.getvalue()
    pack = tar_of((tarfile.TarInfo("x.whl"), inner))
    outermost = archived(pack, server.serve("/pack", pack)).archive
    middle = DataFile("mnist", "x.whl", md5(inner), archive=outermost)
    made = []
    for name, content in (("a", b"first"), ("b", b"second")):
        member = DataFile("mnist", f"raw/{name}", md5(content[::-1]), archive=middle, member=name)
        made.append(DataFile("mnist", name, md5(content), archive=member, conversion=reversed_))
    files.fetch(made)
    assert [files.read(file) for file in made] == [b"first", b"second"]
    assert left_in(folder) == ["a", "b"]
    assert server.requests == ["/pack", "/pack"]  # the first asks whether the host answers


def test_a_conversion_with_another_result_is_refused(folder, server):
    raw = DataFile("mnist", "raw", md5(b"ab"), 2, (server.serve("/raw", b"ab"),))
    with pytest.raises(DataDamaged):
        files.fetch([DataFile("mnist", "x", md5(b"ab"), archive=raw, conversion=reversed_)])
    assert left_in(folder) == []


# The folder


def test_the_folder_is_the_users_cache_unless_the_environment_names_one(monkeypatch):
    monkeypatch.delenv("BNNBENCH_DATA", raising=False)
    assert files.folder().name == "bnnbench"
    monkeypatch.setenv("BNNBENCH_DATA", "~/elsewhere")
    assert files.folder() == Path.home() / "elsewhere"
