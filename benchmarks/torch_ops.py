"""Times one call of an operation of torch beside its bare kernel, with three tensors of 64 floats, one an output.

    python benchmarks/torch_ops.py [--rounds 400] [--calls 200] [--out torch_ops.json]

Peers: the same kernel in a ``torch.library.custom_op``, and ``torch.add``. All alternate in one process, so that a busy
machine slows all of them. The numbers are microseconds of one call, medians over the rounds, and the medians of each
round's difference to the bare kernel.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import timeit
from collections.abc import Callable
from typing import Any

import torch

import tilecore
import tilecore.language as T

SIZE = 64


@T.prim_func
def add(A: T.Tensor((SIZE,), "float32"), B: T.Tensor((SIZE,), "float32"), C: T.Tensor((SIZE,), "float32")):
    with T.Kernel(1):
        for i in T.Parallel(SIZE):
            C[i] = A[i] + B[i]


@T.prim_func
def add_gradient(dC: T.Tensor((SIZE,), "float32"), dA: T.Tensor((SIZE,), "float32"), dB: T.Tensor((SIZE,), "float32")):
    with T.Kernel(1):
        for i in T.Parallel(SIZE):
            dA[i] = dC[i]
            dB[i] = dC[i]


def peers() -> dict[str, Callable[[Any, Any], Any]]:
    kernel = tilecore.compile(add, target="cpu", out_idx=-1)
    backward = tilecore.compile(add_gradient, target="cpu", out_idx=[1, 2])

    @torch.library.custom_op("tilecore_bench::custom", mutates_args=())
    def custom(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return kernel(a, b)

    return {
        "bare kernel": kernel,
        "torch_op": kernel.torch_op("tilecore_bench::add"),
        "torch_op with a gradient": kernel.torch_op("tilecore_bench::add_with_gradient", backward=backward),
        "torch.library.custom_op": custom,
        "torch.add": torch.add,
    }


def measured(rounds: int, calls: int) -> dict[str, dict[str, float]]:
    a, b = torch.randn(SIZE), torch.randn(SIZE)
    functions = peers()
    for function in functions.values():
        torch.testing.assert_close(function(a, b), a + b)
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            times[name].append(timeit.timeit(lambda run=function: run(a, b), number=calls) / calls * 1e6)
    bare = times["bare kernel"]
    return {
        name: {
            "median_us": round(statistics.median(values), 3),
            "over_the_bare_kernel_us": round(statistics.median(v - w for v, w in zip(values, bare, strict=True)), 3),
        }
        for name, values in times.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--out", help="write the result to this file, as JSON")
    options = parser.parse_args()
    result = {
        "question": "microseconds of one call of an addition of 64 floats that allocates its result",
        "machine": {"cpu": platform.machine(), "python": platform.python_version()},
        "versions": {"torch": torch.__version__, "tilecore": tilecore.__version__},
        "rounds": options.rounds,
        "calls": options.calls,
        "results": measured(options.rounds, options.calls),
    }
    text = json.dumps(result, indent=2)
    print(text)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
