"""Linear attention with decay, chunk by chunk: the scan of Mamba-2 (SSD) and of gated linear attention.

A head has a state, a matrix. Each step multiplies it by a decay and adds an outer product; the query reads it:

    S_t = exp(g_t) S_(t-1) + k_t^T v_t        o_t = q_t S_t

Step by step that is slow. For a chunk of steps it is matrix products (Dao and Gu, 2024): earlier chunks contribute
through the state, steps of the same chunk contribute directly, weighted by the decay between them.

    python examples/linear_attention.py --target cpu --heads 4 --length 500 --dim-k 64 --dim-v 64
"""

import argparse

import torch

import tilecore
import tilecore.language as T


def linear_attention(
    batch, length, heads, dim_k, dim_v, chunk=64, block_V=64, stages=2, threads=128, dtype="float16"
):  # fmt: skip
    """Q, K [batch, length, heads, dim_k], V, Out [batch, length, heads, dim_v]; G [batch, length, heads], float32: the
    logarithm of each step's decay, 0 or less; Last [batch, heads, dim_k, dim_v], float32: the state behind the end.

    A block goes through all chunks of one head; columns of V are independent and divided over blocks."""

    @T.prim_func
    def linear_attention_kernel(
        Q: T.Tensor((batch, length, heads, dim_k), dtype),
        K: T.Tensor((batch, length, heads, dim_k), dtype),
        V: T.Tensor((batch, length, heads, dim_v), dtype),
        G: T.Tensor((batch, length, heads), "float32"),
        Out: T.Tensor((batch, length, heads, dim_v), dtype),
        Last: T.Tensor((batch, heads, dim_k, dim_v), "float32"),
    ):
        with T.Kernel(T.ceildiv(dim_v, block_V), heads, batch, threads=threads) as (bv, h, b):
            q = T.alloc_shared((chunk, dim_k), dtype)
            k = T.alloc_shared((chunk, dim_k), dtype)
            v = T.alloc_shared((chunk, block_V), dtype)
            decay = T.alloc_shared((chunk,), "float32")  # from the chunk's beginning to each step, a logarithm
            state_shared = T.alloc_shared((dim_k, block_V), dtype)
            k_faded = T.alloc_shared((chunk, dim_k), dtype)
            state = T.alloc_fragment((dim_k, block_V), "float32")
            scores = T.alloc_fragment((chunk, chunk), "float32")
            weights = T.alloc_fragment((chunk, chunk), dtype)
            out = T.alloc_fragment((chunk, block_V), "float32")
            T.clear(state)
            for step in T.Pipelined(T.ceildiv(length, chunk), num_stages=stages):
                # steps past the end read as zeros: they neither decay the state nor add to it
                begin = step * chunk
                T.copy(Q[b, begin : begin + chunk, h, :], q)
                T.copy(K[b, begin : begin + chunk, h, :], k)
                T.copy(V[b, begin : begin + chunk, h, bv * block_V : (bv + 1) * block_V], v)
                T.copy(G[b, begin : begin + chunk, h], decay)
                T.cumsum(decay)

                # the contribution of earlier chunks, decayed up to each step
                T.copy(state, state_shared)
                T.gemm(q, state_shared, out, clear_accum=True)
                for i, j in T.Parallel(chunk, block_V):
                    out[i, j] *= T.exp(decay[i])
                # the contribution of the steps of the same chunk up to this one
                T.gemm(q, k, scores, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(chunk, chunk):
                    weights[i, j] = T.if_then_else(i >= j, scores[i, j] * T.exp(decay[i] - decay[j]), 0)
                T.gemm(weights, v, out)
                T.copy(out, Out[b, begin : begin + chunk, h, bv * block_V : (bv + 1) * block_V])

                # the contribution to the next chunks: each step decays up to the end of the chunk
                for i, j in T.Parallel(chunk, dim_k):
                    k_faded[i, j] = k[i, j] * T.exp(decay[chunk - 1] - decay[i])
                for i, j in T.Parallel(dim_k, block_V):
                    state[i, j] *= T.exp(decay[chunk - 1])
                T.gemm(k_faded, v, state, transpose_A=True)
            T.copy(state, Last[b, h, :, bv * block_V : (bv + 1) * block_V])

    return linear_attention_kernel


def reference(q, k, v, g):
    """Step by step, by torch in float32."""
    state = torch.zeros(q.shape[0], q.shape[2], q.shape[3], v.shape[3], device=q.device)
    rows = []
    for t in range(q.shape[1]):
        state = g[:, t].exp()[..., None, None] * state + k[:, t, :, :, None].float() * v[:, t, :, None, :].float()
        rows.append((q[:, t, :, None, :].float() @ state)[:, :, 0])
    return torch.stack(rows, dim=1), state


EXPLAIN = [
    "linear_attention(1, 500, 4, 64, 64) or linear_attention(1, 500, 4, 64, 64, chunk=32, block_V=32, stages=1)"
]  # for `tilecore explain --targets`; behind "or" for devices with less shared memory


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--length", type=int, default=500)
    parser.add_argument("--dim-k", type=int, default=64)
    parser.add_argument("--dim-v", type=int, default=64)
    options = parser.parse_args(words)
    batch, length, heads, dim_k, dim_v = options.batch, options.length, options.heads, options.dim_k, options.dim_v

    compiled, sizes = (
        tilecore.jit(linear_attention, target=options.target, out_idx=[4, 5]),
        (length, heads, dim_k, dim_v),
    )
    try:
        kernel = compiled(batch, *sizes)
    except tilecore.errors.LimitError:  # the device has less shared memory, such as 32 KiB
        kernel = compiled(batch, *sizes, chunk=32, block_V=32, stages=1)
    device = kernel.adapter.torch_device()
    q, k = (torch.randn(2, batch, length, heads, dim_k, device=device) / dim_k**0.25).half()
    v = torch.randn(batch, length, heads, dim_v, device=device).half()
    g = torch.nn.functional.logsigmoid(2 + torch.randn(batch, length, heads, device=device))
    for result, right in zip(kernel(q, k, v, g), reference(q, k, v, g), strict=True):
        torch.testing.assert_close(result.float(), right, rtol=1e-2, atol=1e-2)
    print(f"linear_attention: {batch}x{length}x{heads}, {dim_k} by {dim_v}, right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
