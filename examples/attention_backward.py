"""The gradients of attention: dQ, dK and dV from dO, plain or causal, heads in groups (GQA).

The weights are not stored by the forward pass: P = exp(scores - lse) is computed again, tile by tile (Dao et al.,
2022). With D = rowsum(dO * Out) the gradients are

    dV = P^T dO        dS = P * (dO V^T - D)        dK = dS^T Q / sqrt(dim)        dQ = dS K / sqrt(dim)

Three kernels in one function: the first computes D; in the second a block owns a tile of keys, visits the queries that
see it and accumulates dK and dV, while its part of dQ is added to memory in float32; the third rounds dQ.

The order within a step is that of FlashAttention-3 (Shah et al., 2024): the product dO V^T runs beside the
exponentials, dV beside the computation of dS, and dK beside the additions to dQ. On sm_90a that needs
TL_LATE_RELEASES, as a slot would be released right behind each product otherwise, which waits for it.

    python examples/attention_backward.py --target cpu --heads 4 --kv-heads 2 --length 250 --dim 64 --causal
"""

import argparse
import math

import torch

import tilecore
import tilecore.language as T


def attention_backward(
    batch, heads, kv_heads, length, dim, is_causal=False, block_M=None, block_N=128, stages=2, threads=256,
    dtype="float16", rounded_weights=None, spread=False,
):  # fmt: skip
    """Q, Out, dO, dQ [batch, length, heads, dim]; K, V, dK, dV [batch, length, kv_heads, dim]; Lse [batch, heads,
    length], float32: log(sum(exp(scores))) of each query, as attention.py gives it.

    rounded_weights: dS from the weights in dtype, not float32, which spares registers (default: where block_M is 128).
    spread: blocks begin at different queries, so that they do not add to the same rows of dQ at the same time."""
    if heads % kv_heads:
        raise ValueError(f"heads ({heads}) must be a multiple of kv_heads ({kv_heads})")
    block_M = block_M or (128 if dim <= 64 else 64)  # queries; a warpgroup's part of dQ has 64 rows or 64 columns
    rounded_weights = block_M == 128 if rounded_weights is None else rounded_weights
    group = heads // kv_heads
    scale = dim**-0.5
    log2_e = 1 / math.log(2)
    to_log2 = log2_e * scale  # exp(x * scale) = exp2(x * to_log2)
    tiles = T.ceildiv(length, block_M)
    q_shape, kv_shape = (batch, length, heads, dim), (batch, length, kv_heads, dim)
    rows = 32  # of a block of the first and of the last kernel

    @T.prim_func
    def attention_backward_kernel(
        Q: T.Tensor(q_shape, dtype),
        K: T.Tensor(kv_shape, dtype),
        V: T.Tensor(kv_shape, dtype),
        Out: T.Tensor(q_shape, dtype),
        dO: T.Tensor(q_shape, dtype),
        Lse: T.Tensor((batch, heads, length), "float32"),
        dQ: T.Tensor(q_shape, dtype),
        dK: T.Tensor(kv_shape, dtype),
        dV: T.Tensor(kv_shape, dtype),
    ):
        # of each query: the logarithm of its sum to base 2, and D; in rows of whole tiles, for the copy engine
        Stats = T.alloc_global((batch, heads, 2, tiles * block_M), "float32")
        dQ_sum = T.alloc_global(q_shape, "float32")

        with T.Kernel(T.ceildiv(tiles * block_M, rows), heads, batch, threads=threads) as (bx, h, b):
            products = T.alloc_fragment((rows, dim), "float32")
            row_sum = T.alloc_fragment((rows,), "float32")
            log_sum = T.alloc_fragment((rows,), "float32")
            row = bx * rows
            for i, j in T.Parallel(rows, dim):
                products[i, j] = T.cast(Out[b, row + i, h, j], "float32") * T.cast(dO[b, row + i, h, j], "float32")
            T.reduce_sum(products, row_sum, dim=1)
            T.copy(Lse[b, h, row : row + rows], log_sum)
            for i in T.Parallel(rows):
                log_sum[i] *= log2_e
            T.copy(log_sum, Stats[b, h, 0, row : row + rows])
            T.copy(row_sum, Stats[b, h, 1, row : row + rows])
            T.clear(products)
            T.copy(products, dQ_sum[b, row : row + rows, h, :])

        with T.Kernel(T.ceildiv(length, block_N), kv_heads * batch, threads=threads) as (bx, head_of_keys):
            # plain: blocks of four heads side by side share queries in the last-level cache
            T.use_swizzle(4, enable=not is_causal)
            h_kv, b = head_of_keys % kv_heads, head_of_keys // kv_heads
            K_shared = T.alloc_shared((block_N, dim), dtype)
            V_shared = T.alloc_shared((block_N, dim), dtype)
            Q_shared = T.alloc_shared((block_M, dim), dtype)
            dO_shared = T.alloc_shared((block_M, dim), dtype)
            stats = T.alloc_shared((2, block_M), "float32")
            dS_shared = T.alloc_shared((block_N, block_M), dtype)
            # scores are kept transposed, keys by queries: so P^T and dS^T are left operands, straight from registers
            P = T.alloc_fragment((block_N, block_M), "float32")
            P_narrow = T.alloc_fragment((block_N, block_M), dtype)
            dS = T.alloc_fragment((block_N, block_M), "float32")
            dS_narrow = T.alloc_fragment((block_N, block_M), dtype)
            dK_sum = T.alloc_fragment((block_N, dim), "float32")
            dV_sum = T.alloc_fragment((block_N, dim), "float32")
            dQ_part = T.alloc_fragment((block_M, dim), "float32")

            key = bx * block_N
            T.copy(K[b, key : key + block_N, h_kv, :], K_shared)
            T.copy(V[b, key : key + block_N, h_kv, :], V_shared)
            T.clear(dK_sum)
            T.clear(dV_sum)
            # causal: queries before the keys see none of them
            visited = tiles - key // block_M if is_causal else tiles
            for head in T.serial(group):  # the query heads that share these keys
                h = h_kv * group + head
                for step in T.Pipelined(visited, num_stages=stages):
                    turn = (step + bx * block_N // block_M) % tiles if spread and not is_causal else step
                    row = (tiles - 1 - turn) * block_M  # from the last queries on
                    T.copy(Q[b, row : row + block_M, h, :], Q_shared)
                    T.gemm(K_shared, Q_shared, P, transpose_B=True, clear_accum=True, policy=T.GemmWarpPolicy.FullRow)
                    T.copy(dO[b, row : row + block_M, h, :], dO_shared)
                    T.copy(Stats[b, h, :, row : row + block_M], stats)
                    T.gemm(V_shared, dO_shared, dS, transpose_B=True, clear_accum=True, policy=T.GemmWarpPolicy.FullRow)
                    for i, j in T.Parallel(block_N, block_M):
                        P[i, j] = T.exp2(P[i, j] * to_log2 - stats[0, j])
                    if is_causal:
                        if row < key + block_N:  # the diagonal
                            for i, j in T.Parallel(block_N, block_M):
                                P[i, j] = T.if_then_else(key + i <= row + j, P[i, j], 0)
                    elif length % block_N and key + block_N > length:  # keys past the end
                        for i, j in T.Parallel(block_N, block_M):
                            P[i, j] = T.if_then_else(key + i < length, P[i, j], 0)
                    # queries past the end need no mask: their Q, dO, D and logarithms are read as zeros
                    T.copy(P, P_narrow)
                    T.gemm(P_narrow, dO_shared, dV_sum, policy=T.GemmWarpPolicy.FullRow)
                    for i, j in T.Parallel(block_N, block_M):
                        weight = T.cast(P_narrow[i, j], "float32") if rounded_weights else P[i, j]
                        dS[i, j] = weight * (dS[i, j] - stats[1, j])
                    T.copy(dS, dS_narrow)
                    T.copy(dS_narrow, dS_shared)
                    T.gemm(dS_shared, K_shared, dQ_part, transpose_A=True, clear_accum=True)
                    T.gemm(dS_narrow, Q_shared, dK_sum, policy=T.GemmWarpPolicy.FullRow)
                    T.atomic_add(dQ_sum[b, row : row + block_M, h, :], dQ_part)
            for i, j in T.Parallel(block_N, dim):
                dK_sum[i, j] *= scale
            T.copy(dK_sum, dK[b, key : key + block_N, h_kv, :])
            T.copy(dV_sum, dV[b, key : key + block_N, h_kv, :])

        with T.Kernel(T.ceildiv(length, rows), heads, batch, threads=threads) as (bx, h, b):
            for i, j in T.Parallel(rows, dim):
                dQ[b, bx * rows + i, h, j] = dQ_sum[b, bx * rows + i, h, j] * scale

    return attention_backward_kernel


def reference(q, k, v, is_causal):
    """The output and the log of the sums of weights, by torch in float32."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
    scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
    if is_causal:
        scores = scores.masked_fill(torch.ones_like(scores[0, 0], dtype=torch.bool).triu(1), -torch.inf)
    return (scores.softmax(dim=-1) @ v).transpose(1, 2), scores.logsumexp(dim=-1)


FAST = {tilecore.PassConfigKey.TL_ENABLE_FAST_MATH: True}
FAST_ON_HOPPER = {**FAST, tilecore.PassConfigKey.TL_LATE_RELEASES: True}
EXPLAIN = [
    "attention_backward(1, 4, 4, 1024, 64)"
    " or attention_backward(1, 4, 4, 1024, 64, block_M=32, block_N=32, stages=1, threads=128)"
]  # for `tilecore explain --targets`; behind "or" for devices with less shared memory


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--kv-heads", type=int, help="heads of K and V (default: as many as of Q)")
    parser.add_argument("--length", type=int, default=250)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--causal", action="store_true")
    options = parser.parse_args(words)
    batch, heads, length, dim = options.batch, options.heads, options.length, options.dim
    kv_heads = options.kv_heads or heads

    on_cuda = options.target.startswith("cuda") or (options.target == "auto" and torch.cuda.is_available())
    configs = FAST_ON_HOPPER if on_cuda else FAST
    compiled = tilecore.jit(attention_backward, target=options.target, out_idx=[6, 7, 8], pass_configs=configs)
    sizes = batch, heads, kv_heads, length, dim, options.causal
    try:
        kernel = compiled(*sizes)
    except tilecore.errors.LimitError:  # the device has less shared memory, such as 64 KiB
        kernel = compiled(*sizes, block_M=32, block_N=32, stages=1, threads=128)
    device = kernel.adapter.torch_device()
    q, do = torch.randn(2, batch, length, heads, dim, device=device).half()
    k, v = torch.randn(2, batch, length, kv_heads, dim, device=device).half()
    wide = [x.float().requires_grad_() for x in (q, k, v)]
    out, lse = reference(*wide, options.causal)
    expected = torch.autograd.grad(out, wide, do.float())
    gradients = kernel(q, k, v, out.detach().half().contiguous(), do, lse.detach())
    for gradient, right in zip(gradients, expected, strict=True):
        torch.testing.assert_close(gradient.float(), right, rtol=1e-2, atol=1e-2)
    kind = "causal" if options.causal else "plain"
    print(f"attention_backward: {batch}x{length}x{heads}/{kv_heads}x{dim}, {kind}, right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
