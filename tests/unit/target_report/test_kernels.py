"""Which kernels a file has, and with which arguments they are made."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilecore.cli import main
from tilecore.errors import ArgumentError, TargetError
from tilecore.target_report.files import module_of, path_and_name
from tilecore.target_report.kernels import Kernel, LeftOut, kernels_of


def labels(kernels):
    return [kernel.label for kernel in kernels]


def test_all_kinds_of_kernels_are_found(sample):
    kernels = kernels_of(sample, None, ())
    assert labels(kernels) == [
        "demanding", "foreign", "matmul()", "scaled()", "without_sizes",
        "added(T.Tensor((100,), T.float32), T.Tensor((100,), T.float32))",
    ]  # fmt: skip
    (left_out,) = [kernel for kernel in kernels if isinstance(kernel, LeftOut)]
    assert left_out.reason == "it needs n"
    assert '--call "without_sizes(n=...)"' in left_out.hint
    for kernel in kernels:
        if isinstance(kernel, Kernel):
            assert kernel.make({}).attrs["global_symbol"]


@pytest.mark.parametrize("call", ["without_sizes(64)", "without_sizes(n=8 * 8)", "without_sizes(64, by=3)"])
def test_calls_give_arguments(sample, call):
    (kernel,) = kernels_of(sample, "without_sizes", [call])
    assert kernel.label == call
    assert [int(size) for size in kernel.make({}).params[0].shape] == [64]
    assert kernel.choices == {"by": 3 if "3" in call else 2}


def test_alternatives(sample):
    (kernel,) = kernels_of(sample, "matmul", ["matmul(M=64) or matmul(M=32) or without_sizes(16)"])
    assert (kernel.label, labels(kernel.alternatives)) == ("matmul(M=64)", ["matmul(M=32)", "without_sizes(16)"])
    assert [int(size) for size in kernel.alternatives[1].make({}).params[0].shape] == [16]
    (left_out,) = kernels_of(sample, "matmul", ["matmul(M=64) or matmul(L=32)"])
    assert isinstance(left_out, LeftOut)
    with pytest.raises(ArgumentError, match="has no kernel 'nothing'"):
        kernels_of(sample, "matmul", ["matmul(M=64) or nothing(3)"])
    with pytest.raises(ArgumentError, match="the call of one function by its name is expected"):
        kernels_of(sample, "matmul", ["matmul(M=64) and matmul(M=32)"])


def test_a_kernel_may_be_called_often(sample):
    calls = ["matmul(M=32)", "matmul(M=64, dtype='float32')"]
    assert labels(kernels_of(sample, "matmul", calls)) == calls


def test_calls_of_the_user_replace_those_of_the_file(sample):
    call = "added(T.Tensor((5,), T.float32), T.Tensor((5,), T.float32), block=4)"
    assert labels(kernels_of(sample, "added", [call])) == [call]


def test_changed_arguments_make_another_kernel(sample):
    (kernel,) = kernels_of(sample, "matmul", ())
    assert set(kernel.choices) == {"M", "N", "K", "block_M", "block_N", "block_K", "num_stages", "threads", "dtype"}
    assert [int(size) for size in kernel.make({"M": 17}).params[0].shape] == [17, 256]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("nothing(1)", "has no kernel 'nothing'"),
        ("not_a_kernel(1)", "has no kernel 'not_a_kernel'"),
        ("matmul", "a call is expected, and this is a name"),
        ("matmul.func(3)", "the call of one function by its name is expected"),
        ("matmul(", "the call cannot be read"),
        ("matmul(*[1])", "unpacks arguments with"),
        ("matmul(1, M=2, N=3, M=2)", "the call gives M twice"),
        ("matmul(unknown_name)", "an argument cannot be evaluated: name 'unknown_name' is not defined"),
    ],
)
def test_wrong_calls(sample, call, message):
    with pytest.raises(ArgumentError, match=message.replace("(", r"\(")) as caught:
        kernels_of(sample, None, [call])
    assert caught.value.expected


def test_arguments_that_do_not_fit(sample):
    (left_out,) = kernels_of(sample, "without_sizes", ["without_sizes(1, 2, 3)"])
    assert "too many positional arguments" in left_out.reason


def test_a_name_alone(sample):
    assert labels(kernels_of(sample, "foreign", ())) == ["foreign"]
    with pytest.raises(ArgumentError, match="has no kernel 'wrong'"):
        kernels_of(sample, "wrong", ())


def test_what_a_file_imports_is_not_its_own(tmp_path, sample, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "one_kernel.py").write_text(
        "import tilecore.language as T\n\n@T.prim_func\ndef first(A: T.Tensor((4,), 'float32')):\n"
        "    with T.Kernel(1):\n        T.clear(A)\n"
    )
    (tmp_path / "no_kernel.py").write_text("from one_kernel import first\n")
    assert labels(kernels_of(module_of(tmp_path / "one_kernel.py"), None, ())) == ["first"]
    assert kernels_of(module_of(tmp_path / "no_kernel.py"), None, ()) == []


@pytest.mark.parametrize("text", ["EXPLAIN = 'f(1)'", "EXPLAIN = [1]"])
def test_a_hook_that_is_no_list_of_texts(tmp_path, text):
    path = tmp_path / f"hook_{len(text)}.py"
    path.write_text(text)
    with pytest.raises(ArgumentError, match="EXPLAIN of"):
        kernels_of(module_of(path), None, ())


def test_file_and_name(tmp_path):
    path = tmp_path / "a.py"
    assert path_and_name(f"{path}:b") == (path, "b")
    assert path_and_name(str(path)) == (path, None)
    with pytest.raises(ArgumentError, match="there is no Python file"):
        module_of(path)


EAGER = """
import tilecore
import tilecore.language as T


@tilecore.jit
def scaled(X, factor: float = 2.0):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), T.float32)
    Y = T.empty((M, N), T.float32)
    with T.Kernel(T.ceildiv(M, 16), threads=128) as bx:
        for i, j in T.Parallel(16, N):
            Y[bx * 16 + i, j] = X[bx * 16 + i, j] * factor
    return Y


def any_length(X):
    n = T.dynamic("n")
    X: T.Tensor((n,), T.float32)
    with T.Kernel(T.ceildiv(n, 4)) as b:
        for i in T.Parallel(4):
            X[b * 4 + i] = 1.0
"""


@pytest.fixture
def eager_file(tmp_path):
    path = tmp_path / "eager_kernels.py"
    path.write_text(EAGER)
    return path


def test_eager_kernels_are_made_by_the_names_of_their_sizes(eager_file):
    module = module_of(eager_file)
    left_out, dynamic = sorted(kernels_of(module, None, ()), key=lambda kernel: kernel.label, reverse=True)
    assert isinstance(left_out, LeftOut)
    assert left_out.reason == "it needs M, N"
    assert '--call "scaled(M=..., N=...)"' in left_out.hint
    assert dynamic.label == "any_length()"
    assert len(dynamic.make({}).params) == 1
    (kernel,) = kernels_of(module, "scaled", ["scaled(M=64, N=8)"])
    assert [int(size) for size in kernel.make({}).params[0].shape] == [64, 8]
    assert "3.0" in kernel.make({"factor": 3.0}).script()
    with pytest.raises(ArgumentError, match=r"the value of T\.const 'N' is not known"):
        kernels_of(module, "scaled", ["scaled(M=64)"])[0].make({})


def test_one_eager_kernel_is_explained(eager_file):
    from tilecore.commands.explain import compiled

    kernel = compiled(f"{eager_file}:scaled", ["M=64", "N=8"], "cpu")
    assert kernel.params[0].shape == (64, 8)
    assert "scaled_kernel" in str(kernel.explain())
    assert compiled(f"{eager_file}:any_length", [], "cpu").artifact.name == "any_length"
    with pytest.raises(ArgumentError, match=r"T\.const 'N' is not known") as caught:
        compiled(f"{eager_file}:scaled", ["M=64"], "cpu")
    assert "--set NAME=VALUE" in caught.value.hint


FAILING_FILES = {
    "raises": ("import os\n\n\ndef f():\n    return 1 // 0\n\n\nf()\n", "cannot be run: ZeroDivisionError", 5),
    "ends": ("import sys\n\nsys.exit(3)\n", "ends the process", 3),
    "moves": ("import os\n\nos.chdir('/')\nraise ValueError('x')\n", "cannot be run: ValueError", 4),
    "base": ("class Stop(BaseException):\n    pass\n\n\nraise Stop('x')\n", "cannot be run: Stop: x", 5),
    "mute": (
        "class Mute(Exception):\n    def __str__(self):\n        raise KeyError\n\n\nraise Mute\n",
        "cannot be run: Mute: .an error without a text",
        6,
    ),
    "imports": ("import no_such_module_here\n", "cannot be run: ModuleNotFoundError", 1),
    "syntax": ("x = 1\ndef f(:\n    pass\n", "cannot be run: SyntaxError", 2),
}


@pytest.mark.parametrize("name", FAILING_FILES)
def test_files_that_fail_name_their_line(name, tmp_path, monkeypatch):
    text, message, line = FAILING_FILES[name]
    (tmp_path / f"failing_{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArgumentError, match=message) as raised:
        module_of(Path(f"failing_{name}.py"))
    assert raised.value.location is not None
    assert raised.value.location.line == line


def test_tilecore_errors_of_files_pass_through(tmp_path):
    (tmp_path / "failing_target.py").write_text("import tilecore\n\ntilecore.Target.parse('cpu -no_such=1 -')\n")
    with pytest.raises(TargetError):
        module_of(tmp_path / "failing_target.py")


FACTORIES = {
    "undefined": ("    A[0] = undefined_name\n", "name 'undefined_name' is not defined"),
    "raises": ("    raise ValueError('no such size')\n", "ValueError: no such size"),
    "ends": ("    import sys; sys.exit(2)\n", "ends the process"),
}


@pytest.mark.parametrize("name", FACTORIES)
@pytest.mark.parametrize("command", [["explain"], ["compile", "-o", "k.tcb"], ["explain", "--targets", "cpu"]])
def test_commands_name_the_line_of_a_factory_that_fails(name, command, tmp_path, monkeypatch, capsys):
    text, message = FACTORIES[name]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path / "cache"))
    source = "import tilecore\nimport tilecore.language as T\n\n\n@tilecore.jit(target='cpu')\ndef made(M=32):\n"
    source += "    @T.prim_func\n    def kernel(A: T.Tensor((M,), 'float32')):\n        with T.Kernel(1):\n"
    source += "            A[0] = undefined_name\n\n    return kernel\n" if name == "undefined" else ""
    source = source if name == "undefined" else source[: source.index("    @T.prim_func")] + text
    Path("factory.py").write_text(source)
    with pytest.raises(SystemExit) as ended:
        main([command[0], "factory.py", *command[1:]])
    assert ended.value.code not in (0, 2)
    output = capsys.readouterr()
    wanted = "SystemExit" if name == "ends" and "--targets" in command else message
    assert wanted in output.err + output.out
    assert "Traceback" not in output.err + output.out
    if command != ["explain", "--targets", "cpu"]:
        assert "factory.py:" in output.err + output.out


def test_a_name_is_no_call(sample):
    with pytest.raises(ArgumentError, match="this is a name") as raised:
        kernels_of(sample, None, ["matmul"])
    assert '"matmul()"' in str(raised.value)
