"""Caches of its own for every test."""

import pytest


@pytest.fixture(autouse=True)
def own_caches(fresh_caches):
    """Every test begins with empty caches."""
