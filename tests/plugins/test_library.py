"""What backends may import: the list is true, and the backends of this repository import nothing else."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from library_page import entries

from tilecore.contract.library import LIBRARY, public_names
from tilecore.plugins.private_imports import private_imports

ROOT = Path(__file__).parents[2]
BACKENDS = sorted(
    path.parent
    for pattern in ("plugins/*/*/plugin.py", "examples/backends/*/*/plugin.py")
    for path in ROOT.glob(pattern)
)


def test_every_public_name_is_there_and_documented():
    listed = list(entries())
    assert len(listed) > 250
    ours = [(short, name, value) for _, short, name, value in listed if short not in ("", "ir.nodes")]
    callables = [
        (short, name, value) for short, name, value in ours if inspect.isclass(value) or inspect.isroutine(value)
    ]
    assert not [f"{short}.{name}" for short, name, value in callables if not inspect.getdoc(value)]


def test_a_module_is_listed_once():
    modules = [short for group in LIBRARY for short, _ in group.modules]
    assert len(modules) == len(set(modules))


def test_the_backends_here_are_found():
    assert {"tile_cuda", "tile_hip", "tile_tpu", "tile_opencl"} <= {path.name for path in BACKENDS}


@pytest.mark.parametrize("package", BACKENDS, ids=lambda path: path.name)
def test_backends_import_public_names_only(package: Path):
    assert not [str(entry) for entry in private_imports(package)]


def test_the_example_of_an_emitter_imports_public_names_only():
    folder = ROOT / "examples" / "emitters"
    assert list(folder.glob("*.py"))
    assert not [str(entry) for entry in private_imports(folder)]


PAGES = ["backend-quickstart.md", "write-a-backend.md", "versions.md", "simt.md", "testing-without-hardware.md"]


def test_the_pages_for_authors_of_backends_import_public_names_only(tmp_path):
    pages = [*sorted((ROOT / "docs" / "hooks").glob("*.md")), *(ROOT / "docs" / name for name in PAGES)]
    blocks = [
        block for page in pages for block in re.findall(r"^```python[^\n]*\n(.*?)^```", page.read_text(), re.S | re.M)
    ]
    assert len(blocks) > 20
    for number, block in enumerate(blocks):
        (tmp_path / f"block_{number}.py").write_text(block)
    assert not [str(entry) for entry in private_imports(tmp_path)]


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("from tilecore.ir.build import const, secret", ["tilecore.ir.build.secret"]),
        ("from tilecore.ir.build import _field", ["tilecore.ir.build._field"]),
        ("from tilecore.ir import build", []),
        ("from tilecore.lowering.simt import bind_threads", ["tilecore.lowering.simt.bind_threads"]),
        ("import tilecore.jit.compile", ["tilecore.jit.compile"]),
        ("import tilecore\nfrom tilecore.contract.records import Target, Whatever", []),
        ("def late():\n    from tilecore.jit.kernel import JITKernel", ["tilecore.jit.kernel.JITKernel"]),
        ("import tilecore.testing.null_backend\nfrom tilecore.testing import host", []),
        ("import tilecore.language as T\nfrom tilecore.language import conversions", []),
        ("from tilecore.language.loops import LoopSpec", ["tilecore.language.loops.LoopSpec"]),
        ("from tilecores import x\nimport numpy\nfrom . import tilecore", []),
        ("def broken(:", []),
    ],
)
def test_private_imports_are_seen(code: str, names: list[str], tmp_path: Path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "module.py").write_text(code)
    listed = private_imports(tmp_path)
    assert [entry.name for entry in listed] == names
    assert all(str(entry).startswith("inner/module.py:") for entry in listed)


def test_modules_that_are_public_as_a_whole():
    assert public_names("tilecore.errors") is None
    assert public_names("tilecore.testing.host") is None
    assert public_names("tilecore.jit.compile") == frozenset()
    assert "const" in (public_names("tilecore.ir.build") or ())
