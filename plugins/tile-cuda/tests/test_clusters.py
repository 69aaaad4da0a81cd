"""T.Kernel(cluster_dims=...): what is emitted, what the launcher is told, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import LanguageError, LaunchError, UnsupportedError


def doubled(grid, cluster, n=1024):
    m = T.dynamic("m") if grid is None else n

    @T.prim_func
    def main(X: T.Tensor((m,), "float32"), Y: T.Tensor((m,), "float32")):
        with T.Kernel(T.ceildiv(m, 64) if grid is None else grid, threads=64, cluster_dims=cluster) as b:
            for i in T.Parallel(64):
                Y[b * 64 + i] = X[b * 64 + i] * 2.0

    return main


def compiled(func, arch="sm_90", backend="sim"):
    return tilecore.compile(func, target=f"cuda -arch={arch}", execution_backend=backend)


@pytest.mark.parametrize("cluster", [2, (4,), (4, 1, 1)])
def test_a_cluster_is_part_of_the_kernel(installed, cluster):
    kernel = compiled(doubled(16, cluster))
    size = cluster if isinstance(cluster, int) else cluster[0]
    assert f"__cluster_dims__({size}, 1, 1)" in kernel.get_kernel_source()
    assert kernel.artifact.entries[0].attributes["cluster"] == [size, 1, 1]
    x, y = np.arange(1024, dtype=np.float32), np.zeros(1024, np.float32)
    kernel(x, y)
    np.testing.assert_array_equal(y, 2 * x)


@pytest.mark.parametrize("cluster", [None, 1, (1, 1, 1)])
def test_no_cluster(installed, cluster):
    kernel = compiled(doubled(16, cluster))
    assert "__cluster_dims__" not in kernel.get_kernel_source()
    assert "cluster" not in kernel.artifact.entries[0].attributes


def test_architectures_without_clusters_refuse(installed):
    with pytest.raises(UnsupportedError, match="no clusters of blocks") as caught:
        compiled(doubled(16, 2), arch="sm_80")
    assert "test_clusters.py" in str(caught.value.location)


@pytest.mark.parametrize(("cluster", "words"), [
    (3, "16 blocks along x, which is not a whole number of clusters"), ((2, 2), "1 blocks along y"),
    (0, "must be positive, one to three ints"),
    ((1, 1, 1, 2), "must be positive, one to three ints"), ("two", "is not an int"),
])  # fmt: skip
def test_what_is_no_cluster_of_the_grid(installed, cluster, words):
    with pytest.raises(LanguageError, match=words):
        compiled(doubled(16, cluster))


def test_a_dynamic_grid_is_checked_when_launched(installed):
    kernel = compiled(doubled(None, 4))
    x, y = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    kernel(x, y)
    np.testing.assert_array_equal(y, 2 * x)
    with pytest.raises(LaunchError, match=r"no multiple of its clusters of \(4, 1, 1\) blocks"):
        kernel(x[:192], y[:192])


def test_a_target_without_threads_passes_over_it():
    kernel = tilecore.compile(doubled(16, 2), target="cpu")
    x, y = np.arange(1024, dtype=np.float32), np.zeros(1024, np.float32)
    kernel(x, y)
    np.testing.assert_array_equal(y, 2 * x)
