"""Times one call of a kernel. It adds two tensors of 64 floats into a third, so that the call dominates.

    python benchmarks/launch.py [--rounds 1000] [--calls 200] [--out launch.json]

All peers alternate in one process, so that a busy machine slows all of them; a sample is shorter than a time slice, so
that most are not interrupted. The numbers are nanoseconds of one call, medians over the rounds.
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
from tilecore.runtime import launcher, launcher_py

SIZE = 64


@T.prim_func
def add(A: T.Tensor((SIZE,), "float32"), B: T.Tensor((SIZE,), "float32"), C: T.Tensor((SIZE,), "float32")):
    with T.Kernel(1):
        for i in T.Parallel(SIZE):
            C[i] = A[i] + B[i]


def empty(a: Any, b: Any, c: Any) -> None:
    """A call with three arguments that does nothing: the time of Python itself."""


def torch_add(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> None:
    torch.add(a, b, out=c)


def tvm_function() -> Callable[..., Any]:
    """The same addition, compiled and launched by TVM."""
    import tvm
    from tvm.script import tirx

    @tirx.prim_func
    def add_of_tvm(
        A: tirx.Buffer((SIZE,), "float32", align=4),
        B: tirx.Buffer((SIZE,), "float32", align=4),
        C: tirx.Buffer((SIZE,), "float32", align=4),
    ):
        tirx.func_attr({"global_symbol": "add_of_tvm"})
        for i in tirx.vectorized(SIZE):
            C[i] = A[i] + B[i]

    return tvm.tirx.build(add_of_tvm, target=tvm.target.Target("llvm"))["add_of_tvm"]


def peers() -> tuple[dict[str, tuple[Callable[..., Any], str]], dict[str, str]]:
    """(the functions to call, each with the kind of its arguments; the peers that are missing, with the reason)."""
    kernel = tilecore.compile(add, target="cpu")
    plain = launcher_py.Launcher(kernel.artifact, kernel.loaded, kernel.execution, kernel.device_type)
    available_peers: dict[str, tuple[Callable[..., Any], str]] = {
        "empty Python function": (empty, "torch"),
        "torch.add(out=)": (torch_add, "torch"),
        "tilecore, launcher in Python": (plain, "torch"),
    }
    missing = {}
    built, reason = launcher.built()
    if built:
        available_peers["tilecore, built launcher, torch tensors"] = (kernel, "torch")
        available_peers["tilecore, built launcher, numpy arrays"] = (kernel, "numpy")
    else:
        missing["tilecore, built launcher"] = reason
    try:
        function = tvm_function()
        available_peers["tvm_ffi function, torch tensors"] = (function, "torch")
    except Exception as error:
        missing["tvm_ffi function"] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return available_peers, missing


def measure(rounds: int, calls: int) -> dict[str, Any]:
    functions, missing = peers()
    tensors = [torch.randn(SIZE) for _ in range(3)]
    arguments = {"torch": tensors, "numpy": [tensor.numpy() for tensor in tensors]}
    samples: dict[str, list[float]] = {name: [] for name in functions}
    for name, (function, kind) in functions.items():
        tensors[2].zero_()
        function(*arguments[kind])
        if name != "empty Python function" and not torch.equal(tensors[2], tensors[0] + tensors[1]):
            raise SystemExit(f"{name} gave a wrong sum")
    for _ in range(rounds):
        for name, (function, kind) in functions.items():
            a, b, c = arguments[kind]
            number = calls if name != "tilecore, launcher in Python" else max(1, calls // 20)
            seconds = timeit.timeit("f(a, b, c)", globals={"f": function, "a": a, "b": b, "c": c}, number=number)
            samples[name].append(seconds / number * 1e9)
    medians = {name: statistics.median(values) for name, values in samples.items()}
    base = medians["empty Python function"]
    return {
        "question": "nanoseconds of one call with three tensors of 64 floats",
        "machine": {"cpu": platform.processor() or platform.machine(), "python": platform.python_version()},
        "versions": {"torch": torch.__version__, "tilecore": tilecore.__version__},
        "rounds": rounds,
        "calls": calls,
        "results": {
            name: {
                "median": round(medians[name]),
                "best": round(min(samples[name])),
                "over an empty call": round(medians[name] - base),
            }
            for name in functions
        },
        "missing": missing,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1000, help="samples of each peer")
    parser.add_argument("--calls", type=int, default=200, help="calls in a sample")
    parser.add_argument("--out", help="write the JSON here instead of to standard output")
    chosen = parser.parse_args()
    text = json.dumps(measure(chosen.rounds, chosen.calls), indent=2)
    if chosen.out:
        with open(chosen.out, "w") as file:
            file.write(text + "\n")
    else:
        print(text)


if __name__ == "__main__":
    main()
