"""Kernels from the cache in a fresh process: without TVM where nothing changed, and anew where something did."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tilecore

PACKAGE = Path(tilecore.__file__).parent

# one kernel for each thing that one can change
MODULE = """
import tilecore
import tilecore.language as T
from helping import bonus

SCALE = 3

def times(x):
    return x * 3

def adder(n, change):
    @T.prim_func
    def kernel(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(n):
                B[i] = change(A[i])
    return kernel

jit = tilecore.jit(out_idx=-1, target="cpu")

@jit
def by_global(n):
    return adder(n, lambda x: x * SCALE)

@jit
def by_helper(n):
    return adder(n, times)

@jit
def by_module(n):
    return adder(n, lambda x: x + bonus())

@jit
def by_default(n, amount=10):
    return adder(n, lambda x: x + amount)

def made_by(offset):
    @jit
    def by_closure(n):
        return adder(n, lambda x: x + offset)
    return by_closure

by_closure = made_by(7)

@tilecore.jit(target="cpu")
def eager(A, amount=10, shift: T.int32 = 0):
    N = T.const("N")
    A: T.Tensor((N,), T.int32)
    B = T.empty((N,), T.int32)
    with T.Kernel(1):
        for i in T.Parallel(N):
            B[i] = times(A[i]) + SCALE + amount + shift
    return B
"""
HELPING = "def bonus():\n    return 100\n"

PROGRAM = """
import sys
import numpy as np
import kernels
a = np.arange(4, dtype=np.int32)
lazy = [kernels.by_global, kernels.by_helper, kernels.by_module, kernels.by_default, kernels.by_closure]
results = [factory(4)(a) for factory in lazy] + [kernels.eager(a), kernels.eager(a, shift=5)]
print(*[int(r[1]) for r in results], *[m for m in ("tvm", "torch") if m in sys.modules])
"""
VALUES = [3, 3, 101, 11, 8, 16, 21]


class Site:
    """A folder with the modules, a cache, and a copy of tilecore, whose files are part of the keys: nobody edits it."""

    def __init__(self, folder: Path, package: Path | None = None) -> None:
        self.folder = folder / "site"
        self.cache = folder / "cache"
        self.folder.mkdir()
        self.package = package or folder / "package"
        if package is None:
            shutil.copytree(PACKAGE, self.package / "tilecore")
        self.write(MODULE, HELPING)

    def write(self, module: str, helping: str) -> None:
        (self.folder / "kernels.py").write_text(module)
        (self.folder / "helping.py").write_text(helping)

    def run(self, program: str = PROGRAM, **environment: str | None) -> tuple[str, str]:
        """What the program prints, on stdout and on stderr."""
        settings = {k: v for k, v in os.environ.items() if not k.startswith("TILECORE_")}
        settings["PYTHONPATH"] = f"{self.package}{os.pathsep}{self.folder}"
        settings["TILECORE_CACHE_DIR"] = str(self.cache)
        changed = {k: v for k, v in (settings | environment).items() if v is not None}
        command = [sys.executable, "-B", "-c", program]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120, env=changed)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout, ended.stderr

    def values(self, **environment: str) -> tuple[list[int], list[str]]:
        """What the kernels give, and which of TVM and torch were imported."""
        words = self.run(**environment)[0].split()
        return [int(word) for word in words[:7]], words[7:]


WARM: list[str] = []
COLD = ["tvm"]  # which does not bring torch (tilecore.ir.without_torch)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Its kernels are in the cache: compiled by par_compile and by calls."""
    new_site = Site(tmp_path_factory.mktemp("fresh"))
    new_site.run(
        "import numpy as np, kernels\n"
        "for factory in (kernels.by_global, kernels.by_helper, kernels.by_default):\n"
        "    factory.par_compile([{'n': 4}, (8,)])\n"
        "a = np.arange(4, dtype=np.int32)\n"
        "kernels.eager.par_compile([{'A': a}])\n"
        "kernels.by_module(4), kernels.by_closure(4)\n"
    )
    return new_site


def test_a_hit_needs_neither_tvm_nor_torch(site):
    assert site.values() == (VALUES, WARM)


def test_hash_seed_file_and_lines_do_not_count(site, tmp_path):
    moved = Site(tmp_path, site.package)
    moved.cache = site.cache
    moved.write("# a line more\n" * 9 + MODULE, "\n" + HELPING)
    assert moved.values(PYTHONHASHSEED="7") == (VALUES, WARM)


def test_what_changed_is_compiled_anew(site):
    changed = MODULE
    for old, new in (("SCALE = 3", "SCALE = 4"), ("x * 3", "x * 5"), ("amount=10)", "amount=20)"), ("by(7)", "by(8)")):
        assert old in changed
        changed = changed.replace(old, new)
    values = [4, 5, 201, 21, 9, 19, 24]
    site.write(changed, HELPING.replace("100", "200"))
    try:
        assert site.values() == (values, COLD)
        assert site.values() == (values, WARM)
    finally:
        site.write(MODULE, HELPING)
    assert site.values() == (VALUES, WARM), "as it was"


def test_without_a_home_kernels_work_and_one_warning_says_what_to_do(site, tmp_path):
    """As for a user that the system does not know; TVM asks for a home when it is imported."""
    program = (
        "import os\nos.path.expanduser = lambda path: path\nos.chdir(os.environ['HERE'])\n"
        "import numpy as np, kernels\na = np.arange(4, dtype=np.int32)\n"
        "print(kernels.by_global(4)(a)[1], kernels.by_helper(4)(a)[1], 'XDG_CACHE_HOME' in os.environ)\n"
    )
    folders = {"HOME": None, "TILECORE_CACHE_DIR": None, "XDG_CACHE_HOME": None, "HERE": str(tmp_path)}
    output, errors = site.run(program, **folders)
    assert output == "3 3 False\n"
    assert errors.count("CacheWarning") == 1
    assert "no home directory is known" in errors
    assert os.listdir(tmp_path) == []
