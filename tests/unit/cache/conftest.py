"""Fixtures of the cache's tests."""

from __future__ import annotations

import pytest

from tilecore.cache import DiskCache


@pytest.fixture(autouse=True)
def own_cache_directory(tmp_path_factory, monkeypatch):
    """No test reads or writes the user's cache."""
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path_factory.mktemp("cache") / "default"))


@pytest.fixture
def cache(tmp_path):
    return DiskCache(tmp_path / "cache")
