"""The header: every function of it compiles for every architecture."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tile_cuda
from tile_cuda import architectures, nvcc, nvrtc, toolchain
from tile_cuda.headers import headers
from tile_cuda.target import DTYPES

from tilecore.dtypes import FACTS, NARROW_FLOATS
from tilecore.errors import ToolchainError

SOURCES = {
    name: Path(__file__).with_name(f"{name}.cu").read_text() for name in ("every_function", "every_hopper_function")
}
FOLDER = Path(tile_cuda.__file__).parent / "include"
ARCHITECTURES = ("sm_70", "sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")
SHARED = ("tilecore_atomics.h", "tilecore_floats.h", "tilecore_mathematics.h")  # headers of the core
# used by the functions themselves, or made by macros under other names
INNER = set(
    "tc_fence_before tc_fence_after tc_compare_exchange tc_update tc_swap tc_add_each tc_size_bits tc_fp8_bits "
    "tc_half_bits tc_half_value tc_bfloat16_bits tc_bfloat16_value tc_e4m3_bits tc_e4m3_value tc_e5m2_bits "
    "tc_e5m2_value tc_scale_of tc_e2m1_bits tc_e2m1_value tc_neighbour tc_shared_address tc_load_word "
    "tc_store_word tc_computed_e4m3_bits tc_computed_e4m3_value tc_computed_e5m2_bits tc_computed_e5m2_value "
    "tc_computed_bfloat16_bits tc_fnuz_bits tc_rounded_size tc_has_bits_of_nan "
    "tc_computed_e4m3fnuz_bits tc_computed_e4m3fnuz_value tc_computed_e5m2fnuz_bits tc_computed_e5m2fnuz_value".split()
)


def compiler(module, name: str):
    try:
        tool = module.load()
    except ToolchainError as error:
        pytest.skip(error.message)
    if architectures.parse(name).capability not in tool.architectures():
        pytest.skip(f"{module.__name__.rpartition('.')[2]} {tool.version} does not know {name}")
    return tool


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_everything_compiles_with_nvcc(name, source):
    arch = architectures.parse(name)
    options = [f"-gencode=arch={arch.virtual},code={arch.name}", "-std=c++17", "-Werror=all-warnings"]
    options += ["-diag-suppress=177"]
    binary, messages = compiler(nvcc, name).compile(SOURCES[source], toolchain.INCLUDE, options, source)
    assert binary is not None, messages[:3000]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_everything_compiles_with_nvrtc(name, source):
    options = [f"--gpu-architecture={name}", "--std=c++17"]
    binary, messages = compiler(nvrtc, name).compile(SOURCES[source], toolchain.headers(), options)
    assert binary is not None, messages[:3000]


def test_the_target_has_the_narrow_floats_that_the_header_defines():
    text = (FOLDER / "tilecore_cuda" / "floats.h").read_text()
    defined = {name for name in NARROW_FLOATS if re.search(rf"\b{FACTS[name].c}\b", text)}
    assert defined == {*NARROW_FLOATS} & {*DTYPES}


def test_nothing_is_left_out():
    texts = [p.read_text() for p in FOLDER.rglob("*.h") if not p.name.startswith("simulated")]
    texts += [headers()[name] for name in SHARED]
    declared = {name for text in texts for name in re.findall(r"TC_FN [\w ]+?[ *&](tc_\w+)\(", text)}
    declared = {n for n in declared if not n.startswith("tc_plain") and not n.endswith("_")}
    assert len(declared) > 40
    assert not {n for n in declared - INNER if n not in "".join(SOURCES.values())}


def test_our_headers_only():
    included = {w for p in FOLDER.rglob("*.h") for w in re.findall(r"#include [<\"](.*)[>\"]", p.read_text())}
    assert all(word.startswith(("tilecore_", "tilecore_cuda/")) for word in included)


def test_bits_of_16_bit_floats_are_moved_out_of_their_register():
    """ptxas 13.0 stores the low byte of the result of an f16 or bf16 instruction as if it were converted (F2I)."""
    returns_half = re.compile(
        r'asm(?: volatile)?\("[a-z.]+\.(?:rn\.|noftz\.|sat\.)*b?f16(?:\.f32|\.f64)? [^;]*;"\s*:\s*"=h"'
    )
    texts = {path.name: path.read_text() for path in FOLDER.rglob("*.h") if "simulated" not in path.name}
    assert returns_half.search('asm("max.f16 %0, %1, %2;" : "=h"(bits)')
    assert returns_half.search('asm volatile("atom.add.noftz.bf16 %0, [%1], %2;" : "=h"(old)')
    assert [name for name, text in texts.items() if returns_half.search(text)] == []
    assert texts["floats.h"].count("TC_HALF_ASM(") == 5  # its definition, two conversions, two kinds of arithmetic
