"""Gives the stock TVM the names that programs take from TileLang's, such as ``tvm.tirx.PrimExpr``.

They are added right after whoever is the first imports TVM, because programs use them in annotations of functions,
before they use anything of tilecore. ``tilecore/__init__.py`` has the finder of modules that asks here.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def spec_of_tvm(finder: Any, path: Any, target: Any) -> ModuleSpec | None:
    """The spec of TVM that the other finders have, with a loader that adds the names and removes ``finder``."""
    others = [other.find_spec for other in sys.meta_path if other is not finder]
    spec = next((spec for find in others if (spec := find("tvm", path, target)) is not None), None)
    if spec is None or spec.loader is None:
        return spec
    execute = spec.loader.exec_module

    def exec_module(module: ModuleType) -> None:
        execute(module)
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)
        add_names()

    spec.loader.exec_module = exec_module  # type: ignore[method-assign]
    return spec


def add_names() -> None:
    """The names are those that ``nodes.py`` adds when it is imported; it may be just what imports TVM."""
    import tilecore.ir.nodes  # noqa: F401
