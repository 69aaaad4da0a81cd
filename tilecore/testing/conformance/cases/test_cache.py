"""Kernels from the cache: in another process, after changes, after damage, and in two processes at once."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import tilecore
from tilecore import settings
from tilecore.errors import TargetError
from tilecore.jit.compile import _kernels
from tilecore.jit.request import ir_key, make_request
from tilecore.plugins import manager

from .fresh_process import finish, start
from .kit import compiled, same
from .on_device import bare, ready

MODULE = """
import tilecore
import tilecore.language as T


def made(n, fast=False):
    @T.prim_func
    def cached_kernel(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 32), threads=32) as b:
            for i in T.Parallel(32):
                if b * 32 + i < n:
                    Y[b * 32 + i] = X[b * 32 + i] * 2 + 1  # changes
    return cached_kernel


def factory(target):
    return tilecore.jit(target=target)(made)
"""
PROGRAM = """
import cached_kernels
kernel = cached_kernels.factory(sys.argv[1])(SIZE)
x, y = np.arange(SIZE, dtype=np.float32), np.zeros(SIZE, np.float32)
ready(kernel)(x, y)
print(json.dumps({
    "from_cache": kernel.from_cache, "right": bool((y == x * 2 + 1).all()), "source": digest(kernel),
    "heavy": [name for name in ("tvm",) if name in sys.modules],
}))
"""
FAST = tilecore.PassConfigKey.TL_ENABLE_FAST_MATH


def forget():
    """As in a process that has compiled nothing."""
    _kernels.clear()


def load(folder: Path, text: str = MODULE):
    """The kernels of a file."""
    path = folder / "cached_kernels.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("cached_kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def entries() -> set[Path]:
    """The files of kernels."""
    return {path for path in Path(str(settings.cache_dir())).rglob("*") if path.is_file() and "entries" in path.parts}


def checked(kernel, change=1.0):
    kernel = ready(bare(kernel))
    (n,) = kernel.params[0].shape
    x, y = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    kernel(x, y)
    same(y, x * 2 + np.float32(change))
    return kernel


def digest(kernel):
    return hashlib.sha256(kernel.get_kernel_source().encode()).hexdigest()


def test_other_processes(target, tmp_path):
    """Two at once compile, each for itself and both right; a third, and this one, find what they left."""
    size = 100
    compiled(load(tmp_path).made(size - 1), target)  # skips what is not declared
    (tmp_path / "cached_kernels.py").write_text(MODULE)
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    program = PROGRAM.replace("SIZE", str(size))
    before = entries()
    both = [start(program, str(target), PYTHONPATH=path) for _ in range(2)]
    reports = [json.loads(finish(process)) for process in both]
    assert len(entries() - before) == 1, "they disagree on the kernel's key"
    assert [report["from_cache"] for report in reports] != [True, True], "nobody compiled it"
    reports.append(json.loads(finish(start(program, str(target), PYTHONPATH=path))))
    assert reports[2]["from_cache"]
    assert reports[2]["heavy"] == [], "a kernel from the cache needs no TVM"
    assert all(report["right"] for report in reports)
    mine = load(tmp_path).factory(str(target))(size)
    assert mine.from_cache
    assert {digest(checked(mine))} == {report["source"] for report in reports}


def test_what_changed_is_another_entry(target, tmp_path):
    """A line of the kernel, a pass configuration; and back: from the cache, with its own result."""
    size = 101
    changed = MODULE.replace("* 2 + 1", "* 2 + 3")
    variants = [(MODULE, {}, 1), (changed, {}, 3), (MODULE, {"pass_configs": {FAST: True}}, 1)]
    compiled(load(tmp_path).made(size), target)
    before = entries()
    for is_known in (False, True):
        for number, (text, options, change) in enumerate(variants):
            forget()
            kernel = tilecore.compile(load(tmp_path, text).made(size), target=str(target), **options)
            assert kernel.from_cache == (is_known or number == 0)
            checked(kernel, change)
    assert len(entries() - before) == len(variants) - 1


def other_targets(target):
    """The target with one attribute changed, for each that can be; not those that the execution backend sets."""
    backend, resolved = manager.resolve(str(target))
    adapter = target.adapter()
    compiled_for = (lambda other: other) if adapter is None else adapter.target
    for name, spec in backend.target.attributes.items():
        value = resolved.get(name)
        tries = [*spec.choices, *([not value] if isinstance(value, bool) else [])]
        tries += [value + 1, value * 2] if isinstance(value, int) and not isinstance(value, bool) else []
        for other in tries:
            if other == value:
                continue
            try:
                _, changed = manager.resolve(resolved.with_attributes(**{name: other}))
                is_other = compiled_for(changed) != compiled_for(resolved)
            except TargetError:  # the hardware has no such thing
                continue
            if is_other:
                yield changed
                break


def test_attributes_of_the_target_are_in_the_key(target, tmp_path):
    others = list(other_targets(target))
    if not others:
        pytest.skip("it has no attribute that is a number, a flag or a choice")
    ir = load(tmp_path).made(100).ir
    keys = {ir_key(ir, make_request(target=name)) for name in (str(target), *others)}
    assert len(keys) == len(others) + 1
    assert keys == {ir_key(ir, make_request(target=name)) for name in (str(target), *others)}, "the same each time"


DAMAGES = {
    "cut": lambda data: data[: len(data) * 2 // 3],
    "empty": lambda data: b"",
    "a bit": lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 4]) + data[len(data) // 2 + 1 :],
    "text": lambda data: b"hello",
}


def test_damaged_entries_are_compiled_anew(target, tmp_path):
    reloaded = load(tmp_path).made(102)
    before = entries()
    source = digest(checked(compiled(reloaded, target)))
    (entry,) = entries() - before
    for name, damage in DAMAGES.items():
        entry.chmod(0o600)
        entry.write_bytes(damage(entry.read_bytes()))
        for is_known in (False, True):
            forget()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                kernel = tilecore.compile(reloaded, target=str(target))
            assert kernel.from_cache == is_known, f"{name}: {'not written anew' if is_known else 'taken'}"
            assert digest(checked(kernel)) == source
