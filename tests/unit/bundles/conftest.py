"""Every test has a cache of its own, and no bundles but its own."""

import pytest

from tilecore.bundles import layers


@pytest.fixture(autouse=True)
def own_caches(fresh_caches, monkeypatch):
    monkeypatch.setattr(layers, "_layers", {})
    monkeypatch.setattr(layers, "_folders", {})
    monkeypatch.setattr(layers, "_added", [])
