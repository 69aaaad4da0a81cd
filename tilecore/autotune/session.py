"""Runs candidates in a worker process, or in this one. Called by :mod:`tilecore.autotune.bench`.

All arguments and results are plain data. Only ``interpreted`` imports TVM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilecore.autotune.transport import Packed, pack, unpack
from tilecore.errors import LaunchError
from tilecore.jit.kernel import JITKernel
from tilecore.plugins import manager
from tilecore.profiler.profiler import Profiler
from tilecore.profiler.runs import run, written_inputs

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact

# By keys that the calling process makes.
_inputs: dict[str, list[Any]] = {}
_kernels: dict[str, JITKernel] = {}


@dataclass(frozen=True)
class PackedRun:
    """A run of a kernel on a set of inputs. returned: its results. written: arguments that it wrote, by position."""

    returned: list[Any]
    written: dict[int, Any]


def prepare(target: str, adapter: str) -> None:
    """Load the backend and what its tensors need. Raises LaunchError when kernels cannot run here."""
    backend, resolved = manager.resolve(target)
    presence = backend.adapters[adapter].available(resolved)
    if not presence.present:
        raise LaunchError(f"execution backend {adapter!r} cannot run here", found=presence.detail)
    backend.adapters[adapter].empty((1,), "float32")


def receive_inputs(key: str, target: str, adapter: str, packed: Sequence[Any]) -> None:
    """Store a set of inputs, unpacked from plain data."""
    backend, _ = manager.resolve(target)
    _inputs[key] = [unpack(value, backend.adapters[adapter]) for value in packed]


def forget(keys: Sequence[str]) -> None:
    """Drop these inputs and kernels."""
    for key in keys:
        _inputs.pop(key, None)
        _kernels.pop(key, None)


def run_once(key: str, artifact: Artifact, inputs: str) -> PackedRun:
    """Run a candidate on copies of a set of inputs."""
    kernel = _load(key, artifact)
    completed_run = run(kernel, _inputs[inputs], lambda: kernel.execution.synchronize(0))
    written = {position: pack(completed_run.inputs[position]) for position, _ in written_inputs(artifact)}
    return PackedRun([pack(value) for value in completed_run.returned], written)


def time_kernel(
    key: str, artifact: Artifact, inputs: str, warmup: float, rep: float, clock: str, slowest: float | None
) -> float:
    """Milliseconds of a call, the median; only an estimate when that is above ``slowest``. clock: the backend of
    do_bench."""
    latency = Profiler(_load(key, artifact)).do_bench(
        warmup=warmup,
        rep=rep,
        input_tensors=_inputs[inputs],
        backend=clock,
        return_mode="median",
        early_stop_baseline=slowest,
    )
    assert isinstance(latency, float)
    return latency


def load_interpreter() -> None:
    """Import what :func:`interpreted` needs."""
    from tilecore.interpreter import interpret  # noqa: F401
    from tilecore.ir import tile_ops  # noqa: F401 - the operations must be known before their calls are read


def interpreted(ir: str, arguments: Sequence[Any]) -> list[Any]:
    """Run tile IR (TVM's JSON) in the interpreter; all arguments as they are afterwards."""
    load_interpreter()
    from tilecore.interpreter import interpret
    from tilecore.ir.nodes import tvm

    values = [value.array() if isinstance(value, Packed) else value for value in arguments]
    interpret(tvm.ir.load_json(ir), *values, print_hook=lambda text: None)
    return [pack(value) for value in values]


def _load(key: str, artifact: Artifact) -> JITKernel:
    kernel = _kernels.get(key)
    if kernel is None:
        backend, target = manager.resolve(artifact.target)
        kernel = _kernels[key] = JITKernel(artifact, backend, target)
    return kernel
