"""Speed beside torch: hipBLASLt through torch.matmul, AOTriton through scaled_dot_product_attention."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tilecore.testing.first_run import kernels
from tilecore.testing.first_run.benchmarks import Benchmark, Peer, launch
from tilecore.testing.first_run.machine import Machine

_TILES = ((128, 128, 32, 1, 256), (128, 128, 64, 1, 256), (256, 256, 64, 1, 512), (256, 128, 32, 2, 256))
_ATTENTION_TILES = ((64, 32, 256), (128, 32, 256), (128, 64, 256))


def benchmarks(machine: Machine, quick: bool) -> list[tuple[str, Callable[[], Benchmark]]]:
    """(the name, what makes it) of each benchmark, the important ones first. Making one allocates its tensors."""
    if machine.is_simulated:
        return [
            ("gemm of float16", partial(_gemm, machine, 64, "float16", ((64, 64, 32, 1, 128),))),
            ("softmax", partial(_softmax, machine, 8, 256)),
        ]
    products = [(size, dtype) for size in ((4096,) if quick else (4096, 8192)) for dtype in ("float16", "bfloat16")]
    heads = ((4096, 128),) if quick else ((1024, 128), (4096, 128), (8192, 128), (4096, 64))
    return [
        *((f"gemm of {dtype}, {size}", partial(_gemm, machine, size, dtype, _TILES)) for size, dtype in products),
        *((f"attention, {length} x {dim}", partial(_attention, machine, 16, length, dim)) for length, dim in heads),
        ("softmax", partial(_softmax, machine, 8192, 4096)),
        ("launch", partial(launch, machine)),
    ]


def _gemm(machine: Machine, size: int, dtype: str, tiles: tuple[tuple[int, int, int, int, int], ...]) -> Benchmark:
    a, b, c = (machine.random(size, size, dtype=dtype) for _ in range(3))
    ours: dict[str, Callable[[], Any]] = {
        "{} x {} x {}, {} stages, {} threads".format(*tile): partial(kernels.gemm, size, size, size, dtype, *tile)
        for tile in tiles
    }
    tolerance = 2e-2 if dtype == "bfloat16" else 4e-3
    name = f"gemm {dtype} {size} x {size} x {size}"
    return _beside_torch(name, 2.0 * size**3, ours, (a, b, c), partial(machine.torch.matmul, a, b), tolerance)


def _attention(machine: Machine, heads: int, length: int, dim: int) -> Benchmark:
    shape = (1, heads, length, dim)
    q, k, v, out = (machine.random(*shape, dtype="float16") for _ in range(4))
    ours: dict[str, Callable[[], Any]] = {
        "{} x {}, {} threads".format(*tile): partial(kernels.attention, *shape, "float16", *tile)
        for tile in _ATTENTION_TILES
    }
    name, operations = f"attention float16, {heads} heads of {length} x {dim}", 4.0 * heads * length**2 * dim
    theirs = partial(machine.torch.nn.functional.scaled_dot_product_attention, q, k, v)
    return _beside_torch(name, operations, ours, (q, k, v, out), theirs, 1e-2)


def _softmax(machine: Machine, rows: int, columns: int) -> Benchmark:
    x, y = machine.random(rows, columns), machine.zeros(rows, columns)
    ours: dict[str, Callable[[], Any]] = {"256 threads": partial(kernels.softmax, rows, columns)}
    name, theirs = f"softmax float32 {rows} x {columns}", partial(machine.torch.softmax, x, 1)
    return _beside_torch(name, 8.0 * rows * columns, ours, (x, y), theirs, 1e-5, "TB/s")


def _beside_torch(
    name: str, amount: float, ours: dict[str, Callable[[], Any]], args: tuple[Any, ...], theirs: Callable[[], Any],
    tolerance: float, unit: str = "TFLOP/s",
) -> Benchmark:  # fmt: skip
    """A benchmark beside a function of torch, whose result is the right one."""
    return Benchmark(name, unit, amount, ours, args, theirs, tolerance, (Peer("torch", theirs),))
