"""Cache directories as read-only layers under the user's own cache."""

from __future__ import annotations

import os

import pytest
from cache_kit import artifact_of, key_of, recorded

from tilecore.cache import DiskCache
from tilecore.compilation_cache.folder_layer import FolderLayer
from tilecore.compilation_cache.layout import Layout

KEY = key_of(1)


@pytest.fixture
def layer(tmp_path):
    cache = DiskCache(tmp_path / "layer")
    cache.put(KEY, artifact_of(KEY))
    cache.link(key_of("source"), KEY)
    cache.keep_note("results", KEY, "a note")
    return FolderLayer(str(tmp_path / "layer"))


def test_what_the_cache_lacks_comes_from_the_layer(tmp_path, layer):
    cache = DiskCache(tmp_path / "own", layers=[layer])
    with recorded() as texts:
        assert cache.get(KEY) == artifact_of(KEY)
        assert cache.resolve(key_of("source")) == KEY
        assert cache.note("results", KEY) == "a note"
        assert cache.get(key_of(2)) is None
        assert cache.resolve(KEY) is None
    assert texts == []
    assert DiskCache(tmp_path / "own").get(KEY) is None  # nothing was copied


def test_the_first_that_has_it_is_used(tmp_path, layer):
    other = DiskCache(tmp_path / "other")
    other.keep_note("results", KEY, "another note")
    layers = [FolderLayer(str(tmp_path / "other")), layer]
    cache = DiskCache(tmp_path / "own", layers=layers)
    assert cache.note("results", KEY) == "another note"
    assert cache.get(KEY) == artifact_of(KEY)
    cache.keep_note("results", KEY, "an own note")
    assert cache.note("results", KEY) == "an own note"


def test_without_an_own_cache(layer):
    """As in a container whose user has no home."""
    assert DiskCache(None, layers=[layer]).get(KEY) == artifact_of(KEY)


def state(folder):
    return sorted(
        (os.path.join(place, name), os.lstat(os.path.join(place, name)).st_mtime_ns)
        for place, folders, files in os.walk(folder)
        for name in [*folders, *files]
    )


def test_nothing_is_written(tmp_path, layer):
    for place, folders, files in os.walk(layer.path):
        for name in [*folders, *files]:
            os.utime(os.path.join(place, name), (1000, 1000))
    before = state(layer.path)
    cache = DiskCache(tmp_path / "own", layers=[layer])
    cache.get(KEY)
    cache.note("results", KEY)
    cache.put(key_of(2), artifact_of(key_of(2)))
    assert state(layer.path) == before


def test_a_damaged_entry_stays_and_is_told_once(tmp_path, layer):
    path = Layout(layer.path).entry(KEY)
    with open(path, "r+b") as file:
        file.seek(300)
        file.write(b"XXXX")
    cache = DiskCache(tmp_path / "own", layers=[layer])
    with recorded() as texts:
        assert cache.get(KEY) is None
        assert cache.get(KEY) is None
    assert len(texts) == 1
    assert path in texts[0]
    assert os.path.exists(path)


def test_a_layer_that_others_can_write_to_is_refused(tmp_path, layer):
    for path in (layer.path, Layout(layer.path).base):
        os.chmod(path, 0o777)
        with recorded() as texts:
            fresh = FolderLayer(layer.path)
            assert fresh.get(KEY) is None
            assert fresh.get(KEY) is None
        assert len(texts) == 1
        assert f"{path} can be written to by others (mode 777): chmod -R go-w {path}" in texts[0]
        os.chmod(path, 0o755)
    os.chmod(Layout(layer.path).entry(KEY), 0o666)  # a file alone
    with recorded() as texts:
        assert FolderLayer(layer.path).get(KEY) is None
    assert len(texts) == 1
