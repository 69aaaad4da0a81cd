"""Times what a launch through the GPU driver takes on the host, without the driver's own call. No GPU is needed.

    python benchmarks/launch_driver.py [--backend cuda] [--rounds 200] [--calls 2000] [--out launch_driver.json]

A driver library that does nothing replaces the vendor's (``plugins/tile-cuda/tests/fake_driver.c`` or
``plugins/tile-hip/tests/fake_hip.cpp``, without its journal), and torch's tensors in host memory replace those on a
device. So the time is that of tilecore's work in a call: reading and checking three tensors, asking for the stream,
writing the parameters. The adapter is guarded, as adapters of plugins are. The result is nanoseconds of a call, the
least of the medians of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PLUGINS = ROOT / "plugins"
SOURCES = {"cuda": "tile-cuda/tests/fake_driver.c", "hip": "tile-hip/tests/fake_hip.cpp"}


def stand_in(backend: str, folder: str) -> str:
    """The driver library that does nothing."""
    library, source = os.path.join(folder, "libdriver.so"), PLUGINS / SOURCES[backend]
    include = PLUGINS / "tile-hip" / "tile_hip" / "include"
    compiler = ["c++", "-std=c++17", "-DTC_MESSAGES", f"-I{include}"] if source.suffix == ".cpp" else ["cc"]
    words = [*compiler, "-shared", "-fPIC", "-O2", "-w", "-DNO_JOURNAL", os.fspath(source), "-o", library]
    subprocess.run(words, check=True)
    return library


def host_tensors(backend: str, path: str) -> tuple[Any, Callable[..., Any]]:
    """(the adapter of a backend for tensors in the host's memory, the function that makes its artifacts)."""
    if backend == "cuda":
        from cuda_artifacts import artifact
        from tile_cuda.adapter import DriverAdapter
        from tile_cuda.driver import Driver

        driver = Driver(path)
        return type("HostTensors", (DriverAdapter,), {"device": 1})("cython", lambda: driver), artifact
    import hip_artifacts
    from tile_hip.adapter import CodeObjectAdapter

    os.environ["TILE_HIP_RUNTIME"] = path
    return type("HostTensors", (CodeObjectAdapter,), {"device": 1})(), hip_artifacts.artifact


def kernels(backend: str, path: str) -> dict[str, Callable[..., Any]]:
    """An addition of tensors with the launcher in C and with the launcher in Python."""
    plugin = PLUGINS / f"tile-{backend}"
    sys.path[:0] = [os.fspath(ROOT), os.fspath(plugin), os.fspath(plugin / "tests")]
    from tilecore.artifact.records import TensorParam
    from tilecore.plugins.guarded_adapter import guard_adapter
    from tilecore.runtime import launcher_py
    from tilecore.runtime.launcher import Launcher

    plain, artifact = host_tensors(backend, path)
    adapter = guard_adapter(SimpleNamespace(kind=backend, package=f"tile-{backend}", version="0"), plain)
    params = tuple(TensorParam(n, "float32", (1024,), access=a, align=4) for n, a in zip("ABC", "rrw", strict=True))
    kernel = artifact(params=params)
    loaded = adapter.load(kernel)
    return {
        "tilecore": Launcher(kernel, loaded, adapter, 1),
        "tilecore, launcher in Python": launcher_py.Launcher(kernel, loaded, adapter, 1),
    }


def timed(functions: dict[str, Callable[..., Any]], rounds: int, calls: int) -> dict[str, float]:
    import torch

    a, b, c = (torch.zeros(1024) for _ in range(3))
    samples: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            some = calls if "Python" not in name else calls // 20
            start = time.perf_counter_ns()
            for _ in range(some):
                function(a, b, c)
            samples[name].append((time.perf_counter_ns() - start) / some)
    return {
        name: round(min(statistics.median(values[i::10]) for i in range(10)), 1) for name, values in samples.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--backend", choices=tuple(SOURCES), default="cuda", help="default: cuda")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    import torch

    if not hasattr(torch._C, "_cuda_getCurrentRawStream"):
        torch._C._cuda_getCurrentRawStream = abs  # a function in C of one number, as torch's own is
    if options.backend == "hip" and torch.version.hip is None:
        torch.version.hip = "stand-in"
    with tempfile.TemporaryDirectory() as folder:
        functions: dict[str, Callable[..., Any]] = {"empty Python function": lambda a, b, c: None}
        functions |= kernels(options.backend, stand_in(options.backend, folder))
        times = timed(functions, options.rounds, options.calls)
    from tilecore.runtime import device_launch, launcher

    result = {
        "backend": options.backend,
        "torch": torch.__version__,
        "launcher": launcher.built()[1],
        "launch": device_launch.built()[1],
        "call_ns": times,
    }
    print(json.dumps(result, indent=2))
    if options.out is not None:
        options.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
