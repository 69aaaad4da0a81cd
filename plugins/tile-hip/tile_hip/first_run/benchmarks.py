"""Speed beside torch: hipBLASLt through torch.matmul, AOTriton through scaled_dot_product_attention.

Each benchmark tries a few configurations, checks every result, and keeps the fastest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tile_hip.first_run import kernels
from tile_hip.first_run.machine import Machine, largest_error

_TILES = ((128, 128, 32, 1, 256), (128, 128, 64, 1, 256), (256, 256, 64, 1, 512), (256, 128, 32, 2, 256))
_ATTENTION_TILES = ((64, 32, 256), (128, 32, 256), (128, 64, 256))


@dataclass(frozen=True)
class Benchmark:
    """One piece of work. amount: the operations ("TFLOP/s"), the bytes ("TB/s") or 0 ("us") that it stands for. ours:
    factories of a kernel by configuration. args: of the kernel, its output last; expected: the right output."""

    name: str
    unit: str
    amount: float
    ours: dict[str, Callable[[], Any]]
    args: tuple[Any, ...]
    theirs: Callable[[], Any]
    tolerance: float


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
        ("launch", partial(_launch, machine)),
    ]


def measure(machine: Machine, benchmark: Benchmark) -> dict[str, Any]:
    """The record of a benchmark: milliseconds and speed of tilecore's fastest configuration and of torch."""
    expected = benchmark.theirs()
    record: dict[str, Any] = {"name": benchmark.name, "unit": benchmark.unit, "configurations": {}}
    best = None
    for name, make in benchmark.ours.items():
        try:
            kernel = machine.compile(make())
            benchmark.args[-1].zero_()
            kernel(*benchmark.args)
            machine.synchronize()
            error = largest_error(benchmark.args[-1], expected)
            if not error <= benchmark.tolerance:
                record["configurations"][name] = f"wrong: the largest error is {error:.3g} of the largest value"
                continue
            milliseconds = machine.milliseconds(partial(kernel, *benchmark.args))
        except Exception as failure:
            record["configurations"][name] = f"{type(failure).__name__}: {failure}"[:500]
            continue
        record["configurations"][name] = milliseconds
        best = milliseconds if best is None else min(best, milliseconds)
    theirs = machine.milliseconds(benchmark.theirs)
    record["torch"] = {"milliseconds": theirs, "speed": _speed(benchmark, theirs)}
    if best is not None:
        record["tilecore"] = {"milliseconds": best, "speed": _speed(benchmark, best)}
        record["ratio"] = theirs / best
    return record


def _speed(benchmark: Benchmark, milliseconds: float) -> float:
    """In the benchmark's unit: 1e12 operations or bytes in a second, or microseconds."""
    return benchmark.amount / milliseconds / 1e9 if benchmark.amount else milliseconds * 1e3


def _gemm(machine: Machine, size: int, dtype: str, tiles: tuple[tuple[int, int, int, int, int], ...]) -> Benchmark:
    a, b, c = (machine.random(size, size, dtype=dtype) for _ in range(3))
    ours: dict[str, Callable[[], Any]] = {
        "{} x {} x {}, {} stages, {} threads".format(*tile): partial(kernels.gemm, size, size, size, dtype, *tile)
        for tile in tiles
    }
    tolerance = 2e-2 if dtype == "bfloat16" else 4e-3
    name = f"gemm {dtype} {size} x {size} x {size}"
    theirs = partial(machine.torch.matmul, a, b)
    return Benchmark(name, "TFLOP/s", 2.0 * size**3, ours, (a, b, c), theirs, tolerance)


def _attention(machine: Machine, heads: int, length: int, dim: int) -> Benchmark:
    shape = (1, heads, length, dim)
    q, k, v, out = (machine.random(*shape, dtype="float16") for _ in range(4))
    ours: dict[str, Callable[[], Any]] = {
        "{} x {}, {} threads".format(*tile): partial(kernels.attention, *shape, "float16", *tile)
        for tile in _ATTENTION_TILES
    }
    name, operations = f"attention float16, {heads} heads of {length} x {dim}", 4.0 * heads * length**2 * dim
    theirs = partial(machine.torch.nn.functional.scaled_dot_product_attention, q, k, v)
    return Benchmark(name, "TFLOP/s", operations, ours, (q, k, v, out), theirs, 1e-2)


def _softmax(machine: Machine, rows: int, columns: int) -> Benchmark:
    x, y = machine.random(rows, columns), machine.zeros(rows, columns)
    ours: dict[str, Callable[[], Any]] = {"256 threads": partial(kernels.softmax, rows, columns)}
    theirs = partial(machine.torch.softmax, x, 1)
    return Benchmark(f"softmax float32 {rows} x {columns}", "TB/s", 8.0 * rows * columns, ours, (x, y), theirs, 1e-5)


def _launch(machine: Machine) -> Benchmark:
    a, b, c = machine.random(1024), machine.random(1024), machine.zeros(1024)
    ours: dict[str, Callable[[], Any]] = {"256 threads": kernels.add}
    return Benchmark("launch of a small addition", "us", 0, ours, (a, b, c), partial(machine.torch.add, a, b), 1e-6)
