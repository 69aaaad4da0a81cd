"""source_key: equal keys only where running the factory would build the same kernel, and a key where it can be had."""

from __future__ import annotations

import itertools
import os
import sys
import textwrap

import pytest
from fresh_processes import HEAVY, imported_by, output_of, run_code

from tilecore.compilation_cache.source import definitions
from tilecore.compilation_cache.source_key import source_key


def key(function, *args, **kwargs):
    source = source_key(function, args, kwargs)
    return None if source is None else source.digest


MATMUL = """
    import math
    import tilecore.language as T
    from tilecore.dtypes import dtype as DType

    WARPS = 4
    SHAPES = {"small": (16, 16), "large": (128, 128)}

    def panel(n):
        return math.ceil(n / WARPS)

    def matmul(M, N, K, block=64, dtype="float16", *, trans=False):
        rows = [panel(i) for i in range(M)]
        bm, bn = SHAPES["small" if dtype.startswith("float") else "large"]
        label = f"{M}x{N}"

        @T.prim_func
        def main(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), "float32")):
            with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=WARPS * 32) as (bx, by):
                A_s = T.alloc_shared((block, bm), dtype)
                acc = T.alloc_fragment((block, bn), T.float32)
                T.clear(acc)
                for k in T.Pipelined(T.ceildiv(K, bm), num_stages=2):
                    T.copy(A[by * block, k * bm], A_s)
                    if trans:
                        T.gemm(A_s, A_s, acc, policy=T.GemmWarpPolicy.FullRow)
                T.copy(acc, C[by * block, bx * block])

        return main
"""


def test_a_factory_has_a_key_and_it_is_a_sha256(load_module):
    digest = key(load_module(MATMUL).matmul, 1, 2, 3)
    assert len(digest) == 64
    assert not digest.strip("0123456789abcdef")


def test_the_key_ignores_path_line_numbers_and_module_name(load_module):
    first = load_module(MATMUL).matmul
    moved = load_module("# a comment\n\nUNUSED = 3\n\n\n" + textwrap.dedent(MATMUL)).matmul
    assert key(first, 1, 2, 3) == key(moved, 1, 2, 3)


def test_arguments_count_by_value_however_they_are_passed(load_module):
    matmul = load_module(MATMUL).matmul
    base = key(matmul, 1, 2, 3)
    assert key(matmul, 1, N=2, K=3) == base
    assert key(matmul, 1, 2, 3, 64) == base  # the default, given
    assert key(matmul, 1, 2, 3, block=64, trans=False) == base
    different = [
        key(matmul, 1, 2, 4),
        key(matmul, 1, 2, 3, 128),
        key(matmul, 1, 2, 3, trans=True),
        key(matmul, 1, 2, 3, trans=1),
        key(matmul, 1.0, 2, 3),
        key(matmul, True, 2, 3),
        key(matmul, 1, 2, 3, dtype="bfloat16"),
    ]
    assert None not in different
    assert len({base, *different}) == len(different) + 1


def test_sets_that_change_and_those_that_do_not_are_told_apart(load_module):
    module = load_module("def make(x):\n    return type(x).__name__\n")
    keys = [key(module.make, value) for value in ({1}, frozenset({1}), {2}, [1], (1,))]
    assert None not in keys
    assert len(set(keys)) == len(keys)


def test_arguments_that_do_not_fit_give_no_key(load_module):
    matmul = load_module(MATMUL).matmul
    assert key(matmul, 1) is None
    assert key(matmul, 1, 2, 3, 4, 5, 6) is None
    assert key(matmul, 1, 2, 3, M=4) is None
    assert key(matmul, 1, 2, 3, unknown=4) is None


def test_any_change_of_the_text_changes_the_key(load_module):
    base = key(load_module(MATMUL).matmul, 1, 2, 3)
    for old, new in [("num_stages=2", "num_stages=3"), ("T.float32)", "T.float16)"), ("n / WARPS", "n // WARPS")]:
        assert old in MATMUL
        changed = key(load_module(MATMUL.replace(old, new)).matmul, 1, 2, 3)
        assert changed is not None
        assert changed != base


def test_a_body_annotation_counts_though_python_never_evaluates_it(load_module):
    text = """
        import tilecore.language as T
        SIZE = 64
        def kernel(A, B):
            A: T.Tensor[[128, SIZE], T.float16]
            return A
    """
    module = load_module(text)
    base = key(module.kernel, 1, 2)
    assert base is not None
    assert key(load_module(text.replace("float16", "float32")).kernel, 1, 2) != base
    module.SIZE = 32
    assert key(module.kernel, 1, 2) != base


def test_made_by_exec_without_source_gives_no_key():
    space = {}
    exec("def f(): return 1", space)
    assert key(space["f"]) is None


def test_unknown_arguments_give_no_key(load_module):
    f = load_module("def f(x): return x").f
    for value in (os.environ, iter([1]), sys, open, {"a", "b"}, [sys.stdout], {"x": sys.stdin}):
        assert key(f, value) is None
    loop = []
    loop.append(loop)
    assert key(f, loop) is not None  # it refers to itself, which can be said


def test_a_deeply_nested_argument_gives_no_key_rather_than_an_error(load_module):
    deep = []
    for _ in range(5000):
        deep = [deep]
    assert key(load_module("def f(x): return x").f, deep) is None


def test_closures_are_described_by_their_cells(load_module):
    text = """
        def outer(n, table, late=True):
            def f(): return n, table, later
            if late:
                later = 1
            return f
    """
    m = load_module(text)
    table = [1]
    f = m.outer(1, table)
    base = key(f)
    assert base is not None
    assert key(m.outer(1, [1])) == base
    assert key(m.outer(2, [1])) != base
    assert key(m.outer(1, [1], late=False)) not in (base, None)
    table.append(2)
    assert key(f) != base


def test_super_and_unnamed_cells_are_followed(load_module):
    m = load_module(
        """
        class B:
            n = 1
            def m(self): return self.n
        class C(B):
            def m(self): return super().m()
        c = C()
        def f(): return c.m()
        """
    )
    base = key(m.f)
    assert base is not None
    m.B.n = 2
    assert key(m.f) != base


def test_a_cell_that_no_name_reads_is_followed(load_module):
    m = load_module(
        """
        class B:
            n = 1
        class C(B):
            def m(self): return super().n
        """
    )
    base = key(m.C.m, 1)
    assert base is not None
    m.B.n = 2
    assert key(m.C.m, 1) not in (base, None)


def test_nonlocal_names_are_read_where_they_are_rebound(load_module):
    m = load_module(
        """
        class C:
            x = 1
            y = 1
        def outer(c):
            def f():
                def g():
                    nonlocal c
                    got, c = c.y, None
                    return got
                return c.x, g
            return f
        """
    )
    f = m.outer(m.C)
    base = key(f)
    assert base is not None
    m.C.y = 2
    assert key(f) not in (base, None)


def test_attributes_of_user_modules_are_read_by_value(load_module):
    config = load_module("BLOCK = 64\nOTHER = 1\nclass Deep:\n x = 1\n", name="user_config_module")
    m = load_module("import user_config_module as cfg\ndef f(): return cfg.BLOCK, cfg.Deep.x")
    base = key(m.f)
    assert base is not None
    config.OTHER = 2
    assert key(m.f) == base
    config.BLOCK = 32
    changed = key(m.f)
    assert changed not in (base, None)
    config.BLOCK, config.Deep.x = 64, 5
    assert key(m.f) not in (base, changed, None)
    del config.BLOCK
    assert key(m.f) is None
    config.BLOCK = open
    assert key(m.f) is None


def test_what_a_module_computes_is_not_read_by_value(load_module):
    config = load_module("BLOCK = 64\ndef __getattr__(name): return 3\n", name="user_computing_module")
    m = load_module("import user_computing_module as cfg\ndef f(): return cfg.BLOCK\ndef g(): return cfg.OTHER")
    assert key(m.f) is not None
    assert key(m.g) is None

    class Computing(type(config)):
        @property
        def BLOCK(self):
            return 5

    config.__class__ = Computing
    assert key(m.f) is None


def test_a_module_imported_inside_the_function_is_read_by_value(load_module):
    config = load_module("BLOCK = 64\n", name="user_inner_module")
    m = load_module("def f():\n import user_inner_module\n return user_inner_module.BLOCK")
    n = load_module("def f():\n from user_inner_module import BLOCK as b\n return b")
    before = key(m.f), key(n.f)
    assert None not in before
    config.BLOCK = 32
    assert key(m.f) not in (before[0], None)
    assert key(n.f) not in (before[1], None)


def test_a_patched_tilecore_function_is_noticed(load_module, monkeypatch):
    import tilecore.dtypes

    m = load_module("import tilecore.dtypes as D\ndef f(): return D.canonical_name('float')")
    base = key(m.f)
    assert base is not None
    patch = load_module("def canonical_name(x): return 'int8'").canonical_name
    monkeypatch.setattr(tilecore.dtypes, "canonical_name", patch)
    assert key(m.f) not in (base, None)


def test_names_of_tilecore_need_not_be_loaded(load_module):
    text = "def f():\n import tilecore.language as T\n return T.copy, T.GemmWarpPolicy.Square\n"
    base = key(load_module(text).f)
    assert base is not None
    assert key(load_module(text.replace("Square", "FullRow")).f) not in (base, None)


def test_torch_and_numpy_dtypes_are_read_by_value(load_module):
    torch = pytest.importorskip("torch")
    numpy = pytest.importorskip("numpy")
    m = load_module(
        "import torch\nimport numpy as np\nD = torch.float16\ndef f(x=None): return D, torch.int8, np.float32, np.pi"
    )
    base = key(m.f)
    assert base is not None
    m.D = torch.bfloat16
    assert key(m.f) not in (base, None)
    values = [torch.float16, numpy.dtype("float16"), numpy.float16, "float16", numpy.int32(3), numpy.int64(3), 3]
    keys = [key(m.f, value) for value in values]
    assert None not in keys
    assert len(set(keys)) == len(keys)
    arrays = [array for lib in (torch, numpy) for array in (lib.zeros(2), lib.ones(2), lib.zeros((2, 1)))]
    arrays += [torch.zeros(2, dtype=torch.int32), numpy.zeros(2, "float32"), numpy.arange(4.0)[::2]]
    keys = [key(m.f, array) for array in arrays]
    assert None not in keys
    assert len(set(keys)) == len(keys)
    assert key(m.f, numpy.zeros(2)) == keys[3]
    assert key(load_module("import torch\ndef f(): return torch.rand(1)").f) is None
    assert key(load_module("import torch\ndef f(): return torch.get_default_dtype()").f) is None
    assert key(load_module("import numpy as np\ndef f(): return np.random.rand()").f) is None
    assert key(load_module("import torch as t\ndef f(n='rand'): return getattr(t, n)").f) is None


def test_objects_of_tilecore_speak_for_themselves(load_module):
    m = load_module(
        """
        class Symbol:
            def __init__(self, name): self.name, self.identity = name, object()
            def __source_key__(self): return self.name
        n = Symbol("n")
        def f(): return n
        """
    )
    base = key(m.f)
    assert base is not None
    m.n = m.Symbol("n")
    assert key(m.f) == base
    m.n = m.Symbol("k")
    assert key(m.f) not in (base, None)


MACROS = """
    G = 1
    class Macro:
        def __init__(self, function): self.__wrapped__ = function
        def __call__(self, *args): return self.__wrapped__(*args)
    Macro.__module__ = "tilecore.language.macro"
    def macro(function=None, **options):
        return Macro(function) if function else Macro
    OPTION = 1
    @macro
    def plain(x): return x + G
    @macro(option=3)
    def with_constant(x): return x + G
    @macro(option=OPTION)
    def with_name(x): return x + G
    def f(): return plain(1)
    def g(): return with_constant(1)
    def h(): return with_name(1)
"""


def test_macros_are_described_by_what_they_wrap(load_module):
    m = load_module(MACROS)
    base = key(m.f), key(m.g)
    assert None not in base
    m.G = 2
    assert key(m.f) not in (base[0], None)
    assert key(m.g) not in (base[1], None)
    assert key(m.h) is None  # what went into the decorator cannot be seen
    assert key(m.plain, 1) is not None  # a kernel object stands for its function


def test_a_function_of_tilecore_that_holds_state_is_not_taken_by_its_name(load_module):
    m = load_module(
        """
        def make(n):
            def h(): return n
            h.__module__, h.__qualname__ = "tilecore.language.made", "h"
            return h
        h = make(1)
        def f(): return h()
        """
    )
    base = key(m.f)
    assert base is not None
    m.h = m.make(2)
    assert key(m.f) not in (base, None)


def test_two_lambdas_on_one_line_are_told_apart(load_module):
    m = load_module(
        "G = 1\npair = (lambda x: x + G), (lambda x: x - G)\nf, g = pair\nh, i = lambda: 1, lambda: (2, [3])\n"
    )
    keys = [key(m.f, 1), key(m.g, 1), key(m.h), key(m.i)]
    assert None not in keys
    assert len(set(keys)) == 4


def test_awkward_layouts_of_the_definition(load_module):
    m = load_module(
        '''
        class Holder:
            @staticmethod
            def inside(
                x,
            ):
                text = """
        not indented
            """
                return (
            x
                )  # the end

            # a comment
        def one_line(x): return x
        def docstring_last(x):
            """only text
        # with a comment sign
            """
        def after(): pass
        '''
    )
    functions = [m.Holder.inside, m.one_line, m.docstring_last, m.after]
    keys = [key(f, *([1] if f.__code__.co_argcount else [])) for f in functions]
    assert None not in keys
    assert len(set(keys)) == 4


def rewrite(module, text):
    """Write the module's file anew, with another time of modification."""
    with open(module.__file__, "w") as stream:
        stream.write(textwrap.dedent(text))
    later = os.stat(module.__file__).st_mtime + next(_later)
    os.utime(module.__file__, (later, later))


_later = itertools.count(5)


def test_a_file_edited_after_loading_does_not_give_the_new_texts_key(load_module):
    text = "def f(x):\n    return x + {}\n"
    m = load_module(text.format(1))
    rewrite(m, text.format(2))
    stale = key(m.f, 1)
    new = key(load_module(text.format(2)).f, 1)
    old = key(load_module(text.format(1)).f, 1)
    assert new is not None
    assert old is not None
    assert stale not in (new, old)


def test_a_file_edited_after_loading_does_not_hide_what_the_code_reads(load_module):
    m = load_module("G = 1\ndef f(x):\n    return x + G\n")
    rewrite(m, "G = 1\ndef f(x):\n    return x + 222\n")
    assert key(m.f, 1) is None
    rewrite(m, "\n\n\nimport nothing\n")
    assert key(load_module("def f(x): return x").f, 1) is not None
    n = load_module("G = 1\ndef f(x):\n    return x + G\n")
    rewrite(n, "")
    assert key(n.f, 1) is None


def test_a_reloaded_module_has_the_key_of_its_new_text(load_module):
    text = """
        import tilecore.language as T
        def kernel(A):
            A: T.Tensor[[128], T.float16]
            return A
    """
    m = load_module(text)
    old = key(m.kernel, 1)
    rewrite(m, text.replace("float16", "float32"))  # the bytecode stays the same
    m.__spec__.loader.exec_module(m)
    new = key(m.kernel, 1)
    assert new not in (old, None)
    assert new == key(load_module(text.replace("float16", "float32")).kernel, 1)


def test_a_quoted_annotation_may_name_a_local_of_the_caller(load_module):
    m = load_module(
        """
        from __future__ import annotations
        N = 1
        def outer():
            N = 2
            def f(x: N = 0): return x
            return f
        def outer_body():
            def f(x: N = 0): return x + N
            return f
        """
    )
    assert key(m.outer()) is None  # Python does not keep that N, so nobody can tell which one is meant
    assert key(m.outer_body()) is not None


def test_keys_do_not_depend_on_the_process(tmp_path, load_module):
    path = tmp_path / "kernels_process.py"
    path.write_text(
        textwrap.dedent(MATMUL) + "\nS = {'a', 'b', 'c'}\ndef g(x='a'): return x in S and x in {'p', 'q'}\n"
    )
    program = textwrap.dedent(
        f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        import kernels_process as k
        from tilecore.compilation_cache.source_key import source_key
        print(source_key(k.matmul, (1, 2, 3)).digest, source_key(k.g).digest)
        """
    )
    keys = {output_of(program, PYTHONHASHSEED=seed, PYTHONDONTWRITEBYTECODE="1") for seed in ("0", "1", "77")}
    assert len(keys) == 1
    assert key(load_module(MATMUL).matmul, 1, 2, 3) in keys.pop()


def test_a_definition_is_parsed_once_for_all_processes(load_module, monkeypatch):
    text = MATMUL + "\n    def other(x): return panel(x)\n    half = lambda x: x // 2\n"
    first = load_module(text)
    keys = [key(first.matmul, 1, 2, 3), key(first.other, 1), key(first.half, 1)]
    definitions._remembered.clear()  # as in a fresh process
    monkeypatch.setattr(definitions, "parse_definition", lambda text, code: pytest.fail(f"parsed {code.co_name} again"))
    second = load_module("\n\n" + textwrap.dedent(text))
    assert [key(second.matmul, 1, 2, 3), key(second.other, 1), key(second.half, 1)] == keys


def test_without_a_cache_on_disk_the_key_is_the_same(load_module, monkeypatch):
    with_disk = key(load_module(MATMUL).matmul, 1, 2, 3)
    monkeypatch.setenv("TILECORE_DISABLE_CACHE", "1")
    definitions._remembered.clear()
    assert key(load_module(MATMUL).matmul, 1, 2, 3) == with_disk


def test_importing_it_does_not_import_tvm_torch_or_numpy():
    code = "import tilecore.cache, tilecore.compilation_cache.source_key, tilecore.settings"
    assert imported_by(code, (*HEAVY, "platformdirs", "importlib.metadata")) == []


KERNEL = """
    import tilecore.language as T
    G = 64
    @T.prim_func
    def main(A: T.Tensor((128, 64), "float16"), B: T.Tensor((64,), T.int8)):
        with T.Kernel(T.ceildiv(128, G)) as bx:
            T.clear(A)
    @T.macro
    def half(x): return x // G
    def factory(n):
        @T.prim_func
        def inner(A: T.Tensor((n, half(n)), T.float32)):
            with T.Kernel(T.cdiv(n, 2), threads=128):
                T.fill(A, T.exp2(half(1)))
        return inner
"""


def test_a_prim_func_of_a_module_stands_for_its_function_until_it_is_built(load_module):
    m = load_module(KERNEL)
    base = key(m.main)
    assert base is not None
    assert key(load_module(KERNEL).main) == base
    assert key(load_module(KERNEL.replace("128", "129")).main) not in (base, None)
    m.main.annotations["B"] = m.T.Tensor((64,), m.T.uint8)
    assert key(m.main) not in (base, None)
    m = load_module(KERNEL)
    m.G = 32
    assert key(m.main) not in (base, None)
    m.G = 64
    assert key(m.main) == base
    m.main._ir = "something made from an earlier G"
    assert key(m.main) is None


def test_a_patched_name_of_the_language_is_noticed(load_module, monkeypatch):
    import tilecore.language as T

    m = load_module(KERNEL)
    base = key(m.factory, 8)
    assert base is not None
    monkeypatch.setitem(vars(T), "fill", lambda buffer, value: None)
    changed = key(m.factory, 8)
    assert changed != base
    monkeypatch.undo()
    monkeypatch.setitem(vars(T), "float32", T.float16)
    assert key(m.factory, 8) not in (base, changed, None)
    monkeypatch.undo()
    monkeypatch.setitem(vars(T), "Tensor", T.StridedTensor)
    assert key(m.factory, 8) not in (base, changed, None)


def test_loading_the_language_does_not_change_keys(tmp_path):
    (tmp_path / "kernels_loading.py").write_text(textwrap.dedent(KERNEL))
    program = textwrap.dedent(
        f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        import tilecore
        import kernels_loading as k
        from tilecore.compilation_cache.source_key import source_key
        def g(): return tilecore.cdiv(3, 2), tilecore.language.symbolic("n")
        text = "def g(): return tilecore.cdiv(3, 2), tilecore.language.symbolic('n')"
        exec(compile(text, "kernels_text", "exec"), globals())
        import linecache
        linecache.cache["kernels_text"] = (len(text), None, [text], "kernels_text")
        before = source_key(k.factory, (8,)), source_key(k.main), source_key(g)
        assert "tvm" not in sys.modules
        for name in ("ceildiv", "cdiv", "Kernel", "exp2", "fill", "clear", "symbolic"):
            getattr(k.T, name)
        tilecore.cdiv
        assert "tvm" in sys.modules
        print(None not in before and before == (source_key(k.factory, (8,)), source_key(k.main), source_key(g)))
        """
    )
    done = run_code(program)
    assert done.stdout.strip() == "True", done.stderr
