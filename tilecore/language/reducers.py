"""Reducers: fragments that the iterations of T.Parallel accumulate into together."""

from __future__ import annotations

import math
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.dtypes import element_type
from tilecore.errors import FailedAssertError, LanguageError
from tilecore.ir.attributes import KernelHint
from tilecore.ir.build import constant
from tilecore.ir.reducers import updated
from tilecore.ir.reductions import KINDS, combining_kind, element, has_meaning, identity
from tilecore.language.buffers import BufferHandle, as_load
from tilecore.language.conversions import convert
from tilecore.language.copies import copy, emit
from tilecore.language.hints import annotate
from tilecore.language.integers import whole_number
from tilecore.language.kernel import open_kernel
from tilecore.language.memory import allocate
from tilecore.language.regions import kind_of, region_of
from tilecore.tracing.current import current


def alloc_reducer(shape: Any, dtype: Any, op: str = "sum", replication: str | None = None) -> BufferHandle:
    """A fragment that T.Parallel iterations may accumulate into together: T.reducer_update(r[i], x), or ``r[i] += x``
    (op "sum"), ``r[i] = T.max(r[i], x)`` and so on. Initialise it with T.reducer_init, T.fill or T.clear, and finish
    with T.finalize_reducer.

    op: a kind of T.reduce. Of "abssum" and "absmax" T.reducer_update takes the absolute value. replication: None, "all"
    or "none", a hint.
    """
    if op not in KINDS:
        raise LanguageError(f"T.alloc_reducer(op={op!r})", expected=", ".join(map(repr, KINDS)))
    if replication not in (None, "all", "none"):
        raise LanguageError(f"T.alloc_reducer(replication={replication!r})", expected='None, "all" or "none"')
    kind = str(DType(dtype))
    if not has_meaning(op, kind):
        raise FailedAssertError(
            f"T.alloc_reducer(op={op!r}) is not defined for {kind} values",
            expected="an integer dtype or bool" if op.startswith("bit") else "an integer or a float dtype",
        )

    def record(handle: BufferHandle) -> None:
        annotate(KernelHint.REDUCER, handle, combining_kind(op), replication or "none")
        open_kernel("T.alloc_reducer").frame.facts.setdefault("operations", {})[handle.buffer] = op

    return allocate(shape, element_type(dtype), "local.fragment", "T.alloc_reducer", record)


def _operation(buffer: Any, subject: str) -> str:
    """The operation of the T.alloc_reducer ``buffer``, a kind of T.reduce."""
    operations = open_kernel(subject).frame.facts.get("operations", {})
    if buffer not in operations:
        raise LanguageError(f"{subject}: {buffer.name} is not a reducer", expected="a buffer from T.alloc_reducer")
    return str(operations[buffer])


def reducer_init(reducer: Any, init: Any = None) -> None:
    """Initialise a T.alloc_reducer: with ``init``, which counts once, or with the identity of its operation."""
    target = region_of(reducer, "T.reducer_init")
    op = _operation(target.source, "T.reducer_init")
    if init is None:
        init = identity(op, kind_of(target))
    emit("fill", [target, convert(init, kind_of(target))], called="T.reducer_init")


def reducer_update(target: Any, value: Any) -> None:
    """Accumulate ``value`` into element ``r[i]`` of a T.alloc_reducer; many T.Parallel iterations may do so."""
    loaded = as_load(target)
    if loaded is None:
        raise LanguageError(
            "the first argument of T.reducer_update is not an element of a reducer", found=str(target), expected="r[i]"
        )
    op = _operation(loaded.source, "T.reducer_update")
    if not current("T.reducer_update").in_parallel:
        raise LanguageError(
            "T.reducer_update is called outside any T.Parallel",
            expected="a call in T.Parallel, each iteration of which accumulates once",
            hint="write `for i in T.Parallel(1):` around it",
        )
    converted = element(op, convert(value, str(loaded.source.dtype)))
    BufferHandle(loaded.source).write(tuple(loaded.indices), updated(op, loaded, converted))


def finalize_reducer(reducer: Any, dst: Any = None, batch: int = 1, annotations: dict[str, Any] | None = None) -> None:
    """Combine what the threads accumulated in a T.alloc_reducer; afterwards it is an ordinary fragment.

    dst: a buffer to which the result is copied. batch: how many elements threads may combine at once, a divisor of the
    number of elements; a hint.
    """
    region = region_of(reducer, "T.finalize_reducer")
    _operation(region.source, "T.finalize_reducer")
    check_batch(batch, "T.finalize_reducer", math.prod(int(constant(size) or 1) for size in region.source.shape))
    emit("finalize_reducer", [region], annotations)
    if dst is not None:
        copy(reducer, dst)


def check_batch(batch: Any, subject: str, elements: int | None = None) -> None:
    """Raises LanguageError for a batch that is not a number from 1 on; elements: of which it must be a divisor."""
    number = whole_number(batch, f"{subject}(batch=...)")
    if number < 1:
        raise LanguageError(f"{subject}: batch must be >= 1", found=f"batch={number}")
    if elements is not None and number > elements:
        raise LanguageError(f"{subject}: batch exceeds total output elements", found=f"batch={number} of {elements}")
    if elements is not None and elements % number:
        raise LanguageError(
            f"{subject}: batch must evenly divide the number of output elements", found=f"batch={number} of {elements}"
        )
