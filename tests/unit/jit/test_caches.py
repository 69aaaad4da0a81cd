"""Kernels and the caches in one process: what decides the key, what does not, and a cache in trouble."""

from __future__ import annotations

import shutil
import warnings
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.cache import CacheWarning
from tilecore.jit.argument_key import are_compared, key_of
from tilecore.jit.compile import _kernels
from tilecore.jit.impl import JITImpl
from tilecore.jit.request import ir_key, make_request

compilation = import_module("tilecore.jit.compile")  # the package has a function of that name
settings_of_compilation = import_module("tilecore.jit.request")


def adder(amount):
    @T.prim_func
    def add(A: T.Tensor((8,), "int32"), B: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(8):
                B[i] = A[i] + amount

    return add


@tilecore.jit(target="cpu", out_idx=-1)
def factory(amount):
    return adder(amount)


def added(kernel):
    return int(kernel(np.zeros(8, np.int32))[0])


@pytest.fixture(autouse=True)
def no_kernels_of_other_tests():
    factory.forget_kernels()


@pytest.fixture
def compiled(monkeypatch):
    """Names of what was compiled."""
    seen = []
    real = compilation.build
    monkeypatch.setattr(compilation, "build", lambda func, request: seen.append(func) or real(func, request))
    return seen


def forget():
    _kernels.clear()
    factory.forget_kernels()


# -- hits ---------------------------------------------------------------------------------------------------------


def test_one_kernel_object_in_a_process(compiled):
    kernel = tilecore.compile(adder(1), target="cpu")
    assert tilecore.compile(adder(1), target="cpu") is kernel
    assert tilecore.compile(adder(1), target="llvm") is kernel, "another name of the target"
    assert tilecore.compile(adder(1), target=tilecore.Target("cpu"), out_idx=[]) is kernel
    assert not kernel.from_cache
    assert len(compiled) == 1


def test_the_factory_does_not_run_where_the_source_is_known(monkeypatch):
    assert not factory(1).from_cache
    forget()
    with monkeypatch.context() as patch:
        patch.setattr(JITImpl, "get_tir", lambda *a, **k: pytest.fail("the factory ran"))
        kernel = factory(1)
    assert kernel.from_cache
    assert added(kernel) == 1
    assert "def add(" in str(kernel.prim_func.script()), "built when asked for"


def test_a_kernel_compiled_otherwise_is_found_by_its_ir(compiled):
    tilecore.compile(adder(1), target="cpu", out_idx=-1)
    forget()
    assert factory(1).from_cache
    assert len(compiled) == 1


def test_switched_off(monkeypatch, tmp_path, compiled):
    monkeypatch.setenv("TILECORE_DISABLE_CACHE", "1")
    for _ in range(2):
        forget()
        assert not factory(1).from_cache
    assert len(compiled) == 2
    assert not (tmp_path / "cache").exists()
    monkeypatch.delenv("TILECORE_DISABLE_CACHE")
    tilecore.disable_cache()
    try:
        forget()
        assert not factory(1).from_cache
        assert not (tmp_path / "cache").exists()
    finally:
        tilecore.enable_cache()
    forget()
    factory(1)
    forget()
    assert factory(1).from_cache


# -- keys ---------------------------------------------------------------------------------------------------------


def key(func=None, **options):
    return ir_key((func or adder(1)).ir, make_request(target=options.pop("target", "cpu"), **options))


def test_what_decides_the_key():
    fast = tilecore.PassConfigKey.TL_ENABLE_FAST_MATH
    keys = [
        key(),
        key(adder(2)),
        key(target="cpu -march=generic"),
        key(target="cpu -march=generic -vector_bits=256"),
        key(target="cpu -vector_bits=128"),
        key(target="cpu -model=other"),
        key(target="cpu -cache_bytes=1"),
        key(out_idx=-1),
        key(out_idx=0),
        key(out_idx=[0, 1]),
        key(out_idx=[1, 0]),
        key(pass_configs={fast: True}),
        key(pass_configs={fast: False}),
        key(pass_configs={fast: 1}),
        key(compile_flags="-a"),
        key(compile_flags=["-a", "-b"]),
        key(compile_flags=["-b", "-a"]),
        key(compile_flags=["-a -b"]),
    ]
    assert len(set(keys)) == len(keys)


def test_what_does_not():
    same = [
        key(target="llvm"),
        key(target={"kind": "cpu"}),
        key(verbose=True),
        key(debug_root_path="elsewhere"),
        key(execution_backend="native"),
        key(target_host="llvm"),
        key(pass_configs={}),
        key(compile_flags=[]),
    ]
    assert set(same) == {key()}
    simplify, fast_math = tilecore.PassConfigKey.TL_SIMPLIFY, tilecore.PassConfigKey.TL_ENABLE_FAST_MATH
    assert key(pass_configs={simplify: 1, fast_math: 2}) == key(pass_configs={str(fast_math): 2, str(simplify): 1})


def test_arguments_that_a_function_can_tell_apart_have_keys_of_their_own():
    first, second = {8, 16}, {16, 8}  # their order differs, as theirs in CPython does
    assert (list(first) == list(second)) == (key_of(first) == key_of(second))
    assert key_of({1, 2}) == key_of({1, 2})
    assert are_compared(key_of({1, 2}))


def test_versions_and_toolchains_are_part_of_the_key(monkeypatch):
    request = make_request(target="cpu")
    plain = ir_key(adder(1).ir, request)
    for change in ({"version": "0.0.1"}, {"package": "tile-other"}):
        other = replace(request, backend=replace(request.backend, **{"package": "tile-x", "version": "1", **change}))
        assert ir_key(adder(1).ir, other) != plain
    tools = replace(request.backend.toolchain, version=lambda target: "13.1")
    assert ir_key(adder(1).ir, replace(request, backend=replace(request.backend, toolchain=tools))) != plain
    versions = {"tilecore": "9", "apache-tvm": "1", "apache-tvm-ffi": "1"}
    monkeypatch.setattr(settings_of_compilation, "versions_for_key", lambda *args: versions)
    assert ir_key(adder(1).ir, request) != plain


def test_places_in_the_source_do_not_count(tmp_path):
    """Compiled in another order, from another file and line, with other things compiled before."""
    text = (
        "import tilecore.language as T\n"
        "@T.prim_func\n"
        "def add(A: T.Tensor((8,), 'int32'), B: T.Tensor((8,), 'int32')):\n"
        "    with T.Kernel(1):\n"
        "        for i in T.Parallel(8):\n"
        "            B[i] = A[i] + 1\n"
    )
    keys = set()
    for number, above in enumerate(("", "\n\n# more\n")):
        path = tmp_path / f"file{number}.py"
        path.write_text(above + text)
        names: dict = {"__name__": f"module{number}"}
        exec(compile(path.read_text(), str(path), "exec"), names)
        adder(50 + number).script()
        keys.add(key(names["add"]))
    assert keys == {key()}


# -- trouble ------------------------------------------------------------------------------------------------------


def warned(work):
    """The result of ``work``, and what the cache warned of meanwhile."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = work()
    assert all(w.category is CacheWarning for w in caught), [str(w.message) for w in caught]
    return result, [str(w.message) for w in caught]


def test_a_cache_that_cannot_be_written_gives_one_warning(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path / "file" / "cache"))
    kernels, texts = warned(lambda: [factory(n) for n in (91, 92, 91)])
    assert [added(k) for k in kernels] == [91, 92, 91]
    assert len(texts) == 1
    assert "TILECORE_CACHE_DIR" in texts[0]


def test_damaged_entries_are_set_aside_and_built_again(tmp_path, compiled):
    factory(1)
    entries = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert len(entries) >= 2, "the entry, and the link that leads to it from the source"
    for path in entries:
        forget()
        path.chmod(0o600)
        path.write_bytes(path.read_bytes()[:-20] + bytes(20))
        kernel, texts = warned(lambda: factory(1))
        assert added(kernel) == 1
        assert len(texts) <= 1
        forget()
        kernel, texts = warned(lambda: factory(1))
        assert (kernel.from_cache, texts) == (True, [])
    assert len(compiled) == 2, "once at first, once for the damaged entry"


def test_a_cache_that_vanishes_is_made_again(tmp_path):
    factory(1)
    shutil.rmtree(tmp_path / "cache")
    forget()
    kernel, texts = warned(lambda: factory(1))
    assert (added(kernel), texts) == (1, [])
    forget()
    assert factory(1).from_cache


def test_the_cache_stays_within_its_size(tmp_path, monkeypatch):
    """Two or three pages of disk a kernel, of which 12 do not fit."""
    monkeypatch.setenv("TILECORE_CACHE_SIZE", "80K")
    for number in range(12):
        factory(number)
    blocks = sum((path.stat().st_size + 4095) // 4096 for path in (tmp_path / "cache").rglob("*") if path.is_file())
    assert 5 <= blocks <= 25
    forget()
    assert factory(11).from_cache, "the last one is there"
    assert not factory(0).from_cache, "the first one went"


def test_keys_of_a_function_share_their_parts():
    """Kernels of one function differ in few of its arguments."""

    @tilecore.jit(target="cpu", out_idx=-1)
    def scaled_sum(amount, factor=2, name="sum"):
        return adder(amount * factor)

    kernels = [scaled_sum(amount) for amount in (1, 2)]
    assert [added(kernel) for kernel in kernels] == [2, 4]
    assert [scaled_sum(amount) for amount in (1, 2)] == kernels
    first, second = (arguments for arguments, _ in scaled_sum._kernels)
    assert first != second
    assert first[1] is second[1]
    assert first[2] is second[2]
    assert scaled_sum(1, True) is not kernels[0]
    scaled_sum.forget_kernels()
    assert not scaled_sum._key_parts
