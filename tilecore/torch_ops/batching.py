"""The rule of vmap that runs an operation once for each element of the mapped axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilecore.errors import UnsupportedError
from tilecore.runtime.call_plan import CallPlan
from tilecore.torch_ops.schema import writes_arguments


def looped(plan: CallPlan, op: Callable[..., Any]) -> Callable[..., Any]:
    """The rule for ``op``: results are stacked along a new first axis. Arguments that are written must be mapped."""
    names = [plan.params[param].name for param in plan.inputs]
    written = {names.index(name) for name in writes_arguments(plan)}

    def rule(info: Any, in_dims: Sequence[int | None], *args: Any) -> tuple[Any, Any]:
        import torch

        for place in written:
            if in_dims[place] is None:
                raise UnsupportedError(
                    f"{plan.name} writes {names[place]}, which vmap does not map: all would write to one tensor",
                    expected=f"an axis of {names[place]} in in_dims",
                )
        if not info.batch_size:
            raise UnsupportedError(
                f'{plan.name}: vmap="loop" runs the kernel for no element, so that its results have no sizes',
                found="a mapped axis of 0 elements",
            )
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
        if not plan.outputs:
            return None, None
        if len(plan.outputs) == 1:
            return torch.stack(runs), 0
        return tuple(torch.stack(parts) for parts in zip(*runs, strict=True)), (0,) * len(plan.outputs)

    return rule
