"""Kernels as functions in C: the header, what the functions compute and refuse, and the example program."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import ArgumentError, CacheError, UnsupportedError
from tilecore.jit.c_entry import c_name

COMPILER = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")
EXAMPLE = Path(__file__).parents[3] / "examples" / "c_library"
N, M = T.dynamic("n"), T.dynamic("m")
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True, **options).stdout


def exported(func, folder, target="cpu"):
    kernel = tilecore.compile(func, target=target)
    kernel.export_library(folder / "k.so", header=folder / "k.h")
    return ctypes.CDLL(str(folder / "k.so")), (folder / "k.h").read_text()


def declaration(header):
    return next(line for line in header.splitlines() if line.startswith("int "))


def address(array):
    return ctypes.c_void_p(array.ctypes.data)


@T.prim_func
def weighted(
    A: T.Tensor((N, M), "float32"), B: T.StridedTensor((N, M), (T.dynamic("step"), 1), "float16"), s: T.float64,
    count: T.int16, flag: T.bool, C: T.Tensor((N, 2 * M + 1), "float32"), D: T.Tensor((N,), "int32"),
):  # fmt: skip
    with T.Kernel(N) as row:
        C[row, 2 * M] = T.cast(s, "float32")
        for j in T.serial(M):
            C[row, j] = A[row, j] + T.cast(B[row, j], "float32")
            C[row, M + j] = A[row, j] * T.cast(count, "float32")
        if flag:
            D[row] = D[row] + T.cast(count, "int32")


@pytest.mark.parametrize(("n", "m"), [(1, 1), (7, 5), (64, 33), (3, 0), (0, 4)])
def test_it_computes(tmp_path, n, m):
    library, header = exported(weighted, tmp_path)
    tensors = "const float *A, const void *B, double s, int16_t count, bool flag, float *C, int32_t *D"
    assert declaration(header) == f"int weighted({tensors}, int64_t n, int64_t m, int64_t step);"
    generator = np.random.default_rng(1)
    a, b = generator.normal(size=(n, m)).astype("float32"), generator.normal(size=(n, m + 3)).astype("float16")
    c, d = np.zeros((n, 2 * m + 1), "float32"), np.arange(n, dtype="int32")
    code = library.weighted(
        address(a), address(b), ctypes.c_double(0.5), ctypes.c_int16(-3), ctypes.c_bool(True), address(c), address(d),
        ctypes.c_int64(n), ctypes.c_int64(m), ctypes.c_int64(m + 3),
    )  # fmt: skip
    assert code == 0
    np.testing.assert_array_equal(c[:, :m], a + b[:, :m].astype("float32"))
    np.testing.assert_array_equal(c[:, m : 2 * m], a * -3)
    assert (c[:, 2 * m] == 0.5).all()
    assert d.tolist() == [i - 3 for i in range(n)]


def test_the_header_is_c_and_cpp(tmp_path):
    exported(weighted, tmp_path)
    program = '#include "k.h"\nint main(void) { return weighted_error()[0]; }\n'
    for name, standard, compiler in (("p.c", "c99", COMPILER), ("p.cpp", "c++11", shutil.which("c++"))):
        if compiler is None:
            continue
        (tmp_path / name).write_text(program)
        library = [tmp_path / "k.so", f"-Wl,-rpath,{tmp_path}"] if sys.platform == "linux" else [tmp_path / "k.so"]
        run(compiler, f"-std={standard}", *WARNINGS, tmp_path / name, *library, "-o", tmp_path / name[2:])
        run(tmp_path / name[2:])


def test_the_library_needs_no_python(tmp_path):
    exported(weighted, tmp_path)
    needed = run("ldd", tmp_path / "k.so") if shutil.which("ldd") else ""
    assert "tvm" not in needed
    assert "python" not in needed


@T.prim_func
def halves(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
    with T.Kernel(1):
        T.assume(N % 2 == 0)
        for i in T.serial(N):
            B[i] = A[i] / 2.0


def test_what_it_refuses(tmp_path):
    library, _ = exported(halves, tmp_path)
    library.halves_error.restype = ctypes.c_char_p
    a, b = np.ones(8, "float32"), np.zeros(8, "float32")

    def call(a, b, n):
        code = library.halves(a, b, ctypes.c_int64(n))
        return code, library.halves_error().decode()

    assert call(address(a), address(b), 8)[0] == 0
    assert (b == 0.5).all()
    assert call(None, address(b), 8) == (1, "halves(): A is NULL")
    assert call(address(a), ctypes.c_void_p(b.ctypes.data + 2), 4) == (1, "halves(): B is not at a multiple of 4 bytes")
    assert call(address(a), address(b), -2) == (1, "halves(): n must be 0 to 2147483647")
    assert call(address(a), address(b), 2**31)[0] == 1
    assert call(address(a), address(b), 7) == (1, "halves(): Assume: n % 2 == 0")
    assert call(None, None, 0)[0] == 0


def test_workspaces_are_allocated(tmp_path):
    @T.prim_func
    def product(
        A: T.Tensor((128, 96), "float32"), B: T.Tensor((96, 160), "float32"), C: T.Tensor((128, 160), "float32")
    ):
        with T.Kernel(5, 4) as (bx, by):
            a, b = T.alloc_shared((32, 96), "float32"), T.alloc_shared((96, 32), "float32")
            c = T.alloc_fragment((32, 32), "float32")
            T.copy(A[by * 32, 0], a)
            T.copy(B[0, bx * 32], b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C[by * 32, bx * 32])

    library, _ = exported(product, tmp_path)
    generator = np.random.default_rng(2)
    a, b = generator.normal(size=(128, 96)).astype("float32"), generator.normal(size=(96, 160)).astype("float32")
    c = np.zeros((128, 160), "float32")
    for _ in range(3):
        assert library.product(address(a), address(b), address(c)) == 0
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)


def test_packed_elements_and_odd_names(tmp_path):
    @T.prim_func
    def main(int4s: T.Tensor((N, 4), "int4"), stream: T.Tensor((N, 4), "int8"), double: T.int32):
        with T.Kernel(N) as row:
            for j in T.serial(4):
                stream[row, j] = T.cast(int4s[row, j], "int8") + T.cast(double, "int8")

    library, header = exported(main, tmp_path)
    assert declaration(header) == "int main_(const void *int4s, int8_t *stream_, int32_t double_, int64_t n);"
    assert "of int4, 2 in a byte" in header
    packed, out = np.array([[0x21, 0xF3]] * 3, "uint8"), np.zeros((3, 4), "int8")
    assert library.main_(address(packed), address(out), ctypes.c_int32(10), ctypes.c_int64(3)) == 0
    assert out.tolist() == [[11, 12, 13, 9]] * 3


def test_numbers_that_c_lacks(tmp_path):
    @T.prim_func
    def half(s: T.float16, A: T.Tensor((1,), "float16")):
        with T.Kernel(1):
            A[0] = s

    with pytest.raises(UnsupportedError, match="C has no number of type float16"):
        exported(half, tmp_path)


def test_sizes_that_a_launch_cannot_have(tmp_path):
    @T.prim_func
    def sized(A: T.Tensor((1,), "float32"), k: T.int32, x: T.int64, y: T.int64):
        with T.Kernel(x, y) as (bx, by):
            buffer = T.alloc_shared((k,), "float32")
            if bx == 0 and by == 0:
                buffer[0] = 2.0
                A[0] = buffer[0]

    library, _ = exported(sized, tmp_path)
    library.sized_error.restype = ctypes.c_char_p
    a = np.zeros(1, "float32")

    def call(k, x, y):
        code = library.sized(address(a), ctypes.c_int32(k), ctypes.c_int64(x), ctypes.c_int64(y))
        return code, library.sized_error().decode()

    assert call(3, 1, 1)[0] == 0
    assert a[0] == 2
    for k in (-1, -1000000, 2**31 - 1):
        assert call(k, 1, 1) == (1, "sized(): a size of the shared memory is negative or too large")
    assert call(3, 2**33, 2**33) == (1, "sized(): the launch has too many blocks")
    assert call(3, 0, -1) == (1, "sized(): the launch has a negative number of blocks")


def test_kernels_of_one_name_and_their_code(tmp_path):
    """The code's names are longer, with sizes and a digest: a function in C has the kernel's own."""

    @T.prim_func
    def one_kernel(A: T.Tensor((1,), "int32")):
        with T.Kernel(1):
            A[0] = 1

    library, header = exported(one_kernel, tmp_path)
    a = np.zeros(1, "int32")
    assert declaration(header) == "int one_kernel(int32_t *A);"
    assert library.one_kernel(address(a)) == 0
    assert a[0] == 1


def test_errors_name_the_function_that_is_called(tmp_path):
    kernel = tilecore.compile(constant(1), target="cpu")
    kernel.export_library(tmp_path / "k.so", header=tmp_path / "k.h", name="other_name")
    library = ctypes.CDLL(str(tmp_path / "k.so"))
    library.other_name_error.restype = ctypes.c_char_p
    assert library.other_name(None) == 1
    assert library.other_name_error() == b"other_name(): A is NULL"


def test_two_kernels_of_one_name_in_a_program(tmp_path):
    for value, name in ((1, "first"), (2, "second")):
        kernel = tilecore.compile(constant(value), target="cpu")
        kernel.export_library(tmp_path / f"lib{name}.so", header=tmp_path / f"{name}.h", name=name)
    program = """
    #include "first.h"
    #include "second.h"
    int main(void) {
      int32_t a = 0, b = 0;
      return first(&a) || second(&b) || a != 1 || b != 2;
    }
    """
    (tmp_path / "p.c").write_text(program)
    libraries = [f"-L{tmp_path}", f"-Wl,-rpath,{tmp_path}", "-lfirst", "-lsecond"]
    run(COMPILER, *WARNINGS, tmp_path / "p.c", *libraries, "-o", tmp_path / "p")
    run(tmp_path / "p")
    if shutil.which("nm"):
        shown = {line.split()[-1] for line in run("nm", "-D", "--defined-only", tmp_path / "libfirst.so").splitlines()}
        assert shown == {"first", "first_error"}


@pytest.mark.parametrize(
    "name",
    [
        "int",
        "printf",
        "a b",
        "",
        "1a",
        "tc_a",
        "same_kernel",
        5,
        b"a",
        "_Bool",
        "__func__",
        "FILE",
        "fork",
        "_init",
        "std",
    ],
)
def test_names_that_no_function_can_have(tmp_path, name):
    kernel = tilecore.compile(constant(1), target="cpu")
    if name == "same_kernel":  # that of the kernel's code
        name = kernel.artifact.entries[0].symbol
        assert name.startswith("same_kernel_")
    with pytest.raises(ArgumentError, match="cannot have this name"):
        kernel.export_library(tmp_path / "k.so", header=tmp_path / "k.h", name=name)


def test_wrong_paths(tmp_path):
    kernel = tilecore.compile(constant(1), target="cpu")
    with pytest.raises(ArgumentError, match="would replace the library"):
        kernel.export_library(tmp_path / "k.so", header=tmp_path / "k.so")
    with pytest.raises(ArgumentError, match="needs header="):
        kernel.export_library(tmp_path / "k.so", name="a")
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "k.so", tmp_path, f"{tmp_path}/folder/"):
        with pytest.raises(CacheError, match="cannot be written: "):
            kernel.export_library(path)
        with pytest.raises(CacheError, match="cannot be written: "):
            kernel.export_library(tmp_path / "k.so", header=path)


@pytest.mark.parametrize(
    ("name", "in_c"),
    [
        ("printf", "printf_"),
        ("malloc", "malloc_"),
        ("int64_t", "int64_t_"),
        ("exp", "exp_"),
        ("INT32_MAX", "INT32_MAX_"),
        ("omp_get_max_threads", "omp_get_max_threads_"),
        ("typeof", "typeof_"),
        ("softmax", "softmax"),
        ("rms", "rms"),
        ("scale", "scale"),
        ("int", "int_"),
        ("class", "class_"),
        ("größe", "gruf6udfe"),
        ("tc_a", "tc_a_"),
        ("_x", "_x"),
    ],
)
def test_names(name, in_c):
    assert c_name(name) == in_c


def constant(value):
    """A kernel of one name, whatever it stores."""

    @T.prim_func
    def same(A: T.Tensor((1,), "int32")):
        with T.Kernel(1):
            A[0] = value

    return same


def test_two_libraries_with_kernels_of_one_name(tmp_path):
    libraries = []
    for value in (1, 2):
        path = tmp_path / f"{value}.so"
        tilecore.compile(constant(value), target="cpu").export_library(path, header=tmp_path / "same.h")
        libraries.append(ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL))
    stored = np.zeros(1, "int32")
    for value, library in zip((1, 2), libraries, strict=True):
        assert library.same(address(stored)) == 0
        assert stored[0] == value


def test_the_example(tmp_path):
    run(sys.executable, EXAMPLE / "build.py", tmp_path)
    library = [tmp_path / "softmax.so", f"-Wl,-rpath,{tmp_path}"]
    run(COMPILER, "-O2", *WARNINGS, f"-I{tmp_path}", EXAMPLE / "main.c", *library, "-lm", "-o", tmp_path / "main")
    said = run(tmp_path / "main").splitlines()
    assert said[0].endswith("right")
    assert said[1] == "refused: softmax(): X is NULL"
