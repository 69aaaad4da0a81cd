"""The modules of tilecore that tile-cuda adds: facts on targets, toolkit and device, index maps, source callbacks."""

from __future__ import annotations

from importlib import import_module
from itertools import product

import numpy as np
import pytest
from tile_cuda.devices import Device
from tile_cuda.language import NAMES
from tilecore.carver.arch import CUDA, get_arch, is_hopper_arch
from tilecore.cuda.intrinsics import get_mma_micro_size, make_mma_swizzle_layout
from tilecore.cuda.intrinsics.layout import mma_layout
from tilecore.cuda.target import (
    check_cuda_availability,
    target_has_bulk_copy,
    target_has_ldmatrix,
    target_is_ampere,
    target_is_cuda,
    target_is_hopper,
    target_is_volta,
)

import tilecore
import tilecore.language as T
from tilecore.errors import TargetError

HOPPER, AMPERE, VOLTA = "cuda -arch=sm_90a", {"kind": "cuda", "arch": "sm_86"}, "cuda -arch=sm_70"


def test_which_chip_a_target_is():
    assert [target_is_hopper(t) for t in (HOPPER, AMPERE, VOLTA, "cpu")] == [True, False, False, False]
    assert [target_is_ampere(t) for t in (HOPPER, AMPERE, VOLTA, "cpu")] == [False, True, False, False]
    assert [target_is_volta(t) for t in (HOPPER, AMPERE, VOLTA, "cpu")] == [False, False, True, False]
    assert [target_has_ldmatrix(t) for t in (HOPPER, AMPERE, VOLTA)] == [True, True, False]
    assert target_has_bulk_copy(HOPPER)
    assert not target_has_bulk_copy(AMPERE)
    assert target_is_cuda(tilecore.Target("cuda"))


def test_facts_of_compute_capabilities():
    from tilecore.contrib import nvcc

    assert nvcc.get_target_compute_version(HOPPER) == "9.0"
    assert nvcc.get_target_compute_version("cuda -arch=sm_120") == "12.0"
    assert nvcc.parse_compute_version("8.9") == (8, 9)
    assert [nvcc.get_target_arch(v) for v in ("8.0", "9.0", (7, 5))] == ["80", "90a", "75"]
    assert [nvcc.have_fp8(v) for v in ("8.0", "8.9", "9.0")] == [False, True, True]
    assert nvcc.is_hopper(HOPPER)
    assert not nvcc.is_hopper(AMPERE)
    with pytest.raises(ValueError, match="'nine' is not a compute capability"):
        nvcc.parse_compute_version("nine")


def test_whether_a_gpu_is_here(monkeypatch):
    """An installed compiler is no GPU."""
    for devices in ((), (Device("a GPU", (9, 0)),)):
        monkeypatch.setattr("tile_cuda.target.visible_devices", lambda devices=devices: (devices, "no driver"))
        assert check_cuda_availability() is bool(devices)


def test_nvcc_compiles_a_text(tmp_path):
    from tilecore.contrib import nvcc

    from tilecore.errors import ToolchainError

    try:
        version = nvcc.get_cuda_version()
    except RuntimeError as error:
        pytest.skip(str(error))
    assert nvcc.get_cuda_version(nvcc.find_cuda_path()) == version
    ptx = nvcc.compile_cuda(
        'extern "C" __global__ void f(float *x) { *x = N; }', "ptx", "sm_80", "-DN=2", tmp_path / "f"
    )
    assert b".target sm_80" in ptx
    assert (tmp_path / "f").read_bytes() == ptx
    with pytest.raises(ToolchainError, match=r"(?s)does not compile.*identifier"):
        nvcc.compile_cuda("nothing such", arch="sm_80")


def test_the_figures_of_an_architecture():
    arch = CUDA(HOPPER)
    assert (arch.sm_version, arch.compute_capability, arch.warp_size, arch.smem_cap) == (90, "90", 32, 227 << 10)
    assert is_hopper_arch(arch)
    assert type(get_arch(VOLTA)) is CUDA
    with pytest.raises(TargetError, match="CUDA takes a target of kind 'cuda'"):
        CUDA("cpu")


def test_drivers_figures_without_a_device():
    from tilecore.carver.arch.driver import cuda_driver

    if cuda_driver.get_cuda_device_properties() is None:
        assert cuda_driver.get_device_name() is None
        with pytest.raises(RuntimeError, match="there is no CUDA device 0"):
            cuda_driver.get_num_sms()
    else:
        assert cuda_driver.get_num_sms() > 0
        assert cuda_driver.get_shared_memory_per_block(format="kb") == cuda_driver.get_shared_memory_per_block() >> 10
        assert CUDA("cuda").bandwidth[1] > 100_000


@pytest.mark.parametrize(("bits", "columns"), [(32, 8), (16, 16), (8, 32)])
@pytest.mark.parametrize("operand", ["sr_a", "sr_b", "rs_a", "rs_b"])
def test_index_maps_follow_the_figures_of_the_manual(bits, columns, operand):
    """PTX ISA, "Matrix fragments for mma.m16n8kK": groups of 4 bytes; of A row groupID + 8 * (group % 2)."""
    registers = columns // 2
    place = getattr(mma_layout, f"shared_16x{columns}_to_mma_32x{registers}_layout_{operand}")
    shape = (16, columns) if operand[:2] == "sr" else (columns, 16)
    places = {place(*index): index[:: 1 if operand[:2] == "sr" else -1] for index in product(*map(range, shape))}
    assert set(places) == {*product(range(32), range(registers))}
    group = 32 // bits
    for (thread, register), (row, column) in places.items():
        number, within = divmod(register, group)
        halves = (number % 2, number // 2) if operand[-1] == "a" else (number // 2, number % 2)
        assert row == thread // 4 + 8 * halves[0]
        assert column == 4 * group * halves[1] + thread % 4 * group + within


@pytest.mark.parametrize(("columns", "dtype"), [(64, "float16"), (32, "float16"), (128, "float16"), (128, "int8")])
def test_the_swizzle_is_a_permutation_without_conflicts(columns, dtype):
    tile = type("Tile", (), {"shape": (16, columns), "dtype": dtype})
    layout = make_mma_swizzle_layout(tile)
    size = T.dtype(dtype).bytes
    row_bytes = min(128, columns * size)
    offsets = {}
    for row, column in product(range(16), range(columns)):
        panel, place, within = layout.map_forward_index([row, column])
        offsets[row, column] = (panel * 16 + place) * row_bytes + within * size
    assert sorted(offsets.values()) == [*range(0, 16 * columns * size, size)]
    for column in range(0, columns, 16 // size):  # what 8 lanes of ldmatrix read: 16 bytes of 8 rows
        banks = {(offsets[row, column] + byte) // 4 % 32 for row in range(8) for byte in range(0, 16, 4)}
        assert len(banks) == 32
    plain = make_mma_swizzle_layout(tile, is_smooth=True)
    assert plain.map_forward_index([3, 5]) == [3, 5]


def test_sizes_of_matrix_instructions():
    assert get_mma_micro_size("float16") == (16, 16, 16)
    assert get_mma_micro_size("int8") == (16, 16, 32)


def test_the_language_under_its_second_name():
    import tilecore.cuda.language as language

    assert language.copy is T.copy
    assert {*NAMES, "gemm"} <= {name for name in (*NAMES, "gemm") if getattr(language, name)}
    assert not hasattr(language, "nothing_such")
    intrinsics = import_module("tilecore.cuda.language.intrinsics")
    assert intrinsics.make_mma_swizzle_layout is make_mma_swizzle_layout


def test_a_source_callback_of_this_target():
    from tilecore.engine.callback import register_cuda_postproc_callback

    from tilecore.codegen.source_callbacks import remove_postproc

    @T.prim_func
    def fill(A: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(32):
                A[i] = 1.5

    @register_cuda_postproc_callback
    def changed(source, target):
        return f"// {target.get('arch')}\n{source}"

    try:
        assert tilecore.lower(fill, target=HOPPER).kernel_source.startswith("// sm_90a\n")
    finally:
        remove_postproc("cuda")
    assert not tilecore.lower(fill, target=HOPPER).kernel_source.startswith("// sm_90a\n")
    assert np.float32(1.5) == 1.5


def test_what_is_left_out_of_this_target():
    modules = "cuda.transform", "cuda.op.gemm", "cuda.intrinsics.macro.wgmma_macro_generator", "tools.cuda.iket"
    for module in modules:
        with pytest.raises(ImportError, match="instead"):
            import_module(f"tilecore.{module}")
