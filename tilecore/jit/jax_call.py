"""Kernels in programs of jax: ``tilecore.jax_call`` inside ``jax.jit``, by XLA's foreign function interface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from tilecore.artifact.dims import evaluate
from tilecore.artifact.records import TensorParam
from tilecore.caller import keywords_checked
from tilecore.dtypes import FACTS
from tilecore.dtypes import dtype as DType
from tilecore.errors import ArgumentError, UnsupportedError
from tilecore.jit.jax_handler import TARGET, jax_module, registered
from tilecore.runtime import argument_errors
from tilecore.runtime.arguments import Binder
from tilecore.runtime.call_plan import CallPlan, make_plan, storage_dtypes
from tilecore.tensors.dlpack import HOST, contiguous_strides
from tilecore.tensors.libraries import is_traced
from tilecore.tensors.views import TensorView

if TYPE_CHECKING:
    from tilecore.jit.kernel import JITKernel

_APART = 1 << 46  # bytes between the addresses that stand for those of buffers, which are known when the program runs
_TYPES = {facts.numpy: (*facts.dlpack, 1) for facts in FACTS.values() if facts.bits >= 8}


@keywords_checked
def jax_call(kernel: JITKernel, *args: Any, backward: Any = None, vmap: Any = None) -> Any:
    """The results of ``kernel`` for arrays of jax, also inside jax.jit: the kernel becomes a call in XLA's program.

    kernel: compiled for cpu, with every parameter that it writes in out_idx. args: arrays and, for scalar parameters,
    Python numbers, in the order of a call of the kernel. Sizes are read off the arrays when the program is traced.

    backward: ``backward(args, results, gradients)`` returns the gradient of each argument, None where there is none.
    results and gradients are tuples, with one element for each output. Without it jax.grad raises UnsupportedError.
    vmap: "loop" runs the kernel once for each element of the mapped axis; or a rule of jax.custom_batching.custom_vmap,
    ``vmap(axis_size, in_batched, *args)``, which returns (results, which of them are batched). Without it jax.vmap
    raises a NotImplementedError.

    Returns one array, or a tuple of several. Raises ArgumentError for arguments that do not fit the kernel, where the
    program is traced, UnsupportedError for kernels that jax cannot launch, ToolchainError without a C++ compiler.
    """
    jax = jax_module()
    if vmap is not None and vmap != "loop" and not callable(vmap):
        raise ArgumentError("jax_call(): vmap cannot be this", found=repr(vmap), expected='"loop", or a function')
    if backward is not None and not callable(backward):
        raise ArgumentError(
            "jax_call(): backward cannot be this",
            found=repr(backward),
            expected="a function backward(args, results, gradients)",
        )
    if not hasattr(kernel, "artifact"):
        raise _no_kernel(kernel)
    plan = make_plan(kernel.artifact, kernel.device_type, kernel.loaded.sizes)
    if len(args) != len(plan.inputs):
        raise ArgumentError(
            f"{plan.name}: jax_call() got {len(args)} argument{'' if len(args) == 1 else 's'}",
            expected=f"{len(plan.inputs)}: {', '.join(plan.argument_names)}",
        )
    numbers = {place: value for place, value in enumerate(args) if not _is_tensor(plan, place)}
    arrays = [_array(jax, plan, place, value) for place, value in enumerate(args) if _is_tensor(plan, place)]

    def call(*given: Any) -> tuple[Any, ...]:
        remaining = iter(given)
        values = [numbers[place] if place in numbers else next(remaining) for place in range(len(args))]
        return _call(jax, kernel, plan, values, "sequential" if vmap == "loop" else None)

    function = call
    if callable(vmap):
        function = jax.custom_batching.custom_vmap(call)
        function.def_vmap(vmap)
    results = _with_gradient(jax, function, backward or _missing_gradient(plan.name))(*arrays)
    return results[0] if len(results) == 1 else results


def _no_kernel(value: Any) -> ArgumentError:
    """The error for what is called in a kernel's place, such as a function under ``@tilecore.jit``."""
    name = getattr(value, "__name__", "function")
    return ArgumentError(
        "jax_call() takes a compiled kernel",
        found=f"{type(value).__name__} {name}" if callable(value) else type(value).__name__,
        expected="a kernel, and then the arguments of a call of it",
        hint=f"kernel = {name}.compile(...), with the arguments that {name} is called with, or sizes by name; "
        "then tilecore.jax_call(kernel, ...)"
        if hasattr(value, "compile")
        else None,
    )


def _missing_gradient(name: str) -> Callable[..., Any]:
    """The backward of a call that has none: an error where jax needs the gradient."""

    def backward(args: Any, results: Any, gradients: Any) -> Any:
        raise UnsupportedError(
            f"{name}: jax_call() cannot be differentiated without a rule",
            expected="tilecore.jax_call(kernel, ..., backward=function), where function(args, results, gradients) "
            "returns the gradient of each array",
            hint="jax.lax.stop_gradient(x) for arrays that need no gradient",
        )

    return backward


def _is_tensor(plan: CallPlan, place: int) -> bool:
    return isinstance(plan.params[plan.inputs[place]], TensorParam)


def _array(jax: Any, plan: CallPlan, place: int, value: Any) -> Any:
    """The argument as an array of jax."""
    try:
        return jax.numpy.asarray(value)
    except (TypeError, ValueError):
        raise argument_errors.not_a_tensor(plan, plan.tensor(plan.inputs[place]), value) from None


def _with_gradient(jax: Any, function: Callable[..., Any], backward: Callable[..., Any]) -> Callable[..., Any]:
    def forward(*args: Any) -> tuple[Any, Any]:
        results = function(*args)
        return results, (args, results)

    def reverse(saved: Any, gradients: Any) -> tuple[Any, ...]:
        args, results = saved
        found = backward(args, results, gradients)
        found = found if isinstance(found, (tuple, list)) else (found,)
        if len(found) != len(args):
            raise ArgumentError(
                "jax_call(): backward returned the gradients of another number of arguments",
                found=f"{len(found)}",
                expected=f"{len(args)}, one for each array; None where there is none",
            )
        return tuple(found)

    differentiable = jax.custom_vjp(function)
    differentiable.defvjp(forward, reverse)
    return differentiable


def _call(jax: Any, kernel: JITKernel, plan: CallPlan, values: Sequence[Any], vmap_method: str | None) -> Any:
    """One call in the program that is traced."""
    binder = _TracedCall(plan, kernel.execution, False)
    binder.read(values)
    binder.bind_symbols()
    binder.make_outputs()
    binder.check_tensors()
    binder.check_assumptions()
    grids, _, _ = binder.grids()
    results, memories = [], []
    for param in plan.outputs:
        declared = plan.tensor(param)
        results.append(_struct(jax, plan.name, binder.views[param].shape, storage_dtypes(declared)[0]))
    for workspace in plan.workspaces:
        shape = tuple(evaluate(size, binder.symbols) for size in workspace.shape)
        memories.append(_struct(jax, plan.name, shape, workspace.dtype))
    buffers = [*(p for p in plan.tensors if p not in plan.outputs), *plan.outputs]
    places = [(plan.tensors.index(p), prod(binder.views[p].shape), plan.tensor(p).align) for p in buffers]
    places += [(len(plan.tensors) + n, prod(memory.shape), 1) for n, memory in enumerate(memories)]
    slots = [0] * (len(plan.tensors) + len(plan.workspaces))
    slots += [*(binder.scalars[p] for p in plan.scalars), *(binder.symbols[s.name] for s in plan.symbols)]
    slots += [binder.size(dim, "a size of the launch of {}", plan.name) for dim in plan.sizes]
    words = [registered(kernel), len(slots), len(places), len(grids), *slots]
    words += [word for place in places for word in place] + grids
    import numpy

    arrays = [value for place, value in enumerate(values) if _is_tensor(plan, place)]
    launch = jax.ffi.ffi_call(TARGET, [*results, *memories], vmap_method=vmap_method)
    try:
        return tuple(launch(*arrays, call=numpy.array(words, numpy.int64))[: len(results)])
    except NotImplementedError as error:  # under jax.vmap
        raise UnsupportedError(
            f"{plan.name}: jax_call() cannot be mapped by jax.vmap without a rule",
            expected='tilecore.jax_call(kernel, ..., vmap="loop"), or a function as vmap=',
        ) from error


def _struct(jax: Any, name: str, shape: tuple[int, ...], dtype: str) -> Any:
    """The shape and type of a result; jax must have the type, or it would give a smaller buffer."""
    kind = DType(FACTS[dtype].torch if FACTS[dtype].bits < 8 else dtype).as_numpy()
    if jax.dtypes.canonicalize_dtype(kind) != kind:
        raise ArgumentError(
            f"{name}: jax has no results of type {dtype} here", hint='jax.config.update("jax_enable_x64", True)'
        )
    return jax.ShapeDtypeStruct(shape, kind)


class _TracedCall(Binder):
    """The checks of a call, on arrays whose memory is known when the program runs."""

    def read(self, args: Sequence[Any]) -> None:
        for param, value in zip(self.plan.inputs, args, strict=True):
            declared = self.plan.params[param]
            if not isinstance(declared, TensorParam):
                self._read_scalar(param, value)
                continue
            if "w" in declared.access:
                raise ArgumentError(
                    f"{self.plan.name}: {declared.name} is written by the kernel, and arrays of jax never change",
                    hint=f"compile with out_idx={param}, so that jax_call returns it",
                )
            self._place(param, tuple(value.shape), _TYPES.get(str(value.dtype), (255, 0, 0)), value)

    def _read_scalar(self, param: int, value: Any) -> None:
        if is_traced(value):
            name = self.plan.params[param].name
            raise ArgumentError(
                f"{self.plan.name}: {name} is a scalar of the kernel, and jax traces it: its value is not known yet",
                found=type(value).__name__,
                expected="a Python number, known where the program is traced",
                hint=f'jax.jit(program, static_argnames="{name}") passes an argument as it is; or make it a tensor '
                "of one element in the kernel",
            )
        super()._read_scalar(param, value)

    def make_outputs(self) -> None:
        for param in self.plan.outputs:
            declared = self.plan.tensor(param)
            shape = [self.size(dim, "the shape of {}", declared.name) for dim in declared.shape]
            if declared.packed > 1:
                shape[-1] //= declared.packed
            self._place(param, tuple(shape), self.plan.element_types[param][0], None)

    def _place(self, param: int, shape: tuple[int, ...], dtype: tuple[int, int, int], value: Any) -> None:
        tensor = TensorView(
            _APART * (param + 1), shape, contiguous_strides(shape), dtype, (HOST, 0), "dlpack", value, None
        )
        self._check_kind(param, self.plan.tensor(param), tensor)
        self.views[param] = tensor
