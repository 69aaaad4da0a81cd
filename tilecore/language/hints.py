"""Hints that change speed but not results: accepted on every target, used where they apply."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from tilecore.errors import LanguageError, TargetError, UnsupportedError, WrongTypeError
from tilecore.ir.attributes import KernelHint, LayoutAttr
from tilecore.ir.nodes import BufferLoad, IntImm
from tilecore.ir.scopes import is_shared
from tilecore.ir.written_layouts import memory_layout
from tilecore.language.buffers import BufferHandle
from tilecore.language.conversions import convert
from tilecore.language.copies import emit
from tilecore.language.integers import whole_number
from tilecore.language.keywords import also_named
from tilecore.language.layouts import Layout
from tilecore.language.values import as_expr
from tilecore.plugins.pass_options import known_pass_configs
from tilecore.tracing.current import current


def annotate(key: str, *values: Any, hints: dict[str, Any] | None = None) -> None:
    """Record hint ``key`` with its values: buffers (as their first element), numbers, strings; and its attributes."""
    entries = []
    for value in values:
        if isinstance(value, BufferHandle):
            zero = [IntImm("int32", 0)] * value.ndim
            entries.append(BufferLoad(value.buffer, zero))
        else:
            entries.append(value if isinstance(value, (str, int)) else as_expr(value))
    emit("annotate", [key, *entries], hints)


def use_swizzle(panel_size: int, order: str = "row", enable: bool = True) -> None:
    """Schedules the blocks in panels of ``panel_size`` rows (or columns), so that neighbours share cached data."""
    if order not in ("row", "column", "col"):
        raise LanguageError(f"T.use_swizzle: order {order!r} is unknown", expected='"row" or "column"')
    if int(panel_size) < 1:
        raise LanguageError(f"T.use_swizzle: panel_size is {panel_size}", expected="1 or more")
    if enable:
        annotate(KernelHint.USE_SWIZZLE, int(panel_size), "row" if order == "row" else "column")


def annotate_layout(layout_map: Mapping[Any, Any], allow_reannotation: bool = False) -> None:
    """Ask for memory layouts: ``{buffer: T.Layout or T.Fragment}``. A function of one index for each axis stands for
    the T.Layout that it defines. Targets without such layouts ignore it.

    In the IR each is a hint "layout" whose attributes are ``layout.to_ir()``. allow_reannotation: a buffer that has
    a layout may get another one; the last one holds. Raises LanguageError for a layout of another shape, and, on every
    target, for one of shared memory that puts two elements at one place.
    """
    builder = current("T.annotate_layout")
    annotated = builder.attributes.setdefault("layouts", set())
    for buffer, layout in layout_map.items():
        if not isinstance(buffer, BufferHandle):
            raise WrongTypeError(
                "T.annotate_layout has a key that is not a buffer", found=repr(buffer), expected="{buffer: layout}"
            )
        if not isinstance(layout, Layout) and callable(layout):
            layout = Layout(buffer.shape, layout)
        _check_layout(buffer, layout)
        if buffer.buffer in annotated and not allow_reannotation:
            raise LanguageError(
                f"{buffer.name} already has a layout", hint="annotate it once, or pass allow_reannotation=True"
            )
        annotated.add(buffer.buffer)
        hints = layout.to_ir()
        if is_shared(buffer.buffer) and hints[LayoutAttr.KIND] == LayoutAttr.MEMORY:
            with suppress(UnsupportedError):  # of what cannot be evaluated here
                memory_layout(hints, buffer.name)
        annotate(KernelHint.LAYOUT, buffer, hints=hints)


def _check_layout(buffer: BufferHandle, layout: Any) -> None:
    if not isinstance(layout, Layout):
        raise LanguageError(
            f"T.annotate_layout: the value for {buffer.name} is not a layout",
            found=repr(layout)[:80],
            expected="a T.Layout, a T.Fragment, or a function of the indices",
        )
    sizes = zip(layout.shape, buffer.shape, strict=False)
    if len(layout.shape) != buffer.ndim or any(isinstance(b, int) and a != b for a, b in sizes):
        raise LanguageError(
            f"the shape of the layout of {buffer.name} does not match the buffer",
            found=f"a layout of shape {layout.shape}",
            expected=f"the shape of the buffer, {buffer.shape}",
        )


@also_named(values="safe_value_map")
def annotate_safe_value(safe_value_map: Mapping[Any, Any]) -> None:
    """What reads outside a global buffer give, instead of 0: ``{buffer: value}``."""
    for buffer, value in safe_value_map.items():
        if not isinstance(buffer, BufferHandle):
            raise WrongTypeError(
                "T.annotate_safe_value has a key that is not a buffer", found=repr(buffer), expected="{buffer: value}"
            )
        annotate(KernelHint.SAFE_VALUE, buffer, convert(value, buffer.dtype))


@also_named(ratios="l2_hit_ratio_map")
def annotate_l2_hit_ratio(l2_hit_ratio_map: Mapping[Any, float]) -> None:
    """The fraction of each buffer's accesses that should hit in the last-level cache: ``{buffer: 0.5}``, 0 to 1."""
    for buffer, ratio in l2_hit_ratio_map.items():
        if not isinstance(buffer, BufferHandle) or not 0 <= float(ratio) <= 1:
            raise LanguageError(
                "T.annotate_l2_hit_ratio does not map a buffer to a ratio",
                found=f"{getattr(buffer, 'name', buffer)!r}: {ratio!r}",
                expected="{buffer: ratio}, a number from 0 to 1",
            )
        annotate(KernelHint.L2_HIT_RATIO, buffer, float(ratio))


def annotate_padding(padding: Mapping[Any, int]) -> None:
    """Extra elements at the end of each row of a shared buffer."""
    for buffer, elements in padding.items():
        annotate(KernelHint.PADDING, buffer, whole_number(elements, "the padding of T.annotate_padding", 0))


def annotate_restrict_buffers(*buffers: Any) -> None:
    """Has no effect: the compiler itself finds which parameters may share memory (may-alias)."""
    for buffer in buffers:
        annotate(KernelHint.RESTRICT, buffer)


@also_named(count="n")
def annotate_min_blocks_per_sm(n: int) -> None:
    """How many blocks should be resident on one multiprocessor at once, 1 or more."""
    annotate(KernelHint.MIN_BLOCKS, whole_number(n, "the number of blocks of T.annotate_min_blocks_per_sm", 1))


def annotate_compile_flags(flags: Any) -> None:
    """Flags for the vendor's compiler; targets without one refuse them."""
    words = [flags] if isinstance(flags, str) else list(flags)
    current("T.annotate_compile_flags").attributes.setdefault("compile_flags", []).extend(words)


def annotate_pass_configs(configs: Mapping[Any, Any]) -> None:
    """Pass configuration for this kernel only, by tilecore.PassConfigKey; ``pass_configs`` of tilecore.compile and
    tilecore.jit takes precedence. Values: numbers, text, True or False, None, and lists and dicts of them."""
    builder = current("T.annotate_pass_configs")
    try:
        checked = known_pass_configs(configs)
        json.dumps(checked)
    except TargetError as error:
        raise LanguageError(
            f"T.annotate_pass_configs: {error.message}", found=error.found, expected=error.expected, hint=error.hint
        ) from error
    except (TypeError, ValueError) as error:
        raise LanguageError(
            "T.annotate_pass_configs has a value that cannot be stored as plain data",
            found=str(error),
            expected="numbers, text, True, False or None",
        ) from error
    builder.attributes.setdefault("pass_configs", {}).update(checked)


def _register_hint(name: str) -> Any:
    def op(*args: Any) -> None:
        current(f"T.{name}")

    op.__name__ = op.__qualname__ = name
    op.__doc__ = "A hint for targets that reallocate registers between warps; other targets ignore it."
    return op


disable_warp_group_reg_alloc = _register_hint("disable_warp_group_reg_alloc")
no_set_max_nreg = _register_hint("no_set_max_nreg")


def set_max_nreg(reg_count: int, is_inc: int) -> None:
    """A hint for targets that reallocate registers between warps: the threads of a warp shall have ``reg_count``
    registers, by requesting more (``is_inc`` 1) or by releasing some (0)."""
    annotate(KernelHint.SET_MAX_NREG, int(reg_count), int(is_inc))


def inc_max_nreg(reg_count: int) -> None:
    """T.set_max_nreg(reg_count, 1)."""
    set_max_nreg(reg_count, 1)


def dec_max_nreg(reg_count: int) -> None:
    """T.set_max_nreg(reg_count, 0)."""
    set_max_nreg(reg_count, 0)


def annotate_producer_reg_dealloc(reg_count: int = 24) -> None:
    """A hint for warp-specialized kernels: a thread of a producer releases its registers beyond ``reg_count``."""
    set_max_nreg(reg_count, 0)


def annotate_consumer_reg_alloc(reg_count: int = 240) -> None:
    """A hint for warp-specialized kernels: a thread of a consumer requests registers, up to ``reg_count``."""
    set_max_nreg(reg_count, 1)
