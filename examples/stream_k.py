"""Stream-K GEMM: the steps of all tiles of C, in one sequence, are partitioned into equal pieces, one for each block.

With one block a tile, 140 tiles on 132 cores take as long as 264: most cores wait in the second round. Here as many
blocks run as there are cores, and each has the same number of steps along K, wherever tiles begin and end (Osama et
al., 2023). Every block adds its shares of tiles to a workspace in float32, which a last kernel rounds.

    python examples/stream_k.py --target cpu --m 300 --n 300 --k 500 --blocks 7
"""

import argparse

import torch

import tilecore
import tilecore.language as T


def stream_k(
    M, N, K, blocks=132, block_M=128, block_N=128, block_K=64, stages=3, threads=128, dtype="float16"
):  # fmt: skip
    """A [M, K], B [K, N], C [M, N]. blocks: how many run; best as many as are resident at once."""
    if min(M, N, K, blocks) < 1:
        raise ValueError(f"no work to divide: M {M}, N {N}, K {K}, blocks {blocks}")
    steps, columns = T.ceildiv(K, block_K), T.ceildiv(N, block_N)
    tiles = T.ceildiv(M, block_M) * columns
    each = T.ceildiv(tiles * steps, blocks)  # steps of each block
    blocks = T.ceildiv(tiles * steps, each)  # the blocks that have work
    visits = T.ceildiv(each - 1, steps) + 1  # the most tiles that a piece overlaps

    @T.prim_func
    def stream_k_kernel(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), dtype)):
        Sum = T.alloc_global((M, N), "float32")
        with T.Kernel(T.ceildiv(N, 512), M, threads=128) as (bx, row):
            for j in T.Parallel(512):
                Sum[row, bx * 512 + j] = 0

        with T.Kernel(blocks, threads=threads) as b:
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_K, block_N), dtype)
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            end = T.min((b + 1) * each, tiles * steps)
            for visit in T.serial(visits):
                tile = b * each // steps + visit
                first = T.max(b * each, tile * steps)  # where the piece and the tile overlap
                count = T.min(end, (tile + 1) * steps) - first
                if count > 0:
                    row, column = tile // columns * block_M, tile % columns * block_N
                    T.clear(C_local)
                    for step in T.Pipelined(count, num_stages=stages):
                        k = (first - tile * steps + step) * block_K
                        T.copy(A[row, k], A_shared)
                        T.copy(B[k, column], B_shared)
                        T.gemm(A_shared, B_shared, C_local)
                    T.atomic_add(Sum[row, column], C_local)

        with T.Kernel(T.ceildiv(N, 512), M, threads=128) as (bx, row):
            for j in T.Parallel(512):
                C[row, bx * 512 + j] = Sum[row, bx * 512 + j]

    return stream_k_kernel


EXPLAIN = ["stream_k(300, 300, 500)"]  # for `tilecore explain --targets`


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--m", type=int, default=300)
    parser.add_argument("--n", type=int, default=300)
    parser.add_argument("--k", type=int, default=500)
    parser.add_argument("--blocks", type=int, default=7, help="as many as are resident at once: 132 on an H200")
    options = parser.parse_args(words)
    M, N, K = options.m, options.n, options.k

    kernel = tilecore.jit(stream_k, target=options.target, out_idx=-1)(M, N, K, options.blocks)
    device = kernel.adapter.torch_device()
    a = torch.randn(M, K, device=device).half()
    b = torch.randn(K, N, device=device).half()
    torch.testing.assert_close(kernel(a, b).float(), a.float() @ b.float(), rtol=1e-3, atol=1e-3 * K**0.5)
    print(f"stream_k: {M}x{N}x{K} in {options.blocks} pieces right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
