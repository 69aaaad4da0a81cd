"""The modules of tilecore that tile-hip adds: facts about targets, figures of chips, index maps."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import pytest
from tilecore.carver.arch import CDNA, RDNA, get_arch
from tilecore.rocm.intrinsics import make_mfma_swizzle_layout, mfma_layout
from tilecore.rocm.target import (
    check_hip_availability,
    normalize_rocm_arch,
    rocm_warp_size_for_arch,
    target_get_mcpu,
    target_get_rdna_generation,
    target_get_warp_size,
    target_is_cdna,
    target_is_gfx950,
    target_is_rdna,
)

from tilecore.errors import TargetError


def test_which_chip_a_target_is():
    targets = ["hip -arch=gfx942", {"kind": "hip", "mcpu": "gfx1201"}, "hip -arch=gfx950", "cpu"]
    assert [target_is_cdna(t) for t in targets] == [True, False, True, False]
    assert [target_is_rdna(t) for t in targets] == [False, True, False, False]
    assert [target_is_gfx950(t) for t in targets] == [False, False, True, False]
    assert [target_get_mcpu(t) for t in targets] == ["gfx942", "gfx1201", "gfx950", None]
    assert [target_get_rdna_generation(t) for t in targets] == [0, 4, 0, 0]
    assert target_get_warp_size("hip -arch=gfx1100") == 32
    with pytest.raises(TargetError, match="a target of kind 'hip'"):
        target_get_warp_size("cpu")


def test_whether_a_gpu_is_here(monkeypatch):
    """An installed compiler is no GPU: programs choose the size of a wave by it."""
    device = SimpleNamespace(arch="gfx942", units=304)
    for devices in ((), (device,)):
        monkeypatch.setattr("tile_hip.target.visible_devices", lambda devices=devices: (devices, "no driver"))
        assert check_hip_availability() is bool(devices)


def test_names_of_architectures():
    assert normalize_rocm_arch("gfx942:sramecc+:xnack-") == "gfx942"
    assert [normalize_rocm_arch(text) for text in ("", None, "sm_90")] == [None] * 3
    assert [rocm_warp_size_for_arch(name) for name in ("gfx942", "gfx1100", "gfx906", "gfx1030", "x")] == [
        64,
        32,
        64,
        32,
        None,
    ]


def test_the_figures_of_chips():
    chip = CDNA("hip -arch=gfx950")
    assert (chip.smem_cap, chip.warp_size, chip.compute_max_core) == (160 << 10, 64, 256)
    assert type(get_arch("hip -arch=gfx1100")) is RDNA
    with pytest.raises(TargetError, match="gfx942 is no chip of RDNA"):
        RDNA("hip -arch=gfx942")


def test_the_types_of_8_bits_of_a_chip(monkeypatch):
    from tilecore.language import fp8

    for target, name in (("hip -arch=gfx942", "float8_e4m3fnuz"), ("hip -arch=gfx950", "float8_e4m3fn")):
        monkeypatch.setenv("TILECORE_TARGET", target)
        fp8.__dict__.pop("determine_fp8_type", None)
        assert fp8.determine_fp8_type() == name
    fp8.__dict__.pop("determine_fp8_type", None)


@pytest.mark.parametrize("elements", [1, 4, 8, 16])
def test_index_maps_of_operands(elements):
    place = getattr(mfma_layout, f"shared_16x{4 * elements}_to_local_64x{elements}_layout_A")
    places = {place(i, j): (i, j) for i, j in product(range(16), range(4 * elements))}
    assert set(places) == {*product(range(64), range(elements))}
    assert all((i, j) == (lane % 16, lane // 16 * elements + r) for (lane, r), (i, j) in places.items())


def test_the_swizzle_is_a_permutation():
    tile = type("Tile", (), {"shape": (32, 64), "dtype": "float16"})
    layout = make_mfma_swizzle_layout(tile)
    places = [tuple(layout.map_forward_index([i, j])) for i, j in product(range(32), range(64))]
    assert sorted(places) == [*product(range(32), range(64))]
    assert {layout.map_forward_index([i, 0])[1] for i in range(8)} == {*range(0, 64, 8)}
