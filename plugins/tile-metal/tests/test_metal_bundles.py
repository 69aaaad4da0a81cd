"""Bundles of programs in MSL: which Macs each fits; they are compiled on the Mac that runs them."""

from __future__ import annotations

import pytest
from tile_metal.target import fit

import tilecore
from tilecore.cli import main
from tilecore.plugins import manager


def rank(compiled_for, wanted):
    return fit(manager.resolve(compiled_for)[1], manager.resolve(wanted)[1])


def test_families_and_versions_are_upward_compatible():
    mac = "metal -family=apple9 -msl=3.2"
    assert rank(mac, mac) > rank("metal -family=apple8 -msl=3.2", mac) > rank("metal -family=apple8 -msl=3.1", mac) > 0
    assert rank("metal -family=apple10 -msl=3.2", mac) == 0
    assert rank("metal -family=apple9 -msl=4.0", mac) == 0
    assert rank("metal -family=apple9 -msl=3.2 -index=64", mac) == 0


def test_a_bundle_of_text(tmp_path, monkeypatch):
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "bundled_metal.py").write_text(
        "import tilecore\nimport tilecore.language as T\n\n\n@T.prim_func\n"
        "def twice(A: T.Tensor((64,), 'float32'), B: T.Tensor((64,), 'float32')):\n"
        "    with T.Kernel(1, threads=32):\n        for i in T.Parallel(64):\n            B[i] = 2 * A[i]\n"
    )
    words = ["compile", tmp_path / "bundled_metal.py", "--target", "metal -family=apple7,apple9"]
    with pytest.raises(SystemExit) as ended:
        main([*map(str, words), "-o", str(tmp_path / "k.tcb")])
    assert ended.value.code == 0
    bundle = tilecore.load_bundle(tmp_path / "k.tcb")
    assert [record.target.split()[1] for record in bundle.kernels] == ["-family=apple7", "-family=apple9"]
    artifact = bundle._file.artifact(bundle.kernels[0])
    assert artifact.binary_format == "msl"
    assert f"void {artifact.entries[0].symbol}(" in artifact.source
    assert artifact.entries[0].symbol.startswith("twice_kernel_64_64_f32_"), "name, sizes, types, hash"
