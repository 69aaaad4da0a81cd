"""The header: every function of it compiles for every family of chips, without headers of ROCm."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import tile_hip
from tile_hip import compilers, toolchain
from tile_hip.target import DTYPES

from tilecore.contract.records import BuildRequest
from tilecore.dtypes import FACTS, NARROW_FLOATS
from tilecore.plugins import manager

FOLDER = Path(tile_hip.__file__).parent / "include"
SOURCE = Path(__file__).with_name("every_function.hip").read_text()
SHARED = ("tilecore_atomics.h", "tilecore_floats.h", "tilecore_mathematics.h")  # headers of the core
# used by the functions themselves
INNER = set(
    (
        "tc_fence_before tc_fence_after tc_compare_exchange tc_exchange_word tc_update tc_size_bits tc_fp8_bits "
        "tc_half_bits tc_half_value tc_bfloat16_bits tc_bfloat16_value tc_e4m3_bits tc_e4m3_value tc_e5m2_bits "
        "tc_e5m2_value tc_e2m1_bits tc_e2m1_value tc_lane tc_from_lane tc_thread_index tc_block_index "
        "tc_load_word tc_store_word tc_swap tc_computed_e4m3_bits tc_computed_e4m3_value tc_computed_e5m2_bits "
        "tc_computed_e5m2_value tc_computed_bfloat16_bits tc_neighbour tc_fnuz_bits tc_rounded_size tc_has_bits_of_nan "
        "tc_computed_e4m3fnuz_bits tc_computed_e4m3fnuz_value tc_computed_e5m2fnuz_bits tc_computed_e5m2fnuz_value "
        "tc_keep_order tc_clamped tc_dpp tc_move_lanes tc_xor_lane tc_message_word tc_assertion_failed tc_lost_nan"
    ).split()
)


def test_everything_compiles(arch):
    everything_compiles(f"hip -arch={arch}")


def test_everything_compiles_for_waves_of_64_lanes(arch):
    if arch.startswith("gfx9"):
        pytest.skip("its waves have 64 lanes anyway")
    everything_compiles(f"hip -arch={arch} -wave=64")


def everything_compiles(name):
    _, target = manager.resolve(name)
    binary, form = toolchain.build(BuildRequest("every_function", SOURCE, ("plain", "together"), target, adapter="hip"))
    assert form == "hsaco"
    assert binary.startswith(b"\x7fELF")


def test_nothing_is_warned_of(arch, tmp_path):
    _, target = manager.resolve(f"hip -arch={arch}")
    request = BuildRequest("every_function", SOURCE, (), target, ("-Wall", "-Wextra", "-Werror"), adapter="hip")
    (tmp_path / "kernel.hip").write_text(SOURCE)
    compiler = compilers.compiler_for(arch)
    for command in toolchain.commands(compiler, request):
        process = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert process.returncode == 0, process.stderr[:3000]


def test_the_target_has_the_narrow_floats_that_the_header_defines():
    text = (FOLDER / "tilecore_hip" / "floats.h").read_text()
    defined = {name for name in NARROW_FLOATS if re.search(rf"\b{FACTS[name].c}\b", text)}
    assert defined == {*NARROW_FLOATS} & {*DTYPES}


def test_nothing_is_left_out():
    # test_hip_products.py compiles the functions of matrix instructions
    paths = [path for path in FOLDER.rglob("*.h") if not re.search("simulated|matrix", path.name)]
    texts = [path.read_text() for path in paths]
    texts += [(toolchain.INCLUDE[1] / name).read_text() for name in SHARED]
    declared = {name for text in texts for name in re.findall(r"TC_FN [\w ]+?[ *&](tc_\w+)\(", text)}
    declared = {name for name in declared if not name.startswith("tc_plain") and not name.endswith("_")}
    assert len(declared) > 30
    assert not {name for name in declared - INNER if name not in SOURCE}


def test_our_headers_only():
    included = {
        word for path in FOLDER.rglob("*.h") for word in re.findall(r"#include [<\"](.*)[>\"]", path.read_text())
    }
    assert all(word.startswith(("tilecore_", "tilecore_hip/")) for word in included)
