"""The 8-bit float types of a machine's chips, for programs that ask which they have."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError

_TYPES = {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}


def determine_fp8_type(fp8_format: str = "e4m3") -> DType:
    """T.float8_e4m3fn or T.float8_e5m2, the types of the OCP specification that most chips have.

    ``tilecore.language.fp8.determine_fp8_type`` is that of the default target, whose backend may have other types.
    Raises LanguageError for another format.
    """
    return DType(_TYPES[checked_format(fp8_format)])


def checked_format(fp8_format: str) -> str:
    """The format; raises LanguageError unless it is "e4m3" or "e5m2"."""
    if fp8_format not in _TYPES:
        raise LanguageError(f"there is no 8-bit float format {fp8_format!r}", expected=" or ".join(map(repr, _TYPES)))
    return fp8_format


def determine_torch_fp8_type(fp8_format: str = "e4m3") -> Any:
    """The torch dtype of ``tilecore.language.fp8.determine_fp8_type(fp8_format)``."""
    return import_module("tilecore.language.fp8").determine_fp8_type(fp8_format).as_torch()
