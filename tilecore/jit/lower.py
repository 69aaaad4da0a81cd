"""Lowers a kernel to its source without building or loading it (``tilecore.lower``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilecore import compiler
from tilecore.caller import keywords_checked
from tilecore.errors import LanguageError
from tilecore.interrupts import held_back
from tilecore.jit.collection import collection_paused
from tilecore.jit.compile import ir_of
from tilecore.jit.request import make_request
from tilecore.runtime.params import KernelParam, params_of


@dataclass(frozen=True)
class CompiledArtifact:
    """device_mod: the target IR, an IRModule. params: as they were declared. kernel_source: the emitted source.

    host_mod, rt_mod: None, as the host's part is the launcher, which is part of tilecore.
    """

    device_mod: Any
    params: list[KernelParam]
    kernel_source: str
    host_mod: None = None
    rt_mod: None = None


@keywords_checked
def lower(
    func_or_mod: Any,
    target: Any = "auto",
    target_host: Any = None,
    runtime_only: bool = False,
    enable_host_codegen: bool = False,
    enable_device_compile: bool = False,
) -> CompiledArtifact:
    """Lower a T.prim_func (or an IRModule of one) for a target and emit its source.

    The last three are accepted for compatibility and change nothing; :func:`tilecore.compile` makes a kernel.
    """
    request = make_request(target=target, target_host=target_host)
    func = only_function(func_or_mod)
    with held_back(), collection_paused():
        module, _ = compiler.lower(func, request.backend, request.target, request.options)
        emitted = compiler.emit(module, request.backend, request.target, request.adapter)
    return CompiledArtifact(module, list(params_of(compiler.params_of(func))), emitted.source)


def only_function(func_or_mod: Any) -> Any:
    """The IR of a T.prim_func, or of the only function of an IRModule. Raises LanguageError where it has several."""
    functions = getattr(func_or_mod, "functions", None) if type(func_or_mod).__name__ == "IRModule" else None
    if functions is None:
        return ir_of(func_or_mod)
    if len(functions) != 1:
        raise LanguageError(f"the module has {len(functions)} functions", expected="one kernel")
    return ir_of(next(iter(functions.values())))
