"""Emits instructions as calls of the vendor's functions (``tpu_kernel.h``), which are chosen by element type.

The vendor's header documents the extents, strides and rules of the functions. Instructions that a chip lacks are
refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tile_tpu.chips import Chip
from tile_tpu.codegen import elementwise_text, products_text
from tile_tpu.codegen.near_elements import near_elements
from tile_tpu.codegen.operands import (
    address,
    data_type,
    four,
    number,
    require_aligned,
    scalar,
    shape,
    size_of,
    strides,
)
from tile_tpu.codegen.statements import ControlCode
from tile_tpu.ir.instructions import INSTRUCTIONS, PREFIX, Command, as_command
from tile_tpu.ir.views import View
from tilecore.codegen.refusal import refuse
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import constant

Emitter = Callable[[ControlCode, Command], str]
_ROUNDING = {"even": "RM_HALF_TO_EVEN", "zero": "RM_TOWARDS_ZERO", "down": "RM_DOWN", "up": "RM_UP"}


def _strided(function: str) -> Emitter:
    """Emits a function with the arguments dst, src, shape, strides of both, type."""

    def text(emit: ControlCode, command: Command) -> str:
        dst, src = command.operands["dst"], command.operands["src"]
        addresses = f"{address(emit, dst)}, {address(emit, src)}"
        layouts = f"{shape(emit, dst)}, {strides(emit, dst)}, {strides(emit, src)}"
        return f"{function}({addresses}, {layouts}, {data_type(emit, dst.dtype)})"

    return text


def _moved(function: str) -> Emitter:
    """Emits a DMA function as ``_strided`` does, with axes reordered where the elements along w are too far apart."""
    strided = _strided(function)

    def text(emit: ControlCode, command: Command) -> str:
        dst, src = near_elements(emit, command)
        return strided(emit, replace(command, operands={**command.operands, "dst": dst, "src": src}))

    return text


def _plain(function: str) -> Emitter:
    """Emits a function with the arguments dst, src, shape, type; both views must be aligned."""

    def text(emit: ControlCode, command: Command) -> str:
        dst, src = command.operands["dst"], command.operands["src"]
        require_aligned(emit, command.instruction.name, dst, src)
        return (
            f"{function}({address(emit, dst)}, {address(emit, src)}, {shape(emit, dst)}, {data_type(emit, dst.dtype)})"
        )

    return text


def _gather_rows(emit: ControlCode, command: Command) -> str:
    dst, src, rows = (command.operands[name] for name in ("dst", "src", "rows"))
    direction = f"{'L' if src.is_local else 'S'}2{'L' if dst.is_local else 'S'}"
    other = scalar(emit, command.operands["other"], dst.dtype)
    addresses = f"{address(emit, dst)}, {address(emit, src)}, {address(emit, rows)}, {str(rows.is_local).lower()}"
    layouts = f"{shape(emit, dst)}, {number(emit, src.shape[2])}"
    # NULL would mean another layout for the indices; the indices of a lane must have stride 1, even a single one
    steps = f"{strides(emit, dst)}, {strides(emit, src)}, {four(emit, (*rows.strides[:2], 1, 1))}"
    return f"tpu_gdma_h_gather_{direction}({addresses}, {other}, {layouts}, {steps}, {data_type(emit, dst.dtype)})"


def _fill(emit: ControlCode, command: Command) -> str:
    dst = command.operands["dst"]
    value = scalar(emit, command.operands["value"], dst.dtype)
    layout = f"{shape(emit, dst)}, {strides(emit, dst)}"
    return f"tpu_bdc_set_C({address(emit, dst)}, {value}, {layout}, {data_type(emit, dst.dtype)})"


def _cast(emit: ControlCode, command: Command) -> str:
    dst, src = command.operands["dst"], command.operands["src"]
    addresses = f"{address(emit, dst)}, {address(emit, src)}"
    layouts = f"{shape(emit, dst)}, {strides(emit, dst)}, {strides(emit, src)}"
    types = f"{data_type(emit, dst.dtype)}, {data_type(emit, src.dtype)}"
    return f"tpu_bdc_cast({addresses}, {layouts}, {types}, {_ROUNDING[command.operands['rounding']]})"


def _iota_w(emit: ControlCode, command: Command) -> str:
    dst: View = command.operands["dst"]
    start, step = (emit.value(command.operands[name]) for name in ("start", "step"))
    if constant(dst.lane) != 0 or constant(dst.shape[1]) is None or constant(dst.shape[1]) > emit.chip.lanes:  # type: ignore[operator]
        refuse(command, emit.dialect.kind, "a view of at most one group of lanes, from lane 0", "tpu.iota_w")
    return (
        f"tpu_bdc_arithmetic_sequence_bcast({address(emit, dst)}, {number(emit, dst.shape[1])}, {start}, {step}, "
        f"{number(emit, dst.shape[3])})"
    )


def _iota_c(emit: ControlCode, command: Command) -> str:
    dst: View = command.operands["dst"]
    start, step = (emit.value(command.operands[name]) for name in ("start", "step"))
    count, extent = constant(dst.shape[1]), number(emit, dst.shape[1])
    if constant(dst.strides[1]) != 1 and (count is None or count > emit.chip.lanes):
        refuse(command, emit.dialect.kind, "a compact view: 1 from a group of lanes to the next", "tpu.iota_c")
    return f"tpu_bdc_arithmetic_sequence_distribute({address(emit, dst)}, {start}, {step}, {extent})"


def _sync_all(emit: ControlCode, command: Command) -> str:
    """Emits a barrier of all cores. A chip with one core has no tpu_sync_all and needs none."""
    return "tpu_sync_all()" if emit.chip.cores > 1 else "tpu_poll()"


def _product(count: Any, size: int) -> Any:
    return count * size if isinstance(count, int) else Analyzer().simplify(count * size)


def _of_cache(function: str) -> Emitter:
    """Emits a cache function with the arguments: address of the first byte, number of bytes."""

    def text(emit: ControlCode, command: Command) -> str:
        memory: View = command.operands["memory"]
        bytes_ = number(emit, _product(memory.shape[3], size_of(memory.dtype)))
        return f"{function}({address(emit, memory)}, {bytes_})"

    return text


def _word(function: str) -> Emitter:
    return lambda emit, command: f"{function}()"


_TEXTS: dict[str, Emitter] = {
    "load": _moved("tpu_gdma_cpy_S2L"),
    "store": _moved("tpu_gdma_cpy_L2S"),
    "move_global": _moved("tpu_gdma_cpy_S2S"),
    "shift": _moved("tpu_gdma_cpy_L2L"),
    "load_to_all": _moved("tpu_gdma_channel_bcast_S2L"),
    "load_transposed": _strided("tpu_gdma_cpy_cw_trans_S2L"),
    "store_transposed": _strided("tpu_gdma_cpy_cw_trans_L2S"),
    "gather_rows": _gather_rows,
    "copy": _strided("tpu_bdc_cpy"),
    "to_all_lanes": _plain("tpu_bdc_npu_bcast"),
    "transpose": _plain("tpu_bdc_cw_trans"),
    "fill": _fill,
    "cast": _cast,
    "iota_w": _iota_w,
    "iota_c": _iota_c,
    "poll": _word("tpu_poll"),
    "parallel_start": _word("tpu_parallel_start"),
    "parallel_end": _word("tpu_parallel_end"),
    "sync_all": _sync_all,
    "invalidate_cache": _of_cache("tc_invalidate_cache"),
    "flush_cache": _of_cache("tc_flush_cache"),
    **elementwise_text.TEXTS,
    **products_text.TEXTS,
}
assert _TEXTS.keys() == INSTRUCTIONS.keys(), _TEXTS.keys() ^ INSTRUCTIONS.keys()


def statements(chip: Chip) -> dict[str, Callable[[Any, Any], None]]:
    """For each instruction the function that emits it on ``chip``."""
    return {PREFIX + name: _statement(name, text, chip) for name, text in _TEXTS.items()}


def _statement(name: str, text: Emitter, chip: Chip) -> Callable[[Any, Any], None]:
    def emit_statement(emit: ControlCode, node: Any) -> None:
        command = as_command(node)
        assert command is not None
        emit.line(f"{text(emit, command)};")

    return emit_statement
