"""tilecore-runtime alone: what is in its wheel, and that it loads and launches kernels without the compiler."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import textwrap
import zipfile
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from _pytest.config import _iter_rewritable_modules
from built_wheels import PLUGINS, ROOT, Environment, wheels_of

import tilecore
import tilecore.language as T

MOST_BYTES = 5_000_000  # of the wheel
ABSENT = ("tvm", "tvm_ffi", "torch", "ml_dtypes", "platformdirs", "rich")
# runs in front of each program: what is not installed with the runtime is not imported later
BEGINNING = f"import json, sys\nassert not set({ABSENT}) & set(sys.modules)\n"
END = f"\nassert not set({ABSENT}) & set(sys.modules)\n"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    return wheels_of(tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="module")
def alone(wheels, tmp_path_factory):
    """An environment with tilecore-runtime, the packages of the backends, and numpy."""
    environment = Environment(tmp_path_factory.mktemp("alone") / "venv", "numpy", "pluggy")
    environment.install(wheels["tilecore-runtime"], *(wheels[name] for name in PLUGINS))
    return environment


def files_in(wheel: Path) -> set[str]:
    """Its files of the package tilecore, without built extensions."""
    names = zipfile.ZipFile(wheel).namelist()
    return {name for name in names if name.startswith("tilecore/") and not name.endswith((".so", ".pyd"))}


def requirements_of(wheel: Path) -> set[str]:
    """The projects that it always needs on Linux."""
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    lines = re.findall(r"^Requires-Dist: (.*)$", archive.read(name).decode(), re.MULTILINE)
    kept = [line for line in lines if "extra ==" not in line and "sys_platform" not in line]
    return {re.match(r"[\w.-]+", line)[0] for line in kept}  # type: ignore[index]


# -- what is in the wheels


def test_both_wheels_are_installed_in_the_same_folder(wheels):
    """Systems with a folder lib64 have one for wheels with extensions, and one for all others."""
    for name in ("tilecore", "tilecore-runtime"):
        archive = zipfile.ZipFile(wheels[name])
        (path,) = (file for file in archive.namelist() if file.endswith(".dist-info/WHEEL"))
        assert "Root-Is-Purelib: false" in archive.read(path).decode()
    assert wheels["tilecore"].name.endswith("-py3-none-any.whl")


def test_pytest_takes_no_folder_of_the_package_for_a_package(wheels):
    """Else it warns in every run where tilecore is installed (tilecore_pytest.py)."""
    for name in ("tilecore", "tilecore-runtime"):
        files = [file for file in zipfile.ZipFile(wheels[name]).namelist() if ".dist-info/" not in file]
        modules = set(_iter_rewritable_modules(files))
        assert modules == {"tilecore_pytest" if name == "tilecore" else "tilecore"}


def test_the_two_wheels_share_no_file_and_have_all(wheels):
    runtime, compiler = files_in(wheels["tilecore-runtime"]), files_in(wheels["tilecore"])
    assert not runtime & compiler
    package = Path(tilecore.__file__).parent
    endings = (".py", ".pyx", ".pxi", ".pxd", ".h", ".in", ".typed")
    files = {
        path.relative_to(package.parent).as_posix()
        for path in package.rglob("*")
        if path.name.endswith(endings) and path.is_file()
    }
    assert runtime | compiler == files


def test_the_runtime_is_small_and_needs_little(wheels):
    assert wheels["tilecore-runtime"].stat().st_size <= MOST_BYTES
    assert requirements_of(wheels["tilecore-runtime"]) == {"pluggy"}
    assert "tilecore-runtime" in requirements_of(wheels["tilecore"])
    for name in PLUGINS:
        assert requirements_of(wheels[name]) <= {"tilecore-runtime", "numpy"}


# -- kernels for the host


def product(M, N, K):
    """Its tiles are copied into a workspace first."""

    @T.prim_func
    def kernel(A: T.Tensor((M, K), "float32"), B: T.Tensor((K, N), "float32"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 32)) as (bx, by):
            a, b = T.alloc_shared((32, K), "float32"), T.alloc_shared((K, 32), "float32")
            c = T.alloc_fragment((32, 32), "float32")
            T.copy(A[by * 32, 0], a)
            T.copy(B[0, bx * 32], b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C[by * 32, bx * 32])

    return kernel


def scaled():
    n, m = T.dynamic("n"), T.dynamic("m")

    @T.prim_func
    def kernel(A: T.Tensor((n, m), "float16"), B: T.Tensor((n, m), "float16"), factor: T.float32):
        with T.Kernel(n) as bx:
            T.assume(m < 100)
            for j in T.Parallel(m):
                B[bx, j] = T.cast(A[bx, j], "float32") * factor

    return kernel


CALLS = """
import numpy as np
import tilecore

product, scaled = (tilecore.load_kernel(path) for path in sys.argv[1:])
rng = np.random.default_rng(0)
a, b = rng.standard_normal((128, 96), np.float32), rng.standard_normal((96, 160), np.float32)
np.testing.assert_allclose(product(a, b), a @ b, rtol=1e-4, atol=1e-4)
for shape in (5, 7), (1, 99), (0, 3):
    x = rng.standard_normal(shape).astype(np.float16)
    y = np.zeros_like(x)
    scaled(x, y, 0.5)
    np.testing.assert_array_equal(y, x * np.float16(0.5))
errors = []
for call in (
    lambda: product(a, b.T), lambda: product(a.astype(np.float64), b), lambda: scaled(x, x[:0], "0"),
    lambda: scaled(np.zeros((2, 100), np.float16), np.zeros((2, 100), np.float16), 1.0),
    lambda: tilecore.load_kernel(__import__("os").devnull),
):
    try:
        call()
        errors.append("none")
    except tilecore.errors.TilecoreError as error:
        errors.append(type(error).__name__)
print(json.dumps([errors, str(product.explain()).splitlines()[0], "gemm" in str(product.explain())]))
"""


def test_kernels_for_the_host_load_and_run(alone, tmp_path):
    kernels = [tmp_path / "product.tck", tmp_path / "scaled.tck"]
    first = tilecore.compile(product(128, 160, 96), target="cpu", out_idx=[2])
    assert first.artifact.workspaces
    first.export(kernels[0])
    tilecore.compile(scaled(), target="cpu").export(kernels[1])
    errors, title, has_gemm = _json(alone.run(BEGINNING + CALLS + END, *kernels))
    assert errors == ["ArgumentError", "ArgumentError", "ArgumentError", "LaunchError", "CacheError"]
    assert title == str(first.explain()).splitlines()[0]
    assert has_gemm
    # the launcher in plain Python, too
    alone.run(BEGINNING + CALLS + END, *kernels, TILECORE_PURE_PYTHON="1")


def _json(text: str):
    return json.loads(text.splitlines()[-1])


def test_what_needs_another_package_says_so(alone, tmp_path):
    """bfloat16 in numpy needs ml-dtypes; torch_op needs torch."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "bfloat16"), B: T.Tensor((8,), "bfloat16")):
        with T.Kernel(1):
            T.copy(A, B)

    tilecore.compile(kernel, target="cpu", out_idx=[1]).export(tmp_path / "copy.tck")
    code = """
        import tilecore
        from tilecore.dtypes import dtype
        for call in lambda: dtype("bfloat16").as_numpy(), lambda: tilecore.load_kernel(sys.argv[1]).torch_op("a::b"):
            try: call()
            except (ImportError, tilecore.errors.UnsupportedError) as error: print(error)
    """
    lines = alone.run(BEGINNING + textwrap.dedent(code), tmp_path / "copy.tck").splitlines()
    assert lines == [
        "arrays of bfloat16 need the package ml-dtypes: pip install ml-dtypes",
        "torch_op needs torch, which is not installed",
        "  = help: pip install torch",
    ]


# -- what the compiler has


COMPILERS_NAMES = """
import tilecore
kernel = tilecore.load_kernel(sys.argv[1])
uses = {
    "tilecore.par_compile": lambda: tilecore.par_compile, "tilecore.lower": lambda: tilecore.lower,
    "tilecore.autotune": lambda: tilecore.autotune, "tilecore.Profiler": lambda: tilecore.Profiler,
    "get_profiler": kernel.get_profiler, "layouts": kernel.layouts, "tilecore.tvm": lambda: tilecore.tvm,
    "export_library": lambda: kernel.export_library("kernel.so"),
    "T.gemm": lambda: __import__("tilecore.language").language.gemm,
    "import": lambda: __import__("tilecore.lowering.pipeline"),
    "backend": lambda: kernel.backend.lowering,
    "TileLang's name": lambda: __import__("tilecore.utils.tensor").utils.tensor.get_tensor_supply,
}
said = {}
for name, use in uses.items():
    try:
        use()
        said[name] = "nothing"
    except tilecore.errors.CompilerMissingError as error:
        said[name] = str(error) if isinstance(error, ImportError) else "no ImportError"
    except Exception as error:
        said[name] = repr(error)
said["unknown"] = [hasattr(tilecore, "no_such"), __import__("importlib").util.find_spec("tilecore.no_such") is None]
print(json.dumps(said))
"""


def test_the_compilers_names_say_what_to_install(alone, tmp_path):
    kernel = tilecore.compile(product(32, 32, 32), target="cpu", out_idx=[2])
    kernel.export(tmp_path / "kernel.tck")
    said = _json(alone.run(BEGINNING + COMPILERS_NAMES + END, tmp_path / "kernel.tck"))
    assert said.pop("unknown") == [False, True]
    version = tilecore.__version__
    for name, text in said.items():
        lines = text.splitlines()
        assert lines[0].endswith("is a part of tilecore's compiler, which is not installed"), (name, text)
        assert lines[1].startswith(f"  = found: tilecore-runtime {version} alone"), name
        assert lines[3].startswith(f"  = help: pip install tilecore=={version}; or compile the kernel on another"), name


def test_a_tvm_of_another_package_is_left_alone(alone, tmp_path):
    """As TileLang's, which stands in sys.modules under the name tvm."""
    (tmp_path / "tvm.py").write_text("marker = 1")
    for order in ("import tvm\nimport tilecore", "import tilecore\nimport tvm"):
        code = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n{order}\nprint(tvm.marker, len(vars(tvm)))"
        names = alone.run(f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport tvm\nprint(len(vars(tvm)))")
        assert alone.run(code).split() == ["1", names.strip()]


PROGRAM = """
import numpy as np
import tilecore
import tilecore.language as T

@tilecore.jit(out_idx=-1)
def doubled(N):
    @T.prim_func
    def kernel(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(T.ceildiv(N, 32)) as bx:
            for i in T.Parallel(32):
                B[bx * 32 + i] = A[bx * 32 + i] * 2
    return kernel

@tilecore.jit
def tripled(X):
    N = T.const("N")
    X: T.Tensor((N,), T.float32)
    Y = T.empty((N,), T.float32)
    with T.Kernel(T.ceildiv(N, 32)) as bx:
        for i in T.Parallel(32):
            Y[bx * 32 + i] = X[bx * 32 + i] * 3
    return Y

import sys
x = np.arange(50, dtype=np.float32)
try:
    assert (doubled(50)(x) == 2 * x).all() and (tripled(x) == 3 * x).all()
    print("right", "tvm" in sys.modules)
    doubled(int(sys.argv[1]))
    print("compiled")
except tilecore.errors.CompilerMissingError as error:
    print(error.message)
"""


def test_the_compiler_comes_and_goes(wheels, tmp_path):
    """A program with @tilecore.jit: alone, with the compiler, which writes the cache, and then from the cache alone."""
    environment = Environment(tmp_path / "venv", "numpy", "pluggy")
    environment.install(wheels["tilecore-runtime"])
    (tmp_path / "program.py").write_text(PROGRAM)
    program = f"import runpy\nrunpy.run_path({str(tmp_path / 'program.py')!r})"
    missing = "doubled({}) is not in the cache, and compiling it needs tilecore's compiler"
    assert environment.run(program, "51").splitlines() == [missing.format(50)]
    environment.install(wheels["tilecore"])
    others = environment.site / "others.pth"
    others.write_text(str(metadata.distribution("apache-tvm").locate_file("")))
    assert environment.run(program, "52").splitlines() == ["right True", "compiled"]
    others.unlink()
    environment.pip("uninstall", "--quiet", "--yes", "tilecore")
    assert environment.run(program, "53").splitlines() == ["right False", missing.format(53)]
    assert environment.run(program, "52").splitlines() == ["right False", "compiled"]


# -- backends


def test_backends_load_without_the_compiler(alone):
    code = """
        from tilecore.plugins import manager
        kinds = {}
        for kind in manager.kinds():
            backend, _ = manager.resolve(kind)
            kinds[kind] = [name for name in backend.adapters if backend.adapters[name].simulates]
        print(json.dumps(kinds))
    """
    kinds = _json(alone.run(BEGINNING + textwrap.dedent(code) + END))
    assert set(kinds) == {"cpu", "cuda", "hip", "metal", "tpu"}
    assert not any(names for kind, names in kinds.items() if kind != "tpu")


ON_A_GPU = """
import ctypes
import numpy as np
import tilecore

class OnDevice:
    '''Memory of the host that DLPack says to be a GPU's.'''
    def __init__(self, array): self.array = array
    def __dlpack_device__(self): return 2, 0
    def __dlpack__(self, **keywords):
        capsule = self.array.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        # the type of the device, the second field of numpy's DLTensor
        ctypes.c_int32.from_address(pointer(capsule, b"dltensor") + 8).value = 2
        return capsule

driver = ctypes.CDLL("libcuda.so.1")
driver.fake_journal.restype = ctypes.c_char_p
driver.fake_seen.restype = ctypes.POINTER(ctypes.c_int64)
driver.fake_slots_of(3)
a, b = np.zeros(64, np.float32), np.zeros(64, np.float32)
kernel = tilecore.load_kernel(sys.argv[1])
kernel(OnDevice(a), OnDevice(b), 2.5)
slots = driver.fake_seen()[:3]
assert slots[:2] == [a.ctypes.data, b.ctypes.data] and slots[2] & 0xFFFFFFFF == 0x40200000
try:
    tilecore.load_kernel(sys.argv[2])
except tilecore.errors.CompilerMissingError as error:
    simulated = error.message
print(json.dumps([driver.fake_journal().decode().splitlines(), driver.fake_launches(), simulated]))
"""


def test_a_gpu_launches_without_the_compiler(alone, tmp_path, monkeypatch):
    """With the driver that stands in for a GPU's in tile-cuda's tests, under the name of the real one."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler to build the driver without a GPU")
    tests = ROOT / "plugins" / "tile-cuda" / "tests"
    (tmp_path / "driver").mkdir()
    library = tmp_path / "driver" / "libcuda.so.1"
    command = [compiler, "-shared", "-fPIC", "-O1", "-w", str(tests / "fake_driver.c"), "-o", str(library)]
    subprocess.run(command, check=True)
    monkeypatch.syspath_prepend(str(tests))
    from cuda_artifacts import artifact

    from tilecore.jit.export import write_kernel

    paths = [tmp_path / "device.tck", tmp_path / "simulated.tck"]
    write_kernel(artifact(), paths[0])
    write_kernel(artifact(adapter="sim", binary=b"", binary_format="simulation"), paths[1])
    where = {"LD_LIBRARY_PATH": str(tmp_path / "driver")}
    journal, launches, simulated = _json(alone.run(BEGINNING + ON_A_GPU + END, *paths, **where))
    assert launches == 1
    assert "grid 7 1 1 block 128 1 1" in journal
    assert [line for line in journal if line.startswith("load")]
    assert simulated == "the simulated device is a part of tilecore's compiler, which is not installed"


# -- torch


WITH_TORCH = """
import torch
import tilecore

kernel = tilecore.load_kernel(sys.argv[1])
a, b = torch.randn(128, 96), torch.randn(96, 160)
torch.testing.assert_close(kernel(a, b), a @ b, rtol=1e-4, atol=1e-4)
operation = kernel.torch_op("runtime_alone::product")
torch.testing.assert_close(operation(a, b), a @ b, rtol=1e-4, atol=1e-4)
print(sorted({"tvm", "tvm_ffi", "tilecore.lowering"} & set(sys.modules)), tilecore.installation.compiler_is_installed())
"""


def test_tensors_and_operations_of_torch(alone, tmp_path):
    """In a process that finds the packages of the tests' environment behind those of the runtime's: no compiler."""
    torch = pytest.importorskip("torch")
    tilecore.compile(product(128, 160, 96), target="cpu", out_idx=[2]).export(tmp_path / "product.tck")
    others = f"import sys\nsys.path.append({str(Path(torch.__file__).parents[1])!r})\n"
    assert alone.run(others + WITH_TORCH, tmp_path / "product.tck").split("\n")[-2] == "[] False"


def test_the_tests_can_fail(alone):
    with pytest.raises(AssertionError):
        alone.run(BEGINNING + "import ctypes as tvm\nsys.modules['tvm'] = tvm" + END)
    assert np.__version__ == alone.run("import numpy\nprint(numpy.__version__)").strip()
