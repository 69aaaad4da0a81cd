"""The rule of vmap that runs an operation once for each element of the mapped axis."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from tilecore.caller import levels_to_user
from tilecore.errors import UnsupportedError
from tilecore.runtime.call_plan import CallPlan
from tilecore.torch_ops.schema import writes_arguments


class VmapWarning(UserWarning):
    """An operation without a rule of vmap runs once for each element of the mapped axis."""


def looped_with_warning(
    plan: CallPlan, op: Callable[..., Any], fake: Callable[..., Any], name: str
) -> Callable[..., Any]:
    """The rule for an operation for which none was declared: that of :func:`looped`, and a warning that names it."""
    loop = looped(plan, op, fake)

    def rule(info: Any, in_dims: Sequence[int | None], *args: Any) -> tuple[Any, Any]:
        warnings.warn(
            f"{name} has no rule of vmap: the kernel runs once for each element of the mapped axis. "
            'vmap="loop" beside the name of the operation says that this is wanted; vmap=function is another rule',
            VmapWarning,
            stacklevel=levels_to_user(through="torch"),
        )
        return loop(info, in_dims, *args)

    return rule


def looped(plan: CallPlan, op: Callable[..., Any], fake: Callable[..., Any]) -> Callable[..., Any]:
    """The rule for ``op``: results are stacked along a new first axis. Arguments that are written must be mapped.

    fake: makes the results for the arguments of one call without running the kernel, for a mapped axis of no element.
    """
    names = [plan.params[param].name for param in plan.inputs]
    written = {names.index(name) for name in writes_arguments(plan)}

    def rule(info: Any, in_dims: Sequence[int | None], *args: Any) -> tuple[Any, Any]:
        for place in written:
            if in_dims[place] is None:
                raise UnsupportedError(
                    f"{plan.name} writes {names[place]}, which vmap does not map: all would write to one tensor",
                    expected=f"an axis of {names[place]} in in_dims",
                )
        if not plan.outputs and not info.batch_size:
            return None, None
        if not info.batch_size:
            elements = [_element(value, axis) for value, axis in zip(args, in_dims, strict=True)]
            stacked, axes = _stacked([fake(*elements)])
            return (stacked[:0] if len(plan.outputs) == 1 else tuple(result[:0] for result in stacked)), axes
        runs = []
        for number in range(info.batch_size):
            chosen = [
                value if axis is None else value.select(axis, number) for value, axis in zip(args, in_dims, strict=True)
            ]
            given = [
                value if place in written or in_dims[place] is None else value.contiguous()
                for place, value in enumerate(chosen)
            ]
            runs.append(op(*given))
        return _stacked(runs) if plan.outputs else (None, None)

    return rule


def _element(value: Any, axis: int | None) -> Any:
    """A tensor of the shape of an element of the mapped axis, which has none; other values as they are."""
    if axis is None:
        return value
    shape = list(value.shape)
    del shape[axis]
    return value.new_empty(shape)


def _stacked(runs: Sequence[Any]) -> tuple[Any, Any]:
    """(The results of the runs, one tensor or several each, along a new first axis; that axis of each)."""
    import torch

    if isinstance(runs[0], torch.Tensor):
        return torch.stack(list(runs)), 0
    return tuple(torch.stack(parts) for parts in zip(*runs, strict=True)), (0,) * len(runs[0])
