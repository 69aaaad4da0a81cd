"""Times launches and compilations of a vector addition through the driver on a GPU, compared with torch and Triton.

    python benchmarks/h200_launch.py [--rounds 300] [--calls 100] [--out h200_launch.json]

Needs an NVIDIA GPU, torch and the package tile-cuda (from its folder here if it is not installed); TVM is not used. The
result is printed and written to --out. All peers alternate in one process; the device is idle before each sample, and a
sample is short enough that no call waits for a full queue. Launch times are microseconds of one call on the host,
medians over the rounds.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PLUGIN = ROOT / "plugins" / "tile-cuda"
SIZE = 1024
RETURNING = ("torch.add", "tilecore cython, output allocated")
SOURCE = """#include "tilecore_cuda.h"

extern "C" __global__ void __launch_bounds__(256) add_kernel(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C) {
  const int bx = blockIdx.x;
  const int tx = threadIdx.x;
  C[bx * 256 + tx] = A[bx * 256 + tx] + B[bx * 256 + tx];
}
"""  # noqa: E501 - as the code generator writes it


# The loop around the driver's own launch: the rest of a call is tilecore's and Python's part.
LOOP = """
#include <time.h>
typedef int (*launch_t)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                        void **);
double launches(launch_t launch, void *function, unsigned blocks, void *stream, void **parameters, int count) {
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (int i = 0; i < count; i++)
    if (launch(function, blocks, 1, 1, 256, 1, 1, 0, stream, parameters, 0)) return -1;
  clock_gettime(CLOCK_MONOTONIC, &end);
  return ((end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec)) / count;
}
"""


def driver_alone(binary: bytes) -> Callable[[int], float]:
    """A function that gives the microseconds of one cuLaunchKernel, called by a loop in C so many times."""
    import torch

    folder = tempfile.mkdtemp()
    Path(folder, "loop.c").write_text(LOOP)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "loop.c", "-o", "libloop.so"], cwd=folder, check=True)
    loop = ctypes.PyDLL(os.path.join(folder, "libloop.so")).launches
    loop.restype = ctypes.c_double
    driver = ctypes.CDLL("libcuda.so.1")
    tensors = [torch.zeros(SIZE, device="cuda") for _ in range(3)]
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    for code in (
        driver.cuModuleLoadData(ctypes.byref(module), binary),
        driver.cuModuleGetFunction(ctypes.byref(function), module, b"add_kernel"),
    ):
        if code:
            raise SystemExit(f"the driver loads no kernel: error {code}")
    addresses = [ctypes.c_void_p(tensor.data_ptr()) for tensor in tensors]
    parameters = (ctypes.c_void_p * 3)(*(ctypes.addressof(address) for address in addresses))
    launch = ctypes.cast(driver.cuLaunchKernel, ctypes.c_void_p)

    def microseconds(count: int) -> float:
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        kept = tensors, addresses
        assert kept
        return float(loop(launch, function, SIZE // 256, stream, parameters, count)) / 1e3

    return microseconds


def prepare() -> None:
    """Puts tilecore and tile-cuda on the path and builds their extensions, unless they are installed."""
    if importlib.util.find_spec("tile_cuda") is not None and importlib.util.find_spec("tilecore") is not None:
        return
    for folder in (PLUGIN, ROOT):
        if os.fspath(folder) not in sys.path:
            sys.path.insert(0, os.fspath(folder))
    for folder, extension in (
        (ROOT, "tilecore/runtime/_launcher"),
        (ROOT, "tilecore/runtime/_device_launch"),
        (PLUGIN, "tile_cuda/launch/_native"),
    ):
        if not list(folder.glob(f"{extension}*.so")):
            command = [sys.executable, "setup.py", "build_ext", "--inplace"]
            subprocess.run(command, cwd=folder, check=False, stdout=subprocess.DEVNULL)


def offered() -> AbstractContextManager[Any]:
    """A context in which the target "cuda" exists: that of the installed package, else of this checkout."""
    import tile_cuda.plugin

    from tilecore.plugins import manager

    return nullcontext() if manager.claims("cuda") else manager.register(tile_cuda.plugin, package="tile-cuda")


def artifact_of(target: Any, adapter: str, binary: bytes, out_idx: tuple[int, ...] = ()) -> Any:
    from tilecore.artifact.records import Artifact, Entry, TensorParam

    params = tuple(
        TensorParam(name, "float32", (SIZE,), access=access, align=4) for name, access in zip("ABC", "rrw", strict=True)
    )
    return Artifact(
        name="add", target=str(target), backend="tile-cuda", adapter=adapter, params=params, symbols=(), workspaces=(),
        entries=(Entry("add_kernel", (SIZE // 256, 1, 1), (256, 1, 1)),), out_idx=out_idx, source=SOURCE,
        source_format="cu", binary=binary, binary_format="cubin",
    )  # fmt: skip


def compilations(target: Any) -> dict[str, Any]:
    """The milliseconds of a compilation by each compiler: the first one, and the median of five more."""
    from tile_cuda import toolchain

    from tilecore.contract.records import BuildRequest
    from tilecore.errors import ToolchainError

    results: dict[str, Any] = {"versions": toolchain.version(target)}
    for adapter in ("nvrtc", "nvcc"):
        times = []
        try:
            for number in range(6):
                source = SOURCE + f"// {number}\n"
                start = time.perf_counter()
                toolchain.build(BuildRequest("add", source, ("add_kernel",), target, (), False, adapter))
                times.append((time.perf_counter() - start) * 1e3)
        except ToolchainError as error:
            results[adapter] = error.message
            continue
        results[adapter] = {"first": round(times[0], 1), "later": round(statistics.median(times[1:]), 1)}
    return results


def kernels(target: Any, backend: Any) -> dict[str, Callable[..., Any]]:
    """The addition through tilecore's launcher, by each execution backend that runs here."""
    import torch

    from tilecore.contract.records import BuildRequest
    from tilecore.errors import TilecoreError
    from tilecore.jit.kernel import JITKernel
    from tilecore.runtime import launcher_py

    functions: dict[str, Callable[..., Any]] = {}
    for adapter in ("cython", "tvm_ffi", "dlpack"):
        try:
            request = BuildRequest("add", SOURCE, ("add_kernel",), target, (), False, adapter)
            binary, _ = backend.toolchain.build(request)
            functions[f"tilecore {adapter}"] = JITKernel(artifact_of(target, adapter, binary), backend, target)
        except TilecoreError as error:
            print(f"{adapter}: {error}", file=sys.stderr)
    usual: Any = functions.get("tilecore cython")
    if usual is not None:
        functions["tilecore, launcher in Python"] = launcher_py.Launcher(
            usual.artifact, usual.loaded, usual.execution, usual.device_type
        )
        binary = usual.artifact.binary
        returning = JITKernel(artifact_of(target, "cython", binary, (2,)), backend, target)
        a, b = torch.randn(SIZE, device="cuda"), torch.randn(SIZE, device="cuda")
        if not all(torch.equal(returning(a, b), a + b) for _ in range(3)):
            raise SystemExit("a kernel that allocates its output gave a wrong sum")
        functions["tilecore cython, output allocated"] = lambda a, b, c: returning(a, b)
    return functions


def triton_add() -> Callable[..., Any] | None:
    try:
        import triton
        import triton.language as tl
    except ImportError:
        return None

    @triton.jit
    def add(a, b, c, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(c + at, tl.load(a + at) + tl.load(b + at))

    return lambda a, b, c: add[(SIZE // 256,)](a, b, c, BLOCK=256)


def checked(functions: dict[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Those that write their third argument; those that return the sum copy it there."""
    names = {"empty Python function", *RETURNING}
    returning = {f"{name}, copied": _copying(functions[name]) for name in RETURNING if name in functions}
    return {name: function for name, function in functions.items() if name not in names} | returning


def _copying(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b, c: c.copy_(function(a, b, c))


def checks(functions: dict[str, Callable[..., Any]]) -> dict[str, str]:
    """Whether the results are correct on the default stream, on another stream, and in a captured graph."""
    import torch

    graphs = {}
    for name, function in functions.items():
        a, b = torch.randn(SIZE, device="cuda"), torch.randn(SIZE, device="cuda")
        c, d, e = (torch.zeros(SIZE, device="cuda") for _ in range(3))
        first = a + b
        function(a, b, c)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.cuda._sleep(1_000_000)
            b.add_(1)
            function(a, b, d)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            function(a, b, e)
        b.mul_(2)
        graph.replay()
        torch.cuda.synchronize()
        words = [torch.equal(c, first), torch.allclose(d, a + b / 2), torch.allclose(e, a + b)]
        graphs[name] = ", ".join(
            f"{launch_kind}: {'right' if ok else 'WRONG'}"
            for launch_kind, ok in zip(("call", "stream", "graph"), words, strict=True)
        )
    return graphs


def timed(
    functions: dict[str, Callable[..., Any]], rounds: int, calls: int, alone: Callable[[int], float] | None = None
) -> dict[str, float]:
    """The microseconds of a call on the host, by function."""
    import torch

    a, b, c = (torch.zeros(SIZE, device="cuda") for _ in range(3))
    samples: dict[str, list[float]] = {name: [] for name in functions}
    for function in functions.values():
        for _ in range(50):
            function(a, b, c)
    for _ in range(rounds):
        for name, function in functions.items():
            torch.cuda.synchronize()
            start = time.perf_counter_ns()
            for _ in range(calls):
                function(a, b, c)
            samples[name].append((time.perf_counter_ns() - start) / calls / 1e3)
        if alone is not None:
            torch.cuda.synchronize()
            samples.setdefault("cuLaunchKernel alone, in C", []).append(alone(calls))
    torch.cuda.synchronize()
    return {name: round(statistics.median(times), 3) for name, times in samples.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    prepare()
    import torch
    from tile_cuda import launch

    from tilecore.plugins import manager
    from tilecore.runtime import launcher

    if not torch.cuda.is_available():
        raise SystemExit("no GPU that torch can use")
    with offered():
        backend, target = manager.resolve("cuda")
        functions: dict[str, Callable[..., Any]] = {"empty Python function": lambda a, b, c: None}
        functions |= kernels(target, backend)
        usual = functions.get("tilecore cython")
        alone = driver_alone(usual.artifact.binary) if usual is not None else None
        functions["torch.add(out=)"] = lambda a, b, c: torch.add(a, b, out=c)
        functions["torch.add"] = lambda a, b, c: torch.add(a, b)
        triton = triton_add()
        if triton is not None:
            functions["Triton"] = triton
        result = {
            "device": torch.cuda.get_device_name(0),
            "target": str(target),
            "torch": torch.__version__,
            "python": platform.python_version(),
            "launcher": os.path.basename(launcher.built()[1]),
            "launch": os.path.basename(launch.built()[1]),
            "compile_ms": compilations(target),
            "checks": checks(checked(functions)),
            "launch_us": timed(functions, options.rounds, options.calls, alone),
        }
    text = json.dumps(result, indent=2)
    print(text)
    if options.out is not None:
        options.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
