"""The header's conversions of 8-bit and 4-bit floats on a host, instructions emulated, against ml_dtypes and torch."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import torch
from tile_hip import compilers, toolchain

from tilecore.dtypes import FACTS

SOURCE = Path(__file__).with_name("host_floats.cpp")
TYPES = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float4_e2m1fn")
# the macro of a chip, and whether its instructions are for floats without -0
CHIPS = {"__gfx90a__": False, "__gfx942__": True, "__gfx950__": False, "__GFX12__": False}


def values(name):
    """The finite values that are not negative, by their bits."""
    size = 1 << (FACTS[name].bits - 1)
    numbers = np.arange(size, dtype=np.uint8).view(getattr(ml_dtypes, name)).astype(np.float32)
    return numbers[np.isfinite(numbers)]


def samples():
    """Floats with all signs, exponents and 9 bits of fraction, which include all values of the types and the middles
    between them; the floats next to those, and any between."""
    high = np.arange(1 << 18, dtype=np.uint32) << 14
    low = np.random.default_rng(0).integers(0, 1 << 14, high.size, dtype=np.uint32)
    return np.concatenate([high, high | 1, high | 0x2000, high | 0x3FFF, high | low]).view(np.float32)


@pytest.fixture(scope="module", params=CHIPS)
def library(request, tmp_path_factory):
    compiler = next((c for c in compilers.installed() if not c.is_zig), None)
    if compiler is None:
        pytest.skip("there is no clang that links for this machine")
    binary = tmp_path_factory.mktemp("floats") / "floats.so"
    options = [f"-D{request.param}=1", f"-DFNUZ={int(CHIPS[request.param])}", *(f"-I{p}" for p in toolchain.INCLUDE)]
    command = [*compiler.command, "-x", "c++", "-std=c++17", "-O2", "-fPIC", "-shared", *options, str(SOURCE)]
    process = subprocess.run([*command, "-o", str(binary)], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr[:3000]
    loaded = ctypes.CDLL(str(binary))
    suffix = "fnuz" if CHIPS[request.param] else ""
    for kind, name in (("fp8", f"float8_e4m3{suffix or 'fn'}"), ("bf8", f"float8_e5m2{suffix}")):
        table = values(name)
        (ctypes.c_float * 128).in_dll(loaded, f"{kind}_values")[: table.size] = table.tolist()
        ctypes.c_int.in_dll(loaded, f"{kind}_count").value = table.size
    return loaded


def call(function, x, y):
    function(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data), ctypes.c_size_t(x.size))
    return y


@pytest.mark.parametrize("name", TYPES)
def test_from_float(library, name):
    x, facts = samples(), FACTS[name]
    bits = call(getattr(library, f"narrow_{name}"), x, np.zeros(x.size, np.uint8))
    is_nan, clipped = np.isnan(x), np.clip(x, -facts.max, facts.max)
    expected = np.where(is_nan, 0, clipped).astype(np.float32).astype(getattr(ml_dtypes, name)).view(np.uint8)
    np.testing.assert_array_equal(bits[~is_nan], expected[~is_nan])
    if facts.bits < 8:
        assert (bits[is_nan] == 7).all()
        return
    assert np.isnan(bits[is_nan].view(getattr(ml_dtypes, name)).astype(np.float32)).all()
    by_torch = torch.from_numpy(clipped[~is_nan]).to(getattr(torch, name)).view(torch.uint8).numpy()
    np.testing.assert_array_equal(bits[~is_nan], by_torch)


@pytest.mark.parametrize("name", TYPES)
def test_to_float(library, name):
    x = np.arange(1 << FACTS[name].bits).astype(np.uint8)
    numbers = call(getattr(library, f"wide_{name}"), x, np.zeros(x.size, np.float32))
    expected = x.view(getattr(ml_dtypes, name)).astype(np.float32)
    np.testing.assert_array_equal(numbers, expected)
    np.testing.assert_array_equal(np.signbit(numbers) & ~np.isnan(numbers), np.signbit(expected) & ~np.isnan(expected))
    if FACTS[name].bits == 8:
        by_torch = torch.from_numpy(x).view(getattr(torch, name)).float().numpy()
        np.testing.assert_array_equal(numbers, by_torch)
