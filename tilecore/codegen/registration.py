"""Code generators as TVM's global functions, whose errors keep their type and place.

TVM turns an exception of a Python function that it calls into a RuntimeError of the same words; what was raised is
kept beside it, and raised again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilecore.contract.records import CodegenRequest

_last_error = threading.local()


def register_codegen(name: str, build: Callable[..., Any]) -> None:
    """Register ``build(module, target)``, or ``build(module, target, request)`` for ``Codegen.takes_request``, as the
    global function ``name``. target: the target's canonical text. request: a ``CodegenRequest``."""
    from tilecore.ir.nodes import tvm_ffi

    def call(module: Any, target: Any, *request: CodegenRequest) -> Any:
        try:
            return build(module, str(target), *request)
        except Exception as error:
            _last_error.error = error
            raise

    tvm_ffi.register_global_func(name, call, override=True)


def call_codegen(name: str, module: Any, target: str, request: CodegenRequest | None = None) -> Any:
    """What the code generator ``name`` returns for a module. request: its third argument, where it takes one. Raises
    what the code generator raised."""
    from tilecore.ir.nodes import tvm_ffi

    _last_error.error = None
    try:
        return tvm_ffi.get_global_func(name)(module, target, *(() if request is None else (request,)))
    except Exception:
        error, _last_error.error = _last_error.error, None
        if error is not None:
            raise error from None
        raise
