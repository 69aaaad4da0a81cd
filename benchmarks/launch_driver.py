"""Times what a launch through the GPU driver takes on the host, without the driver's own call. No GPU is needed.

    python benchmarks/launch_driver.py [--rounds 200] [--calls 2000] [--out launch_driver.json]

A driver library that does nothing replaces the vendor's (``plugins/tile-cuda/tests/fake_driver.c``, without its
journal), and torch's tensors in host memory replace those on a device. So the time is that of tilecore's work in a
call: reading and checking three tensors, asking for the stream, writing the parameters. The adapter is guarded, as
adapters of plugins are. The result is nanoseconds of a call, the least of the medians of the rounds.
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
PLUGIN = ROOT / "plugins" / "tile-cuda"
sys.path[:0] = [os.fspath(ROOT), os.fspath(PLUGIN), os.fspath(PLUGIN / "tests")]


def stand_in(folder: str) -> str:
    """The driver library that does nothing."""
    library = os.path.join(folder, "libdriver.so")
    source = os.fspath(PLUGIN / "tests" / "fake_driver.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-w", "-DNO_JOURNAL", source, "-o", library], check=True)
    return library


def kernels(path: str) -> dict[str, Callable[..., Any]]:
    """An addition of tensors with the launcher in C and with the launcher in Python."""
    from cuda_artifacts import artifact
    from tile_cuda.adapter import DriverAdapter
    from tile_cuda.driver import Driver

    from tilecore.artifact.records import TensorParam
    from tilecore.plugins.guarded_adapter import guard_adapter
    from tilecore.runtime import launcher_py
    from tilecore.runtime.launcher import Launcher

    class HostTensors(DriverAdapter):
        device = 1

    driver = Driver(path)
    adapter = guard_adapter(
        SimpleNamespace(kind="cuda", package="tile-cuda", version="0"), HostTensors("cython", lambda: driver)
    )
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
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    import torch

    from tilecore.runtime import device_launch, launcher

    if not hasattr(torch._C, "_cuda_getCurrentRawStream"):
        torch._C._cuda_getCurrentRawStream = abs  # a function in C of one number, as torch's own is
    with tempfile.TemporaryDirectory() as folder:
        functions: dict[str, Callable[..., Any]] = {"empty Python function": lambda a, b, c: None}
        functions |= kernels(stand_in(folder))
        times = timed(functions, options.rounds, options.calls)
    result = {
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
