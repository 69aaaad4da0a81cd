"""What lies where the cache's files should: no files at all, and entries whose digests are right and contents wrong.

None of it hangs, none of it raises; it is set aside and the kernel is compiled again.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket

import numpy as np
import pytest
from cache_kit import artifact_of, key_of, recorded

import tilecore
import tilecore.language as T
from tilecore.cache import DiskCache
from tilecore.compilation_cache import admin, eviction
from tilecore.compilation_cache.entry_format import _MAGIC, BadEntryError, _manifest, _seal, decode, encode
from tilecore.compilation_cache.layout import Layout

pytestmark = pytest.mark.skipif(os.name == "nt", reason="files of POSIX")


@pytest.fixture(autouse=True)
def in_time():
    """A test that hangs fails."""

    def ring(number, frame):
        raise TimeoutError("it hangs")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def plant_socket(path):
    place = os.getcwd()
    os.chdir(os.path.dirname(path))  # the names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as plug:
            plug.bind(os.path.basename(path))
    finally:
        os.chdir(place)


def plant_folder(path):
    os.mkdir(path)
    with open(os.path.join(path, "inside"), "w"):
        pass


PLANTS = {
    "fifo": os.mkfifo,
    "socket": plant_socket,
    "folder": plant_folder,
    "link": lambda path: os.symlink("/dev/zero", path),
    "dangling": lambda path: os.symlink("nowhere", path),
}


def planted(cache, path, plant):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.lexists(path):
        os.unlink(path)
    PLANTS[plant](path)


@pytest.mark.parametrize("plant", PLANTS)
def test_an_entry_that_is_no_file(cache, plant):
    key = key_of(plant)
    cache.put(key, artifact_of(key))
    planted(cache, Layout(cache.path).entry(key), plant)
    with recorded() as texts:
        assert cache.get(key) is None
    assert len(texts) == 1
    assert "not a file" in texts[0]
    assert cache.put(key, artifact_of(key))
    assert cache.get(key) == artifact_of(key)
    assert len(os.listdir(Layout(cache.path).quarantine)) == 1


@pytest.mark.parametrize("plant", PLANTS)
@pytest.mark.parametrize("store", ["links", "definitions", "results", "plugins"])
def test_a_note_that_is_no_file(cache, plant, store):
    key = key_of(plant)
    cache.put(key_of(0), artifact_of(key_of(0)))
    layout = Layout(cache.path)
    planted(cache, layout.note(store, key), plant)
    with recorded():
        assert (cache.resolve(key) if store == "links" else cache.note(store, key)) is None
    wrote = cache.link(key, key) if store == "links" else cache.keep_note(store, key, "text")
    assert wrote


@pytest.mark.parametrize("plant", ["fifo", "socket", "folder"])
def test_the_record_of_growth_that_is_no_file(cache, plant):
    cache.put(key_of(0), artifact_of(key_of(0)))
    planted(cache, Layout(cache.path).growth, plant)
    with recorded():
        cache.put(key_of(1), artifact_of(key_of(1)))
    assert cache.get(key_of(1)) == artifact_of(key_of(1))
    eviction.evict(Layout(cache.path), 1)


@pytest.mark.parametrize("plant", PLANTS)
def test_a_staging_file_that_is_no_file(cache, plant):
    cache.put(key_of(0), artifact_of(key_of(0)))
    path = os.path.join(Layout(cache.path).staging, "1-aa")
    planted(cache, path, plant)
    os.utime(path, (1, 1), follow_symlinks=False)
    with recorded():
        assert DiskCache(cache.path).put(key_of(1), artifact_of(key_of(1)))


@pytest.mark.parametrize("plant", PLANTS)
def test_verify_and_clear_pass_over_nothing(cache, plant, monkeypatch):
    monkeypatch.setenv("TILECORE_CACHE_DIR", cache.path)
    key = key_of(plant)
    cache.put(key, artifact_of(key))
    path = Layout(cache.path).entry(key)
    planted(cache, path, plant)
    assert admin.verify().damaged == (path,)
    assert not os.path.lexists(path)
    planted(cache, path, plant)
    admin.clear()
    assert not os.path.lexists(path)
    assert os.listdir(Layout(cache.path).quarantine) == []


# -- entries that are whole, and make no sense -----------------------------------------------------------------------


def resealed(data: bytes, change) -> bytes:
    """An entry with its manifest changed and every digest right again."""
    facts, start = _manifest(data)
    facts = change(facts) or facts
    manifest = json.dumps(facts, separators=(",", ":")).encode()
    size, digest = _seal(manifest)
    return b"".join((_MAGIC, f"{size} {digest}\n".encode(), manifest, data[start:]))


def paths_in(value, path=()):
    """Every place in JSON data."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths_in(inner, (*path, key))


def put_at(facts, path, value):
    for key in path[:-1]:
        facts = facts[key]
    facts[path[-1]] = value


WRONG = [None, -1, 2**70, 1.5, True, "x", "", [], {}, [[]], {"expr": ["+", "nobody", 1]}]


def test_whatever_is_changed_gives_an_artifact_of_the_right_types_or_is_refused():
    """Only BadEntryError comes out; what passes survives being written again."""
    key = key_of(5)
    data = encode(key, artifact_of(key))
    places = [path for path in paths_in(_manifest(data)[0]["artifact"]) if path]
    refused = passed = 0
    for path in places:
        for wrong in WRONG:
            changed = resealed(data, lambda facts, path=path, wrong=wrong: put_at(facts["artifact"], path, wrong))
            try:
                artifact = decode(changed, key)
            except BadEntryError:
                refused += 1
            else:
                passed += 1
                assert decode(encode(key, artifact), key) == artifact
    assert refused > 500
    for path in places:
        if len(path) == 1 and path[0] not in (
            "index_hint",
            "assumptions",
        ):  # which files of earlier versions do not have
            changed = resealed(data, lambda facts, path=path: facts["artifact"].pop(path[0]) and None)
            with pytest.raises(BadEntryError):
                decode(changed, key)


def kernel(number):
    @T.prim_func
    def add(A: T.Tensor((8,), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                B[i] = A[i] + number

    return add


CHANGES = {
    "another adapter": lambda facts: facts["artifact"].update(adapter="nobody"),
    "another target": lambda facts: facts["artifact"].update(target="elsewhere"),
    "an entry that is not in the binary": lambda facts: facts["artifact"]["entries"][0].update(symbol="nobody"),
    "a type that does not exist": lambda facts: facts["artifact"]["params"][0].update(dtype="float33"),
    "a format that nobody loads": lambda facts: facts["artifact"].update(binary_format="nothing"),
    "a key that is missing": lambda facts: facts["artifact"].pop("params") and None,
    "no artifact": lambda facts: facts.update(artifact=[]),
    "a list": lambda facts: [facts],
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_kernel_whose_entry_makes_no_sense_is_compiled_again(tmp_path, monkeypatch, change):
    module = importlib.import_module("tilecore.jit.compile")

    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path))
    number = float(list(CHANGES).index(change))
    tilecore.compile(kernel(number), target="cpu")
    (path,) = (tmp_path / "v1" / "entries").glob("*/*")
    path.write_bytes(resealed(path.read_bytes(), CHANGES[change]))
    module._kernels.clear()
    a, b = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    with recorded() as texts:
        compiled = tilecore.compile(kernel(number), target="cpu")
    assert len(texts) == 1
    assert "set aside" in texts[0]
    assert not compiled.from_cache
    compiled(a, b)
    np.testing.assert_array_equal(b, a + number)
    module._kernels.clear()
    assert tilecore.compile(kernel(number), target="cpu").from_cache
