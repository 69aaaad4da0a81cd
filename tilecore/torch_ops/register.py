"""Registers kernels with torch's dispatcher.

The kernel itself is the implementation: a call goes from the dispatcher to the launcher with no Python function of ours
in between. An operation is there for the rest of the process: torch's programs and caches hold on to it, and crash
where it is taken away.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tilecore.artifact.records import TensorParam
from tilecore.errors import ArgumentError, UnsupportedError
from tilecore.runtime.call_plan import CallPlan, make_plan
from tilecore.torch_ops.batching import looped, looped_with_warning
from tilecore.torch_ops.fake import fake_of
from tilecore.torch_ops.gradients import (
    KernelGradient,
    counted,
    guarded,
    missing_gradient,
    require_no_writes,
    save_all,
    without_gradient,
    writes_numbers,
)
from tilecore.torch_ops.names import OpName, parse_name
from tilecore.torch_ops.rules import TorchOpRules, is_kernel, require_function
from tilecore.torch_ops.schema import schema_of, writes_arguments

# Tags by which a compiler keeps the strides of arguments; the first that this torch knows is used.
_STRIDES = ("needs_exact_strides", "needs_fixed_stride_order")


@dataclass(frozen=True)
class OpSource:
    """What an operation runs. plan: of its calls. call: takes their arguments. fake: the same, for tensors without
    memory. device: torch's name of the device. identity: equal for sources that are the same kernel. defaults: values
    of scalars that calls may leave out, by name."""

    plan: CallPlan
    call: Callable[..., Any]
    fake: Callable[..., Any]
    device: str
    identity: Any
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def whole(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function``, which gets all arguments of a call: the dispatcher leaves out those at the end that are equal
        to their defaults."""
        if not self.defaults:
            return function
        return lambda *args: function(*args, *self.left_out(len(args)))

    def left_out(self, count: int) -> list[Any]:
        """The arguments behind the first ``count``."""
        return [self.defaults[name] for name in self.plan.argument_names[count:]]


@dataclass
class _Registered:
    source: OpSource
    rules: TorchOpRules
    library: Any
    op: Any


_lock = threading.RLock()
_registered: dict[str, _Registered] = {}


def op_of_kernel(kernel: Any, name: object, rules: TorchOpRules) -> Any:
    """The operation ``name`` of torch that runs the kernel, a torch._ops.OpOverload. kernel: a JITKernel. Raises as
    :func:`register_op`."""
    plan = make_plan(kernel.artifact, kernel.device_type)
    device = kernel.execution.torch_device()
    source = OpSource(plan, kernel, fake_of(plan, device), device, _identity(kernel.artifact))
    return register_op(parse_name(name), source, rules)


def register_op(name: OpName, source: OpSource, rules: TorchOpRules) -> Any:
    """The operation of torch of this name, which exists already where the same kernel was registered under it.

    Raises ArgumentError where another kernel has the name, or a rule does not fit; UnsupportedError for what no
    operation of torch can do, and where torch is missing or too old.
    """
    _require_torch()
    with _lock:
        known = _registered.get(str(name))
        if known is not None and known.source.identity == source.identity and _are_same(known.rules, rules):
            return known.op
        if known is not None or _exists(name):
            raise _taken(name)
        return _register(name, source, rules)


def _register(name: OpName, source: OpSource, rules: TorchOpRules) -> Any:
    import torch

    plan = source.plan
    schema = schema_of(plan, f"{name.name}.{name.overload}" if name.overload else name.name, source.defaults)
    dtypes = rules.autocast_dtypes(source.device.partition(":")[0])
    if dtypes:
        require_no_writes(plan, "casts arguments, and a kernel would write to the copy")
    backward, setup = _gradient_of(name, source, rules)
    library = torch.library.Library(name.namespace, "FRAGMENT")
    library.define(schema, tags=_tags())
    op = getattr(getattr(getattr(torch.ops, name.namespace), name.name), name.overload or "default")
    _registered[str(name)] = _Registered(source, rules, library, op)
    library.impl(op, _implementation(source), _dispatch_key(source))
    torch.library.register_fake(op, source.whole(source.fake), lib=library)
    if plan.writes_floats:
        _guard(library, op, str(name))
    if backward is not None:
        torch.library.register_autograd(op, backward, setup_context=setup, lib=library)
    elif writes_numbers(plan):
        library.impl(op, without_gradient(str(name)), "Autograd", with_keyset=True)
    for device, dtype in dtypes.items():
        torch.library.register_autocast(op, device, dtype, lib=library)
    torch.library.register_vmap(op, _with_left_out(source, _vmap_of(name, source, rules, op)), lib=library)
    return op


def _guard(library: Any, op: Any, name: str) -> None:
    """What is registered for the key Autograd from now on is :func:`~tilecore.torch_ops.gradients.guarded`."""
    register = library.impl

    def impl(target: Any, function: Callable[..., Any], dispatch_key: str = "", **options: Any) -> Any:
        if dispatch_key == "Autograd":
            function = guarded(op, name, function)
        return register(target, function, dispatch_key, **options)

    library.impl = impl  # torch.library.register_autograd calls it


def _vmap_of(name: OpName, source: OpSource, rules: TorchOpRules, op: Any) -> Callable[..., Any]:
    """The rule of vmap. Without one torch would run the operation once for each element, too, but not on elements that
    are not contiguous and not where the kernel writes arguments; and it would ask for a report to torch."""
    if rules.vmap is None:
        return looped_with_warning(source.plan, op, source.fake, str(name))
    return looped(source.plan, op, source.fake) if rules.vmap == "loop" else rules.vmap  # type: ignore[no-any-return]


def _with_left_out(source: OpSource, rule: Callable[..., Any]) -> Callable[..., Any]:
    """A rule of vmap that gets all arguments of a call; see :meth:`OpSource.whole`."""
    if not source.defaults:
        return rule

    def whole(info: Any, in_dims: Sequence[int | None], *args: Any) -> Any:
        rest = source.left_out(len(args))
        return rule(info, (*in_dims, *(None for _ in rest)), *args, *rest)

    return whole


def _implementation(source: OpSource) -> Callable[..., Any]:
    """The function that the dispatcher calls: several results are a tuple there."""
    call = source.whole(source.call)
    return call if len(source.plan.outputs) < 2 else lambda *args: tuple(call(*args))


def _dispatch_key(source: OpSource) -> str:
    """The key of the kernel's device; where no argument is a tensor, torch asks no device."""
    if not any(isinstance(source.plan.params[param], TensorParam) for param in source.plan.inputs):
        return "CompositeExplicitAutograd"
    import torch

    return str(torch._C._dispatch_key_for_device(source.device.partition(":")[0]))


def _gradient_of(name: OpName, source: OpSource, rules: TorchOpRules) -> tuple[Any, Any]:
    """(backward, setup_context) for torch, or Nones where torch can have none. A backward kernel becomes an operation,
    too: name_backward. Without a rule, a gradient that is needed is an error."""
    if rules.backward is None:
        if writes_arguments(source.plan) or not source.plan.outputs:
            return None, None
        return missing_gradient(str(name)), None
    require_no_writes(source.plan, "is differentiated by torch only where it writes none of its arguments")
    if not is_kernel(rules.backward):
        require_function(rules.backward)
        return counted(rules.backward, source.plan, str(name)), rules.setup_context or save_all
    own = name._replace(name=f"{name.name}_backward")
    op = op_of_kernel(rules.backward, str(own), TorchOpRules())
    gradient = KernelGradient(source.plan, make_plan(rules.backward.artifact, rules.backward.device_type), op)
    return gradient.backward, gradient.setup


def _tags() -> list[Any]:
    import torch

    strides = next((getattr(torch.Tag, tag) for tag in _STRIDES if hasattr(torch.Tag, tag)), None)
    return [torch.Tag.pt2_compliant_tag, *([] if strides is None else [strides])]


def _exists(name: OpName) -> bool:
    import torch

    packet = getattr(getattr(torch.ops, name.namespace), name.name, None)
    return packet is not None and (name.overload or "default") in packet.overloads()


def _are_same(rules: TorchOpRules, others: TorchOpRules) -> bool:
    """Whether two operations of one kernel do the same. A backward kernel may have been compiled once more."""
    mine, theirs = rules.backward, others.backward
    if is_kernel(mine) and is_kernel(theirs) and _identity(mine.artifact) == _identity(theirs.artifact):
        others = replace(others, backward=mine)
    return rules == others


def _identity(artifact: Any) -> Any:
    return artifact.name, artifact.target, artifact.adapter, artifact.out_idx, artifact.params, artifact.source


def _taken(name: OpName) -> ArgumentError:
    return ArgumentError(
        f"the operation {name} of torch exists already, with another implementation or other rules",
        found=repr(str(name)),
        expected="a name that is free: an operation stays as it is until the process ends",
        hint="after a change of a definition, as in a notebook, take another name or start Python anew; kernels of one "
        f'function for several sizes can be overloads: "{name.namespace}::{name.name}.m64_n128"',
    )


def _require_torch() -> None:
    try:
        import torch
    except ImportError:
        raise UnsupportedError("torch_op needs torch, which is not installed", hint="pip install torch") from None
    if not all(hasattr(torch.library, n) for n in ("register_fake", "register_autograd", "register_vmap")):
        raise UnsupportedError(f"torch_op needs torch 2.5 or newer, not {torch.__version__}")
