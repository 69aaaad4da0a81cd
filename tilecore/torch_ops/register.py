"""Registers kernels with torch's dispatcher.

The kernel itself is the implementation: a call goes from the dispatcher to the launcher with no Python function of ours
in between. An operation is there for the rest of the process: torch's programs and caches hold on to it, and crash
where it is taken away.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tilecore.artifact.records import TensorParam
from tilecore.errors import ArgumentError, UnsupportedError
from tilecore.runtime.call_plan import CallPlan, make_plan
from tilecore.torch_ops.batching import looped
from tilecore.torch_ops.fake import fake_of
from tilecore.torch_ops.gradients import (
    KernelGradient,
    missing_gradient,
    require_no_writes,
    save_all,
    without_gradient,
    writes_numbers,
)
from tilecore.torch_ops.names import OpName, parse_name
from tilecore.torch_ops.rules import TorchOpRules, is_kernel
from tilecore.torch_ops.schema import schema_of, writes_arguments

# Tags by which a compiler keeps the strides of arguments; the first that this torch knows is used.
_STRIDES = ("needs_exact_strides", "needs_fixed_stride_order")


@dataclass(frozen=True)
class OpSource:
    """What an operation runs. plan: of its calls. call: takes their arguments. fake: the same, for tensors without
    memory. device: torch's name of the device. identity: equal for sources that are the same kernel."""

    plan: CallPlan
    call: Callable[..., Any]
    fake: Callable[..., Any]
    device: str
    identity: Any


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
    schema = schema_of(plan, f"{name.name}.{name.overload}" if name.overload else name.name)
    dtypes = rules.autocast_dtypes(source.device.partition(":")[0])
    if dtypes:
        require_no_writes(plan, "casts arguments, and a kernel would write to the copy")
    backward, setup = _gradient_of(name, source, rules)
    library = torch.library.Library(name.namespace, "FRAGMENT")
    library.define(schema, tags=_tags())
    op = getattr(getattr(getattr(torch.ops, name.namespace), name.name), name.overload or "default")
    _registered[str(name)] = _Registered(source, rules, library, op)
    library.impl(op, _implementation(source), _dispatch_key(source))
    torch.library.register_fake(op, source.fake, lib=library)
    if backward is not None:
        torch.library.register_autograd(op, backward, setup_context=setup, lib=library)
    elif writes_numbers(plan):
        library.impl(op, without_gradient(op, str(name)), "Autograd", with_keyset=True)
    for device, dtype in dtypes.items():
        torch.library.register_autocast(op, device, dtype, lib=library)
    if rules.vmap is not None:
        rule = looped(plan, op) if rules.vmap == "loop" else rules.vmap
        torch.library.register_vmap(op, rule, lib=library)
    return op


def _implementation(source: OpSource) -> Callable[..., Any]:
    """The function that the dispatcher calls: several results are a tuple there."""
    call = source.call
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
        return rules.backward, rules.setup_context or save_all
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
