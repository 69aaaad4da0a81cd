"""Runs the interpreter as the reference for candidates, in a separate process and with a time limit."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilecore.artifact.dims import Dim, evaluate
from tilecore.artifact.records import Artifact, TensorParam
from tilecore.autotune import session
from tilecore.autotune.candidates import Candidate, reason_of
from tilecore.autotune.transport import Packed, pack
from tilecore.dtypes import FACTS
from tilecore.errors import InterpreterError, TilecoreError
from tilecore.jit import worker_pools
from tilecore.profiler.runs import written_inputs
from tilecore.profiler.supply import sizes_of

if TYPE_CHECKING:
    from tilecore.jit.workers import Worker

PURPOSE = "interpret"
SECONDS = 20.0  # for one interpretation: what takes longer counts as too large to interpret
LARGEST = 256 << 20  # bytes of arguments


class Oracle:
    """Context manager. ``begin`` starts loading the interpreter, meanwhile other things can be done."""

    def __init__(self) -> None:
        self._worker: Worker | None = None

    def begin(self) -> None:
        self._worker = worker_pools.spares.borrow(PURPOSE)
        threading.Thread(target=_load, args=(self._worker,), daemon=True).start()

    def __enter__(self) -> Oracle:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if self._worker is None:
            return
        if kind is not None and not issubclass(kind, Exception):
            self._worker.stop()
        worker_pools.spares.give_back(PURPOSE, self._worker)

    def outputs(self, candidate: Candidate, inputs: Sequence[Any]) -> tuple[list[Any] | None, str]:
        """The expected outputs of the candidate as numpy arrays, and ""; or None and the reason why they are unknown.

        Raises InterpreterError when the kernel does what the language forbids.
        """
        assert self._worker is not None
        assert candidate.job is not None
        assert candidate.artifact is not None
        artifact = candidate.artifact
        try:
            from tilecore.ir.nodes import tvm

            arguments = _arguments(artifact, inputs)
            if sum(len(value.data) for value in arguments if isinstance(value, Packed)) > LARGEST:
                return None, "its tensors are too large to interpret"
            ir = str(tvm.ir.save_json(candidate.job.func))
            after = self._worker.call(session.interpreted, ir, arguments, timeout=SECONDS)
            return _outputs(artifact, after), ""
        except InterpreterError:
            raise
        except Exception as error:
            return None, reason_of(error)


def _load(worker: Worker) -> None:
    with contextlib.suppress(TilecoreError):  # told by the first interpretation
        worker.call(session.load_interpreter)


def _arguments(artifact: Artifact, inputs: Sequence[Any]) -> list[Any]:
    """An argument for every parameter; those that a call allocates are zeros."""
    sizes = sizes_of(artifact, inputs)
    remaining = iter(inputs)
    outputs = set(artifact.out_idx)
    return [
        _zeros(param, sizes) if index in outputs and isinstance(param, TensorParam) else pack(next(remaining))
        for index, param in enumerate(artifact.params)
    ]


def _zeros(param: TensorParam, sizes: dict[str, int]) -> Packed:
    def values(dims: Sequence[Dim]) -> tuple[int, ...]:
        return tuple(evaluate(dim, sizes) for dim in dims)

    shape = values(param.shape)
    dtype = param.dtype
    if param.packed > 1:
        shape = (*shape[:-1], shape[-1] // param.packed)
        dtype = str(FACTS[dtype].torch)
    count = 1
    for size in shape:
        count *= size
    strides = None if param.strides is None or param.packed > 1 else values(param.strides)
    return Packed(shape, strides, dtype, bytes(count * (FACTS[dtype].bits // 8)))


def _outputs(artifact: Artifact, after: Sequence[Any]) -> list[Any]:
    """In the order in which profiler.runs.outputs_of gives a kernel's."""
    arguments = [index for index in range(len(artifact.params)) if index not in artifact.out_idx]
    positions = [*artifact.out_idx, *(arguments[position] for position, _ in written_inputs(artifact))]
    return [after[index].array() for index in positions]
