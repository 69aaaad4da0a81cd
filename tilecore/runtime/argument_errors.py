"""Builds the errors about arguments that the checks in ``arguments.py`` raise, one function for each error."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from tilecore.contract.origin import Origin, remedy, title
from tilecore.dtypes import FACTS
from tilecore.errors import ArgumentError, LaunchError, PluginError
from tilecore.nearest import did_you_mean
from tilecore.runtime.call_plan import storage_dtypes
from tilecore.runtime.size_text import shape_text, storage_text, tuple_text
from tilecore.tensors.dlpack import HOST, contiguous_strides
from tilecore.tensors.libraries import is_immutable
from tilecore.tensors.views import device_problem

if TYPE_CHECKING:
    from tilecore.artifact.records import Param, TensorParam
    from tilecore.contract.adapter import KernelAdapter
    from tilecore.runtime.call_plan import CallPlan
    from tilecore.runtime.scalars import UnfitScalar
    from tilecore.tensors.views import TensorView, UnreadableTensor


_SEQUENCES = (list, tuple, memoryview, bytearray, array)  # from which numpy makes an array


def count(plan: CallPlan, count_given: int) -> ArgumentError:
    names = plan.argument_names
    noun = "argument" if len(names) == 1 else "arguments"
    listed = f" ({', '.join(names)})" if names else ""
    allocated = ", ".join(plan.params[p].name for p in plan.outputs)
    hint = f"{allocated} {'is' if len(plan.outputs) == 1 else 'are'} allocated by the call and returned (out_idx)"
    return ArgumentError(
        f"{plan.name}() takes {len(names)} {noun}{listed}, {count_given} {'was' if count_given == 1 else 'were'} given",
        hint=hint if plan.outputs else None,
    )


def unknown_name(plan: CallPlan, name: str) -> ArgumentError:
    names = plan.argument_names
    if name in (plan.params[p].name for p in plan.outputs):
        hint: str | None = f"the call allocates {name} and returns it (out_idx)"
    else:
        hint = did_you_mean(name, names, "{}")
    expected = ", ".join(names) if names else "no arguments"
    return ArgumentError(f"{plan.name}() has no parameter {name}", expected=expected, hint=hint)


def not_a_tensor(plan: CallPlan, declared: TensorParam, value: Any) -> ArgumentError:
    found, hint = _value(value), None
    if isinstance(value, _SEQUENCES):
        hint = f'numpy.asarray({declared.name}, "{FACTS[storage_dtypes(declared)[0]].numpy}")'
    elif hasattr(value, "shape") and hasattr(value, "dtype"):  # a scalar of numpy, or a description without memory
        found = f"{type(value).__name__}, which has a shape and no memory that can be read"
        hint = f"numpy.asarray({declared.name})" if hasattr(value, "__array__") else None
    return ArgumentError(
        f"{plan.name}(): {declared.name} must be a tensor",
        found=found,
        expected=f"a {storage_text(declared)} tensor of shape {shape_text(declared)} (torch, numpy or any DLPack)",
        hint=hint,
    )


def needed(plan: CallPlan, declared: TensorParam) -> ArgumentError:
    """None, or an address of 0, for a tensor that the kernel accesses."""
    dependent = "" if isinstance(declared.needed, int) else " in this call"
    return ArgumentError(
        f"{plan.name}(): {declared.name} must be a tensor, because the kernel accesses it{dependent}",
        found="None, or an address of 0",
        expected=f"a {storage_text(declared)} tensor of shape {shape_text(declared)}",
        hint="guard its accesses by an `if` on a scalar parameter or a size",
    )


def unknown_address(plan: CallPlan, declared: TensorParam, address: int, size: int) -> ArgumentError:
    """An address that no tensor is known to have, for a kernel that the host runs with checks."""
    return ArgumentError(
        f"{plan.name}(): the address of {declared.name} is that of no known tensor of {size} bytes",
        found=f"0x{address:x}",
        expected="the address of a tensor on the host that is alive",
        hint="name arrays that are not torch's: with tilecore.reachable(x, y): kernel(...)",
    )


def misplaced_address(plan: CallPlan, declared: TensorParam, address: int) -> ArgumentError:
    return ArgumentError(
        f"{plan.name}(): the address of {declared.name} cannot be one",
        found=hex(address),
        expected=f"a number from 0 to 2**64 - 1, a multiple of {declared.align} (bytes)",
    )


def wrong_output(
    plan: CallPlan, declared: TensorParam, adapter: KernelAdapter, actual: str, shape: tuple[int, ...] | None = None
) -> PluginError:
    """The execution backend allocated a tensor that does not fit the parameter."""
    origin: Origin | None = getattr(adapter, "origin", None)  # set by the guard around a plugin's adapter
    message = (
        f"{adapter.name}.empty returned a wrong tensor for {declared.name}, which the call of {plan.name} allocates"
    )
    return PluginError(
        message if origin is None else f"{title(origin)}: {message}",
        found=actual,
        expected=f"a {storage_text(declared)} tensor of shape {shape_text(declared) if shape is None else shape}",
        hint=None if origin is None else remedy(origin),
    )


def scalar(plan: CallPlan, declared: Param, value: Any, unfit: UnfitScalar) -> ArgumentError:
    return ArgumentError(
        f"{plan.name}(): {declared.name} does not take this value",
        found=_value(value),
        expected=unfit.expected,
        hint=unfit.hint,
    )


def unreadable(plan: CallPlan, declared: TensorParam, error: UnreadableTensor) -> ArgumentError:
    return ArgumentError(f"{plan.name}(): {declared.name} cannot be used: {error.reason}", hint=error.hint)


def dtype(plan: CallPlan, declared: TensorParam, view: TensorView) -> ArgumentError:
    return ArgumentError(
        f"{plan.name}(): {declared.name} has the wrong dtype",
        found=view.dtype_name,
        expected=storage_text(declared),
        hint=_dtype_hint(declared, view),
    )


def _dtype_hint(declared: TensorParam, view: TensorView) -> str:
    if declared.packed > 1:
        return (
            f"{declared.dtype} is passed packed: {declared.packed} elements of the last axis in one element of "
            f"{storage_text(declared)}, the element of even index in the low bits"
        )
    name = declared.dtype
    if view.library == "torch":
        return f"{declared.name}.to(torch.{FACTS[name].torch})"
    if view.library == "numpy":
        module = "ml_dtypes" if FACTS[name].in_ml_dtypes else "numpy"
        return f"{declared.name}.astype({module}.{FACTS[name].numpy})"
    return f"convert {declared.name} to {name}"


def rank(plan: CallPlan, declared: TensorParam, view: TensorView) -> ArgumentError:
    rank, expected_rank = len(view.shape), len(declared.shape)
    return ArgumentError(
        f"{plan.name}(): {declared.name} has {rank} {'axis' if rank == 1 else 'axes'}, {expected_rank} expected",
        found=f"shape {tuple_text(view.shape)}",
        expected=shape_text(declared),
    )


def packed_stride(plan: CallPlan, declared: TensorParam, view: TensorView) -> ArgumentError:
    return ArgumentError(
        f"{plan.name}(): the last axis of {declared.name} is not contiguous",
        found=f"strides {tuple_text(view.strides)}",
        expected=f"1 for the last axis, since {declared.dtype} elements are packed along it",
        hint=_contiguous_hint(declared, view),
    )


def device(plan: CallPlan, name: str, view: TensorView, expected: str) -> ArgumentError:
    found = view.device_name
    hint = f'{name}.to("{expected}")' if view.library == "torch" else f"copy {name} to {expected}"
    problem = device_problem(expected) if view.library == "torch" else ""
    if found == expected:  # one name for devices of two kinds, in builds of torch for the one or the other
        found += f" (of DLPack device type {view.device[0]})"
        expected += f" (of DLPack device type {plan.device_type})"
        hint = "install the build of torch for these devices"
    elif problem:
        hint = f"install the build of torch for these devices; this one says: {problem}"
    return ArgumentError(f"{plan.name}(): {name} is on the wrong device", found=found, expected=expected, hint=hint)


def devices_differ(plan: CallPlan, first: str, first_view: TensorView, name: str, view: TensorView) -> ArgumentError:
    return ArgumentError(
        f"{plan.name}(): {first} is on {first_view.device_name} but {name} is on {view.device_name}",
        expected="all tensors on one device",
    )


def read_only(plan: CallPlan, declared: TensorParam, view: TensorView) -> ArgumentError:
    if is_immutable(view.tensor):
        number = plan.params.index(declared)
        return ArgumentError(
            f"{plan.name}(): {declared.name} is written by the kernel, and arrays of jax never change",
            hint=f"compile with out_idx={number}: the call then returns a new array; or pass a numpy array",
        )
    return ArgumentError(
        f"{plan.name}(): {declared.name} is written by the kernel, but it is read-only",
        hint=f"pass a copy of {declared.name}",
    )


def no_memory(plan: CallPlan, declared: TensorParam) -> ArgumentError:
    return ArgumentError(
        f"{plan.name}(): {declared.name} has elements but no memory",
        expected="a tensor with data, not a fake, lazy or deferred tensor",
    )


def alignment(plan: CallPlan, declared: TensorParam, view: TensorView) -> ArgumentError:
    excess = (view.address - view.buffer) % declared.align
    copy = ".clone()" if view.library == "torch" else ".copy()"
    return ArgumentError(
        f"{plan.name}(): the data of {declared.name} is not aligned",
        found=f"address 0x{view.address:x}, {excess} bytes past a multiple of {declared.align}",
        expected=f"a multiple of {declared.align} bytes",
        hint=f"pass {declared.name}{copy} instead of a view that starts inside another tensor",
    )


def not_contiguous(plan: CallPlan, declared: TensorParam, view: TensorView) -> ArgumentError:
    return ArgumentError(
        f"{plan.name}(): {declared.name} is not contiguous",
        found=f"strides {tuple_text(view.strides)} for shape {tuple_text(view.shape)}",
        expected=f"strides {tuple_text(contiguous_strides(view.shape))}",
        hint=f"{_contiguous_hint(declared, view)} or declare T.StridedTensor",
    )


def self_overlap(plan: CallPlan, declared: TensorParam, view: TensorView, axis: int) -> ArgumentError:
    return ArgumentError(
        f"{plan.name}(): {declared.name} is written by the kernel, but its elements along axis {axis} share memory",
        found=f"strides {tuple_text(view.strides)} for shape {tuple_text(view.shape)}",
        hint=f"pass {_contiguous_hint(declared, view)}",
    )


def negated(plan: CallPlan, declared: TensorParam) -> ArgumentError:
    return ArgumentError(
        f"{plan.name}(): {declared.name} is a view that torch negates when it is read: its memory holds the "
        "values before the negation",
        hint=f"{declared.name}.resolve_neg()",
    )


def recorded(plan: CallPlan, recorder: str) -> LaunchError:
    return LaunchError(
        f"{plan.name}() is called under {recorder}, which records torch's operations and does not record this kernel",
        expected="a call outside of it, or of the operation of torch that runs the kernel",
        hint=f'{plan.name} = kernel.torch_op("mylib::{plan.name}"), and call that; or @tilecore.jit(torch_op=...)',
    )


def traced(plan: CallPlan, name: str, value: Any) -> LaunchError:
    """An argument of a program of jax that is being traced."""
    has_call = plan.device_type == HOST
    call = f"tilecore.jax_call(kernel, {', '.join(plan.argument_names)})"
    return LaunchError(
        f"{plan.name}() is called in a program that jax traces (jax.jit, jax.grad, jax.vmap, ...): its arrays have no "
        "memory yet",
        found=f"{name}, a {type(value).__name__}",
        expected=f"{call}, by which the program calls the kernel" if has_call else "a call outside of that program",
        hint="kernel is a compiled one, as <function>.compile(...) gives it; under jax.grad the call needs backward= "
        'and under jax.vmap vmap="loop" (docs/arrays.md)'
        if has_call
        else "tilecore.jax_call, for programs of jax, takes kernels that are compiled for cpu",
    )


def overlapping(plan: CallPlan, written: TensorParam, other: TensorParam, shared: str) -> ArgumentError:
    both = "w" in other.access
    relation = "are the same memory" if shared == "same" else "share a part of their memory"
    reason = "the kernel writes both" if both else f"the kernel writes {written.name}"
    in_place = "" if both else ", or the same tensor for a call in place"
    return ArgumentError(
        f"{plan.name}(): {written.name} and {other.name} {relation}, and {reason}",
        expected=f"tensors that do not share memory{in_place}",
    )


def _contiguous_hint(declared: TensorParam, view: TensorView) -> str:
    if view.library == "numpy":
        return f"numpy.ascontiguousarray({declared.name})"
    return f"{declared.name}.contiguous()"


def _value(value: Any) -> str:
    kind = type(value).__name__
    if value is None:
        return "None"
    if isinstance(value, (int, float, complex, str, bytes)):
        text = repr(value)
        return f"{kind} {text if len(text) <= 60 else text[:57] + '...'}"
    shape = getattr(value, "shape", None)
    if shape is not None and hasattr(value, "dtype"):
        return f"a {value.dtype} tensor of shape {tuple_text(tuple(shape))}"
    return kind
