"""Which copy of the HIP runtime is opened."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tile_hip import compilers, libraries


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Folders of torch and of ROCm with a libamdhip64 each, which is no library."""
    for name in ("torch/lib", "rocm/lib"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.delenv("TILE_HIP_RUNTIME", raising=False)
    monkeypatch.setattr(compilers, "roots", lambda: [tmp_path / "rocm"])
    monkeypatch.setattr(libraries, "torch_folders", lambda: [tmp_path / "torch" / "lib"])
    return tmp_path


def test_the_order(places):
    (places / "torch/lib/libamdhip64.so").touch()
    (places / "rocm/lib/libamdhip64.so.6").touch()
    (places / "rocm/lib/libamdhip64.so.7").touch()
    files = [name.removeprefix(f"{places}/") for name in libraries.candidates()]
    assert files[:3] == ["torch/lib/libamdhip64.so", "rocm/lib/libamdhip64.so.7", "rocm/lib/libamdhip64.so.6"]
    assert files[3:] == list(libraries.NAMES)


def test_files_that_are_no_libraries(places, monkeypatch):
    monkeypatch.setattr(libraries, "NAMES", ("libamdhip64.so",))
    (places / "torch/lib/libamdhip64.so").write_text("no library")
    with pytest.raises(libraries.RuntimeMissing, match=r"cannot be opened: .*torch/lib/libamdhip64.so \("):
        libraries.open_runtime()
    (places / "torch/lib/libamdhip64.so").unlink()
    with pytest.raises(libraries.RuntimeMissing, match="there is no HIP runtime"):
        libraries.open_runtime()


def test_the_copy_that_is_loaded_comes_first(fake, tmp_path):
    """A process that has loaded a copy, as by importing torch, gets that copy again."""
    code = (
        "import ctypes, shutil, sys; from tile_hip import libraries\n"
        "assert libraries.loaded_runtime() == ''\n"
        "path = shutil.copy(sys.argv[1], sys.argv[2] + '/libamdhip64.so.6')\n"
        "loaded = ctypes.CDLL(path)\n"
        "library, name = libraries.open_runtime()\n"
        "assert name == path == libraries.loaded_runtime(), name\n"
        "assert library._handle == loaded._handle\n"
    )
    environment = {"PATH": "", "PYTHONPATH": ":".join(sys.path)}
    subprocess.run([sys.executable, "-c", code, fake.path, str(tmp_path)], check=True, env=environment)


def test_torch_is_not_imported(monkeypatch):
    code = "import sys; from tile_hip import libraries; libraries.torch_folders(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PATH": "", "PYTHONPATH": ":".join(sys.path)})
