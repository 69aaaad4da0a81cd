"""Forms of programs written for TileLang: T.tma_copy in T.Pipelined, parts of tiles in T.wgmma_gemm, source kernels,
dependent launches."""

from __future__ import annotations

import numpy as np
import pytest
from expert_kernels import TARGET
from simulated_kit import needs_compiler
from test_expert_pieces import check, numbers

import tilecore
import tilecore.language as T
from tilecore.errors import LanguageError, UnsupportedError

HALF = "float16"
pytestmark = [needs_compiler, pytest.mark.usefixtures("installed")]


def staged(stages, threads, rounds=1, parity=lambda k: k % 2):
    """A product whose loop copies by T.tma_copy. rounds: how often the loop runs."""

    @T.prim_func
    def kernel(
        A: T.Tensor((128, 160), "float16"), B: T.Tensor((160, 64), "float16"), C: T.Tensor((128, 64), "float32")
    ):
        with T.Kernel(1, threads=threads):
            a, b = T.alloc_shared((128, 32), "float16"), T.alloc_shared((32, 64), "float16")
            c = T.alloc_fragment((128, 64), "float32")
            full_a, full_b = T.alloc_barrier(threads), T.alloc_barrier(threads)
            T.clear(c)
            for r in T.serial(rounds):
                for k in T.Pipelined(5, num_stages=stages):
                    T.tma_copy(A[0, k * 32], a, barrier=full_a)
                    T.barrier_arrive(full_a)
                    T.tma_copy(B[k * 32, 0], b, barrier=full_b)
                    T.barrier_arrive(full_b)
                    T.barrier_wait(full_a, parity(r * 5 + k))
                    T.mbarrier_wait_parity(full_b, parity(r * 5 + k))
                    T.gemm(a, b, c)
            T.copy(c, C)

    return kernel


@T.prim_func
def once(A: T.Tensor((128, 160), "float16"), B: T.Tensor((160, 64), "float16"), C: T.Tensor((128, 64), "float32")):
    with T.Kernel(1, threads=256):
        a, b = T.alloc_shared((128, 32), "float16"), T.alloc_shared((32, 64), "float16")
        c = T.alloc_fragment((128, 64), "float32")
        full = T.alloc_barrier(256)
        T.clear(c)
        for k in T.Pipelined(5, num_stages=3):
            T.tma_copy(A[0, k * 32], a, barrier=full)
            T.tma_copy(B[k * 32, 0], b, barrier=full)
            T.barrier_arrive(full)
            T.barrier_wait(full, k % 2)
            T.gemm(a, b, c)
        T.copy(c, C)


def product(rounds=1):
    a, b = numbers((128, 160)), numbers((160, 64), seed=1)
    return a, b, rounds * (a.astype(np.float32) @ b.astype(np.float32))


def test_tma_copies_in_a_pipelined_loop_run_ahead():
    a, b, expected = product()
    source = check(once, a, b, expected=expected)
    assert "% 3" in source  # three slots
    assert source.count("tc_tensor_load") == 4  # ahead of the loop, and in it


@pytest.mark.parametrize(("stages", "threads"), [(2, 128), (3, 256)])
def test_a_loop_in_a_loop_runs_its_iterations_one_after_the_other(stages, threads):
    """The phases of the mbarriers go on in the next round, so that slots would have other parities."""
    a, b, expected = product(rounds=2)
    source = check(staged(stages, threads, rounds=2), a, b, expected=expected)
    assert source.count("tc_tensor_load") == 2


def test_products_of_columns_of_tiles():
    """A[:, :64] and A[:, 64:] of one tile; B likewise, along K and along N."""

    @T.prim_func
    def kernel(A: T.Tensor((64, 128), "float16"), B: T.Tensor((64, 128), "float16"), C: T.Tensor((64, 128), "float32")):
        with T.Kernel(1, threads=128):
            a, b = T.alloc_shared((64, 128), "float16"), T.alloc_shared((64, 128), "float16")
            s, o = T.alloc_fragment((64, 64), "float32"), T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.clear(s)
            T.wgmma_gemm(a[:, :64], b[:, :64], s, transpose_B=True)
            T.wgmma_gemm(a[:, 64:], b[:, 64:], s, transpose_B=True)
            T.wait_wgmma(0)
            T.copy(s, C[:, :64])
            T.clear(o)
            T.wgmma_gemm(a[:, 32:64], b[0:32, 64:], o)
            T.wait_wgmma(0)
            T.copy(o, C[:, 64:])

    a, b = numbers((64, 128)), numbers((64, 128), seed=1)
    x, y = a.astype(np.float32), b.astype(np.float32)
    check(kernel, a, b, expected=np.concatenate([x @ y.T, x[:, 32:64] @ y[:32, 64:]], axis=1))


SOURCE = """
template <int N> __device__ float plus(float x) { return x + N; }
extern "C" __global__ void __launch_bounds__(64, 2) shifted(const float* A, float* B, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) B[i] = plus<3>(A[i]) * by;
}
"""


def source_kernel(source, **options):
    n = T.dynamic("n")

    @T.prim_func
    def shifted(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32"), by: T.float32):
        T.CUDASourceCodeKernel(T.ceildiv(n, 64), threads=64, source_code_or_path=source, **options)

    return shifted


def test_a_kernel_given_as_source(tmp_path):
    """The entry may have the name of the compiler's own kernel; the source may be a file."""
    file = tmp_path / "shifted.cu"
    file.write_text(SOURCE.replace("shifted", "shifted_kernel"))
    a = np.arange(100, dtype=np.float32)
    for source, name in ((SOURCE, "shifted"), (file, "shifted_kernel")):
        kernel = tilecore.compile(source_kernel(source, entry_name=name), target=TARGET, execution_backend="sim")
        b = np.zeros(100, np.float32)
        kernel(a, b, 2.0)
        np.testing.assert_array_equal(b, (a + 3) * 2)
    assert "plus<3>" in kernel.get_kernel_source()


def test_a_source_without_the_entry_is_refused():
    with pytest.raises(LanguageError, match="Available entries: shifted"):
        source_kernel(SOURCE)
    with pytest.raises(FileNotFoundError):
        source_kernel("/no/such/file.cu")


def test_a_source_kernel_needs_no_hopper_and_belongs_to_this_target():
    tilecore.compile(source_kernel(SOURCE, entry_name="shifted"), target="cuda -arch=sm_80", execution_backend="sim")
    with pytest.raises(UnsupportedError, match="belongs to the target 'cuda'"):
        tilecore.compile(source_kernel(SOURCE, entry_name="shifted"), target="cpu")


@pytest.mark.parametrize("name", ["alloc_tmem", "tcgen05_gemm", "tma_gather4", "create_tma_descriptor", "ptx_wgmma_ss"])
def test_names_of_other_chips_say_what_to_write(name):
    with pytest.raises(UnsupportedError) as caught:

        @T.prim_func
        def kernel(A: T.Tensor((4,), "float32")):
            with T.Kernel(1):
                getattr(T, name)(A)

    assert f"T.{name}" in str(caught.value)
    assert "T." in str(caught.value.hint)
    assert caught.value.location is not None


def test_dependent_launches():
    """T.pdl_sync waits where the user says so, and the kernel is launched early; nothing else is added."""

    @T.prim_func
    def kernel(X: T.Tensor((128,), "float32"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            T.pdl_sync()
            for i in T.Parallel(128):
                Y[i] = X[i] + 1.0
            T.pdl_trigger()

    for arch, calls, programmatic in (("sm_90a", 1, True), ("sm_80", 0, None)):
        compiled = tilecore.compile(kernel, target=f"cuda -arch={arch}", execution_backend="sim")
        source = compiled.get_kernel_source()
        assert source.count("tc_grid_wait();") == source.count("tc_grid_release();") == calls
        assert ("__restrict__" in source) is not programmatic or programmatic is None
        (entry,) = compiled.artifact.entries
        assert entry.attributes.get("programmatic") is programmatic
