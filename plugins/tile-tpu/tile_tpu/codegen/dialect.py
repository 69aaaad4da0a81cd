"""The dialect of C for the control core."""

from __future__ import annotations

import functools
from typing import Any

from tile_tpu.chips import Chip
from tile_tpu.codegen import instruction_text, local_memory
from tile_tpu.ir.instructions import CORE_INDEX, ELEMENT, SET_ELEMENT
from tile_tpu.ir.views import LOCAL
from tilecore.codegen.dialect import C_MATH, Dialect
from tilecore.codegen.forms import C
from tilecore.codegen.text import call

HEADER = "tilecore_tpu.h"

# functions of <math.h>: (the name for float, the name for double)
_MATH = {
    **{name: (f"{name}f", name) for name in C_MATH},
    **{name: (f"tc_{name}f", f"tc_{name}") for name in ("exp10", "rsqrt", "sigmoid")},
    "round": ("nearbyintf", "nearbyint"),  # rounds half to even
}
_RESERVED = (
    "a_ b_ x_ p_ old_ from_ to_ narrow_ wide_ fma_a_ fma_b_ fma_c_ next_x_ next_y_ "  # names in macros
    "LANE ELEMENT DIM4 DIM2 NO_PADDING IN_MEMORY A_NUMBER MIN MAX ALIGN ALIGN_DOWN DIV_UP UNUSED NO_USE TENSOR SCALAR "
    "VECTOR NPU_NUM EU_NUM LOCAL_MEM_SIZE BANK_SIZE ALIGN_BYTES EU_BYTES L2_SRAM_SIZE u64 i64 u32 dim4 dim2 padding_t "
    "range_t scalar_t variable_t var_context_t local_addr_t global_addr_t system_addr_t addr_t data_type_t "
    "rounding_mode_t float16 bfloat16 float20 float8e5m2 float8e4m3 args y0f y1f jnf ynf gamma signgam"
).split()

_CORE_INDEX = {"tpurt": "tpu_workitem_index", "bmlib": "tpu_core_index"}  # each library has one of them only


def _no_head(kernel: Any) -> str:
    raise NotImplementedError("codegen/module.py emits the heads of kernels")


@functools.cache
def dialect(chip: Chip) -> Dialect:
    """The tables for one chip. The emitter refuses what the chip lacks."""
    return Dialect(
        kind="tpu",
        include=HEADER,
        head=_no_head,
        arena=lambda size: "",
        block_index=("", "", ""),
        thread_index=("", "", ""),
        math=_MATH,
        values={
            ELEMENT: local_memory.element,
            CORE_INDEX: lambda emit, node: call(_CORE_INDEX[chip.runtime]),
        },
        statements={SET_ELEMENT: local_memory.set_element, **instruction_text.statements(chip)},
        restrict="",
        unroll="",
        reserved=frozenset(_RESERVED) | {name for pair in _MATH.values() for name in pair},
        forms=C,
        scopes={LOCAL: local_memory.allocate},
        calls_narrow_abs=True,  # a conditional expression would evaluate the operand three times
    )
