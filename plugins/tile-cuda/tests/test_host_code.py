"""Cubins in shared libraries: the exported function launches them by the driver, here by the fake one."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
from cuda_artifacts import artifact
from tile_cuda.adapter import DriverAdapter
from tile_cuda.launch import host_code

from tilecore.artifact.records import Workspace
from tilecore.jit.library import export_library

pytestmark = pytest.mark.skipif(not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="no C compiler")
CALLS = r"""
import ctypes, faulthandler, sys
faulthandler.dump_traceback_later(200, exit=True)
sys.modules["torch"] = None  # tvm_ffi would import it, and ask it for the driver, which here is the fake one
import tvm_ffi

class Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("index", ctypes.c_int32)]
class Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]
class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", Device), ("ndim", ctypes.c_int32), ("dtype", Type),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64)]
class Any(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("padding", ctypes.c_uint32), ("value", ctypes.c_uint64)]

def tensor(address, n):
    return Tensor(address, Device(2, 0), 1, Type(2, 32, 1), (ctypes.c_int64 * 1)(n), None, 0)

main = ctypes.CDLL(sys.argv[1]).__tvm_ffi_scale
fake = ctypes.CDLL("libcuda.so.1")
fake.fake_journal.restype = ctypes.c_char_p
a, b, result = tensor(0x7000, 40), tensor(0x8000, 40), Any()
number = ctypes.cast(ctypes.pointer(ctypes.c_double(1.5)), ctypes.POINTER(ctypes.c_uint64))[0]
arguments = (Any * 3)(Any(7, 0, ctypes.addressof(a)), Any(7, 0, ctypes.addressof(b)), Any(3, 0, number))
for _ in range(2):
    assert main(None, arguments, 3, ctypes.byref(result)) == 0
assert main(None, arguments, 2, ctypes.byref(result)) == -1
print(fake.fake_journal().decode())
"""


def test_an_exported_library_launches_by_the_driver(fake, tmp_path):
    path = tmp_path / "scale.so"
    dynamic = replace(artifact(size="n", entry={"shared_bytes": 65536}), binary=b"\x07cubin")
    export_library(dynamic, DriverAdapter(driver=lambda: None), 2, path)
    shutil.copy(fake.path, tmp_path / "libcuda.so.1")
    program = tmp_path / "calls.py"
    program.write_text(CALLS)
    ended = subprocess.run(
        [sys.executable, "-X", "faulthandler", program, path],
        capture_output=True,
        text=True,
        env={"LD_LIBRARY_PATH": str(tmp_path)},
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert sum(line.startswith("launch") for line in lines) == 2
    assert "attribute 8 = 65536" in lines


def test_workspaces_are_allocated_on_the_stream(fake, tmp_path, monkeypatch):
    monkeypatch.setattr(host_code, "DRIVER", fake.path)
    kernel = replace(artifact(), workspaces=(Workspace("w", "float32", (64,)),))
    export_library(kernel, DriverAdapter(driver=lambda: None), 2, tmp_path / "k.so", tmp_path / "k.h")
    fake.library.fake_slots_of(4)
    library = ctypes.CDLL(str(tmp_path / "k.so"))
    a, b = (ctypes.c_float * 64)(), (ctypes.c_float * 64)()
    assert library.scale(a, b, ctypes.c_float(2.0), ctypes.c_void_p(0x77)) == 0
    lines = [line for line in fake.journal() if line.startswith(("allocated", "launch", "freed")) and "77" in line]
    assert [line.split()[0] for line in lines] == ["allocated", "launch", "freed"]
    assert lines[0] == "allocated 256 bytes on 77"
    assert (tmp_path / "k.h").read_text().count("void *stream") == 1


def test_a_driver_that_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(host_code, "DRIVER", "libno_such_driver.so.9")
    export_library(artifact(), DriverAdapter(driver=lambda: None), 2, tmp_path / "k.so", tmp_path / "k.h")
    library = ctypes.CDLL(str(tmp_path / "k.so"))
    library.scale_error.restype = ctypes.c_char_p
    a, b = (ctypes.c_float * 64)(), (ctypes.c_float * 64)()
    assert library.scale(a, b, ctypes.c_float(2.0), None) == 3
    assert library.scale_error() == b"scale(): there is no driver of the GPU here"
