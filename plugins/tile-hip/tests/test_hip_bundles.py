"""Bundles of code objects, which are compiled without a driver or a GPU, and fit the devices of one architecture."""

from __future__ import annotations

import pytest

import tilecore
from tilecore.cli import main
from tilecore.errors import LaunchError
from tilecore.plugins import manager

KERNEL = """
import tilecore.language as T


@T.prim_func
def twice(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            B[i] = 2 * A[i]
"""


def fit(compiled_for, wanted):
    backend, resolved = manager.resolve(wanted)
    return backend.adapters["hip"].fit(manager.resolve(compiled_for)[1], resolved)


def test_a_code_object_fits_its_own_architecture():
    assert fit("hip -arch=gfx942", "hip -arch=gfx942") > 0
    assert fit("hip -arch=gfx942", "hip -arch=gfx950") == 0
    assert fit("hip -arch=gfx1100 -wave=32", "hip -arch=gfx1100 -wave=64") == 0


def test_a_bundle_of_code_objects(arch, tmp_path, monkeypatch):
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "bundled_hip.py").write_text(KERNEL)
    words = ["compile", str(tmp_path / "bundled_hip.py"), "--target", f"hip -arch={arch}"]
    with pytest.raises(SystemExit) as ended:
        main([*words, "-o", str(tmp_path / "k.tcb")])
    assert ended.value.code == 0
    bundle = tilecore.load_bundle(tmp_path / "k.tcb")
    artifact = bundle._file.artifact(bundle.kernels[0])
    assert artifact.binary_format == "hsaco"
    assert artifact.binary[:4] == b"\x7fELF"
    with pytest.raises(LaunchError, match="for hip -arch="):
        bundle.find("twice", target="hip -arch=gfx90a" if arch != "gfx90a" else "hip -arch=gfx942")
