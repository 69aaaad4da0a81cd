"""The configuration of a call that is known without a search: from a file of known ones, or from an earlier search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tilecore.autotune.calls import bound_call
from tilecore.autotune.configs import Config, arguments_in, set_by_call, tunables
from tilecore.autotune.inputs import get_autotune_inputs
from tilecore.autotune.tuning import Tuning
from tilecore.jit.impl import JITImpl

if TYPE_CHECKING:
    from tilecore.autotune.decorator import AutotunedKernel
    from tilecore.jit.request import Request


def tunables_left(tuned: AutotunedKernel, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[str, ...]:
    """The tunable arguments that a call gives no value, so that the tuner does. Raises ArgumentError where its
    arguments do not fit."""
    signature = tuned.jit_impl.call_signature(kwargs)
    names = tunables([arguments_in(config, signature) for config in tuned.expanded(args, dict(kwargs))])
    fixed = set_by_call(names, signature, args, kwargs)
    return tuple(name for name in names if name not in fixed)


def config_without_search(
    tuned: AutotunedKernel, request: Request, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Config | None:
    """The configuration of a call for the target and the execution backend of a request; None where none is known.
    Nothing is compiled or timed."""
    jit_impl = tuned.jit_impl
    if tuned.known_configs is not None:
        bound = bound_call(jit_impl, args, kwargs)
        names = tunables(tuned.expanded(args, dict(kwargs)))
        if not set_by_call(names, bound.signature, args, kwargs):
            bound.apply_defaults()
            known = tuned.known_configs.find(request.target, bound.arguments)
            if known is not None:
                return known
    settings = {**jit_impl.settings, "target": request.target, "execution_backend": request.adapter}
    of_target: JITImpl = JITImpl(jit_impl.func, settings)
    inputs = get_autotune_inputs()
    tuning = Tuning(of_target, tuned.configs, tuned.profile, args, kwargs, inputs, tuned.do_not_specialize)
    return tuning.stored_config()
