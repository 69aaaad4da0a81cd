"""The Triton kernels of flash-linear-attention, beside which h200_linear.py measures; compiles them ahead.

    python benchmarks/h200_linear_peers.py OUT --wheels FOLDER      (with Triton and torch, also without a GPU)

FOLDER has the wheels of fla-core and einops, which are pure Python: they are unpacked into OUT. The autotuner of
flash-linear-attention tries some hundred configurations, each of which takes a second or two to compile. All are
compiled for sm_90 in several processes and packed into OUT/triton.tar.xz, which a run unpacks into Triton's cache if
Triton is of the same version. The autotuner's own choice among them is made on the card.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from h200_linear_shapes import SHAPES, Shape

SHARED, MULTIPROCESSORS = 232448, 132  # of an H200: bytes of shared memory that a block may have
TUNING = {"warmup": 5, "rep": 25}  # milliseconds for a configuration, rather than 25 and 100
FACTS = "ahead.json"  # in the archive: of which version the compiler was


def prepare(wheels: Path, out: Path, shapes: Sequence[Shape]) -> str:
    """Makes the package importable and fills Triton's cache; returns why that is not possible, or nothing."""
    packages, cache, archive = (out / "peers").resolve(), (out / "triton").resolve(), out / "triton.tar.xz"
    lack = unpack(wheels, packages)
    if lack:
        return lack
    try:
        import triton
    except ImportError as error:
        return str(error)
    os.environ["TRITON_CACHE_DIR"] = str(cache)
    if not restore(archive, cache, triton.__version__):
        compile_ahead(shapes, packages, cache, os.cpu_count() or 1)
        save(cache, archive, triton.__version__)
    _tune_briefly()
    return ""


def unpack(wheels: Path, folder: Path) -> str:
    """Makes the packages importable from ``folder``; returns why that is not possible, or nothing."""
    files = sorted(wheels.glob("fla_core-*.whl"))
    if not files:
        return f"{wheels} has no wheel of fla-core"
    if not (folder / "fla").exists():
        for file in [*files, *wheels.glob("einops-*.whl")]:
            with zipfile.ZipFile(file) as archive:
                archive.extractall(folder)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return ""


def calls_of(q: Any, k: Any, v: Any, g: Any) -> dict[str, Callable[[], Any]]:
    """Functions of flash-linear-attention that compute the output and the last state, with a scale of 1.

    g: logarithms of the decay of each step, or None."""
    from fla.ops.linear_attn import chunk_linear_attn, fused_chunk_linear_attn
    from fla.ops.simple_gla import chunk_simple_gla, fused_chunk_simple_gla

    same = {"q": q, "k": k, "v": v, "scale": 1.0, "output_final_state": True}
    if g is None:
        plain = {**same, "normalize": False}
        return {
            "fla: chunk_linear_attn": partial(chunk_linear_attn, **plain),
            "fla: fused_chunk_linear_attn": partial(fused_chunk_linear_attn, **plain),
        }
    return {
        "fla: chunk_simple_gla": partial(chunk_simple_gla, **same, g=g),
        "fla: fused_chunk_simple_gla": partial(fused_chunk_simple_gla, **same, g=g),
    }


def versions() -> str:
    import fla
    import triton

    return f"flash-linear-attention {fla.__version__}, triton {triton.__version__}"


def _tune_briefly() -> None:
    """Lets Triton's autotuner spend less time on each configuration than it does by itself."""
    from triton.runtime.autotuner import Autotuner
    from triton.testing import do_bench

    Autotuner.do_bench = property(lambda self: partial(do_bench, **TUNING))


def save(cache: Path, archive: Path, version: str) -> None:
    (cache / FACTS).write_text(json.dumps({"triton": version}) + "\n")
    with tarfile.open(archive, "w:xz") as packed:
        packed.add(cache, ".")


def restore(archive: Path, cache: Path, version: str) -> bool:
    """Whether the cache now has what was compiled ahead. Its lists of files name them by absolute paths."""
    if not archive.exists():
        return False
    if not (cache / FACTS).exists():
        with tarfile.open(archive) as packed:
            packed.extractall(cache, filter="data")
        for file in cache.glob("*/__grp__*.json"):
            names = json.loads(file.read_text())["child_paths"]
            file.write_text(json.dumps({"child_paths": {name: str(file.parent / name) for name in names}}))
    return bool(json.loads((cache / FACTS).read_text())["triton"] == version)


def compile_ahead(shapes: Sequence[Shape], packages: Path, cache: Path, processes: int) -> None:
    """Compiles what calls_of() needs for the shapes in ``processes`` processes."""
    begun = time.perf_counter()
    paths = os.pathsep.join([str(Path(__file__).parent), str(packages), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "TRITON_CACHE_DIR": str(cache.resolve()), "PYTHONPATH": paths}
    code = (
        "import sys; from h200_linear_shapes import Shape; import h200_linear_peers as peers;"
        " peers.compile_share(eval(sys.argv[1]), *map(int, sys.argv[2:]))"
    )
    workers = [
        subprocess.Popen([sys.executable, "-c", code, repr(tuple(shapes)), str(n), str(processes)], env=environment)
        for n in range(processes)
    ]
    failures = sum(worker.wait() != 0 for worker in workers)
    seconds = time.perf_counter() - begun
    print(f"peers' kernels: {seconds:.1f} s in {processes} processes, {failures} failed", flush=True)


def compile_share(shapes: Sequence[Shape], share: int, shares: int) -> None:
    """Compiles every ``shares``-th configuration of each autotuned kernel, from number ``share`` on; launches none."""
    import torch
    from triton.runtime import driver
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    driver.set_active(_driver_without_device())
    torch.cuda.get_device_name = lambda device=None: "NVIDIA H200"
    torch.cuda.get_device_capability = lambda device=None: (9, 0)
    torch.cuda.device_count = lambda: 1
    run = JITFunction.run
    JITFunction.run = lambda self, *args, grid, warmup, **named: run(self, *args, grid=grid, warmup=True, **named)

    def compile_configurations(self: Any, *args: Any, **named: Any) -> None:
        for config in self.configs[share::shares]:
            try:
                self.fn.run(*args, **named, **config.all_kwargs())
            except Exception as error:  # the autotuner leaves such a configuration out, too
                print(f"{self.base_fn.__name__}, {config}: {type(error).__name__}", flush=True)

    Autotuner.run = compile_configurations
    for shape in shapes:
        size = shape.batch, shape.length, shape.heads
        q, k, v = (torch.empty(*size, shape.dim, dtype=getattr(torch, shape.dtype)) for _ in range(3))
        g = torch.empty(size) if shape.decay == "step" else None
        for call in calls_of(q, k, v, g).values():
            call()


def _driver_without_device() -> Any:
    """Stands for the driver of an H200: it says what is compiled for, and can launch nothing."""
    from triton.backends.compiler import GPUTarget
    from triton.backends.driver import DriverBase

    class Properties:
        @staticmethod
        def get_device_properties(device: int) -> dict[str, int]:
            return {"max_shared_mem": SHARED, "multiprocessor_count": MULTIPROCESSORS, "warpSize": 32}

    class Driver(DriverBase):
        utils = Properties()

        @classmethod
        def is_active(cls) -> bool:
            return True

        def map_python_to_cpp_type(self, ty: str) -> str:
            return ty

        def get_current_target(self) -> Any:
            return GPUTarget("cuda", 90, 32)

        def get_active_torch_device(self) -> Any:
            import torch

            return torch.device("cpu")

        def get_benchmarker(self) -> Any:
            raise RuntimeError("there is no device to measure on")

        def get_current_device(self) -> int:
            return 0

        def get_current_stream(self, device: int) -> int:
            return 0

        def get_device_capability(self, device: int | None = None) -> tuple[int, int]:
            return 9, 0

    return Driver()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--wheels", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    lack = prepare(options.wheels, options.out, SHAPES)
    if lack:
        print(lack)
    return 1 if lack else 0


if __name__ == "__main__":
    sys.exit(main())
