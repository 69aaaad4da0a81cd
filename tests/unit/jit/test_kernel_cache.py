"""KernelCache: the caches of the process by the methods that TileLang's has; and tilecore.engine."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilecore
import tilecore.language as T
from tilecore.cache.kernel_cache import KernelCache
from tilecore.errors import CacheError


@T.prim_func
def filled(A: T.Tensor((4,), "float32")):
    with T.Kernel(1):
        T.fill(A, 1)


def test_cached_is_compile_and_clearing_forgets_both(monkeypatch):
    cache = KernelCache()
    kernel = cache.cached(filled, target="cpu")
    assert tilecore.cache.cached(filled, target="cpu") is kernel is tilecore.compile(filled, target="cpu")
    assert Path(tilecore.cache.path()) == cache.path
    assert cache.clear_cache().entries == 1
    again = cache.cached(filled, target="cpu")
    assert again is not kernel
    assert not again.from_cache
    assert tilecore.cache.clear_cache().entries == 1
    monkeypatch.setenv("TILECORE_CACHE_DIR", "~nobody-of-this-name/cache")
    with pytest.raises(CacheError, match="no kernels are kept"):
        cache.path  # noqa: B018


def test_the_engine_lowers():
    from tilecore.engine import lower
    from tilecore.engine.lower import lower as same
    from tilecore.engine.param import CompiledArtifact, KernelParam

    assert lower is same is tilecore.lower is tilecore.engine.lower
    lowered = lower(filled, target="cpu")
    assert isinstance(lowered, CompiledArtifact)
    (param,) = lowered.params
    assert isinstance(param, KernelParam)
    assert "filled_kernel" in lowered.kernel_source
