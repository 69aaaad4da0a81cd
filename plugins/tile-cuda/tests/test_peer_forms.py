"""Forms of programs written for TileLang: parts of tiles in T.wgmma_gemm, source kernels, dependent launches, copies
between blocks, emitters of matrix instructions."""

from __future__ import annotations

import numpy as np
import pytest
from expert_kernels import TARGET
from simulated_kit import needs_compiler
from test_expert_pieces import check, numbers

import tilecore
import tilecore.language as T
from tilecore.errors import LanguageError, UnsupportedError

pytestmark = [needs_compiler, pytest.mark.usefixtures("installed")]


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


@pytest.mark.parametrize(("size", "signals"), [(128, True), (300, True), (100, False)])
def test_copies_to_the_memory_of_another_block(size, signals):
    """One thread arrives at the other block's barrier, or the cluster's barrier orders the copy."""

    @T.prim_func
    def kernel(A: T.Tensor((size,), "float32"), B: T.Tensor((size,), "float32")):
        with T.ClusterKernel(2, threads=128, cluster_dims=(2, 1, 1)) as block:
            source, target = T.alloc_shared((size,), "float32"), T.alloc_shared((size,), "float32")
            bar = T.alloc_cluster_barrier([1])
            T.cluster_sync()
            if block == 0:
                T.copy(A, source)
                if signals:
                    T.copy_cluster(source, target, dst_block=1, remote_barrier=bar[0])
                else:
                    T.copy_cluster(source, target, dst_block=1)
            if not signals:
                T.cluster_sync()
            if block == 1:
                if signals:
                    T.mbarrier_wait_parity(bar[0], 0)
                T.copy(target, B)

    a = np.arange(size, dtype=np.float32)
    check(kernel, a, expected=a)


def test_a_block_copies_for_others_of_its_cluster():
    """Blocks 0 and 1 get the tile of block 0, blocks 2 and 3 their own; in a loop, by one barrier."""

    @T.prim_func
    def kernel(A: T.Tensor((64, 768), "float16"), B: T.Tensor((64, 768), "float16")):
        with T.ClusterKernel(4, threads=128, cluster_dims=4) as block:
            tile = T.alloc_shared((64, 64), "float16")
            for k in range(3):
                T.copy_cluster(A[0, (k * 4 + block) * 64], tile, cluster_mask=0b11)
                T.copy(tile, B[0, (k * 4 + block) * 64])

    a = numbers((64, 768)).reshape(64, 3, 4, 64)
    expected = a.copy()
    expected[:, :, 1] = a[:, :, 0]
    check(kernel, a.reshape(64, 768), expected=expected.reshape(64, 768))


def test_each_warp_copies_a_long_row():
    """A row of more elements than a box of a tensor map has: one thread of each warp copies its parts."""

    @T.prim_func
    def kernel(A: T.Tensor((8, 640), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(2, threads=128) as block:
            tid = T.get_thread_binding()
            warp = tid // 32
            rows, bars = T.alloc_shared((4, 640), "float32"), T.alloc_barrier([32] * 4)
            T.tma_copy(A[block * 4 + warp, 0:640], rows[warp, 0:640], barrier=bars[warp], leader_scope_threads=32)
            T.mbarrier_arrive(mbarrier=bars[warp])
            T.mbarrier_wait_parity(mbarrier=bars[warp], parity=0)
            if tid % 32 == 0:
                B[block * 4 + warp] = rows[warp, 639] - rows[warp, 0]

    a = numbers((8, 640), "float32")
    check(kernel, a, expected=a[:, 639] - a[:, 0])


@pytest.mark.parametrize(
    ("dtype", "total", "transposed", "by_atoms"),
    [("float16", "float32", True, False), ("float16", "float16", False, True), ("int8", "int32", True, False)],
)
def test_an_emitter_of_matrix_instructions(dtype, total, transposed, by_atoms):
    """A kernel divides the product among its warps by TensorCoreIntrinEmitter."""
    from tile_cuda.modules.intrinsics.macro.mma_macro_generator import TensorCoreIntrinEmitter

    types = {"a_dtype": dtype, "b_dtype": dtype, "accum_dtype": total, "b_transposed": transposed}
    warps = {"block_row_warps": 2, "block_col_warps": 2, "warp_row_tiles": 32, "warp_col_tiles": 16}
    emitter = TensorCoreIntrinEmitter(**types, **warps, chunk=32)

    @T.prim_func
    def kernel(
        A: T.Tensor((64, 64), dtype),
        B: T.Tensor((32, 64) if transposed else (64, 32), dtype),
        C: T.Tensor((64, 32), total),
    ):
        with T.Kernel(1, threads=128):
            a, b = T.alloc_shared((64, 32), dtype), T.alloc_shared((32, 32), dtype)
            staged = T.alloc_shared((4, 2, 16, 16), total)
            a_part = T.alloc_local(emitter.warp_rows * emitter.local_size_a, dtype)
            b_part = T.alloc_local(emitter.warp_cols * emitter.local_size_b, dtype)
            c_part = T.alloc_local(emitter.warp_rows * emitter.warp_cols * emitter.local_size_out, total)
            T.clear(c_part)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[0, k * 32], a)
                if transposed:
                    T.copy(B[0, k * 32], b)
                else:
                    T.copy(B[k * 32, 0], b)
                for step in T.serial(0, 32 // emitter.micro_size_k):
                    emitter.ldmatrix_a(a_part, a, step)
                    emitter.ldmatrix_b(b_part, b, step)
                    if by_atoms:
                        for i, j in T.grid(emitter.mma_num_inst_m, emitter.mma_num_inst_n):
                            emitter.mma_atom(a_part, b_part, c_part, i, j, step)
                    else:
                        emitter.mma(a_part, b_part, c_part)
            if by_atoms:
                emitter.stmatrix(c_part, C, 0, 0)
            else:
                emitter.stmatrix(c_part, staged)
                for i, j in T.Parallel(64, 32):
                    C[i, j] = staged[i // 16, j // 16, i % 16, j % 16]

    a, b = numbers((64, 64), dtype), numbers((32, 64), dtype, seed=1)
    expected = (a.astype(np.float64) @ b.astype(np.float64).T).astype(total)
    check(kernel, a, b if transposed else b.T.copy(), expected=expected, target="cuda -arch=sm_80")


def test_an_emitter_refuses_what_it_has_no_instruction_for():
    from tile_cuda.language.mma_emitter import TensorCoreIntrinEmitter

    with pytest.raises(UnsupportedError, match="no instruction for int8, int8 into float32"):
        TensorCoreIntrinEmitter("int8", "int8", "float32")
    with pytest.raises(LanguageError, match="not whole tiles"):
        TensorCoreIntrinEmitter(warp_row_tiles=24)
