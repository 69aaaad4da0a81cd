"""Names that the language has elsewhere: what the error tells to write instead is there."""

from __future__ import annotations

import re

import pytest

import tilecore.language as T
from tilecore.errors import LanguageError
from tilecore.language.foreign import _REASONS, _STEMS, MissingNameError
from tilecore.plugins import manager


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """No backend adds names."""
    monkeypatch.setattr(manager, "offers", lambda: iter(()))


@pytest.mark.parametrize("name", [*_STEMS, *_REASONS])
def test_what_to_write_instead_is_there(name):
    with pytest.raises(MissingNameError) as caught:
        getattr(T, name)
    hint = str(caught.value.hint)
    assert "plugin" not in hint
    for word in re.findall(r"\bT\.(\w+)", hint):
        assert hasattr(T, word), word


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("tma_load", "T.async_copy"),
        ("ptx_cp_async_bulk", "T.async_copy"),
        ("cp_async_barrier_noinc", "T.sync_threads"),
        ("ptx_init_barrier_thread_count", "T.sync_threads"),
        ("fence_proxy_async", "T.sync_threads"),
        ("ptx_wgmma_ss", "T.gemm"),
        ("tcgen05_mma_arrive", "T.gemm"),
        ("alloc_tmem", "T.gemm"),
        ("ws", "T.Pipelined"),
        ("cluster_sync", "T.sync_grid"),
        ("elect_one", "T.get_lane_idx"),
        ("CUDASourceCodeKernel", "T.Kernel"),
    ],
)
def test_the_longest_stem_decides(name, instead):
    with pytest.raises(MissingNameError, match="an instruction of one chip") as caught:
        getattr(T, name)
    first, _, rest = str(caught.value.hint).rpartition("; ")
    assert instead in first
    assert "T.import_source" in rest
    assert "T.call_extern" in rest


def test_names_of_python_itself_are_not_the_languages():
    with pytest.raises(AttributeError) as caught:
        _ = T.__wrapped__
    assert not isinstance(caught.value, MissingNameError)


def test_an_argument_of_one_chip_may_be_left_out():
    with pytest.raises(LanguageError, match="is an option of one chip") as caught:

        @T.prim_func
        def kernel(A: T.Tensor((32, 32), "float16"), C: T.Tensor((32, 32), "float32")):
            with T.Kernel(1, threads=128):
                a, c = T.alloc_shared((32, 32), "float16"), T.alloc_fragment((32, 32), "float32")
                T.copy(A, a)
                T.gemm(a, a, c, clear_accum=True, mbar=a)
                T.copy(c, C)

    assert "remove it" in str(caught.value.hint)
