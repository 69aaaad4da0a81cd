"""Kernels of autotuned functions: the configuration is the call's, a known one, or the result of an earlier search."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from tilecore.artifact.records import Artifact
from tilecore.autotune.configs import arguments_in, completed, variant
from tilecore.autotune.decorator import AutotunedKernel
from tilecore.autotune.found import config_without_search, tunables_left
from tilecore.bundle_builder.kernels import DeclaredKernel, kernel_of_jit, label_of
from tilecore.bundles.format import Argument
from tilecore.errors import AutotuneError, TilecoreError
from tilecore.target_report.files import failure_of

if TYPE_CHECKING:
    from tilecore.jit.request import Request

_Result = TypeVar("_Result")


def is_tuned(value: Any) -> bool:
    """Whether it is a function under ``tilecore.autotune``."""
    return isinstance(value, AutotunedKernel)


def tuned_kernel(tuned: AutotunedKernel, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> DeclaredKernel:
    """The kernel of a call of an autotuned function. One that sets no configuration has for each target the one that is
    known for it, or that a search on this machine has found. Raises ArgumentError where the arguments do not fit."""
    left = _of_user(name, lambda: tunables_left(tuned, args, kwargs))
    if not left:
        return kernel_of_jit(tuned.jit_impl, name, args, kwargs)
    label = label_of(name, args, kwargs)

    def of_request(request: Request) -> DeclaredKernel:
        config = _of_user(name, lambda: config_without_search(tuned, request, args, kwargs))
        if config is None:
            raise _no_config(name, label, left, request)
        call = completed(tuned.jit_impl.call_signature(kwargs), args, kwargs, config)
        kernel = kernel_of_jit(variant(tuned.jit_impl, config), name, (), call)
        names = arguments_in(config, tuned.jit_impl.signature)

        def forms(artifact: Artifact) -> tuple[tuple[Argument, ...], ...]:
            return tuple(_with_optional(form, names) for form in kernel.forms(artifact))

        return replace(kernel, arguments=_with_optional(kernel.arguments, names), forms=forms)

    def make_ir() -> Any:
        raise AutotuneError(f"{label} has no configuration before its target is known")

    settings = tuned.jit_impl.settings
    call = (tuned.jit_impl.func, args, kwargs)
    return DeclaredKernel(name, label, (), make_ir, lambda request, artifact: [], settings, call, of_request=of_request)


def _of_user(name: str, work: Callable[[], _Result]) -> _Result:
    """The result of work that may run the function that makes the configurations. Raises ArgumentError, with the line,
    where that raises an error."""
    try:
        return work()
    except TilecoreError:
        raise
    except Exception as error:
        raise failure_of(f"the configurations of {name} cannot be made", error) from error


def _with_optional(arguments: tuple[Argument, ...], names: Mapping[str, Any]) -> tuple[Argument, ...]:
    """The arguments, of which those of the configuration may be left out: the call leaves them out, too."""
    return tuple(replace(argument, default=True) if argument.name in names else argument for argument in arguments)


def _no_config(name: str, label: str, left: tuple[str, ...], request: Request) -> AutotuneError:
    more = ", ".join(f"{one}=..." for one in left)
    separator = "" if label.endswith("()") else ", "
    return AutotuneError(
        f"{label} has no tuned result for {request.target.brief()}, and nothing is timed while a bundle is compiled",
        expected=f"the configuration with the call: {label[:-1]}{separator}{more})",
        hint=f"or tune it first, on a machine with the device: {name}.tune{label[len(name) :]}.config is the "
        "configuration, and tilecore compile takes it from the same cache (TILECORE_CACHE_DIR)",
    )
