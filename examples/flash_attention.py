"""O = softmax(Q K^T / sqrt(dim)) V without storing the scores: the online softmax of FlashAttention.

A block of queries visits the keys block by block. It has the largest score so far, the sum of the weights and the
weighted sum of the values, and rescales both sums when it finds a larger score. This is a short version to start
with; attention.py is the same for large tiles in half precision.

    python examples/flash_attention.py --target cpu --heads 8 --length 1024 --dim 64 --causal
"""

import argparse

import torch

import tilecore
import tilecore.language as T


def flash_attention(batch, heads, length, dim, is_causal=False, block_M=64, block_N=64, dtype="float32"):
    to_log2 = 1.44269504 / dim**0.5  # exp(x / sqrt(dim)) = exp2(x * to_log2)
    shape = (batch, heads, length, dim)

    @T.prim_func
    def flash_attention_kernel(
        Q: T.Tensor(shape, dtype), K: T.Tensor(shape, dtype), V: T.Tensor(shape, dtype), Out: T.Tensor(shape, dtype)
    ):
        with T.Kernel(T.ceildiv(length, block_M), heads, batch, threads=128) as (bx, by, bz):
            Q_shared = T.alloc_shared((block_M, dim), dtype)
            K_shared = T.alloc_shared((block_N, dim), dtype)
            V_shared = T.alloc_shared((block_N, dim), dtype)
            scores = T.alloc_fragment((block_M, block_N), "float32")
            weights = T.alloc_fragment((block_M, block_N), dtype)
            out = T.alloc_fragment((block_M, dim), "float32")
            largest = T.alloc_fragment((block_M,), "float32")
            largest_before = T.alloc_fragment((block_M,), "float32")
            rescale = T.alloc_fragment((block_M,), "float32")
            block_total = T.alloc_fragment((block_M,), "float32")
            total = T.alloc_fragment((block_M,), "float32")

            T.copy(Q[bz, by, bx * block_M : (bx + 1) * block_M, :], Q_shared)
            T.clear(out)
            T.clear(total)
            T.fill(largest, -T.infinity("float32"))
            last = T.ceildiv((bx + 1) * block_M, block_N) if is_causal else T.ceildiv(length, block_N)
            for k in T.Pipelined(last, num_stages=1):
                # scores of keys that must not be seen start at minus infinity, the others at 0
                for i, j in T.Parallel(block_M, block_N):
                    end = T.min(bx * block_M + i + 1, length) if is_causal else length
                    scores[i, j] = T.if_then_else(k * block_N + j < end, 0, -T.infinity("float32"))
                T.copy(K[bz, by, k * block_N : (k + 1) * block_N, :], K_shared)
                T.gemm(Q_shared, K_shared, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)

                T.copy(largest, largest_before)
                T.reduce_max(scores, largest, dim=1, clear=False)
                for i in T.Parallel(block_M):
                    rescale[i] = T.exp2((largest_before[i] - largest[i]) * to_log2)
                for i, j in T.Parallel(block_M, block_N):
                    scores[i, j] = T.exp2((scores[i, j] - largest[i]) * to_log2)
                T.reduce_sum(scores, block_total, dim=1)
                for i in T.Parallel(block_M):
                    total[i] = total[i] * rescale[i] + block_total[i]
                for i, j in T.Parallel(block_M, dim):
                    out[i, j] *= rescale[i]

                T.copy(scores, weights)
                T.copy(V[bz, by, k * block_N : (k + 1) * block_N, :], V_shared)
                T.gemm(weights, V_shared, out, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block_M, dim):
                out[i, j] /= total[i]
            T.copy(out, Out[bz, by, bx * block_M : (bx + 1) * block_M, :])

    return flash_attention_kernel


EXPLAIN = [
    "flash_attention(1, 8, 1024, 64) or flash_attention(1, 8, 1024, 64, block_M=32, block_N=32)"
]  # for `tilecore explain --targets`; behind "or" for devices with less shared memory


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--causal", action="store_true")
    options = parser.parse_args(words)
    shape = (options.batch, options.heads, options.length, options.dim)

    compiled = tilecore.jit(flash_attention, target=options.target, out_idx=-1)
    try:
        kernel = compiled(*shape, is_causal=options.causal)
    except tilecore.errors.LimitError:  # the device has less shared memory, such as 64 KiB
        kernel = compiled(*shape, is_causal=options.causal, block_M=32, block_N=32)
    q, k, v = torch.randn(3, *shape, device=kernel.adapter.torch_device())
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=options.causal)
    torch.testing.assert_close(kernel(q, k, v), expected, rtol=1e-4, atol=1e-5)
    print(f"flash_attention: {'x'.join(map(str, shape))} right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
