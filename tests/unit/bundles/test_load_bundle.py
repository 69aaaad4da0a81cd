"""tilecore.load_bundle: kernels by their calls, for this machine's device."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
from bundle_kit import KERNELS, kernel_of, written
from fresh_processes import output_of

import tilecore
from tilecore.bundles.format import BundleError
from tilecore.bundles.lookup import plain_label
from tilecore.cli import main
from tilecore.contract.adapter import this_machine
from tilecore.errors import ArgumentError, LaunchError


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundle")
    (folder / "kernels.py").write_text(KERNELS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILECORE_CACHE_DIR", str(folder / "cache"))
        with pytest.raises(SystemExit) as ended:
            main(["compile", str(folder / "kernels.py"), "--target", "cpu", "-o", str(folder / "kernels.tcb")])
    assert ended.value.code == 0
    return folder / "kernels.tcb"


@pytest.fixture
def bundle(path):
    with tilecore.load_bundle(path) as opened:
        yield opened


MAKE = """
import numpy as np


@tilecore.jit(out_idx=-1, target="cpu")
def make(tag, N=4):
    @T.prim_func
    def kernel(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(N):
                B[i] = A[i] + len(str(tag))

    return kernel


def tilecore_kernels():
"""


@pytest.fixture
def bundle_of(tmp_path):
    """Compiles a bundle of what ``tilecore_kernels`` yields, given as the text of each."""

    def make(*items):
        (tmp_path / "made.py").write_text(KERNELS + MAKE + "".join(f"    yield {item}\n" for item in items))
        with pytest.raises(SystemExit) as ended:
            main(["compile", str(tmp_path / "made.py"), "--target", "cpu", "-o", str(tmp_path / "made.tcb")])
        assert ended.value.code == 0
        return tilecore.load_bundle(tmp_path / "made.tcb")

    return make


def test_it_is_a_mapping(bundle):
    assert list(bundle) == ["add(16, 8)", "add(32, 8)", "add(4, 4, dtype='int32')", "scaled(M=6, N=8)", "twice"]
    assert len(bundle) == 5
    assert "add(16, 8)" in bundle
    assert bundle.get("add(1, 1)") is None
    with pytest.raises(KeyError):
        bundle["add(1, 1)"]
    assert bundle.names == ("add", "scaled", "twice")
    assert [target.split()[0] for target in bundle.targets] == ["cpu"]
    assert "5 kernels for cpu" in repr(bundle)


@pytest.mark.parametrize(
    ("written_as", "label"),
    [
        ("add(16,8)", "add(16, 8)"),
        (" add( 16 ,\n8 ) ", "add(16, 8)"),
        ("add(4,4,dtype='int32')", "add(4, 4, dtype='int32')"),
        ('add(4, 4, dtype = "int32")', "add(4, 4, dtype='int32')"),
        ("scaled( M=6,N=8 )", "scaled(M=6, N=8)"),
    ],
)
def test_a_label_with_other_white_space_and_quotes(bundle, written_as, label):
    assert written_as in bundle
    assert bundle[written_as] is bundle[label]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("f('a b')", "f('ab')"),
        ("f('a b')", "f('a  b')"),
        ("f(1, 2)", "f(12)"),
        ("f(a b)", "f(ab)"),
        ("f('1')", "f(1)"),
        (r"f('\n')", "f('n')"),
        (r"f('\\n')", r"f('\n')"),
        ("f(\"a', 'b\")", "f('a', 'b')"),
        ("f()", "f() #2"),
        (r"f('it\'s')", "f('its')"),
        (r"f(b'\x61')", "f('a')"),
        (r"f(r'\n')", r"f('\n')"),
        ("f('a\nb')", "f('ab')"),
        (r"f('\N')", "f('N')"),
        ("F()", "f()"),
    ],
)
def test_labels_of_other_kernels_stay_different(one, other):
    assert plain_label(one) != plain_label(other)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"f('a\tb')", r'f( "a\tb" )'),
        (r"tagged('it\'s')", """tagged("it's")"""),
        (r'tagged("q\"x")', """tagged('q"x')"""),
        (r"""tagged("both'\"")""", r"""tagged('both\'"')"""),
        (r"f('\x61\u00fc')", "f('aü')"),
        (r"f(r'\n')", r"f('\\n')"),
        (r"f('\d')", r"f('\\d')"),
        (r"f(b'\x61\u')", r"f(b'a\\u')"),
        (r"f(u'a', Rb'\n')", r"f('a', b'\\n')"),
        ("f('a', ob'b')", "f('a',ob\"b\")"),
    ],
)
def test_a_string_of_a_label_is_compared_by_its_value(one, other):
    assert plain_label(one) == plain_label(other)


def test_a_label_that_may_mean_several_kernels(tmp_path):
    labels = ["make(<a, b>)", "make(<a,b>)"]
    kernels = [replace(kernel_of(number), label=label) for number, label in enumerate(labels)]
    bundle = tilecore.load_bundle(written(tmp_path / "a.tcb", kernels))
    assert "make(< a, b >)" not in bundle
    with pytest.raises(KeyError, match="has several kernels that") as caught:
        bundle["make(< a, b >)"]
    assert "found: make(<a, b>), make(<a,b>)\n" in str(caught.value)


@pytest.mark.parametrize(
    ("label", "hint"),
    [
        ("ad(16,8)", "did you mean 'add(16, 8)'"),
        ("add(4, 4, 'int32')", "did you mean \"add(4, 4, dtype='int32')\"?"),
        ("twise", "did you mean 'twice'?"),
        ("nothing", "help: list(bundle) has all labels"),
        ("add", "bundle.find('add', ...) takes the name of a function and its arguments"),
        (3, "help: list(bundle) has all labels"),
    ],
)
def test_a_label_that_is_not_there(bundle, label, hint):
    assert label not in bundle
    with pytest.raises(KeyError) as caught:
        bundle[label]
    text = str(caught.value)
    assert text.startswith(f"{bundle.path} has no kernel {label!r}\n")
    assert "expected: add(16, 8), add(32, 8), " in text
    assert hint in text
    assert text.endswith(f"tilecore bundle {bundle.path}")


def test_an_exported_kernel_is_no_bundle(bundle, tmp_path):
    path = bundle["twice"].export(tmp_path / "twice.tck")
    with pytest.raises(BundleError, match=r"twice\.tck is not a bundle") as caught:
        tilecore.load_bundle(path)
    assert "found: a file with one kernel" in str(caught.value)
    assert f"tilecore.load_kernel({str(path)!r})" in str(caught.value)


def test_the_kernels_run(bundle):
    a = np.arange(128, dtype="float32").reshape(16, 8)
    kernel = bundle["add(16, 8)"]
    np.testing.assert_array_equal(kernel(a, a), 2 * a)
    assert kernel is bundle["add(16, 8)"]
    assert kernel.from_cache
    x = np.ones((6, 8), "float32")
    np.testing.assert_array_equal(bundle["scaled(M=6, N=8)"](x), 2 * x)
    assert set(bundle.load_all()) == set(bundle)
    assert "fadd" in kernel.get_kernel_source()


@pytest.mark.parametrize(
    ("args", "kwargs"), [((32, 8), {}), ((32,), {"N": 8}), ((), {"N": 8, "M": 32, "dtype": "float32"})]
)
def test_find_takes_the_arguments_as_the_function_does(bundle, args, kwargs):
    assert bundle.find("add", *args, **kwargs) is bundle["add(32, 8)"]


def test_find_by_values_that_mean_the_same(bundle):
    import tilecore.language as T

    for dtype in ("int32", T.int32, np.dtype("int32")):
        assert bundle.find("add", 4, 4, dtype) is bundle["add(4, 4, dtype='int32')"]
    assert bundle.find("scaled", M=6, N=8) is bundle["scaled(M=6, N=8)"]
    assert bundle.find("twice", target="cpu") is bundle["twice"]


def test_find_compares_strings_as_they_are(bundle_of):
    bundle = bundle_of("make, ('a  b',)", "make, ('a b',)", "make, (['x  y'],)", 'make, ("it\'s",)')
    assert list(bundle) == ["make('a  b')", "make('a b')", "make(['x  y'])", 'make("it\'s")']
    for text in ("a  b", "a b", "it's"):
        assert bundle.find("make", text) is bundle[f"make({text!r})"]
    assert bundle[r"make('it\'s')"] is bundle.find("make", "it's")
    for tag in ("a   b", ["x y"], "x  y"):
        with pytest.raises(ArgumentError, match="has no kernel make"):
            bundle.find("make", tag)


def test_find_compares_numbers_and_arrays_by_value(bundle_of):
    bundle = bundle_of(
        "make, (1, np.int64(64))", "make, (np.array([1, 2]), 8)", "make, (2, np.int64(32))", "make, {'tag': np.float16}"
    )
    assert list(bundle) == ["make(1, 64)", "make(int64[2], 8)", "make(2, 32)", "make(tag='float16')"]
    assert bundle.find("make", 1, 64) is bundle.find("make", np.int8(1), np.int32(64)) is bundle["make(1, 64)"]
    assert bundle.find("make", 2, np.int64(32)) is bundle["make(2, 32)"]
    assert bundle.find("make", np.array([1, 2]), N=8) is bundle["make(int64[2], 8)"]
    assert bundle.find("make", "float16") is bundle.find("make", np.float16) is bundle["make(tag='float16')"]
    for args in (
        (1, np.int64(16)),
        (np.array([1, 3]), 8),
        (np.ndarray,),
        (type("Shaped", (), {"shape": 5, "dtype": 1}),),
    ):
        with pytest.raises(ArgumentError, match="has no kernel make"):
            bundle.find("make", *args)


SIZES = """

@tilecore.jit(target="cpu")
def shifted(X, flag: bool, W, scale: T.float32 = 1.0):
    M, N, P = T.const("M, N, P")
    X: T.Tensor((M, N), T.float16)
    W: T.Tensor((P,), T.float32)
    Y = T.empty((M, N), T.float32)
    with T.Kernel(M) as row:
        for column in T.Parallel(N):
            Y[row, column] = X[row, column] * scale + (W[0] if flag else T.float32(P))
    return Y


@tilecore.jit(target="cpu")
def of_rows(X):
    N, M = T.const("N"), T.dynamic("M")
    X: T.Tensor((M, N), T.float32)
    Y = T.empty((M, N), T.float32)
    with T.Kernel(M) as row:
        for column in T.Parallel(N):
            Y[row, column] = X[row, column] + 1
    return Y


@tilecore.jit(target="cpu")
def of_pairs(X):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), T.int4)
    Y = T.empty((M, N), T.int32)
    with T.Kernel(M) as row:
        for column in T.Parallel(N):
            Y[row, column] = X[row, column]
    return Y


@tilecore.jit(target="cpu")
def of_steps(X):
    M, N, S = T.const("M, N, S")
    X: T.StridedTensor((M, N), (S, 1), T.float32)
    Y = T.empty((M, N), T.float32)
    with T.Kernel(M) as row:
        for column in T.Parallel(N):
            Y[row, column] = X[row, column] + 1
    return Y


def tilecore_kernels():
"""


@pytest.fixture(scope="module")
def eager(tmp_path_factory):
    """A bundle of eager kernels: by tensors, by sizes, with scalars, dynamic sizes, packed elements and strides."""
    folder = tmp_path_factory.mktemp("eager")
    items = [
        'shifted, {"flag": True, "M": 6, "N": 8, "P": 3}',
        'shifted, {"X": T.Tensor((6, 4), "float16"), "W": T.Tensor((3,), "float32"), "flag": True}',
        'shifted, {"flag": False, "M": 6, "N": 8, "P": 3}',
        'of_rows, {"N": 8}',
        'of_pairs, {"M": 4, "N": 8}',
        'of_steps, {"M": 4, "N": 8, "S": 8}',
        'of_steps, {"M": 4, "N": 8, "S": 16}',
    ]
    (folder / "eager.py").write_text(KERNELS + SIZES + "".join(f"    yield {item}\n" for item in items))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILECORE_CACHE_DIR", str(folder / "cache"))
        with pytest.raises(SystemExit) as ended:
            main(["compile", str(folder / "eager.py"), "--target", "cpu", "-o", str(folder / "eager.tcb")])
    assert ended.value.code == 0
    return tilecore.load_bundle(folder / "eager.tcb")


def zeros(*shape, dtype="float32"):
    return np.zeros(shape, dtype)


HALVES = zeros(6, 8, dtype="float16")


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "number"),
    [
        ("shifted", (), {"flag": True, "M": 6, "N": 8, "P": 3}, 0),
        ("shifted", (HALVES, True), {"W": zeros(3)}, 0),
        ("shifted", (HALVES, True, zeros(3), 2.5), {}, 0),
        ("shifted", (HALVES, True, zeros(3), np.float32(3)), {"M": 6, "N": 8, "P": 3}, 0),
        ("shifted", (HALVES,), {"flag": False, "W": zeros(3)}, 2),
        ("shifted", (HALVES[:, :4].copy(), True), {"W": zeros(3)}, 1),
        ("shifted", (), {"flag": True, "M": 6, "N": 4, "P": 3}, 1),
        ("shifted", (), {"flag": True, "M": np.int64(6), "N": 4, "P": 3, "scale": 2}, 1),
        ("of_rows", (), {"N": 8}, 3),
        ("of_rows", (zeros(5, 8),), {}, 3),
        ("of_rows", (zeros(99, 8),), {"N": 8}, 3),
        ("of_pairs", (), {"M": 4, "N": 8}, 4),
        ("of_pairs", (zeros(4, 4, dtype="int8"),), {}, 4),
        ("of_pairs", (zeros(4, 4, dtype="uint8"),), {}, 4),
        ("of_steps", (zeros(4, 8),), {}, 5),
        ("of_steps", (zeros(4, 16)[:, :8],), {}, 6),
        ("of_steps", (), {"M": 4, "N": 8, "S": 16}, 6),
    ],
)
def test_find_takes_the_tensors_or_the_sizes_of_an_eager_function(eager, name, args, kwargs, number):
    """Whichever of them the kernel was declared by; what a launch gives (a scalar) tells no kernels apart."""
    assert eager.find(name, *args, **kwargs) is eager[list(eager)[number]]


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        ("shifted", (), {}),
        ("shifted", (), {"flag": True, "M": 6, "N": 8}),
        ("shifted", (6, 8), {}),
        ("shifted", (HALVES, True), {}),
        ("shifted", (HALVES, True), {"W": zeros(3), "M": 5}),
        ("shifted", (zeros(6, 8), True), {"W": zeros(3)}),
        ("shifted", (HALVES,), {"W": zeros(3)}),
        ("of_rows", (zeros(5, 7),), {}),
        ("of_rows", (zeros(5, 8, 1),), {}),
        ("of_rows", (zeros(8, 5).T,), {}),
        ("of_pairs", (zeros(4, 8, dtype="int8"),), {}),
        ("of_steps", (zeros(4, 24)[:, :8],), {}),
    ],
)
def test_find_of_other_tensors_and_sizes(eager, name, args, kwargs):
    with pytest.raises(ArgumentError, match=f"has no kernel {name}"):
        eager.find(name, *args, **kwargs)


def test_find_takes_the_function_itself(bundle, load_module):
    functions = load_module(KERNELS)
    assert bundle.find(functions.add, 16, 8) is bundle["add(16, 8)"]
    assert bundle.find(functions.scaled, np.ones((6, 8), "float32")) is bundle["scaled(M=6, N=8)"]
    assert bundle.find(functions.twice) is bundle["twice"]


@pytest.mark.parametrize("path", [None, 3, ""])
def test_what_is_no_path(path):
    for load in (tilecore.load_bundle, tilecore.load_kernel):
        with pytest.raises(ArgumentError, match=rf"{load.__name__}\(\): path is (no path|empty)"):
            load(path)


def test_find_compares_strides(bundle_of):
    bundle = bundle_of("scaled, {'X': T.Tensor((6, 8), 'float32')}")
    assert bundle.find("scaled", np.ones((6, 8), "float32")) is bundle["scaled(X=float32[6, 8])"]
    with pytest.raises(ArgumentError, match=r"has no kernel scaled\(float32\[6, 8\] strides \[1, 6\]\)"):
        bundle.find("scaled", np.ones((8, 6), "float32").T)


def test_what_is_not_there(bundle):
    with pytest.raises(ArgumentError, match=r"has no kernel add\(1, N=2\)") as caught:
        bundle.find("add", 1, N=2)
    assert "add(16, 8), add(32, 8)" in str(caught.value)
    with pytest.raises(ArgumentError, match="has no kernels of a function subtract") as caught:
        bundle.find("subtract")
    assert "add, scaled, twice" in str(caught.value)
    with pytest.raises(ArgumentError, match=r"did you mean twice\?"):
        bundle.find("twise")
    with pytest.raises(ArgumentError, match=r"is a label: bundle\['add\(16, 8\)'\]"):
        bundle.find("add(16, 8)")


def test_kernels_of_other_machines(tmp_path):
    """Of a target that no package offers, of another processor, and of another system."""
    kernels = [kernel_of(1, "acme -model=2"), kernel_of(2, machine="plan9-mips")]
    bundle = tilecore.load_bundle(written(tmp_path / "a.tcb", kernels))
    with pytest.raises(LaunchError, match="for this machine") as caught:
        bundle["make(1)"]
    assert "acme -model=2" in str(caught.value)
    with pytest.raises(LaunchError, match="for this system") as caught:
        bundle["make(2)"]
    assert "found: kernels for plan9-mips" in str(caught.value)
    assert f"expected: kernels for {this_machine()}" in str(caught.value)
    assert bundle.load_all() == {}
    with pytest.raises(LaunchError, match="for cpu -march=generic"):
        bundle.find("make", 2, target="cpu -march=generic")
    with pytest.raises(LaunchError, match="has no kernel make\\(1\\) for a device of this machine") as caught:
        bundle["make(1)"]
    assert "expected: the package of target 'acme' (no installed backend offers" in str(caught.value)
    assert "target=..." in str(caught.value.hint)


def test_a_kernel_of_another_system_is_found_by_its_target(tmp_path, load_module):
    (tmp_path / "k.py").write_text(KERNELS)
    other = "windows" if this_machine().startswith("linux") else "linux"
    target = f"cpu -system={other} -march=x86-64-v3"
    with pytest.raises(SystemExit) as ended:
        main(["compile", str(tmp_path / "k.py:twice"), "--target", target, "-o", str(tmp_path / "k.tcb")])
    assert ended.value.code == 0
    bundle = tilecore.load_bundle(tmp_path / "k.tcb")
    with pytest.raises(LaunchError, match="for this system"):
        bundle["twice"]
    with pytest.raises(LaunchError, match="has no kernel twice for cpu"):
        bundle.find("twice", target="cpu")
    kernel = bundle.find("twice", target=target)
    assert kernel.export(tmp_path / "twice.tck").exists()
    with pytest.raises(LaunchError, match="twice cannot run with execution_backend='native' here"):
        kernel(np.zeros(8, "float32"), np.zeros(8, "float32"))


def test_threads_share_a_kernel(bundle):
    loaded = []
    threads = [threading.Thread(target=lambda: loaded.append(bundle["twice"])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, loaded))) == 1


def test_closing(path):
    bundle = tilecore.load_bundle(path)
    kernel = bundle["twice"]
    bundle.close()
    bundle.close()
    a, b = np.ones(8, "float32"), np.zeros(8, "float32")
    kernel(a, b)
    assert b[0] == 2
    with pytest.raises(BundleError, match="is closed"):
        bundle["add(16, 8)"]


def test_a_bundle_needs_neither_tvm_nor_the_compiler(path):
    code = f"""
import sys
import numpy as np
import tilecore

bundle = tilecore.load_bundle({str(path)!r})
a = np.ones((16, 8), "float32")
assert (bundle["add(16, 8)"](a, a) == 2).all()
compilers = ("tvm", "tvm_ffi", "torch", "tilecore.compiler", "tilecore.frontend", "tilecore.lowering",
             "tilecore.codegen", "tilecore.language", "tilecore.tracing", "tilecore.bundle_builder")
print([name for name in compilers if name in sys.modules])
"""
    assert output_of(code) == "[]\n"
