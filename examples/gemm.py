"""C = A @ B for every element type and layout that matrix units support; matmul.py is a shorter one to start with.

Products are added up in float32, or int32 for int8. With few rows there are few tiles of C, too few for a large chip:
--split-k N divides K over N times as many blocks, whose sums a second kernel adds. With more tiles than run at a time
the last round of them fills a part of the chip: --stream-k N, for N blocks that run at a time, divides the steps along
K of that round's tiles evenly among all blocks (Osama et al., 2023). Tiles and the rest that is not given are what
tilecore.heuristics proposes for the sizes and the chip; --tries N times the best N and takes the fastest.

    python examples/gemm.py --target cpu --m 300 --n 200 --k 500 --layout NT --dtype bfloat16
"""

import argparse
import math

import torch

import tilecore
import tilecore.language as T

OUT = {  # the default element type of C
    "float16": "float16", "bfloat16": "bfloat16", "float32": "float32", "tfloat32": "float32",
    "float8_e4m3fn": "bfloat16", "float8_e5m2": "bfloat16", "int8": "int32",
}  # fmt: skip
LEAST_STEPS = 4  # along K of a block's part of a divided tile: fewer take less time than to write and read its sums


def gemm(
    M, N, K, dtype="float16", out_dtype=None, layout="NN", block_M=128, block_N=128, block_K=None, stages=3,
    threads=128, split_k=1, panel=8, stream_k=0,
):  # fmt: skip
    """A [M, K], or [K, M] if layout begins with T; B [K, N], or [N, K] if it ends with T; C [M, N] of out_dtype.

    block_K: 128 bytes of a row unless given. panel: rows of tiles whose blocks run together, so that they find in the
    second-level cache what their neighbours have read; 0: row after row. stream_k: how many blocks run at a time; the
    tiles beyond whole rounds of so many are divided along K, and a second kernel adds their parts; 0: they are not."""
    if layout not in ("NN", "NT", "TN", "TT"):
        raise ValueError(f"layout is {layout!r}; expected NN, NT, TN or TT")
    if split_k < 1:
        raise ValueError(f"split_k ({split_k}) must be at least 1")
    if stream_k < 0 or (stream_k and split_k > 1):
        raise ValueError(f"stream_k ({stream_k}) must be at least 1, with split_k=1 (not {split_k}), or 0")
    trans_A, trans_B = (letter == "T" for letter in layout)
    out_dtype = out_dtype or OUT[dtype]
    accum_dtype = "int32" if dtype == "int8" else "float32"
    block_K = block_K or 128 // T.dtype(dtype).bytes
    A_type = T.Tensor((K, M) if trans_A else (M, K), dtype)
    B_type = T.Tensor((N, K) if trans_B else (K, N), dtype)
    C_type = T.Tensor((M, N), out_dtype)
    steps = T.ceildiv(K, block_K)

    @T.macro
    def multiply(A, B, C_local, bx, by, first, count):
        """C_local = the tile (by, bx) of A @ B over ``count`` steps of block_K from ``first`` on."""
        A_shared = T.alloc_shared((block_K, block_M) if trans_A else (block_M, block_K), dtype)
        B_shared = T.alloc_shared((block_N, block_K) if trans_B else (block_K, block_N), dtype)
        multiply_in(A_shared, B_shared, A, B, C_local, bx, by, first, count)

    @T.macro
    def multiply_in(A_shared, B_shared, A, B, C_local, bx, by, first, count):
        T.clear(C_local)
        for step in T.Pipelined(count, num_stages=stages):
            k = (first + step) * block_K
            if trans_A:
                T.copy(A[k, by * block_M], A_shared)
            else:
                T.copy(A[by * block_M, k], A_shared)
            if trans_B:
                T.copy(B[bx * block_N, k], B_shared)
            else:
                T.copy(B[k, bx * block_N], B_shared)
            T.gemm(A_shared, B_shared, C_local, transpose_A=trans_A, transpose_B=trans_B)

    @T.prim_func
    def gemm_kernel(A: A_type, B: B_type, C: C_type):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            C_local = T.alloc_fragment((block_M, block_N), accum_dtype)
            T.use_swizzle(max(panel, 1), enable=panel > 0)
            multiply(A, B, C_local, bx, by, 0, steps)
            T.copy(C_local, C[by * block_M, bx * block_N])

    if split_k == 1 and not stream_k:
        return gemm_kernel

    if split_k > 1:
        each = max(T.ceildiv(steps, split_k), 1)
        splits = max(T.ceildiv(steps, each), 1)  # none of them without work

        @T.prim_func
        def gemm_split_kernel(A: A_type, B: B_type, C: C_type):
            Part = T.alloc_global((splits, M, N), accum_dtype)
            with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), splits, threads=threads) as (bx, by, split):
                C_local = T.alloc_fragment((block_M, block_N), accum_dtype)
                multiply(A, B, C_local, bx, by, split * each, T.min(each, steps - split * each))
                T.copy(C_local, Part[split, by * block_M : (by + 1) * block_M, bx * block_N : (bx + 1) * block_N])
            with T.Kernel(T.ceildiv(N, 512), M, threads=128) as (bx, row):
                total = T.alloc_fragment((512,), accum_dtype)
                T.clear(total)
                for split in T.unroll(splits):
                    for j in T.Parallel(512):
                        total[j] += Part[split, row, bx * 512 + j]
                T.copy(total, C[row, bx * 512 : (bx + 1) * 512])

        return gemm_split_kernel

    columns, rows = T.ceildiv(N, block_N), T.ceildiv(M, block_M)
    rounds, divided = divmod(columns * rows, stream_k)
    each = max(T.ceildiv(divided * steps, stream_k), LEAST_STEPS)  # steps of a block, of divided tiles
    sharing = T.ceildiv(divided * steps, each)  # the blocks that have such steps
    strip = math.gcd(block_M, 8)  # rows that a block adds up
    if not divided or each >= steps:
        return gemm_kernel

    def place_of(tile):
        """(bx, by) of the tile at a place of the order in panels, every other one of which goes backwards."""
        most = max(1, min(panel, rows))
        number, inside = tile // (columns * most), tile % (columns * most)
        height = T.min(most, rows - number * most) if rows % most else most
        column = inside // height
        return T.if_then_else(number % 2 == 0, column, columns - 1 - column), number * most + inside % height

    @T.prim_func
    def gemm_stream_kernel(A: A_type, B: B_type, C: C_type):
        # a part for each block and tile that have steps in common, in their order
        Part = T.alloc_global((sharing + divided - 1, block_M, block_N), accum_dtype)
        with T.Kernel(stream_k if rounds else sharing, threads=threads) as block:
            C_local = T.alloc_fragment((block_M, block_N), accum_dtype)
            A_shared = T.alloc_shared((block_K, block_M) if trans_A else (block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_N, block_K) if trans_B else (block_K, block_N), dtype)
            for turn in T.serial(rounds):
                bx, by = place_of(turn * stream_k + block)
                multiply_in(A_shared, B_shared, A, B, C_local, bx, by, 0, steps)
                T.copy(C_local, C[by * block_M, bx * block_N])

            begin, end = block * each, T.min((block + 1) * each, divided * steps)
            for tile in T.serial(begin // steps, T.ceildiv(end, steps)):
                bx, by = place_of(rounds * stream_k + tile)
                first = T.max(begin, tile * steps)
                count = T.max(T.min(end, (tile + 1) * steps) - first, 1)  # it is at least 1, as this says
                multiply_in(A_shared, B_shared, A, B, C_local, bx, by, first - tile * steps, count)
                T.copy(C_local, Part[block + tile, 0:block_M, 0:block_N])

        with T.Kernel(block_M // strip, divided, threads=256) as (row, tile):
            total = T.alloc_fragment((strip, block_N), accum_dtype)
            T.clear(total)
            for block in T.serial(tile * steps // each, T.ceildiv((tile + 1) * steps, each)):
                for i, j in T.Parallel(strip, block_N):
                    total[i, j] += Part[block + tile, row * strip + i, j]
            bx, by = place_of(rounds * stream_k + tile)
            T.copy(total, C[by * block_M + row * strip, bx * block_N])

    return gemm_stream_kernel


def sample(rows, columns, dtype, device):
    if dtype == "int8":
        return torch.randint(-128, 128, (rows, columns), device=device, dtype=torch.int8)
    return torch.randn(rows, columns, device=device).to(getattr(torch, dtype.replace("tfloat32", "float32")))


EXPLAIN = ["gemm(512, 512, 512)", "gemm(512, 512, 512, 'int8')"]  # for `tilecore explain --targets`


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--m", type=int, default=512)
    parser.add_argument("--n", type=int, default=512)
    parser.add_argument("--k", type=int, default=512)
    parser.add_argument("--dtype", default="float16", choices=list(OUT))
    parser.add_argument("--out-dtype", choices=["float16", "bfloat16", "float32", "int32"])
    parser.add_argument("--layout", default="NN", choices=["NN", "NT", "TN", "TT"])
    parser.add_argument("--split-k", type=int)
    parser.add_argument("--stream-k", type=int, help="blocks that run at a time, for even rounds of them")
    parser.add_argument("--block", type=int, nargs=2, metavar=("M", "N"), help="a tile of C")
    parser.add_argument("--stages", type=int)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--tries", type=int, default=1, help="configurations to time")
    options = parser.parse_args(words)
    M, N, K, dtype, layout = options.m, options.n, options.k, options.dtype, options.layout
    if options.out_dtype == "int32" and dtype != "int8":
        parser.error(f"--out-dtype int32 takes --dtype int8: sums of {dtype} would be cut off")

    parameters = {"stages": options.stages, "threads": options.threads, "split_k": options.split_k}
    if options.stream_k is not None:
        parameters |= {"stream_k": options.stream_k, "split_k": options.split_k or 1}
    parameters = {name: value for name, value in parameters.items() if value is not None}
    if options.block:
        parameters |= {"block_M": options.block[0], "block_N": options.block[1]}
    compiled = tilecore.jit(gemm, target=options.target, out_idx=-1)
    tuned = tilecore.autotune(configs="auto", tries=options.tries)(compiled)
    kernel = tuned(M, N, K, dtype, options.out_dtype, layout, **parameters)
    device = kernel.adapter.torch_device()
    a = sample(*((K, M) if layout[0] == "T" else (M, K)), dtype, device)
    b = sample(*((N, K) if layout[1] == "T" else (K, N)), dtype, device)
    c = kernel(a, b)
    expected = (a.T if layout[0] == "T" else a).double() @ (b.T if layout[1] == "T" else b).double()
    # sums of K products of size 1: the tolerance is their size times the precision of C, or of tf32
    precision = {torch.float16: 1e-3, torch.bfloat16: 8e-3}.get(c.dtype, 1e-3 if dtype == "tfloat32" else 1e-5)
    if dtype == "int8":
        torch.testing.assert_close(c, expected.to(c.dtype), rtol=precision if c.is_floating_point() else 0, atol=0)
    else:
        torch.testing.assert_close(c.double(), expected, rtol=precision, atol=precision * K**0.5)
    print(f"gemm: {M}x{N}x{K} {layout} {dtype} right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
