"""Builds the errors about arguments of an eager function, in the words of the launcher's for a compiled kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilecore.errors import ArgumentError
from tilecore.language.annotations import TensorType
from tilecore.runtime.size_text import tuple_text


def not_a_tensor(function: str, name: str, declared: TensorType, value: Any) -> ArgumentError:
    found = "None" if value is None else f"{type(value).__name__} {value!r}"[:60]
    return ArgumentError(
        f"{function}(): {name} must be a tensor",
        found=found,
        expected=f"a {declared.dtype} tensor of shape {tuple_text(declared.shape)}, which says its shape and dtype",
        hint=f"{function}.compile(...) with the sizes by name gives a kernel, which takes what has __dlpack__ or "
        "__array_interface__ alone; or pass torch.from_dlpack or numpy.asarray of it"
        if any(name == "__dlpack__" or name.endswith("array_interface__") for name in dir(value))
        else None,
    )


def wrong_dtype(function: str, name: str, declared: TensorType, argument: TensorType) -> ArgumentError:
    return ArgumentError(
        f"{function}(): {name} has the wrong dtype",
        found=str(argument.dtype),
        expected=str(declared.dtype),
        hint=f"convert {name} to {declared.dtype}: {name}.to(torch.{declared.dtype.facts.torch}) of a tensor of torch, "
        f'{name}.astype("{declared.dtype.facts.numpy}") of an array of numpy',
    )


def wrong_rank(function: str, name: str, declared: TensorType, argument: TensorType) -> ArgumentError:
    rank = len(argument.shape)
    return ArgumentError(
        f"{function}(): {name} has {rank} {'axis' if rank == 1 else 'axes'}, {len(declared.shape)} expected",
        found=f"shape {tuple_text(argument.shape)}",
        expected=tuple_text(declared.shape),
    )


def wrong_size(function: str, place: str, size: int, declared: Sequence[Any], actual: Sequence[Any]) -> ArgumentError:
    """place: of the size, such as A.shape[0]. declared, actual: the whole shapes."""
    return ArgumentError(
        f"{function}(): {place} is {size}", found=f"shape {tuple_text(actual)}", expected=tuple_text(declared)
    )
