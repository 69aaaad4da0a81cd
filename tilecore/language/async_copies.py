"""Asynchronous copies that each thread starts by itself, and the groups that it waits for (T.ptx_cp_async).

The names are TileLang's, after the instruction ``cp.async`` (PTX ISA, "cp.async"). The result is that of a plain copy:
targets without asynchronous copies, and the interpreter, copy at once, and then no group is in flight.
"""

from __future__ import annotations

from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError, UnsupportedError
from tilecore.ir.attributes import KernelHint, LoopAttr
from tilecore.ir.build import const, load, op_name, store
from tilecore.ir.intrinsics import ADDRESS
from tilecore.ir.nodes import For, ForKind, TensorLoad, Var
from tilecore.ir.scopes import is_global, is_shared
from tilecore.language.conditions import as_condition, select
from tilecore.language.conversions import convert
from tilecore.language.hints import annotate
from tilecore.language.integers import whole_number
from tilecore.language.kernel import open_kernel
from tilecore.language.regions import region_of
from tilecore.tracing.current import current


def ptx_cp_async(dst_access_ptr: Any, src_access_ptr: Any, num_elems: int, predicate: Any = None) -> None:
    """Start a copy of ``num_elems`` neighbouring elements from global to shared memory; each thread that reaches it
    copies its own.

    dst_access_ptr, src_access_ptr: where they begin, as T.access_ptr or T.address_of of an element, or the element.
    num_elems: the copy is asynchronous if they are 4, 8 or 16 bytes, all of a T.vectorized loop around it together.
    predicate: where it is false, zeros are written. The copy has landed after a T.ptx_wait_group that its group is part
    of. Raises LanguageError for other memory spaces or different element types.
    """
    subject = "T.ptx_cp_async"
    builder = current(subject)
    open_kernel(subject)
    target, source = _first_element(dst_access_ptr, subject), _first_element(src_access_ptr, subject)
    if not is_shared(target.source) or not is_global(source.source):
        raise LanguageError(
            f"{subject} copies from global to shared memory",
            found=f"{source.source.name} ({source.source.scope()}) to {target.source.name} ({target.source.scope()})",
            expected=f"{subject}(T.access_ptr(shared[i], 'w', n), T.access_ptr(tensor[j], 'r', n), n)",
            hint="T.copy copies between any two memory spaces",
        )
    dtype = DType(str(target.source.dtype))
    if dtype != DType(str(source.source.dtype)):
        raise LanguageError(
            f"{subject} copies elements without converting them",
            found=f"{source.source.name} is {source.source.dtype} and {target.source.name} is {dtype}",
            hint="T.copy converts the element type",
        )
    count = whole_number(num_elems, f"the number of elements of {subject}", 1)
    var = Var("i", "int32")
    value = load(source.source, _behind(source, var), builder.span)
    if predicate is not None:
        value = select(as_condition(predicate), value, convert(0, dtype))
    body = store(target.source, value, _behind(target, var), builder.span)
    extent = const(count, "int32")
    notes = {LoopAttr.ASYNC: 1}
    builder.emit(For(var, const(0, "int32"), extent, ForKind.VECTORIZED, body, annotations=notes, span=builder.span))


def _first_element(pointer: Any, subject: str) -> TensorLoad:
    """The element that a pointer, an element or a slice begins with."""
    if op_name(pointer) == ADDRESS:
        return pointer.args[0]
    region = region_of(pointer, subject)
    return load(region.source, [r.min for r in region.region])


def _behind(element: TensorLoad, distance: Any) -> list[Any]:
    """The indices of the element that lies ``distance`` elements behind, along the last axis."""
    *outer, last = element.indices
    return [*outer, last + convert(distance, str(last.ty.dtype))]


def ptx_commit_group() -> None:
    """Makes one group of the copies that this thread has started by T.ptx_cp_async since its last group."""
    annotate(KernelHint.ASYNC_GROUP, "commit")


def ptx_wait_group(num: int) -> None:
    """Wait until all groups of copies of this thread except the last ``num`` have landed. A T.sync_threads after it
    shows them to other threads."""
    annotate(KernelHint.ASYNC_GROUP, "wait", whole_number(num, "the number of groups of T.ptx_wait_group", 0))


def ptx_cp_async_barrier(barrier_id: Any) -> None:
    """TVM's arrival of copies at a barrier with a number. It raises UnsupportedError: barriers here are memory."""
    raise UnsupportedError(
        "T.ptx_cp_async_barrier names a barrier by a number, and barriers have no numbers here",
        found=f"barrier {barrier_id}",
        expected="a barrier of T.alloc_barrier, on a target that has it",
        hint="T.cp_async_barrier_noinc(bar) arrives when this thread's copies have landed; T.ptx_wait_group(0) waits",
    ).at(current("T.ptx_cp_async_barrier").location)
