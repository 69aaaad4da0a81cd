"""Grouped GEMM of a mixture of experts: every token is multiplied by the weights of its own expert.

Tokens are sorted by expert: expert e has the rows starts[e] to starts[e + 1]. Only the call knows how many each has, so
a first kernel writes a table: the expert and the first token of each tile. Each expert has at most one partial tile,
which bounds the grid; blocks of entries without an expert do nothing.

    python examples/grouped_gemm.py --target cpu --sizes 100 0 33 300 --n 256 --k 256
"""

import argparse
import itertools

import torch

import tilecore
import tilecore.language as T


def grouped_gemm(experts, N, K, block_M=64, block_N=128, block_K=32, stages=2, threads=128, dtype="float16"):
    """X [tokens, K], W [experts, K, N], Start [experts + 1], int32: Y [tokens, N] = X @ W[expert of the token]."""
    tokens = T.dynamic("tokens")
    tiles = T.ceildiv(tokens, block_M) + experts

    @T.prim_func
    def grouped_gemm_kernel(
        X: T.Tensor((tokens, K), dtype),
        W: T.Tensor((experts, K, N), dtype),
        Start: T.Tensor((experts + 1,), "int32"),
        Y: T.Tensor((tokens, N), dtype),
    ):
        Expert = T.alloc_global((tiles,), "int32")  # of each tile; -1: there is no such tile
        Token = T.alloc_global((tiles,), "int32")
        with T.Kernel(T.ceildiv(tiles, 128), threads=128) as block:
            tile = block * 128 + T.get_thread_binding()
            if tile < tiles:
                expert = T.alloc_var("int32", init=-1)
                token = T.alloc_var("int32", init=0)
                tiles_before = T.alloc_var("int32", init=0)
                for e in T.serial(experts):
                    count = T.ceildiv(Start[e + 1] - Start[e], block_M)
                    if tile >= tiles_before and tile < tiles_before + count:
                        expert = e
                        token = Start[e] + (tile - tiles_before) * block_M
                    tiles_before += count
                Expert[tile] = expert
                Token[tile] = token
        with T.Kernel(T.ceildiv(N, block_N), tiles, threads=threads) as (bx, by):
            X_shared = T.alloc_shared((block_M, block_K), dtype)
            W_shared = T.alloc_shared((block_K, block_N), dtype)
            Y_local = T.alloc_fragment((block_M, block_N), "float32")
            which, first = Expert[by], Token[by]
            if which >= 0:
                end = Start[which + 1]
                T.clear(Y_local)
                for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
                    T.copy(X[first, k * block_K], X_shared)  # may reach into the next expert's tokens
                    T.copy(W[which, k * block_K : (k + 1) * block_K, bx * block_N : (bx + 1) * block_N], W_shared)
                    T.gemm(X_shared, W_shared, Y_local)
                if first + block_M <= end:
                    T.copy(Y_local, Y[first, bx * block_N])
                else:
                    for i, j in T.Parallel(block_M, block_N):
                        if first + i < end:  # the next expert's results are not stored
                            Y[first + i, bx * block_N + j] = Y_local[i, j]

    return grouped_gemm_kernel


EXPLAIN = ["grouped_gemm(4, 256, 256)"]  # for `tilecore explain --targets`


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 0, 33, 300], help="tokens of each expert")
    parser.add_argument("--n", type=int, default=256)
    parser.add_argument("--k", type=int, default=256)
    options = parser.parse_args(words)
    experts, N, K = len(options.sizes), options.n, options.k

    kernel = tilecore.jit(grouped_gemm, target=options.target, out_idx=-1)(experts, N, K)
    device = kernel.adapter.torch_device()
    starts = [0, *itertools.accumulate(options.sizes)]
    x = torch.randn(starts[-1], K, device=device).half()
    w = (torch.randn(experts, K, N, device=device) / K**0.5).half()
    y = kernel(x, w, torch.tensor(starts, dtype=torch.int32, device=device))
    expected = torch.cat(
        [x[a:b].float() @ weight.float() for (a, b), weight in zip(itertools.pairwise(starts), w, strict=True)]
    )
    torch.testing.assert_close(y.float(), expected, rtol=2e-3, atol=2e-3)
    print(f"grouped_gemm: {starts[-1]} tokens, {experts} experts of {K}x{N}, right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
