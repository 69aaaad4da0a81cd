"""describe_hints: hints for a whole kernel become attributes of its function."""

from __future__ import annotations

import pytest

import tilecore.language as T
from tilecore.errors import UnsupportedError

from ..one_pass import around_pass
from .kit import CAPABILITIES

PASS = "describe_hints"
WITH_CLUSTERS = CAPABILITIES.features | {"clusters"}


def kernel_of(blocks=4, cluster=None, min_blocks=None):
    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(blocks, threads=64, cluster_dims=cluster):
            if min_blocks is not None:
                T.annotate_min_blocks_per_sm(min_blocks)
            T.copy(X, Y)

    return kernel


def attributes(kernel, **options):
    """Of each kernel, the attributes that the pass adds."""
    before, after, _ = around_pass(kernel, PASS, **options)
    both = zip(before.functions.values(), after.functions.values(), strict=True)
    pairs = [(dict(old.attrs.items()), dict(new.attrs.items())) for old, new in both]
    return [{str(key): value for key, value in new.items() if key not in old} for old, new in pairs]


def test_a_kernel_without_hints_gets_no_attribute():
    assert attributes(kernel_of()) == [{}]


def test_the_number_of_blocks_per_core():
    (row,) = attributes(kernel_of(min_blocks=3))
    assert {key: int(value) for key, value in row.items()} == {"simt.min_blocks": 3}


def test_the_size_of_clusters():
    (row,) = attributes(kernel_of(cluster=2), features=WITH_CLUSTERS)
    assert [int(size) for size in row["simt.cluster"]] == [2, 1, 1]


def test_each_kernel_of_a_function_has_its_own():
    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            T.copy(X, Y)
        with T.Kernel(1, threads=64):
            T.annotate_min_blocks_per_sm(2)
            T.copy(Y, X)

    first, second = attributes(kernel)
    assert first == {}
    assert int(second["simt.min_blocks"]) == 2


def test_clusters_on_a_target_without_them_are_refused_at_the_kernel():
    with pytest.raises(UnsupportedError, match=r"T\.Kernel\(cluster_dims=\(2, 1, 1\)\) needs clusters") as caught:
        attributes(kernel_of(cluster=2))
    assert "leave cluster_dims out" in str(caught.value)
    assert "T.Kernel" in caught.value.location.excerpt()
