"""Files that users name: regular ones are replaced as a whole, links stay, pipes and devices are written in place."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import ArgumentError, CacheError
from tilecore.whole_files import can_be_replaced, file_path, path_text, write_whole


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path):
    path = tmp_path / "report.json"
    path.write_text("old")
    before = path.stat().st_ino
    write_whole(path, "new ä")
    assert path.read_text(encoding="utf-8") == "new ä"
    assert path.stat().st_ino != before, "it is not written in place"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_and_its_file_is_replaced(tmp_path, exists):
    folder = tmp_path / "folder"
    folder.mkdir()
    target, link = folder / "report.json", tmp_path / "link.json"
    if exists:
        target.write_text("old")
    link.symlink_to(os.path.join("folder", "report.json"))
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert not target.is_symlink()
    assert list(folder.iterdir()) == [target]


@pytest.mark.parametrize("text", ["new/", "new/.", "new/..", ".", "report.json/"])
def test_the_path_of_a_folder_is_none_of_a_file(text):
    with pytest.raises(IsADirectoryError):
        file_path(text)


def test_what_is_no_path():
    for value, fault in ((None, "is no path"), (3, "is no path"), ([Path("a")], "is no path"), ("", "is empty")):
        with pytest.raises(ArgumentError, match=f"^save\\(\\): path {fault}\n"):
            path_text(value, "save(): path")
    assert path_text(Path("a") / "b", "path") == path_text(os.path.join("a", "b").encode(), "path")
    with pytest.raises(FileNotFoundError, match="the path is empty"):
        file_path("")


def test_paths_of_files():
    assert file_path("new/report.json") == file_path(Path("new/report.json")) == Path("new/report.json")


def test_folders_that_are_missing_are_made(tmp_path, monkeypatch):
    write_whole(tmp_path / "a" / "b" / "report.json", "new")
    assert (tmp_path / "a" / "b" / "report.json").read_text() == "new"
    monkeypatch.chdir(tmp_path)
    write_whole(Path("c/report.json"), "new")
    assert (tmp_path / "c" / "report.json").read_text() == "new"


def test_folders_behind_a_link_are_not_made(tmp_path):
    (tmp_path / "file.json").symlink_to(tmp_path / "unmounted" / "file.json")
    (tmp_path / "folder").symlink_to(tmp_path / "unmounted")
    for path in (tmp_path / "file.json", tmp_path / "folder" / "file.json"):
        with pytest.raises(FileNotFoundError):
            write_whole(path, "new")
    assert not (tmp_path / "unmounted").exists()


def read_later(path):
    """A thread that reads the pipe, and the list that gets its data."""
    data: list[bytes] = []
    reader = threading.Thread(target=lambda: data.append(path.read_bytes()), daemon=True)
    reader.start()
    return reader, data


def test_a_named_pipe_is_written(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader, data = read_later(path)
    write_whole(path, "new")
    reader.join(10)
    assert data == [b"new"]
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert not can_be_replaced(path)


def test_a_device_is_written(tmp_path):
    """A terminal: a character device that a test may lose."""
    controller, terminal = os.openpty()
    try:
        link = tmp_path / "terminal"
        link.symlink_to(os.ttyname(terminal))
        write_whole(link, "new")
        assert os.read(controller, 10) == b"new"
        assert link.is_symlink()
        assert stat.S_ISCHR(link.stat().st_mode)
    finally:
        os.close(controller)
        os.close(terminal)


def test_the_standard_output_keeps_its_order(tmp_path):
    """Also where it is a regular file, which a replacement would cut off from what is printed later."""
    code = (
        "from pathlib import Path\nfrom tilecore.whole_files import write_whole\n"
        "print('before')\nwrite_whole(Path('/dev/stdout'), 'new\\n')\nprint('after')"
    )
    with (tmp_path / "output").open("w") as output:
        subprocess.run([sys.executable, "-c", code], stdout=output, check=True, timeout=60)
    assert (tmp_path / "output").read_text() == "before\nnew\nafter\n"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout == "before\nnew\nafter\n"


def test_a_loop_of_links_stays(tmp_path):
    (tmp_path / "first").symlink_to("second")
    (tmp_path / "second").symlink_to("first")
    with pytest.raises(OSError, match="symbolic links"):
        write_whole(tmp_path / "first", "new")
    assert {path.name for path in tmp_path.iterdir() if path.is_symlink()} == {"first", "second"}


@T.prim_func
def double(A: T.Tensor((8,), "float32")):
    with T.Kernel(1):
        for i in T.Parallel(8):
            A[i] = A[i] * 2.0


def test_a_kernel_is_not_exported_to_a_folder(tmp_path):
    kernel = tilecore.compile(double, target="cpu")
    with pytest.raises(CacheError, match="new/ cannot be written: Is a directory"):
        kernel.export(f"{tmp_path}/new/")
    with pytest.raises(IsADirectoryError):
        kernel.export_sources(f"{tmp_path}/new/")
    assert list(tmp_path.iterdir()) == []


def test_a_kernel_is_exported_through_a_link(tmp_path):
    target, link = tmp_path / "kernel.tck", tmp_path / "link.tck"
    target.write_bytes(b"old")
    link.symlink_to(target)
    tilecore.compile(double, target="cpu").export(link)
    assert link.is_symlink()
    assert tilecore.load_kernel(target).artifact.name == "double"
