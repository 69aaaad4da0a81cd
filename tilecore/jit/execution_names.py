"""Defines the names of execution backends that every target accepts besides its own names."""

from __future__ import annotations

from collections.abc import Collection
from importlib.util import find_spec
from typing import Literal, get_args

from tilecore.errors import TargetError

# TileLang's names for how a kernel gets its tensors. Every launch here goes through one launcher, built with Cython,
# which takes the tensors of any library by DLPack, tvm_ffi's too, and returns torch's for torch's. So on a target that
# has none of its own by the name, each means the usual one: that of the settings, or the one that "auto" chooses.
ExecutionBackend = Literal["auto", "cython", "dlpack", "tvm_ffi", "torch"]


def is_usual_name(name: str, target_names: Collection[str]) -> bool:
    """Whether ``name`` is one of the names that every target accepts, and no name of the target's own.

    Raises TargetError for "torch" where torch is not installed.
    """
    if name in target_names or name not in get_args(ExecutionBackend):
        return False
    if name == "torch" and find_spec("torch") is None:
        raise TargetError(
            'execution_backend="torch", and torch is not installed', expected="torch", hint="pip install torch"
        )
    return True
