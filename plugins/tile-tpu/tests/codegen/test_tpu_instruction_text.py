"""The text of every instruction: it compiles with the simulator's header and with the vendor's, and the vendor's
library has each function (not as a stub, which only aborts)."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from tile_tpu.chips import BM1684X, BM1690, CHIPS, Chip
from tile_tpu.codegen.dialect import dialect
from tile_tpu.codegen.statements import ControlCode
from tile_tpu.include import FOLDER
from tile_tpu.ir.instructions import INSTRUCTIONS, command
from tile_tpu.ir.views import LOCAL, View, aligned_strides
from tile_tpu.simulate.build import INCLUDE

from tilecore.codegen.expressions import Memory
from tilecore.codegen.memory_uses import MemoryUses
from tilecore.codegen.names import Names
from tilecore.dtypes import FACTS
from tilecore.errors import LoweringError, UnsupportedError
from tilecore.ir.build import nothing
from tilecore.ir.nodes import FloatImm, IntImm, Var, tirx

FLOATS = ("float32", "float16", "bfloat16")
WORDS = (*FLOATS, "int32", "uint32", "int16", "uint16", "int8", "uint8")
FP8 = ("float8_e4m3fn", "float8_e5m2")
STRICT = ("-Werror=implicit-function-declaration", "-Werror=int-conversion", "-Werror=incompatible-pointer-types")
SHAPE = (1, 70, 1, 40)


class Bench:
    """Emits commands on views that it creates."""

    def __init__(self, chip: Chip = BM1690) -> None:
        self.chip = chip
        self.emit = ControlCode(dialect(chip), Names(), {}, MemoryUses(nothing()), chip)

    def local(self, dtype: str, shape=SHAPE, offset=0, lane=0, strides=None) -> View:
        buffer = tirx.decl_buffer([4096], dtype, "a", scope=LOCAL, layout=None)
        self.emit.expressions.memory[buffer] = Memory("a", dtype)
        units = self.chip.eu_count(FACTS[dtype].bits)
        return View(buffer, lane, offset, shape, strides or aligned_strides(shape, self.chip.lanes, units))

    def tensor(self, dtype: str, shape=SHAPE, strides=None, offset=0) -> View:
        buffer = tirx.decl_buffer([100000], dtype, "x", layout=None)
        self.emit.addresses[buffer] = "x_addr"
        _, c, h, w = shape
        return View(buffer, 0, offset, shape, strides or (c * h * w, h * w, w, 1))

    def text(self, name: str, *operands) -> str:
        before = len(self.emit.lines)
        self.emit.emit(command(name, *operands))
        return "\n".join(line.strip() for line in self.emit.lines[before:])


def number(dtype: str):
    return FloatImm(dtype, 1.5) if FACTS[dtype].kind == "float" else IntImm(dtype, 3)


def _moves(b: Bench) -> None:
    for dtype in (*WORDS, *FP8):
        for name in ("load", "load_to_all"):
            b.text(name, b.local(dtype), b.tensor(dtype))
        b.text("load_transposed", b.local(dtype), b.tensor(dtype, strides=(1, 1, 1, 70)))
        b.text("store", b.tensor(dtype, strides=(1, 99, 99, 1)), b.local(dtype))
        b.text("store_transposed", b.tensor(dtype), b.local(dtype))
        b.text("move_global", b.tensor(dtype), b.tensor(dtype))
        b.text("shift", b.local(dtype), b.local(dtype, lane=3))
        for name in ("copy", "to_all_lanes", "transpose"):
            b.text(name, b.local(dtype), b.local(dtype))
        b.text("fill", b.local(dtype), number(dtype))
        for to in (b.local(dtype), b.tensor(dtype)):
            for source in (b.local(dtype), b.tensor(dtype)):
                for rows in (b.local("uint32"), b.tensor("uint32")):
                    b.text("gather_rows", to, source, rows, number(dtype))


def _elements(b: Bench) -> None:
    for dtype in WORDS:
        for name in ("neg", "abs"):
            b.text(name, b.local(dtype), b.local(dtype))
        names = ["add", "sub", "mul", "max", "min"]
        names += ["div"] if dtype in FLOATS else ["and", "or", "xor"]
        for name in names:
            b.text(name, b.local(dtype), b.local(dtype), b.local(dtype))
            b.text(name, b.local(dtype), b.local(dtype), number(dtype))
            b.text(name, b.local(dtype), number(dtype), b.local(dtype))
        for name in ("select_greater", "select_less", "select_equal"):
            b.text(name, b.local(dtype), b.local(dtype), number(dtype), number(dtype), b.local(dtype))
        for to in WORDS:
            b.text("cast", b.local(to), b.local(dtype), "zero")
        if dtype not in FLOATS:
            for name in ("shift_left", "shift_right"):
                b.text(name, b.local(dtype), b.local(dtype), number("int32"))
                b.text(name, b.local(dtype), b.local(dtype), b.local("int8"))


def _functions(b: Bench) -> None:
    for dtype in FLOATS:
        x = [b.local(dtype) for _ in range(5)]
        for name in ("reciprocal", "square", "floor", "ceil", "round", "sqrt", "rsqrt"):
            b.text(name, x[0], x[1])
        for name in ("exp", "tanh", "sigmoid"):
            b.text(name, *x)
        for name in ("log", "sin", "cos"):
            b.text(name, *x[:4])
        b.text("erf", *x, b.local(dtype), b.local(dtype))
        for name in ("exp", "log", "sin", "cos", "erf"):
            b.text("load_table", x[0], name)
        for name in ("reduce_max", "reduce_min", "reduce_sum"):
            b.text(name, b.local(dtype, (1, 70, 1, 1)), x[0])
    b.text("reduce_sum", b.local("float32", (1, 70, 1, 1)), b.local("float16"))
    b.text("iota_w", b.local("int32", (1, 32, 1, 40)), 1, 2)
    b.text("iota_c", b.local("int32", (1, 32, 1, 1)), 1, 2)


def _products(b: Bench) -> None:
    a, k = (1, 70, 1, 40), (1, 40, 1, 30)
    runtime = Var("first", "bool")
    from tilecore.codegen.text import Text

    b.emit.expressions.variables[runtime] = Text("first")
    pairs = [(d, d) for d in (*FLOATS[1:], *FP8, "int8", "uint8")] + [FP8]
    for left, right in pairs:
        out = "int32" if left in ("int8", "uint8") else "float32"
        for add in (False, True, runtime):
            value = add if add is runtime else IntImm("bool", int(add))
            b.text("mm", b.local(out, (1, 70, 1, 30)), b.local(left, a), b.local(right, k), value)
            if out == "float32":
                b.text("mm_tt", b.local(out, (1, 30, 1, 40)), b.local(left, a), b.local(right, (1, 30, 1, 70)), value)
            if add is False or (out == "float32" and b.chip.runtime == "tpurt"):
                b.text("mm_nt", b.local(out, (1, 70, 1, 30)), b.local(left, a), b.local(right, (1, 30, 1, 40)), value)


def _control(b: Bench) -> None:
    for name in ("poll", "parallel_start", "parallel_end", "sync_all"):
        b.text(name)
    for name in ("invalidate_cache", "flush_cache"):
        b.text(name, b.tensor("float16", (1, 1, 1, 100)))


PARTS = (_moves, _elements, _functions, _products, _control)


@cache
def everything(chip: Chip) -> str:
    """A C file with every instruction."""
    b = Bench(chip)
    for part in PARTS:
        part(b)
    names = {line.strip().split("(")[0] for line in b.emit.lines}
    assert all(name.startswith(("tpu_", "tc_")) for name in names), names
    head = '#include "tilecore_tpu.h"\nvoid all(local_addr_t a, system_addr_t x_addr, bool first) {'
    return "\n".join([head, *b.emit.lines, "}", ""])


def functions(source: str) -> set[str]:
    return set(re.findall(r"\b(tpu_\w+)\(", source))


def test_all_instructions_are_tried(monkeypatch):
    tried = set()
    real = Bench.text
    monkeypatch.setattr(Bench, "text", lambda self, name, *rest: (tried.add(name), real(self, name, *rest))[1])
    for part in PARTS:
        part(Bench())
    assert tried == INSTRUCTIONS.keys()


def checked(source: str, *folders: Path, flags=()) -> None:
    """A compiler accepts the C text."""
    command = ["gcc", "-x", "c", "-std=gnu11", "-fsyntax-only", *STRICT, *flags, *(f"-I{f}" for f in folders), "-"]
    ended = subprocess.run(command, input=source, text=True, capture_output=True)
    assert ended.returncode == 0, ended.stderr[:2000]


@pytest.mark.parametrize("chip", CHIPS.values(), ids=CHIPS)
def test_the_simulators_header_has_them(chip):
    checked(everything(chip), FOLDER, INCLUDE)


def _wheel() -> Path | None:
    """The folder of the vendor's unpacked wheel."""
    folder = os.environ.get("TILECORE_TPU_MLIR")
    return Path(folder) if folder and Path(folder, "lib").is_dir() else None


@pytest.fixture
def wheel() -> Path:
    folder = _wheel()
    if folder is None:
        pytest.skip("TILECORE_TPU_MLIR does not name the vendor's wheel (tpu_mlir), unpacked")
    return folder


@pytest.mark.parametrize("chip", CHIPS.values(), ids=CHIPS)
def test_the_vendors_header_and_library_have_them(wheel, chip):
    """The types must be the same, and the functions must not be weak symbols, which are stubs."""
    source = everything(chip)
    sdk = wheel / "cross_toolchains/ppl_compile/deps/chip" / chip.arch / "TPU1686/kernel/include"
    checked(source, FOLDER, sdk, flags=["-DUSING_CMODEL", *(f"-D{name}" for name in chip.defines)])
    table = subprocess.run(
        ["nm", "-D", "--defined-only", wheel / "lib" / chip.device_library], text=True, capture_output=True, check=True
    ).stdout
    strong = {line.split()[-1] for line in table.splitlines() if " T " in line}
    assert functions(source) <= strong, functions(source) - strong


# -- what the text says -------------------------------------------------------------------------------------------


def test_strides_and_addresses():
    b = Bench()
    assert b.text("load", b.local("float16"), b.tensor("float16", offset=80)) == (
        "tpu_gdma_cpy_S2L(a, x_addr + 160, DIM4(1, 70, 1, 40), NULL, NULL, DT_FP16);"
    )
    strided = b.local("float32", (1, 5, 1, 8), 16, 3, (0, 64, 0, 2))
    assert b.text("copy", b.local("float32", (1, 5, 1, 8)), strided) == (
        "tpu_bdc_cpy(a, a + LANE(3) + 64, DIM4(1, 5, 1, 8), NULL, DIM4(0, 64, 0, 2), DT_FP32);"
    )


@pytest.mark.parametrize(
    ("shape", "strides", "offset", "aligned"),
    [
        ((1, 70, 1, 40), (96, 48, 40, 1), 0, True),
        ((1, 70, 1, 40), (0, 48, 0, 1), 16, True),  # the strides of single elements mean nothing
        ((1, 70, 1, 40), (96, 48, 40, 1), 8, False),  # not at a multiple of 64 bytes
        ((1, 70, 1, 40), (96, 40, 40, 1), 0, False),
        ((1, 64, 1, 40), (0, 7, 0, 1), 0, True),  # one group of lanes
        ((2, 70, 1, 40), (48, 48, 40, 1), 0, False),
        ((1, 8, 2, 40), (0, 80, 40, 1), 0, True),
        ((1, 8, 2, 40), (0, 96, 48, 1), 0, False),
        ((1, 8, 1, 1), (0, 16, 0, 0), 0, True),
    ],
)
def test_views_that_need_no_strides(shape, strides, offset, aligned):
    b = Bench()
    text = b.text("neg", b.local("float32", shape, offset, 0, strides), b.local("float32", shape))
    assert (", NULL, NULL, " in text) == aligned


def test_numbers_keep_their_side():
    b = Bench()
    x, scalar = b.local("float32"), number("float32")
    assert b.text("sub", x, scalar, x).startswith("tpu_bdc_fp_C_sub(a, a, SCALAR_F32(1.5f)")
    assert b.text("sub", x, x, scalar).startswith("tpu_bdc_fp_sub_C(a, a, SCALAR_F32(1.5f)")
    assert b.text("add", x, scalar, x).startswith("tpu_bdc_fp_add_C(")
    y = b.local("int16")
    assert b.text("mul", y, y, number("int16")).endswith("DT_INT16, DT_INT16, DT_INT16, 0, RM_HALF_TO_EVEN, false);")
    assert "(a, a, -3, " in b.text("shift_right", y, y, number("int16"))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda b: b.text("div", *[b.local("int32")] * 3),
        lambda b: b.text("and", *[b.local("float32")] * 3),
        lambda b: b.text("exp", *[b.local("int32")] * 5),
        lambda b: b.text("neg", b.local("float64"), b.local("float64")),
        lambda b: b.text("add", b.local("float32"), number("float32"), number("float32")),
        lambda b: b.text("shift_right", *[b.local("uint32")] * 3),
        lambda b: b.text("mm", *[b.local("float32")] * 3, IntImm("bool", 0)),
        lambda b: b.text("mm", b.local("float16"), *[b.local("float16")] * 2, IntImm("bool", 1)),
        lambda b: b.text("mm_tt", b.local("int32"), *[b.local("int8")] * 2, IntImm("bool", 0)),
        lambda b: b.text("mm", b.local("float32"), b.local("float16", lane=1), b.local("float16"), IntImm("bool", 0)),
    ],
)
def test_operands_that_no_function_takes_are_refused(wrong):
    with pytest.raises(UnsupportedError, match="has no form on target tpu"):
        wrong(Bench())


def test_functions_that_one_chip_lacks():
    b = Bench(BM1684X)
    operands = b.local("float32", (1, 8, 1, 8)), b.local("float16", (1, 8, 1, 8)), b.local("float16", (1, 8, 1, 8))
    assert "tpu_bdc_fp_mm_R_trans(" in b.text("mm_nt", *operands, IntImm("bool", 0))
    with pytest.raises(UnsupportedError, match=r"added on bm1684x"):
        b.text("mm_nt", *operands, IntImm("bool", 1))


def test_functions_without_strides_want_aligned_operands():
    b = Bench()
    with pytest.raises(LoweringError, match="aligned"):
        b.text("sqrt", b.local("float32"), b.local("float32", strides=(0, 40, 0, 1)))
