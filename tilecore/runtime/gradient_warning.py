"""The warning for a tensor that requires a gradient, which a kernel does not compute."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from tilecore.caller import levels_to_user

if TYPE_CHECKING:
    from tilecore.artifact.records import TensorParam
    from tilecore.runtime.call_plan import CallPlan


class GradientWarning(UserWarning):
    """A kernel got a tensor that requires a gradient, and its results are not part of torch's graph."""


def warn_of_gradient(plan: CallPlan, declared: TensorParam) -> None:
    """Warn that torch computes no derivative through this call. Python shows it once for each line of the user's."""
    warnings.warn(
        f"{plan.name}(): {declared.name} requires a gradient, but the kernel is not part of torch's graph: no gradient "
        f"flows from its results to {declared.name}. Pass {declared.name}.detach(), or call the kernel under "
        'torch.no_grad(); for a gradient, make the kernel an operation: kernel.torch_op("mylib::name", backward=...)',
        GradientWarning,
        stacklevel=levels_to_user(through="torch"),
    )
