"""Code generators as TVM's global functions, whose errors keep their type and place.

TVM turns an exception of a Python function that it calls into a RuntimeError of the same words; what was raised is
kept beside it, and raised again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

_kept = threading.local()


def register_codegen(name: str, build: Callable[[Any, str], Any]) -> None:
    """Register ``build(module, target)`` as the global function ``name``."""
    from tilecore.ir.nodes import tvm_ffi

    def call(module: Any, target: Any) -> Any:
        try:
            return build(module, str(target))
        except Exception as error:
            _kept.error = error
            raise

    tvm_ffi.register_global_func(name, call, override=True)


def call_codegen(name: str, module: Any, target: str) -> Any:
    """What the code generator makes of a module; its errors as they were raised."""
    from tilecore.ir.nodes import tvm_ffi

    _kept.error = None
    try:
        return tvm_ffi.get_global_func(name)(module, target)
    except Exception:
        error, _kept.error = _kept.error, None
        if error is not None:
            raise error from None
        raise
