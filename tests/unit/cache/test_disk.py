"""DiskCache: what is put is got, what is bad is set aside, and the rules of the directory hold."""

from __future__ import annotations

import os
import stat
import warnings
import zlib
from dataclasses import replace

import pytest
from cache_kit import artifact_of, key_of, recorded
from hypothesis import given, settings
from hypothesis import strategies as st

from tilecore.cache import CacheWarning, DiskCache
from tilecore.compilation_cache.entry_format import BadEntryError, _manifest, decode, decode_note, encode, encode_note
from tilecore.compilation_cache.layout import Layout
from tilecore.errors import CacheError


@pytest.fixture(autouse=True)
def warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def files_below(folder):
    return [os.path.join(where, name) for where, _, names in os.walk(folder) for name in names]


@pytest.mark.parametrize("size", [0, 1, 3000, 5_000_000])
def test_what_is_put_is_got_also_by_another_instance(cache, size):
    key = key_of(size)
    assert cache.get(key) is None
    assert cache.put(key, artifact_of(key, size))
    assert cache.get(key) == artifact_of(key, size)
    assert DiskCache(cache.path).get(key) == artifact_of(key, size)
    assert cache.get(key_of("other")) is None


def test_a_put_replaces(cache):
    key = key_of(1)
    cache.put(key, artifact_of(key))
    cache.put(key, artifact_of(key, 5))
    assert cache.get(key) == artifact_of(key, 5)
    assert len(files_below(Layout(cache.path).entries)) == 1


def test_links_lead_from_source_keys_to_keys(cache):
    source, key = key_of("source"), key_of("key")
    assert cache.resolve(source) is None
    assert cache.link(source, key)
    assert cache.resolve(source) == key
    assert cache.link(source, key_of("new"))
    assert DiskCache(cache.path).resolve(source) == key_of("new")


def test_a_link_that_leads_to_no_key_is_a_miss(cache):
    source = key_of("source")
    cache.link(source, key_of("key"))
    with open(Layout(cache.path).link(source), "wb") as stream:
        stream.write(encode_note(source, "../../elsewhere"))
    assert cache.resolve(source) is None


def test_definitions_are_texts_by_key(cache):
    key = key_of("definition")
    assert cache.note("definitions", key) is None
    assert cache.keep_note("definitions", key, '["é", {"a": 1}]')
    assert DiskCache(cache.path).note("definitions", key) == '["é", {"a": 1}]'
    assert cache.resolve(key) is None  # links are kept apart


def test_nothing_is_left_in_staging_and_only_the_owner_can_read(cache):
    key = key_of(1)
    cache.put(key, artifact_of(key))
    cache.link(key, key)
    assert os.listdir(Layout(cache.path).staging) == []
    for where, folders, files in os.walk(cache.path):
        assert stat.S_IMODE(os.stat(where).st_mode) == 0o700, where
        for name in files:
            assert stat.S_IMODE(os.stat(os.path.join(where, name)).st_mode) == 0o600, name
        empty = ("staging", "quarantine", "definitions", "results", "plugins", "binaries")
        assert folders or files or os.path.basename(where) in empty


def test_modes_hold_under_any_umask(tmp_path):
    before = os.umask(0)
    try:
        cache = DiskCache(tmp_path / "open")
        cache.put(key_of(1), artifact_of(key_of(1)))
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(os.stat(path).st_mode) for path in files_below(cache.path)}
    assert modes == {0o600}
    assert stat.S_IMODE(os.stat(cache.path).st_mode) == 0o700


@pytest.mark.parametrize("key", ["", "ab", "../../etc/passwd" + "a" * 48, "A" * 64, "0x" + "a" * 62, 5, "g" * 64])
def test_what_is_no_key_is_refused(cache, key):
    for call in (cache.get, cache.resolve, lambda k: cache.put(k, artifact_of(key_of(1))), lambda k: cache.link(k, k)):
        with pytest.raises(CacheError):
            call(key)


def test_an_artifact_that_is_not_plain_data_is_not_cached(cache):
    import dataclasses

    bad = dataclasses.replace(artifact_of(key_of(1)), report={"x": object()})
    with pytest.warns(CacheWarning, match="not plain data"):
        assert not cache.put(key_of(1), bad)
    assert cache.get(key_of(1)) is None


def test_the_cache_may_be_deleted_at_any_time(cache):
    import shutil

    key = key_of(1)
    assert cache.put(key, artifact_of(key))
    shutil.rmtree(cache.path)
    assert cache.get(key) is None
    assert cache.resolve(key) is None
    assert cache.put(key, artifact_of(key))
    assert cache.get(key) == artifact_of(key)
    shutil.rmtree(Layout(cache.path).staging)
    assert cache.put(key_of(2), artifact_of(key_of(2)))


def test_a_good_entry_under_another_key_is_not_taken(cache):
    first, second = key_of(1), key_of(2)
    cache.put(first, artifact_of(first))
    layout = Layout(cache.path)
    os.makedirs(os.path.dirname(layout.entry(second)), mode=0o700, exist_ok=True)
    os.rename(layout.entry(first), layout.entry(second))
    with pytest.warns(CacheWarning, match="holds another key"):
        assert cache.get(second) is None
    cache.link(first, second)
    os.makedirs(os.path.dirname(layout.link(second)), mode=0o700, exist_ok=True)
    os.rename(layout.link(first), layout.link(second))
    with pytest.warns(CacheWarning, match="note"):
        assert cache.resolve(second) is None


def test_a_bad_entry_is_set_aside_and_rebuilt(cache):
    key = key_of(1)
    cache.put(key, artifact_of(key))
    layout = Layout(cache.path)
    with open(layout.entry(key), "r+b") as stream:
        stream.truncate(100)
    with pytest.warns(CacheWarning) as caught:
        assert cache.get(key) is None
    assert len(caught) == 1
    assert "\n" not in str(caught[0].message)
    assert layout.entry(key) in str(caught[0].message)
    assert len(os.listdir(layout.quarantine)) == 1
    assert cache.get(key) is None  # a plain miss from now on
    assert cache.put(key, artifact_of(key))
    assert cache.get(key) == artifact_of(key)


@pytest.mark.parametrize("damage", ["cut", "flip", "zero"])
def test_damage_in_any_member_is_noticed_and_repaired(cache, damage):
    key = key_of(1)
    layout = Layout(cache.path)
    cache.put(key, artifact_of(key))
    with open(layout.entry(key), "rb") as stream:
        whole = stream.read()
    binary = whole.index(bytes.fromhex(key))
    source = binary - _manifest(whole)[0]["members"]["source"][0]
    for place in (0, 5, 20, 100, source - 1, source, source + 9, binary - 1, binary, binary + 1000, len(whole) - 1):
        damaged = bytearray(whole)
        if damage == "cut":
            del damaged[place:]
        elif damage == "flip":
            damaged[place] ^= 0x10
        else:
            damaged[place : place + 64] = bytes(len(damaged[place : place + 64]))
        with open(layout.entry(key), "wb") as stream:
            stream.write(damaged)
        with pytest.warns(CacheWarning, match="set aside"):
            assert cache.get(key) is None
        assert cache.put(key, artifact_of(key))
        assert cache.get(key) == artifact_of(key)
    cache.keep_note("definitions", key, "text")
    with open(layout.note("definitions", key), "r+b") as stream:
        stream.truncate(40)
    with pytest.warns(CacheWarning, match="set aside"):
        assert cache.note("definitions", key) is None


def test_sources_are_small_on_disk_and_are_unpacked_when_they_are_read(cache):
    key = key_of(1)
    whole = replace(artifact_of(key), source="%v = fadd <8 x float> %a, %b\n" * 10_000)
    cache.put(key, whole)
    assert os.path.getsize(Layout(cache.path).entry(key)) < 10_000 + len(whole.binary)
    loaded = cache.get(key)
    assert "source" not in vars(loaded)
    assert loaded == whole


def test_a_source_that_is_sealed_and_cannot_be_unpacked():
    key = key_of(1)
    artifact = artifact_of(key)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zlib, "compress", lambda text: text)
        data = encode(key, artifact)
    loaded = decode(data, key)
    assert loaded.binary == artifact.binary
    with pytest.raises(CacheError, match=f"source of kernel {artifact.name} cannot be unpacked"):
        print(loaded.source)


def test_the_quarantine_is_bounded(cache):
    from tilecore.compilation_cache.quarantine import MOST_FILES

    layout = Layout(cache.path)
    for number in range(MOST_FILES + 5):
        key = key_of(number)
        cache.put(key, artifact_of(key, 100))
        with open(layout.entry(key), "wb") as stream:
            stream.write(b"garbage")
        with pytest.warns(CacheWarning):
            cache.get(key)
    assert len(os.listdir(layout.quarantine)) == MOST_FILES
    assert files_below(layout.entries) == []


ENTRY = encode(key_of(1), artifact_of(key_of(1), 200))
NOTE = encode_note(key_of(1), key_of(2))


def test_every_truncation_is_noticed():
    for length in range(len(ENTRY)):
        with pytest.raises(BadEntryError):
            decode(ENTRY[:length], key_of(1))
    for length in range(len(NOTE)):
        with pytest.raises(BadEntryError):
            decode_note(NOTE[:length], key_of(1))
    for extra in (b"\0", b"\n", b"x" * 500):
        with pytest.raises(BadEntryError):
            decode(ENTRY + extra, key_of(1))
        with pytest.raises(BadEntryError):
            decode_note(NOTE + extra, key_of(1))


def test_every_changed_byte_is_noticed():
    for position in range(len(ENTRY)):
        for flip in (0x01, 0x80):
            damaged = bytearray(ENTRY)
            damaged[position] ^= flip
            with pytest.raises(BadEntryError):
                decode(bytes(damaged), key_of(1))
    for position in range(len(NOTE)):
        damaged = bytearray(NOTE)
        damaged[position] ^= 0x01
        with pytest.raises(BadEntryError):
            decode_note(bytes(damaged), key_of(1))


@given(st.binary(max_size=300), st.integers(0, len(ENTRY)))
@settings(max_examples=200, deadline=None)
def test_random_bytes_are_never_an_entry(garbage, position):
    for data in (garbage, ENTRY[:position] + garbage, ENTRY[:position] + garbage + ENTRY[position + len(garbage) :]):
        if data != ENTRY:
            with pytest.raises(BadEntryError):
                decode(data, key_of(1))
        with pytest.raises(BadEntryError):
            decode_note(data, key_of(1))


def sealed(manifest: bytes) -> bytes:
    """An entry whose header is right, around any manifest."""
    import hashlib

    return b"tilecore-entry 2 %d %s\n%s" % (len(manifest), hashlib.sha256(manifest).hexdigest().encode(), manifest)


@pytest.mark.parametrize(
    "manifest",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"[" * 100_000,
        b'{"key": "KEY"}',
        b'{"key": "KEY", "members": {"source": 5, "binary": [0, "x"]}, "artifact": {}}',
        b'{"key": "KEY", "members": {"source": [-5, "x"], "binary": [5, "x"]}, "artifact": {}}',
        b'{"key": "KEY", "members": {"source": [0, "EMPTY"], "binary": [0, "EMPTY"]}, "artifact": {}}',
        b'{"key": "KEY", "members": {"source": [0, "EMPTY"], "binary": [0, "EMPTY"]}, "artifact": {"name": 1}}',
        b'{"key": "KEY", "members": {"source": [0, "EMPTY"], "binary": [0, "EMPTY"]}, "artifact": []}',
    ],
)
def test_a_manifest_of_another_shape_is_a_bad_entry(manifest):
    import hashlib

    empty = hashlib.sha256(b"").hexdigest().encode()
    data = sealed(manifest.replace(b"KEY", key_of(1).encode()).replace(b"EMPTY", empty))
    with pytest.raises(BadEntryError):
        decode(data, key_of(1))


def test_an_unreadable_place_is_a_miss_with_one_warning(cache):
    key = key_of(1)
    layout = Layout(cache.path)
    cache.put(key, artifact_of(key))
    os.unlink(layout.entry(key))
    os.mkdir(layout.entry(key))
    with recorded() as texts:
        assert cache.get(key) is None
        assert cache.get(key) is None
    assert len(texts) == 1
    assert "not a file" in texts[0]


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links and modes")
def test_links_and_files_that_others_could_write_are_not_followed(cache, tmp_path):
    key = key_of(1)
    cache.put(key, artifact_of(key))
    path = Layout(cache.path).entry(key)
    os.chmod(path, 0o620)
    with pytest.warns(CacheWarning, match="written by others"):
        assert cache.get(key) is None
    os.chmod(path, 0o600)
    os.rename(path, tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", path)
    with pytest.warns(CacheWarning, match="not a file"):
        assert cache.get(key) is None
    assert (tmp_path / "elsewhere").exists(), "the link is set aside, not what it names"


def test_without_a_directory_everything_is_a_miss_and_one_warning_says_why():
    cache = DiskCache(None, reason="there is no home")
    with recorded() as texts:
        assert cache.get(key_of(1)) is None
        assert not cache.put(key_of(1), artifact_of(key_of(1)))
        assert cache.resolve(key_of(1)) is None
        assert not cache.link(key_of(1), key_of(2))
    assert len(texts) == 1
    assert "in memory only: there is no home" in texts[0]
    assert DiskCache(None).get(key_of(1)) is None  # turned off on purpose: nothing to say
