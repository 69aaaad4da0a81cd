"""kernel.cost(), beside numbers worked out by hand and torch's own counter."""

from __future__ import annotations

import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import ArgumentError, TargetError

torch = pytest.importorskip("torch")


def cost(func, *arguments, **sizes):
    return tilecore.compile(func, target="cpu").cost(*arguments, **sizes)


def product(M, N, K, block_M=32, block_N=32, block_K=16, transposed=False):
    @T.prim_func
    def matmul(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((N, K) if transposed else (K, N), "float16"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=64) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), "float16")
            B_shared = T.alloc_shared((block_N, block_K) if transposed else (block_K, block_N), "float16")
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                T.copy(A[by * block_M, k * block_K], A_shared)
                if transposed:
                    T.copy(B[bx * block_N, k * block_K], B_shared)
                else:
                    T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=transposed)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return matmul


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("M", "N", "K"), [(64, 96, 48), (50, 70, 37), (1, 33, 16)])
def test_a_product_has_the_operations_that_torch_counts(M, N, K, transposed):
    from torch.utils.flop_counter import FlopCounterMode

    counted = cost(product(M, N, K, transposed=transposed))
    with FlopCounterMode(display=False) as counter:
        torch.zeros(M, K) @ torch.zeros(K, N)
    assert counted.flops == counted.matrix_flops == counter.get_total_flops() == 2 * M * N * K
    assert counted.matrix_flops_by_type == {"float16": 2 * M * N * K}
    assert (counted.bytes_read, counted.bytes_written) == (2 * (M * K + K * N), 4 * M * N)
    blocks_M, blocks_N = -(-M // 32), -(-N // 32)
    assert counted.moved_bytes == 2 * (blocks_N * M * K + blocks_M * K * N) + 4 * M * N
    assert counted.bound == "exact"
    assert counted.intensity == counted.flops / counted.bytes


def attention(S, D, block, is_causal):
    @T.prim_func
    def kernel(Q: T.Tensor((S, D), "float32"), K: T.Tensor((S, D), "float32"), Out: T.Tensor((S, D), "float32")):
        with T.Kernel(T.ceildiv(S, block), threads=64) as bx:
            q = T.alloc_shared((block, D), "float32")
            k = T.alloc_shared((block, D), "float32")
            scores = T.alloc_fragment((block, block), "float32")
            out = T.alloc_fragment((block, D), "float32")
            weights = T.alloc_shared((block, block), "float32")
            T.copy(Q[bx * block, 0], q)
            T.clear(out)
            for step in T.Pipelined(bx + 1 if is_causal else T.ceildiv(S, block), num_stages=1):
                T.copy(K[step * block, 0], k)
                T.gemm(q, k, scores, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(block, block):
                    scores[i, j] = T.exp(scores[i, j] * 0.125)
                T.copy(scores, weights)
                T.gemm(weights, k, out)
            T.copy(out, Out[bx * block, 0])

    return kernel


@pytest.mark.parametrize("is_causal", [False, True])
def test_attention(is_causal):
    from torch.utils.flop_counter import FlopCounterMode

    S, D, block = 128, 32, 32
    counted = cost(attention(S, D, block, is_causal))
    tiles = sum(range(1, 5)) if is_causal else 16
    assert counted.matrix_flops == tiles * 2 * 2 * block * block * D
    assert counted.element_flops == tiles * 2 * block * block
    assert (counted.bytes_read, counted.bytes_written) == (4 * 2 * S * D, 4 * S * D)
    assert counted.tensors["K"].moved_read == tiles * block * D * 4
    assert counted.bound == "exact"
    if not is_causal:
        heads = torch.zeros(S, D)
        with FlopCounterMode(display=False) as counter:
            torch.exp(heads @ heads.T * 0.125) @ heads
        assert counted.matrix_flops == counter.get_total_flops()


def test_rows_of_a_product_beyond_the_edge_do_not_count():
    S, D = 70, 16  # tiles of 32: the last has 6 rows
    counted = cost(attention(S, D, 32, False))
    columns = 3 * 32  # of the second product's inner axis, each computed from a row of K, where it has one
    assert counted.matrix_flops == 2 * S * S * D + 2 * columns * S * D


@pytest.mark.parametrize(("M", "rows"), [(64, 64), (50, 64)])
def test_softmax(M, rows):
    N, block = 40, 16

    @T.prim_func
    def softmax(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(M, block), threads=64) as bx:
            row = T.alloc_fragment((block, N), "float32")
            largest = T.alloc_fragment((block,), "float32")
            total = T.alloc_fragment((block,), "float32")
            T.copy(X[bx * block, 0], row)
            T.reduce_max(row, largest, dim=1)
            for i, j in T.Parallel(block, N):
                row[i, j] = T.exp(row[i, j] - largest[i])
            T.reduce_sum(row, total, dim=1)
            for i, j in T.Parallel(block, N):
                row[i, j] = row[i, j] / total[i]
            T.copy(row, Y[bx * block, 0])

    counted = cost(softmax)
    assert counted.flops == rows * (2 * (N - 1) + 3 * N)  # two reductions; subtraction, exponential, division
    assert (counted.bytes_read, counted.bytes_written, counted.moved_bytes) == (4 * M * N, 4 * M * N, 8 * M * N)


def test_rms_norm_reads_its_weights_once():
    M, N, block = 48, 64, 8

    @T.prim_func
    def rms_norm(X: T.Tensor((M, N), "bfloat16"), W: T.Tensor((N,), "bfloat16"), Y: T.Tensor((M, N), "bfloat16")):
        with T.Kernel(M // block, threads=64) as bx:
            row = T.alloc_fragment((block, N), "float32")
            squares = T.alloc_fragment((block, N), "float32")
            scale = T.alloc_fragment((block,), "float32")
            T.copy(X[bx * block, 0], row)
            for i, j in T.Parallel(block, N):
                squares[i, j] = row[i, j] * row[i, j]
            T.reduce_sum(squares, scale, dim=1)
            for i in T.Parallel(block):
                scale[i] = T.rsqrt(scale[i] / N + 1e-6)
            for i, j in T.Parallel(block, N):
                row[i, j] = row[i, j] * scale[i] * T.cast(W[j], "float32")
            T.copy(row, Y[bx * block, 0])

    counted = cost(rms_norm)
    assert counted.flops == M * (N + (N - 1) + 3 + 2 * N)
    weights = counted.tensors["W"]
    assert (weights.read, weights.moved_read) == (2 * N, 2 * M * N)
    assert (counted.bytes_read, counted.bytes_written) == (2 * M * N + 2 * N, 2 * M * N)
    assert counted.bound == "exact"


m = T.dynamic("m")


@T.prim_func
def scaled(A: T.Tensor((m, 8), "float32"), B: T.Tensor((m, 8), "float32"), f: T.float32, times: T.int32):
    with T.Kernel(T.ceildiv(m, 16), threads=32) as bx:
        for i, j in T.Parallel(16, 8):
            if bx * 16 + i < m:
                B[bx * 16 + i, j] = A[bx * 16 + i, j] * f
        for _ in T.serial(times):
            B[bx * 16, 0] += 1.0


def test_sizes_of_the_call_are_given_by_name_or_by_arguments():
    kernel = tilecore.compile(scaled, target="cpu")
    by_name = kernel.cost(m=100, times=3)
    assert by_name.flops == 8 * 100 + 7 * 3
    assert by_name.bytes_written == 4 * 800
    tensors = torch.zeros(100, 8), torch.zeros(100, 8)
    assert kernel.cost(*tensors, 2.0, 3) == by_name
    with pytest.raises(ArgumentError, match="its sizes m are known only at a call"):
        kernel.cost()
    for sizes, name, hint in (({"m": 3, "n": 4}, "n", None), ({"M": 3}, "M", "'m'"), ({"tims": 3}, "tims", "'times'")):
        with pytest.raises(ArgumentError, match=f"there is no size {name}") as caught:
            kernel.cost(**sizes)
        assert caught.value.expected == "cost(m=1024), or the arguments of a call; scalars may be given, too: f, times"
        assert caught.value.hint == (hint and f"did you mean {hint}?")
    with pytest.raises(ArgumentError, match=r"got 1 argument\n") as caught:
        kernel.cost(tensors[0])
    assert "all 4 arguments of a call (A, B, f, times)" in caught.value.expected


def test_an_unknown_number_of_iterations_makes_a_lower_bound():
    counted = cost(scaled, m=100)
    assert counted.flops == 8 * 100 + 7
    assert counted.bound == "at least"
    assert any("a loop of times iterations is counted as one" in note for note in counted.notes)


def test_conditions_on_data_make_an_upper_bound():
    @T.prim_func
    def chosen(picked: T.Tensor((64,), "int32"), A: T.Tensor((100, 8), "float32"), B: T.Tensor((64, 8), "float32")):
        with T.Kernel(4, threads=32) as bx:
            for i, j in T.Parallel(16, 8):
                if picked[bx * 16 + i] > 0:
                    B[bx * 16 + i, j] = A[picked[bx * 16 + i], j] + 1.0

    counted = cost(chosen)
    assert (counted.flops, counted.bound) == (64 * 8, "at most")
    assert counted.tensors["A"].read == 64 * 8 * 4  # as many as there are accesses, and no more than there are rows
    assert any(note.endswith("picked[bx * 16 + i] > 0 is taken to hold") for note in counted.notes), counted.notes


def test_a_while_loop_makes_a_lower_bound():
    @T.prim_func
    def halved(A: T.Tensor((4,), "float32")):
        with T.Kernel(4, threads=32) as bx:
            while A[bx] > 1.0:
                A[bx] = A[bx] / 2.0

    counted = cost(halved)
    assert (counted.flops, counted.bound) == (4, "at least")


def test_parts_of_a_tensor_are_counted_once():
    @T.prim_func
    def overlapping(A: T.Tensor((64,), "float32"), B: T.Tensor((62,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(62):
                B[i] = A[i] + A[i + 1] + A[i + 2]

    counted = cost(overlapping)
    read = counted.tensors["A"]
    assert (read.read, read.moved_read, counted.flops, counted.bound) == (64 * 4, 3 * 62 * 4, 2 * 62, "exact")


def test_branches_on_the_block_count_where_they_are_taken():
    @T.prim_func
    def split(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(4, threads=32) as bx:
            for i in T.Parallel(16):
                if bx < 1:
                    B[bx * 16 + i] = A[bx * 16 + i] * 2.0
                else:
                    B[bx * 16 + i] = T.if_then_else(i < 4, A[bx * 16 + i] * 2.0 + 1.0, 0.0)

    counted = cost(split)
    assert counted.flops == 16 + 3 * 4 * 2
    assert counted.tensors["A"].moved_read == 4 * (16 + 3 * 4)


def test_threads_execute_plain_statements_each_by_itself():
    @T.prim_func
    def by_threads(A: T.Tensor((4, 32), "float32"), B: T.Tensor((4, 32), "float32")):
        with T.Kernel(4, threads=32) as bx:
            tx = T.get_thread_binding()
            B[bx, tx] = A[bx, tx] * 2.0
            if tx < 3:
                B[bx, tx] += 1.0

    counted = cost(by_threads)
    assert counted.flops == 4 * (32 + 3)
    assert counted.bytes_written == 4 * 32 * 4


def test_packed_elements_take_half_a_byte():
    @T.prim_func
    def unpacked(A: T.Tensor((64,), "int4"), B: T.Tensor((64,), "int8")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(64):
                B[i] = T.cast(A[i], "int8")

    counted = cost(unpacked)
    assert (counted.flops, counted.bytes_read, counted.bytes_written) == (0, 32, 64)


def test_an_exported_kernel_has_no_cost(tmp_path):
    kernel = tilecore.compile(product(32, 32, 16), target="cpu")
    loaded = tilecore.load_kernel(kernel.export(tmp_path / "matmul.tck"))
    with pytest.raises(TargetError, match="has no tile IR"):
        loaded.cost()


def test_the_text_has_all_numbers():
    text = str(cost(scaled, m=100))
    assert text.startswith("scaled (m=100): at least 807 flops (0 of matrix products), ")
    assert "a loop of times iterations" in text


@pytest.mark.parametrize(
    "func",
    [product(50, 70, 37), attention(70, 16, 32, True), attention(64, 16, 32, False)],
    ids=["product", "causal", "full"],
)
def test_the_bytes_written_are_those_that_a_call_changes(func):
    kernel = tilecore.compile(func, target="cpu")
    tensors = []
    for param in kernel.artifact.params:
        shape = [int(size) for size in param.shape]
        tensors.append(
            torch.full(shape, float("nan") if param.access == "w" else 0.5, dtype=getattr(torch, param.dtype))
        )
    kernel(*tensors)
    counted = kernel.cost().tensors
    for param, tensor in zip(kernel.artifact.params, tensors, strict=True):
        if param.access == "w":
            assert counted[param.name].written == int((~tensor.isnan()).sum()) * tensor.element_size()


def test_wrong_sizes_and_tensors_have_no_cost():
    import numpy as np

    n = T.dynamic("n")

    @T.prim_func
    def copied(A: T.Tensor((n, 4), "float32"), B: T.Tensor((n, 4), "float32")):
        with T.Kernel(n) as row:
            for i in T.Parallel(4):
                B[row, i] = A[row, i]

    kernel = tilecore.compile(copied, target="cpu", out_idx=-1)
    assert kernel.cost(n=np.int64(3)).bytes == kernel.cost(np.zeros((3, 4), "float32")).bytes == 96
    assert kernel.cost(n=0).bytes == 0
    for wrong in (-1, 1.5, "a", None):
        with pytest.raises(ArgumentError, match="n is wrong"):
            kernel.cost(n=wrong)
    for shape in ((3, 5), (3,), (3, 4, 1)):
        with pytest.raises(ArgumentError, match="the shape of A does not fit"):
            kernel.cost(np.zeros(shape, "float32"))
