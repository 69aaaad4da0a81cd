"""The texts of old artifacts are compressed in memory, and read as they were."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
import weakref
from dataclasses import asdict, replace

import pytest

from tilecore.artifact import packing
from tilecore.artifact.records import Artifact, Entry
from tilecore.compilation_cache.entry_format import decode, encode

KEY = "ab" * 32


@pytest.fixture(autouse=True)
def own_list(monkeypatch):
    monkeypatch.setattr(packing, "_recent", [])
    packing._last_read.cache_clear()


def artifact(number=0, report=None):
    return Artifact(
        f"k{number}", "cpu", "tilecore", "native", (), (), (), (Entry(f"k{number}", (1, 1, 1)),), (),
        source=f"source {number}\n" * 50, source_format="ll", binary=bytes([number % 256]) * 300,
        binary_format="object", versions={"tilecore": "1"},
        report={"steps": {"lower": number}, "places": (1, 2)} if report is None else report,
    )  # fmt: skip


def is_packed(kept):
    return "source" not in vars(kept)


def test_a_packed_artifact_reads_as_before():
    kept = [artifact(number) for number in range(5)]
    packing.pack(kept)
    assert all(map(is_packed, kept))
    for number, packed in enumerate(kept):
        plain = artifact(number)
        assert (packed.source, packed.binary, packed.report) == (plain.source, plain.binary, plain.report)
        assert packed == plain
        assert plain == packed
        assert repr(packed) == repr(plain)
        assert asdict(packed) == asdict(plain)
        assert packed.to_json() == plain.to_json()
        assert replace(packed, name="other") == replace(plain, name="other")
        assert encode(KEY, packed) == encode(KEY, plain)
        assert decode(encode(KEY, packed), KEY).source == plain.source


def test_kernels_from_the_cache_are_packed():
    """Their compressed source is in memory, and takes less in a group."""
    kept = [decode(encode(KEY, artifact(number)), KEY) for number in range(3)]
    packing.pack(kept)
    assert all("binary" not in vars(loaded) for loaded in kept)
    for number, loaded in enumerate(kept):
        assert (loaded.source, loaded.binary) == (artifact(number).source, artifact(number).binary)
    in_a_file = artifact(3)
    packing.defer_source(in_a_file, lambda: artifact(3).source)
    packing.pack([in_a_file])
    assert "binary" in vars(in_a_file)


def test_loaded_artifacts_need_no_garbage_collection():
    """They end with the last reference to them, read or not."""
    gc.collect()
    gc.disable()
    try:
        loaded, other = (decode(encode(KEY, artifact(number)), KEY) for number in range(2))
        assert loaded.source
        weak = weakref.ref(loaded), weakref.ref(other)
        del loaded, other
        assert [reference() for reference in weak] == [None, None]
    finally:
        gc.enable()


def test_copies_and_pickles_are_whole():
    kept = [artifact(1), artifact(2)]
    packing.pack(kept)
    for made in (pickle.loads(pickle.dumps(kept[1])), copy.copy(kept[1]), copy.deepcopy(kept[1])):
        assert made == artifact(2)
        assert not is_packed(made)


def test_other_attributes_are_still_missing():
    kept = artifact()
    for _ in range(2):
        with pytest.raises(AttributeError, match="'Artifact' object has no attribute 'sources'"):
            _ = kept.sources
        assert not hasattr(kept, "_packed_")
        packing.pack([kept])


def test_only_the_oldest_are_packed_a_group_at_a_time():
    kept = [artifact(number) for number in range(packing.UNPACKED + 2 * packing.GROUP)]
    for number, one in enumerate(kept):
        packing.note_loaded(one)
        packed = sum(map(is_packed, kept))
        groups = max(0, number + 1 - packing.UNPACKED) // packing.GROUP
        assert packed == groups * packing.GROUP
    assert [is_packed(one) for one in kept] == [True] * 2 * packing.GROUP + [False] * packing.UNPACKED


def test_those_that_are_gone_do_not_count():
    for number in range(10 * packing.UNPACKED):
        packing.note_loaded(artifact(number))
    gc.collect()
    assert len(packing._recent) < packing.UNPACKED + packing.GROUP
    kept = artifact(1)
    for _ in range(3):
        packing.note_loaded(kept)
    assert not is_packed(kept)


def test_what_cannot_be_pickled_stays():
    kept = [artifact(1, {"lock": threading.Lock()}), artifact(2)]
    packing.pack(kept)
    assert [is_packed(one) for one in kept] == [False, True]
    assert kept[0].source == artifact(1).source


def test_packing_twice_changes_nothing():
    kept = [artifact(1), artifact(1)]
    packing.pack(kept)
    before = vars(kept[0])["_packed"]
    packing.pack(kept)
    assert vars(kept[0])["_packed"] is before
    packing.pack([])


def test_without_lzma(monkeypatch):
    monkeypatch.setitem(sys.modules, "lzma", None)
    kept = [artifact(3)]
    packing.pack(kept)
    assert is_packed(kept[0])
    assert kept[0].binary == artifact(3).binary


def test_a_reader_beside_a_packer():
    """Each reads whole fields while another thread packs."""
    kept = [artifact(number) for number in range(400)]
    wrong = []

    def read():
        for number, one in enumerate(kept):
            if one.source != artifact(number).source or one.binary != artifact(number).binary:
                wrong.append(number)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for first in range(0, 400, 16):
        packing.pack(kept[first : first + 16])
    for reader in readers:
        reader.join()
    assert not wrong
