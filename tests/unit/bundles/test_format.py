"""The file of a bundle: what is read is what was written, or a clear error."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import replace

import numpy as np
import pytest
from bundle_kit import artifact_of, kernel_of, key_of, written
from hypothesis import given, settings
from hypothesis import strategies as st

from tilecore.bundle_builder.write import bundle_bytes, write_bundle
from tilecore.bundles.file import BundleFile
from tilecore.bundles.format import UNSIGNED, Argument, BundleError, Index, encode_index, first_line
from tilecore.bundles.lookup import matches
from tilecore.errors import CacheError


def read_whole(path):
    """Everything that a bundle says, sources included."""
    file = BundleFile(path)
    return [(record, artifact := file.artifact(record), artifact.source) for record in file.index.kernels]


@pytest.mark.parametrize("count", [0, 1, 3, 40])
def test_what_was_written_is_read(tmp_path, count):
    path = written(tmp_path / "a.tcb", [kernel_of(number) for number in range(count)])
    read = read_whole(path)
    assert len(read) == count
    for number, (record, artifact, source) in enumerate(read):
        assert artifact == artifact_of(number)
        assert source == artifact_of(number).source
        assert (record.name, record.label, record.keys) == ("make", f"make({number})", (key_of(number),))
        assert matches(record, (number,), {})
        assert matches(record, (), {"M": number, "dtype": "float32"})
        assert not matches(record, (number, "float16"), {})
        assert not matches(record, (number,), {"N": 1})
        assert not matches(record, (), {})


def test_the_calls_that_mean_a_kernel(tmp_path):
    """Other forms than its arguments, such as those of an eager function, take the place of them."""
    forms = ((Argument("X", "float32[4]", False), Argument("N", "4", True)), (Argument("N", "4", False),))
    ((record, *_),) = read_whole(written(tmp_path / "a.tcb", [replace(kernel_of(1), forms=forms)]))
    assert record.forms == forms
    assert matches(record, (), {"N": 4})
    assert matches(record, (np.ones(4, "float32"),), {"N": 4})
    assert not matches(record, (), {})
    assert not matches(record, (1,), {})


def test_equal_members_are_stored_once(tmp_path):
    one = bundle_bytes([kernel_of(1)])
    two = bundle_bytes([kernel_of(1), kernel_of(1)])
    assert len(two) - len(one) < 700  # a row of the index


def test_a_source_is_read_late_and_checked(tmp_path):
    path = written(tmp_path / "a.tcb", [kernel_of(5)])
    file = BundleFile(path)
    record = file.index.kernels[0]
    artifact = file.artifact(record)
    assert "source" not in vars(artifact)
    at = path.stat().st_size - record.binary.size - record.source.size + 3
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)  # in place: the open file sees it
    with pytest.raises(BundleError, match="does not match its digest"):
        _ = artifact.source


GOOD = bundle_bytes([kernel_of(number) for number in range(3)])


def outcome(path, data):
    """What reading gives for these bytes: the artifacts, or the error."""
    path.write_bytes(data)
    try:
        return [artifact for _, artifact, _ in read_whole(path)]
    except BundleError as error:
        return error


@settings(max_examples=300, deadline=None)
@given(at=st.integers(0, len(GOOD) - 1), change=st.integers(1, 255))
def test_a_changed_byte_is_found(tmp_path_factory, at, change):
    data = bytearray(GOOD)
    data[at] ^= change
    first = GOOD.index(b"\n")
    second = GOOD.index(b"\n", first + 1)
    read = outcome(tmp_path_factory.getbasetemp() / "changed.tcb", bytes(data))
    if first < at < second:  # the signature line, which trust reads
        assert read == [artifact_of(number) for number in range(3)]
    else:
        assert isinstance(read, BundleError)
        assert "changed.tcb" in read.message  # it names the file


@settings(max_examples=100, deadline=None)
@given(size=st.integers(0, len(GOOD) - 1))
def test_a_file_that_is_cut_short_is_found(tmp_path_factory, size):
    assert isinstance(outcome(tmp_path_factory.getbasetemp() / "short.tcb", GOOD[:size]), BundleError)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "is not a bundle"),
        (b"tilecore-entry 1 5 6\n", "is not a bundle"),
        (b"tilecore-entry 2 5 6\n", "is not a bundle\n.*a file with one kernel"),
        (b"tilecore-bundle 1 10 abc\nx", "format 1, and this tilecore reads format 2"),
        (b"tilecore-bundle 2 x y\n\n", "first line is damaged"),
        (b"tilecore-bundle 2 " + b"9" * 400, "first line is damaged"),
        (b"tilecore-bundle 2 99999999 " + b"a" * 64 + b"\nunsigned\n{}", "ends too early"),
    ],
)
def test_other_files_are_refused(tmp_path, data, text):
    path = tmp_path / "other.tcb"
    path.write_bytes(data)
    with pytest.raises(BundleError, match=text):
        BundleFile(path)


def test_what_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, text in ((tmp_path, "directory"), (tmp_path / "pipe", "pipe"), (tmp_path / "none", "No such file")):
        with pytest.raises(CacheError, match=text):
            BundleFile(path)


def test_a_bundle_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "a.tcb"
    path.write_text("before")
    with pytest.raises(AttributeError):
        write_bundle(path, [kernel_of(1), "no kernel"])  # type: ignore[list-item]
    assert path.read_text() == "before"
    assert write_bundle(path, [kernel_of(1)]) == path.stat().st_size
    assert os.listdir(tmp_path) == ["a.tcb"]
    write_bundle(tmp_path / "made" / "with it" / "a.tcb", [kernel_of(1)])
    assert BundleFile(tmp_path / "made" / "with it" / "a.tcb").index.kernels[0].label == "make(1)"
    with pytest.raises(BundleError, match="cannot be written"):
        write_bundle(path / "a.tcb", [])


@pytest.mark.parametrize("kernels", [[kernel_of(1), kernel_of(2)], []])
def test_bytes_that_belong_to_no_kernel(tmp_path, kernels):
    """Every byte is checked: none may stand behind the kernels, or between them."""
    path = written(tmp_path / "a.tcb", kernels)
    BundleFile(path).verify()
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(BundleError, match=r"a\.tcb has bytes that belong to no kernel") as caught:
        BundleFile(path).verify()
    assert caught.value.found == f"4 of its {path.stat().st_size} bytes"


LATER = ("source", "binary")  # the members behind the gap


def test_bytes_between_kernels(tmp_path):
    (record,) = BundleFile(written(tmp_path / "a.tcb", [kernel_of(1)])).index.kernels
    members = (tmp_path / "a.tcb").read_bytes()[-record.size :]
    gap = record.record.size
    later = {name: replace(member, offset=member.offset + 3) for name, member in vars(record).items() if name in LATER}
    index = encode_index(Index("1", 0, (replace(record, **later),)))
    path = tmp_path / "b.tcb"
    path.write_bytes(b"\n".join([first_line(index), UNSIGNED, index + members[:gap] + b"gap" + members[gap:]]))
    file = BundleFile(path)
    assert file.artifact(file.index.kernels[0]) == artifact_of(1)
    with pytest.raises(BundleError, match="has bytes that belong to no kernel") as caught:
        file.verify()
    assert str(caught.value.found).startswith("3 of its ")


class Stale:
    """``os.pread`` of a file that a network file system has lost, until the file is opened again."""

    def __init__(self, monkeypatch, always=False):
        self.lost = {}
        self.always = always
        self.real = os.pread
        monkeypatch.setattr(os, "pread", self)

    def __call__(self, descriptor, size, offset):
        if self.always or descriptor in self.lost:
            self.lost.pop(descriptor, None)
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return self.real(descriptor, size, offset)


def test_a_stale_handle_is_opened_again(tmp_path, monkeypatch):
    path = written(tmp_path / "a.tcb", [kernel_of(1)])
    file = BundleFile(path)
    stale = Stale(monkeypatch)
    stale.lost[file._descriptor] = True
    assert file.artifact(file.index.kernels[0]) == artifact_of(1)
    stale.lost[file._descriptor] = True
    written(tmp_path / "other", [kernel_of(2)]).replace(path)
    with pytest.raises(BundleError, match="replaced while it was in use"):
        file.artifact(file.index.kernels[0])
    Stale(monkeypatch, always=True)
    with pytest.raises(BundleError, match="cannot be read"):
        BundleFile(path)


def test_a_closed_file(tmp_path):
    file = BundleFile(written(tmp_path / "a.tcb", [kernel_of(1)]))
    artifact = file.artifact(file.index.kernels[0])
    file.close()
    assert artifact.binary == artifact_of(1).binary
    with pytest.raises(BundleError, match="is closed"):
        _ = artifact.source


def test_a_replaced_file_stays_readable(tmp_path):
    path = written(tmp_path / "a.tcb", [kernel_of(1)])
    file = BundleFile(path)
    written(tmp_path / "other", [kernel_of(2)]).replace(path)
    assert file.artifact(file.index.kernels[0]) == artifact_of(1)
    assert stat.S_ISREG(file.facts.st_mode)
