"""Launch attributes from the language to the launcher."""

from __future__ import annotations

import numpy as np
import pytest
from tile_cuda import codegen
from tile_cuda.launch.entries import launch_entry
from tile_cuda.launch.tensor_maps import TensorMap

import tilecore
import tilecore.language as T
from tilecore.artifact.dims import evaluate
from tilecore.artifact.records import Entry
from tilecore.codegen.dialect import KernelHead
from tilecore.errors import LanguageError, UnsupportedError

pytestmark = pytest.mark.usefixtures("installed")
n = T.dynamic("n")


@T.prim_func
def hinted(X: T.Tensor((n, 32), "float16"), Y: T.Tensor((n, 32), "float16")):
    with T.Kernel(n, threads=32) as bx:
        T.annotate_l2_hit_ratio({Y: 0.5, X: 0.9})
        for i in T.Parallel(32):
            Y[bx, i] = X[bx, i] + T.float16(1)


@T.prim_func
def two_kernels(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(64):
            Y[i] = X[i]
    with T.Kernel(1, threads=32):
        T.annotate_l2_hit_ratio({X: 1})
        for i in T.Parallel(64):
            Y[i] = Y[i] * X[i]


def built(func, arch="sm_90a"):
    return tilecore.compile(func, target=f"cuda -arch={arch}", execution_backend="sim")


def test_a_window_of_l2():
    """The first annotated tensor has it, with its bytes at the call."""
    kernel = built(hinted)
    (entry,) = kernel.artifact.entries
    facts = launch_entry(entry)
    assert (facts.window_slot, facts.window_ratio) == (1, 0.5)
    assert evaluate(facts.window_bytes, {"n": 10}) == 10 * 32 * 2
    text = str(kernel.explain())
    assert "0.5 of the accesses to Y stay in L2" in text
    assert "not 0.9 of the accesses to X stay in L2: a launch has one window, which Y has" in text


def test_the_window_is_of_the_kernel_that_asks():
    first, second = (launch_entry(entry) for entry in built(two_kernels).artifact.entries)
    assert first.is_plain
    assert (second.window_slot, second.window_bytes, second.window_ratio) == (0, 256, 1.0)


def test_an_architecture_without_windows():
    kernel = built(hinted, "sm_75")
    assert launch_entry(kernel.artifact.entries[0]).is_plain
    assert "stay in L2: sm_75 has no L2 access policy windows" in str(kernel.explain())


def test_hints_run_on_the_simulated_device(capsys, monkeypatch):
    monkeypatch.setenv("TILECORE_DEBUG", "1")

    @T.prim_func
    def shifted(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(2, threads=32) as bx:
            T.annotate_l2_hit_ratio({X: 0.5})
            for i in T.Parallel(32):
                Y[bx * 32 + i] = X[bx * 32 + i] + 1

    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    kernel = built(shifted)
    kernel(x, y)
    np.testing.assert_array_equal(y, x + 1)
    name = kernel.artifact.entries[0].symbol
    assert f"{name}: an L2 access policy window has no effect on the simulated device" in capsys.readouterr().err


@pytest.mark.parametrize("ratio", [1.5, -0.1])
def test_ratios_outside_of_0_to_1(ratio):
    def kernel(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            T.annotate_l2_hit_ratio({X: ratio})
            X[0] = 1.0

    with pytest.raises(LanguageError, match="a number from 0 to 1"):
        T.prim_func(kernel)


def test_tensor_maps_are_the_last_parameters():
    maps = [{"parameter": "A_map"}, {"parameter": "B_map"}]
    head = codegen.head(KernelHead("k", [("const half*", "A")], (64, 1, 1), launch={"tensor_maps": maps}))
    assert head == (
        'extern "C" __global__ void __launch_bounds__(64) k(const half* A, '
        "const __grid_constant__ tc_tensor_map A_map, const __grid_constant__ tc_tensor_map B_map)"
    )


def test_interleaved_tensor_maps_are_not_simulated():
    from tile_cuda.simulated import _check_facts

    plain = TensorMap(0, "float16", (64,), (), (64,))
    _check_facts(Entry("gemm_k", (1, 1, 1), attributes={"tensor_maps": [plain.to_json()]}))
    tensor_map = TensorMap(0, "float16", (8, 64, 4), (128, 8192), (8, 64, 1), interleave="16B", name="A")
    with pytest.raises(
        UnsupportedError, match="gemm_k: the simulated device does not support the interleaved tensor map of A"
    ):
        _check_facts(Entry("gemm_k", (1, 1, 1), attributes={"tensor_maps": [tensor_map.to_json()]}))


def test_without_a_gpu_by_a_setting(monkeypatch):
    """The kernel names an execution backend that needs a GPU, and still runs on the simulated device."""
    monkeypatch.setenv("TILECORE_SIMULATE", "1")
    kernel = tilecore.compile(hinted, target="cuda -arch=sm_90a", execution_backend="cython")
    assert kernel.execution_backend == "sim"
    x, y = np.ones((3, 32), np.float16), np.zeros((3, 32), np.float16)
    kernel(x, y)
    np.testing.assert_array_equal(y, x + 1)
