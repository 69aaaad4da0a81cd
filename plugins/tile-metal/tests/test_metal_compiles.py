"""clang takes the header and emitted kernels by the rules of MSL, and not what an emitter of CUDA would write.

clang reads whole programs with the stand-in for Metal's header (compiler.py). What that shows and what not is in
docs/notes/metal.md.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import compiler
import pytest
from tile_metal import header, rules

from tests.replay.replay import KERNELS, emitted

HERE = Path(__file__).parent
# cases of the conformance kit, chosen by the features of their kernels
CASES = """
    test_every_kind_on_elements-float16 test_every_kind_on_elements-bool
    test_the_last_block_sees_what_all_have_written-acq_rel-acq_rel test_one_wins
    test_neighbours_are_added_by_one_instruction
    test_narrow_floats_keep_their_bits_when_only_moved-float8_e5m2fnuz test_casts_written_in_other_ways
    test_those_that_come_print-rounds-6 test_powers_absolute_values_and_rounding-bfloat16 test_functions_with_pointers
    test_16_bit_reducers_that_every_thread_has_a_copy_of-bfloat16-min-128
    test_element_types_and_transposes-float8_e4m3fn-float8_e5m2 test_matrix_times_vector_by_a_sum_over_threads-1-16
    test_decoding_in_splits-3 test_from_floats-float8_e4m3fn test_device_assert
""".split()


def clean(program: str, version: int, structures: bool = False) -> None:
    """Asserts that clang takes a program. structures: whether device memory has any."""
    assert compiler.errors_as_opencl(program, version) == []
    if not structures:
        assert compiler.errors_as_cpp(program, version) == []


@pytest.mark.parametrize("version", compiler.VERSIONS)
def test_every_function_of_the_header(version):
    source = (HERE / "every_function.metal").read_text()
    narrow = (HERE / "every_narrow_float.metal").read_text()
    clean(header.whole_program(source, fast_math=version == 310), version)
    clean(header.whole_program(narrow), version, structures=True)
    product = (HERE / "every_product.metal").read_text()
    if version >= 400:  # C++ for OpenCL makes no constant of a structure
        assert compiler.errors_as_cpp(header.whole_program(product), version) == []
    names = set(re.findall(r"\btc_[a-z]\w*", source + narrow + product))
    names |= {f"{name}_from" for name in names if re.match("tc_fp[48]", name)}
    definitions = [definition for definition in header.definitions() if definition.part.startswith("tilecore_metal/")]
    public = {name for definition in definitions for name in definition.provides if name.startswith("tc_")}
    inner = {
        "tc_bit_cast",
        "tc_vector",
        "tc_lane_value",
        "tc_reduced",
        "tc_factor",
        "tc_word_of",
        "tc_same",
        "tc_order",
        "tc_relaxed",
    }
    inner |= {"tc_half_value", "tc_own_lane", "tc_to_odd", "tc_added", "tc_smaller", "tc_larger", "tc_products"}
    inner |= {"tc_of_word", "tc_to_word", "tc_word_around", "tc_place_in_word", "tc_exchange_bits", "tc_load_bits"}
    inner |= {"tc_fence_before", "tc_fence_after", "tc_print_values", "tc_assertion_failed"}
    inner |= {name for name in public if name.startswith(("tc_message_", "tc_plain_"))}
    assert public <= inner | names, "a function that no kernel here calls"


def test_the_parts_of_the_header_keep_the_rules_of_text():
    text = header.joined(header.definitions())
    assert [problem for problem in rules.problems(text, 400) if "address space" not in problem.text] == []


def joined(sources: list[str]) -> dict[tuple[header.Definition, ...], str]:
    """Emitted sources with the definitions of the header that they need, one program for those that need the same."""
    groups = defaultdict(list)
    for number, source in enumerate(dict.fromkeys(sources)):
        kernels = source.replace('#include "tilecore_metal.h"\n', "")
        kernels = re.sub(r"(\[\[kernel.*?\]\] void )(\w+)\(", rf"\g<1>\g<2>_{number}(", kernels)
        groups[tuple(header.needed_definitions(source))].append(kernels)
    return {needed: header.joined(needed) + "\n".join(kernels) for needed, kernels in groups.items()}


def has_structures(program: str) -> bool:
    return re.search(r"\btc_fp[48]_\w+[*&]", program.partition("[[kernel")[2]) is not None


# the most lines of the header that stand in front of a kernel
LINES = {"vector_add": 40, "softmax": 100, "gemm": 120, "attention": 150}


def test_examples():
    """For the oldest version, and for the one that is taken without a Mac."""
    some = ("softmax", "matmul", "dequant_matmul")
    for msl, kernels, versions in (("3.0", some, (300, 400)), ("3.2", tuple(KERNELS), (320,))):
        sources = [emitted(kernel, f"metal -msl={msl}") for kernel in kernels]
        texts = [text for text, suffix in sources if suffix == "metal"]
        assert len(texts) >= len(kernels) - 1  # one needs more threadgroup memory than there is
        for kernel, (text, _) in zip(kernels, sources, strict=True):
            program = header.whole_program(text)
            assert program.partition(header.END)[0].count("\n") < LINES.get(kernel, 200), kernel
        for text in texts:
            assert rules.problems(text, versions[0]) == []
        for version in versions:
            for program in joined(texts).values():
                clean(program, version, has_structures(program))


@pytest.mark.rotated
def test_kernels_of_the_conformance_kit(tmp_path):
    """With their threads, atomics, narrow floats, products and prints."""
    chosen = " or ".join(f"({case.replace('-', ' and ')})" for case in CASES)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "kit_sources", "--pyargs"]
    command += ["tilecore.testing.conformance", "--conform-target", "metal", "--conform-level", "1", "-k", chosen]
    paths = os.pathsep.join([os.fspath(HERE), *sys.path])
    environment = {**os.environ, "MSL_SOURCES": os.fspath(tmp_path), "PYTHONPATH": paths, "TILECORE_SIMULATE": "0"}
    process = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stdout[-3000:]
    sources = [path.read_text() for path in sorted(tmp_path.glob("*.metal"))]
    assert len(sources) >= 20
    for program in joined(sources).values():
        clean(program, 320, has_structures(program))


# -- what is no MSL ----------------------------------------------------------------------------------------------------

HEAD = (
    '#include "tilecore_metal.h"\n'
    "[[kernel, max_total_threads_per_threadgroup(64)]] void k(device float* x [[buffer(0)]], "
    "constant int& n [[buffer(1)]], device half* h [[buffer(2)]], device const float* r [[buffer(3)]], "
    "uint3 tc_block [[threadgroup_position_in_grid]], uint3 tc_thread [[thread_position_in_threadgroup]]) {\n"
    "  alignas(16) threadgroup uchar shared[512];\n"
    "  threadgroup float* tile = (threadgroup float*)(shared + 0);\n"
    "  alignas(16) float own[4] = {0.0f, 0.0f, 0.0f, 0.0f};\n"
)
WRONG = {
    "a threadgroup pointer in a plain one": "float* p = tile; p[0] = x[n];",
    "a threadgroup pointer cast to device": "device float* p = (device float*)tile; p[0] = x[n];",
    "a device pointer cast to a plain one": "own[0] = *(float*)(x + 4 * n);",
    "a device pointer in a threadgroup one": "threadgroup float* p = x; p[0] = 1.0f;",
    "a write to constant memory": "n = 1;",
    "a write to memory that is read": "r[0] = 1.0f;",
    "a float as a bfloat": "bfloat b = x[0]; x[1] = (float)b;",
    "a half and a bfloat": "bfloat b = (bfloat)x[0]; x[0] = (float)(b * h[0]);",
    "an atomic of 64 bits": "metal::atomic_fetch_add_explicit((device metal::atomic<ulong>*)x, 1ul, "
    "metal::memory_order_relaxed);",
    "a threadgroup atomic of float": "metal::atomic_fetch_add_explicit((threadgroup metal::atomic<float>*)tile, 1.0f, "
    "metal::memory_order_relaxed);",
    "a shuffle of a long": "x[0] = (float)metal::simd_shuffle((long)n, (ushort)3);",
    "a shuffle with a mask": "x[0] = __shfl_xor_sync(0xffffffffu, x[0], 1);",
    "a ballot as a number": "x[0] = (float)(uint)metal::simd_ballot(n > 3);",
    "bits of another size": "x[0] = as_type<float>((ushort)3);",
    "a matrix of 16 x 16": "metal::simdgroup_matrix<float, 16, 16> m; (void)m;",
    "a move in coherent memory as in plain memory": "coherent(device) device float* p = x; p[0] = 1.0f;",
    "an exact function of half": "h[0] = metal::precise::exp2<half>(h[0]);",
    "a function of CUDA": "__syncthreads();",
}  # fmt: skip


def test_what_a_kernel_must_not_say():
    matrix = '#include "tilecore_metal.h"\n#include <metal_simdgroup_matrix>\n'
    program = header.whole_program(HEAD.replace('#include "tilecore_metal.h"\n', matrix) + "  own[0] = tile[0];\n}\n")
    clean(program, 320)
    start = program.index("  own[0] = tile[0];")
    for what, line in WRONG.items():
        text = program[:start] + f"  {line}\n}}\n"
        by_rules = rules.problems(HEAD + f"  {line}\n}}\n", 320)
        assert by_rules or compiler.errors_as_opencl(text, 320) or compiler.errors_as_cpp(text, 320), what
