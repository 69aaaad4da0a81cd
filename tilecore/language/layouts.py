"""Layouts that users write: T.Layout for buffers in memory, T.Fragment for tiles distributed over threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilecore.caller import placed
from tilecore.errors import LanguageError, WrongTypeError
from tilecore.ir.attributes import LayoutAttr
from tilecore.language.integers import whole_number


class Layout:
    """The place of each element of a tile. ``forward_fn(i, j, ...)`` gives its physical indices (one or several)."""

    @placed
    def __init__(self, shape: Sequence[int], forward_fn: Callable[..., Any]) -> None:
        if not isinstance(shape, (tuple, list)):
            raise WrongTypeError(
                f"T.{type(self).__name__}: the shape is not a list or a tuple",
                found=repr(shape)[:80],
                expected="one size for each axis",
            )
        if not callable(forward_fn):
            raise WrongTypeError(
                f"T.{type(self).__name__}: {forward_fn!r} is not a function",
                expected="a function of one index for each axis: lambda i, j: ...",
            )
        self.shape = tuple(whole_number(size, f"a size of T.{type(self).__name__}", 1) for size in shape)
        self.forward_fn = forward_fn

    def map_forward_index(self, indices: Sequence[Any]) -> list[Any]:
        """Physical indices of the element at ``indices``."""
        result = self.forward_fn(*indices)
        return list(result) if isinstance(result, (tuple, list)) else [result]

    def to_ir(self) -> dict[str, Any]:
        """The layout as plain data for the IR: kind, shape, and ``index``, an IndexMap from an element to its place."""
        return {
            LayoutAttr.KIND: LayoutAttr.MEMORY,
            LayoutAttr.SHAPE: list(self.shape),
            LayoutAttr.INDEX: self._index_map(self.forward_fn, len(self.shape)),
        }

    def _index_map(self, function: Callable[..., Any], arguments: int) -> Any:
        """``function``, which takes ``arguments`` indices, as an IndexMap of the variables i0, i1, ..., whose text does
        not depend on the names that the user gave."""
        from tilecore.ir.nodes import Var, tirx
        from tilecore.language.values import as_expr

        indices = [Var(f"i{axis}", "int32") for axis in range(arguments)]
        try:
            results = function(*indices)
        except TypeError as error:
            raise LanguageError(f"the function of {self!r} does not take {arguments} indices: {error}") from error
        places = [as_expr(place) for place in (results if isinstance(results, (tuple, list)) else [results])]
        for place in places:
            if not str(place.ty.dtype).startswith(("int", "uint")):
                raise LanguageError(f"the function of {self!r} returns {place}", expected="integer expressions")
        return tirx.IndexMap(indices, places, None)

    def __repr__(self) -> str:
        return f"T.{type(self).__name__}({self.shape})"


class Fragment(Layout):
    """Which thread holds each element, and in which of its registers.

    Give either ``forward_fn(i, j) -> (thread, index)``, or ``forward_thread_fn`` and ``forward_index_fn``. With
    ``replicate`` > 1 the functions that give the thread take a further argument, the index of the copy.
    """

    @placed
    def __init__(
        self,
        shape: Sequence[int],
        forward_fn: Callable[..., Any] | None = None,
        forward_thread_fn: Callable[..., Any] | None = None,
        replicate: int = 1,
        forward_index_fn: Callable[..., Any] | None = None,
    ) -> None:
        if (forward_fn is None) == (forward_thread_fn is None):
            raise LanguageError("a T.Fragment has both forward_fn and forward_thread_fn", expected="one of them")
        super().__init__(shape, forward_fn or (lambda *i: [forward_index_fn(*i)] if forward_index_fn else []))
        self.forward_thread_fn = forward_thread_fn
        self.replicate = whole_number(replicate, "T.Fragment(replicate=...)", 1)

    def to_ir(self) -> dict[str, Any]:
        """As :meth:`Layout.to_ir`. ``index`` gives the thread, and then the index of the register; with ``replicate``
        > 1 its last argument is the index of the copy."""
        arguments = len(self.shape) + (self.replicate > 1)
        index = self._index_map(self.thread_and_place, arguments)
        return {
            LayoutAttr.KIND: LayoutAttr.FRAGMENT,
            LayoutAttr.SHAPE: list(self.shape),
            LayoutAttr.REPLICATE: self.replicate,
            LayoutAttr.INDEX: index,
        }

    def thread_and_place(self, *indices: Any) -> list[Any]:
        """The thread and the index of the register of the element at ``indices`` (with ``replicate`` > 1 also the
        copy)."""
        if self.forward_thread_fn is None:
            return self.map_forward_index(indices)
        return [self.forward_thread_fn(*indices), *self.map_forward_index(indices[: len(self.shape)])]


def layout_hint(layout: Any) -> dict[str, Any]:
    """The value of ``loop_layout=`` as plain data for the IR."""
    if not isinstance(layout, Layout):
        raise LanguageError("loop_layout is not a T.Fragment", found=repr(layout)[:80], expected="a T.Fragment")
    return layout.to_ir()
