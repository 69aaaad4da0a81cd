"""Speed beside torch on "mps" (MPSGraph) and MLX; what is right is computed in float64 on the CPU.

MPSGraph itself is no judge: on M1 and M2 it was reported to be wrong for sums longer than 32768 (pytorch issue 198182).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tile_metal.first_run import mlx
from tilecore.testing.first_run import kernels
from tilecore.testing.first_run.benchmarks import Benchmark, Peer, launch
from tilecore.testing.first_run.machine import Machine

# rows, columns and depth of a tile, stages, threads: 4 simdgroups for the tiles that MLX chooses among, and larger ones
_TILES = ((64, 64, 16, 1, 128), (64, 64, 32, 1, 128), (64, 32, 32, 1, 128), (32, 64, 16, 1, 128), (128, 64, 16, 1, 256))
# width of a head -> rows of Q, keys, threads, as threadgroup memory allows
_ATTENTION_TILES = {
    64: ((32, 32, 128), (64, 32, 128), (64, 64, 128), (64, 32, 256)),
    128: ((32, 32, 128), (32, 16, 128), (16, 32, 64)),
}
_SOFTMAX_THREADS = (128, 256, 1024)
_TOLERANCE = {"float16": 4e-3, "bfloat16": 2e-2, "float32": 1e-4}


def benchmarks(machine: Machine, quick: bool) -> list[tuple[str, Callable[[], Benchmark]]]:
    """(the name, what makes it) of each benchmark, the important ones first. Making one allocates its tensors."""
    if machine.is_simulated:
        return [
            ("gemm of float16", partial(gemm, machine, (64, 64, 64), "float16", ((64, 64, 16, 1, 128),))),
            ("attention", partial(attention, machine, 1, 64, 32, ((32, 32, 128),))),
            ("softmax", partial(softmax, machine, 8, 256, (128,))),
        ]
    sizes = (1024, 4096) if quick else (4096, 2048, 1024, 512)
    dtypes = ("float16", "bfloat16", "float32")
    products = [((size, size, size), dtype) for size in sizes for dtype in dtypes]
    heads = ((1024, 64),) if quick else ((4096, 128), (1024, 128), (4096, 64), (1024, 64))
    if not quick:  # few rows; a sum that is longer than what MPSGraph was reported to be right for
        products += [((64, 4096, 4096), "float16"), ((256, 256, 40960), "float32")]
    return [
        *(("gemm of {3}, {0} x {1} x {2}".format(*shape, dtype), partial(gemm, machine, shape, dtype, _TILES))
          for shape, dtype in products),
        *((f"attention, {length} x {dim}", partial(attention, machine, 16, length, dim, _ATTENTION_TILES[dim]))
          for length, dim in heads),
        ("softmax", partial(softmax, machine, 4096, 4096, _SOFTMAX_THREADS)),
        ("launch", partial(launch, machine)),
    ]  # fmt: skip


def gemm(
    machine: Machine, shape: tuple[int, int, int], dtype: str, tiles: tuple[tuple[int, int, int, int, int], ...]
) -> Benchmark:
    """C = A @ B of (rows, columns, depth)."""
    rows, columns, depth = shape
    a, b = machine.random(rows, depth, dtype=dtype), machine.random(depth, columns, dtype=dtype)
    c = machine.zeros(rows, columns, dtype=dtype)
    ours: dict[str, Callable[[], Any]] = {
        "{} x {} x {}, {} stages, {} threads".format(*tile): partial(kernels.gemm, rows, columns, depth, dtype, *tile)
        for tile in tiles
    }
    peers = [Peer("torch", partial(machine.torch.matmul, a, b)), *mlx.peer((a, b), lambda mx, a, b: mx.matmul(a, b))]
    return Benchmark(
        f"gemm {dtype} {rows} x {columns} x {depth}", "TFLOP/s", 2.0 * rows * columns * depth, ours, (a, b, c),
        lambda: a.cpu().double() @ b.cpu().double(), _TOLERANCE[dtype], peers,
    )  # fmt: skip


def attention(
    machine: Machine, heads: int, length: int, dim: int, tiles: tuple[tuple[int, int, int], ...]
) -> Benchmark:
    """Attention forward in float16, without a mask."""
    shape = (1, heads, length, dim)
    q, k, v = (machine.random(*shape, dtype="float16") for _ in range(3))
    out = machine.zeros(*shape, dtype="float16")
    ours: dict[str, Callable[[], Any]] = {
        "{} x {}, {} threads".format(*tile): partial(kernels.attention, *shape, "float16", *tile) for tile in tiles
    }
    attend = machine.torch.nn.functional.scaled_dot_product_attention

    def expected() -> Any:  # a head at a time: the scores of all would not fit into the memory of a small Mac
        rows = [attend(*(x[:, head : head + 1].cpu().double() for x in (q, k, v))) for head in range(heads)]
        return machine.torch.cat(rows, dim=1)

    peers = [
        Peer("torch", partial(attend, q, k, v)),
        *mlx.peer((q, k, v), lambda mx, *x: mx.fast.scaled_dot_product_attention(*x, scale=dim**-0.5)),
    ]
    name, operations = f"attention float16, {heads} heads of {length} x {dim}", 4.0 * heads * length**2 * dim
    return Benchmark(name, "TFLOP/s", operations, ours, (q, k, v, out), expected, 1e-2, peers)


def softmax(machine: Machine, rows: int, columns: int, threads: tuple[int, ...]) -> Benchmark:
    """Softmax of rows in float32."""
    x, y = machine.random(rows, columns), machine.zeros(rows, columns)
    ours: dict[str, Callable[[], Any]] = {
        f"{count} threads": partial(kernels.softmax, rows, columns, count) for count in threads
    }
    peers = [
        Peer("torch", partial(machine.torch.softmax, x, 1)),
        *mlx.peer((x,), lambda mx, x: mx.softmax(x, axis=1, precise=True)),
    ]
    return Benchmark(
        f"softmax float32 {rows} x {columns}", "TB/s", 8.0 * rows * columns, ours, (x, y),
        lambda: machine.torch.softmax(x.cpu().double(), 1), 1e-5, peers,
    )  # fmt: skip
