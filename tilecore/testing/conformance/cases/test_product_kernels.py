"""Matrix products as users write them: epilogues, splits of K, batches, groups, packed weights, persistent blocks."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import compiled, sample, zeros


def near(got, expected, tolerance=2e-3):
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(
        got.astype(np.float64), expected.astype(np.float64), rtol=tolerance, atol=tolerance * scale
    )


def product(a, b):
    return a.astype(np.float64) @ b.astype(np.float64)


@pytest.mark.parametrize(("dtype", "threads"), [("float16", 128), ("bfloat16", 64), ("float32", 128)])
def test_bias_relu_and_residual(target, dtype, threads):
    M, N, K, block_M, block_N, block_K = 70, 64, 96, 32, 32, 32

    @T.prim_func
    def linear(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        bias: T.Tensor((N,), dtype),
        residual: T.Tensor((M, N), dtype),
        C: T.Tensor((M, N), dtype),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_K, block_N), dtype)
            C_shared = T.alloc_shared((block_M, block_N), dtype)
            bias_local = T.alloc_fragment((block_N,), "float32")
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.use_swizzle(panel_size=10)
            T.clear(C_local)
            T.copy(bias[bx * block_N], bias_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            for i, j in T.Parallel(block_M, block_N):
                C_local[i, j] = T.max(C_local[i, j] + bias_local[j], 0)
            for i, j in T.Parallel(block_M, block_N):
                C_local[i, j] += residual[by * block_M + i, bx * block_N + j]
            T.copy(C_local, C_shared)
            T.copy(C_shared, C[by * block_M, bx * block_N])

    a, b = sample(dtype, (M, K)), sample(dtype, (K, N), 1)
    bias, residual, c = sample(dtype, N, 2), sample(dtype, (M, N), 3), zeros(dtype, (M, N))
    compiled(linear, target)(a, b, bias, residual, c)
    expected = np.maximum(product(a, b) + bias.astype(np.float64), 0) + residual.astype(np.float64)
    near(c, expected, 1e-4 if dtype == "float32" else 1e-2)


@pytest.mark.parametrize(("ta", "tb"), [(False, True), (True, False), (True, True)])
def test_turned_operands(target, ta, tb):
    M, N, K = 64, 32, 64

    @T.prim_func
    def matmul(
        A: T.Tensor((K, M) if ta else (M, K), "float16"),
        B: T.Tensor((N, K) if tb else (K, N), "float16"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((32, M) if ta else (M, 32), "float16")
            B_shared = T.alloc_shared((N, 32) if tb else (32, N), "float16")
            C_local = T.alloc_fragment((M, N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(K // 32, num_stages=2):
                T.copy(A[k * 32, 0] if ta else A[0, k * 32], A_shared)
                T.copy(B[0, k * 32] if tb else B[k * 32, 0], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_A=ta, transpose_B=tb, policy=T.GemmWarpPolicy.FullRow)
            T.copy(C_local, C)

    a, b = sample("float16", (K, M) if ta else (M, K)), sample("float16", (N, K) if tb else (K, N), 1)
    c = zeros("float32", (M, N))
    compiled(matmul, target)(a, b, c)
    near(c, product(a.T if ta else a, b.T if tb else b))


def test_split_of_k_with_atomics(target):
    M, N, K, block, split = 32, 64, 128, 32, 4

    @T.prim_func
    def matmul(A: T.Tensor((M, K), "float16"), B: T.Tensor((N, K), "float16"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), split, threads=128) as (bx, by, bz):
            A_shared = T.alloc_shared((block, block), "float16")
            B_shared = T.alloc_shared((block, block), "float16")
            C_shared = T.alloc_shared((block, block), "float32")
            C_local = T.alloc_fragment((block, block), "float32")
            if bz == 0:  # each element once
                for i, j in T.Parallel(block, block):
                    C_local[i, j] = 1.0
            else:
                T.clear(C_local)
            for ko in T.Pipelined(T.ceildiv(K // split, block), num_stages=0):
                T.copy(A[by * block, bz * (K // split) + ko * block], A_shared)
                T.copy(B[bx * block, bz * (K // split) + ko * block], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            T.copy(C_local, C_shared)
            T.atomic_add(C[by * block, bx * block], C_shared)

    a, b, c = sample("float16", (M, K)), sample("float16", (N, K), 1), zeros("float32", (M, N))
    compiled(matmul, target)(a, b, c)
    near(c, product(a, b.T) + 1)


def test_split_of_k_by_vectors_of_atomics(target):
    M, N, K, block, split = 32, 32, 64, 32, 2

    @T.prim_func
    def matmul(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(N // block, M // block, split, threads=64) as (bx, by, bz):
            A_shared = T.alloc_shared((block, block), "float16")
            B_shared = T.alloc_shared((block, block), "float16")
            C_shared = T.alloc_shared((block, block), "float32")
            C_local = T.alloc_fragment((block, block), "float32")
            T.clear(C_local)
            T.copy(A[by * block, bz * block], A_shared)
            T.copy(B[bz * block, bx * block], B_shared)
            T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C_shared)
            for i, j in T.Parallel(block, block // 2):
                T.atomic_addx2(C[by * block + i, bx * block + j * 2], C_shared[i, j * 2])

    a, b, c = sample("float16", (M, K)), sample("float16", (K, N), 1), zeros("float32", (M, N))
    compiled(matmul, target)(a, b, c)
    near(c, product(a, b))


@pytest.mark.parametrize("blocks", [3, 5, 16])
def test_stream_of_k(target, blocks):
    """Every block takes an equal part of all steps along K of all tiles; tiles that are shared meet by atomics."""
    M, N, K, block = 64, 64, 96, 32
    tiles_n, steps = N // block, K // block
    total = (M // block) * tiles_n * steps

    @T.prim_func
    def matmul(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(blocks, threads=128) as b:
            A_shared = T.alloc_shared((block, block), "float16")
            B_shared = T.alloc_shared((block, block), "float16")
            C_local = T.alloc_fragment((block, block), "float32")
            at = T.alloc_var("int32", init=b * total // blocks)
            last = T.alloc_var("int32", init=(b + 1) * total // blocks)
            while at < last:
                tile = at // steps
                until = T.min((tile + 1) * steps, last)
                T.clear(C_local)
                for k in T.serial(at - tile * steps, until - tile * steps):
                    T.copy(A[tile // tiles_n * block, k * block], A_shared)
                    T.copy(B[k * block, tile % tiles_n * block], B_shared)
                    T.gemm(A_shared, B_shared, C_local)
                for i, j in T.Parallel(block, block):
                    T.atomic_add(C[tile // tiles_n * block + i, tile % tiles_n * block + j], C_local[i, j])
                at = until

    a, b, c = sample("float16", (M, K)), sample("float16", (K, N), 1), zeros("float32", (M, N))
    compiled(matmul, target)(a, b, c)
    near(c, product(a, b))


def test_persistent_blocks(target):
    M, N, K, block, waves = 80, 96, 64, 32, 4

    @T.prim_func
    def matmul(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(waves, threads=128) as block_id:
            A_shared = T.alloc_shared((block, block), "float16")
            B_shared = T.alloc_shared((block, block), "float16")
            C_shared = T.alloc_shared((block, block), "float16")
            C_local = T.alloc_fragment((block, block), "float32")
            for bx, by in T.Persistent([T.ceildiv(M, block), T.ceildiv(N, block)], waves, block_id):
                T.clear(C_local)
                for k in T.Pipelined(T.ceildiv(K, block), num_stages=2):
                    T.copy(A[bx * block, k * block], A_shared)
                    T.copy(B[k * block, by * block], B_shared)
                    T.gemm(A_shared, B_shared, C_local)
                T.copy(C_local, C_shared)
                T.copy(C_shared, C[bx * block, by * block])

    a, b, c = sample("float16", (M, K)), sample("float16", (K, N), 1), zeros("float16", (M, N))
    compiled(matmul, target)(a, b, c)
    near(c, product(a, b), 1e-2)


def test_persistent_blocks_by_hand(target):
    m = T.dynamic("m")
    N, K, block, waves = 64, 32, 32, 3

    @T.prim_func
    def matmul(A: T.Tensor((m, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((m, N), "float32")):
        with T.Kernel(waves, threads=64) as block_id:
            A_shared = T.alloc_shared((block, K), "float16")
            B_shared = T.alloc_shared((K, block), "float16")
            C_local = T.alloc_fragment((block, block), "float32")
            for w in T.serial(T.ceildiv(T.ceildiv(m, block) * (N // block), waves)):
                tile = block_id + waves * w
                bx, by = tile // (N // block), tile % (N // block)
                if bx * block < m:
                    T.clear(C_local)
                    T.copy(A[bx * block, 0], A_shared)
                    T.copy(B[0, by * block], B_shared)
                    T.gemm(A_shared, B_shared, C_local)
                    T.copy(C_local, C[bx * block, by * block])

    kernel = compiled(matmul, target)
    for size in (1, 40, 130):
        a, b, c = sample("float16", (size, K)), sample("float16", (K, N), 1), zeros("float32", (size, N))
        kernel(a, b, c)
        near(c, product(a, b))


def test_batches(target):
    B, M, N, K, block = 3, 40, 32, 64, 32

    @T.prim_func
    def matmul(X: T.Tensor((B, M, K), "float16"), Y: T.Tensor((B, K, N), "float16"), Z: T.Tensor((B, M, N), "float32")):
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), B, threads=128) as (bx, by, bz):
            x, y = T.alloc_shared((block, 32), "float16"), T.alloc_shared((32, block), "float16")
            z = T.alloc_fragment((block, block), "float32")
            T.clear(z)
            for k in T.Pipelined(K // 32, num_stages=2):
                T.copy(X[bz, by * block : (by + 1) * block, k * 32 : (k + 1) * 32], x)
                T.copy(Y[bz, k * 32, bx * block], y)
                T.gemm(x, y, z)
            T.copy(z, Z[bz, by * block : (by + 1) * block, bx * block : (bx + 1) * block])

    x, y, z = sample("float16", (B, M, K)), sample("float16", (B, K, N), 1), zeros("float32", (B, M, N))
    compiled(matmul, target)(x, y, z)
    near(z, product(x, y))


def test_groups(target):
    """Groups of rows of any size, each with its own weights; a block finds its group by a search."""
    sizes = [20, 0, 33, 7]
    G, N, K, block = len(sizes), 32, 32, 16
    total = sum(sizes)
    blocks = sum(-(-s // block) for s in sizes)

    @T.prim_func
    def matmul(
        A: T.Tensor((total, K), "float16"),
        B: T.Tensor((G, K, N), "float16"),
        C: T.Tensor((total, N), "float32"),
        group_sizes: T.Tensor((G,), "int32"),
        group_offsets: T.Tensor((G,), "int32"),
        padded_offsets: T.Tensor((G,), "int32"),
    ):
        with T.Kernel(blocks, T.ceildiv(N, 32), threads=64) as (bx, by):
            A_shared = T.alloc_shared((block, K), "float16")
            B_shared = T.alloc_shared((K, 32), "float16")
            C_local = T.alloc_fragment((block, 32), "float32")
            group = T.alloc_local([1], "int32")
            rows = T.alloc_local([1], "int32")
            start_padded = bx * block
            group[0] = 0
            for i in range(G):
                in_group = start_padded >= padded_offsets[i]
                group[0] = T.if_then_else(in_group, i, group[0])
            start = start_padded - padded_offsets[group[0]] + group_offsets[group[0]]
            rows[0] = T.max(0, T.min(block, group_sizes[group[0]] + padded_offsets[group[0]] - start_padded))
            T.clear(C_local)
            T.copy(A[start : start + block, 0:K], A_shared)
            T.copy(B[group[0], 0:K, by * 32 : (by + 1) * 32], B_shared)
            T.gemm(A_shared, B_shared, C_local)
            for i, j in T.Parallel(block, 32):
                if i < rows[0]:
                    C[start + i, by * 32 + j] = C_local[i, j]

    a, b, c = sample("float16", (total, K)), sample("float16", (G, K, N), 1), zeros("float32", (total, N))
    counts = np.array(sizes, np.int32)
    offsets = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int32)
    padded = np.concatenate([[0], np.cumsum(-(-counts // block) * block)[:-1]]).astype(np.int32)
    compiled(matmul, target)(a, b, c, counts, offsets, padded)
    expected = np.concatenate(
        [product(a[o : o + s], b[g]) for g, (o, s) in enumerate(zip(offsets, counts, strict=True))]
    )
    near(c, expected)


def test_weights_of_four_bits(target):
    """Weights as bytes of two, taken apart in registers, with a scale for each group of 32 along K."""
    M, N, K, block_K = 32, 32, 64, 32

    @T.prim_func
    def matmul(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((N, K // 2), "uint8"),
        scales: T.Tensor((N, K // 32), "float16"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(1, threads=64):
            A_shared = T.alloc_shared((M, block_K), "float16")
            B_shared = T.alloc_shared((N, block_K // 2), "uint8")
            B_local = T.alloc_fragment((N, block_K // 2), "uint8")
            B_dequantize_local = T.alloc_fragment((N, block_K), "float16")
            B_dequantize_shared = T.alloc_shared((N, block_K), "float16")
            C_local = T.alloc_fragment((M, N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(K // block_K, num_stages=2):
                T.copy(A[0, k * block_K], A_shared)
                T.copy(B[0, k * block_K // 2], B_shared)
                T.copy(B_shared, B_local)
                for i, j in T.Parallel(N, block_K):
                    nibble = (B_local[i, j // 2] >> T.cast(j % 2 * 4, "uint8")) & T.uint8(15)
                    B_dequantize_local[i, j] = (T.cast(nibble, "float16") - T.float16(8)) * scales[i, k]
                T.copy(B_dequantize_local, B_dequantize_shared)
                T.gemm(A_shared, B_dequantize_shared, C_local, transpose_B=True)
            T.copy(C_local, C)

    a, scales = sample("float16", (M, K)), np.abs(sample("float16", (N, K // 32), 2))
    packed = np.random.default_rng(3).integers(0, 256, (N, K // 2)).astype(np.uint8)
    weights = np.stack([packed & 15, packed >> 4], -1).reshape(N, K).astype(np.float64) - 8
    c = zeros("float32", (M, N))
    compiled(matmul, target)(a, packed, scales, c)
    near(c, a.astype(np.float64) @ (weights * np.repeat(scales.astype(np.float64), 32, 1)).T, 5e-3)


@pytest.mark.parametrize("dtype", ["int8", "float8_e4m3fn"])
def test_eight_bits(target, dtype):
    M, N, K = 32, 32, 64
    accumulated = "int32" if dtype == "int8" else "float32"

    @T.prim_func
    def matmul(A: T.Tensor((M, K), dtype), B: T.Tensor((N, K), dtype), C: T.Tensor((M, N), accumulated)):
        with T.Kernel(1, threads=64):
            a, b = T.alloc_shared((M, 32), dtype), T.alloc_shared((N, 32), dtype)
            c = T.alloc_fragment((M, N), accumulated)
            T.clear(c)
            for k in T.Pipelined(K // 32, num_stages=2):
                T.copy(A[0, k * 32], a)
                T.copy(B[0, k * 32], b)
                T.gemm(a, b, c, transpose_B=True)
            T.copy(c, C)

    a, b, c = sample(dtype, (M, K)), sample(dtype, (N, K), 1), zeros(accumulated, (M, N))
    compiled(matmul, target)(a, b, c)
    near(c, product(a, b.T), 1e-5)


def test_rows_times_a_vector(target):
    """A product with a vector: partial sums of threads along K, joined through a reduction."""
    N, K, block_N, threads_K, tile = 24, 512, 8, 16, 4

    @T.prim_func
    def gemv(A: T.Tensor((K,), "float16"), B: T.Tensor((N, K), "float16"), C: T.Tensor((N,), "float32")):
        with T.Kernel(T.ceildiv(N, block_N), threads=(block_N, threads_K)) as bn:
            tn, tk = T.get_thread_binding(0), T.get_thread_binding(1)
            A_local, B_local = T.alloc_local((tile,), "float16"), T.alloc_local((tile,), "float16")
            accum = T.alloc_local((1,), "float32")
            reduced = T.alloc_local((1,), "float32")
            T.clear(accum)
            for bk in T.serial(T.ceildiv(K, threads_K * tile)):
                for k in T.vectorized(tile):
                    A_local[k] = A[bk * threads_K * tile + tk * tile + k]
                    B_local[k] = B[bn * block_N + tn, bk * threads_K * tile + tk * tile + k]
                for k in T.serial(tile):
                    accum[0] += T.cast(A_local[k], "float32") * T.cast(B_local[k], "float32")
            with T.attr(
                T.comm_reducer(lambda x, y: x + y, [T.cast(0, "float32")]),
                "reduce_scope",
                T.reinterpret(T.uint64(0), dtype="handle"),
            ):
                T.evaluate(T.tvm_thread_allreduce(T.uint32(1), accum[0], True, reduced[0], tk, dtype="handle"))
            C[bn * block_N + tn] = reduced[0]

    a, b, c = sample("float16", K), sample("float16", (N, K), 1), zeros("float32", N)
    compiled(gemv, target)(a, b, c)
    near(c, product(b, a))
