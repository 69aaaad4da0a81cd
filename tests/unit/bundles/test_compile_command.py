"""``tilecore compile`` and ``tilecore bundle``: what a file declares, targets, errors that do not stop the others."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from bundle_kit import KERNELS, artifact_of, kernel_of, written

import tilecore
from tilecore.bundle_builder.build import plan_of
from tilecore.bundle_builder.declared import declared_kernels
from tilecore.bundle_builder.targets import targets_of
from tilecore.bundles import layers
from tilecore.errors import ArgumentError, TargetError

FAILING = (
    KERNELS
    + """

def tilecore_kernels():
    yield add, (4, 4)
    yield add, (4, 4, "float99")
    yield scaled, {"M": 6, "N": 8}
"""
)


def labels(module, *calls, name=None):
    return [kernel.label for kernel in declared_kernels(module, name, calls)[0]]


def test_what_a_file_declares(load_module):
    module = load_module(KERNELS)
    expected = ["add(16, 8)", "add(32, 8)", "add(4, 4, dtype='int32')", "scaled(M=6, N=8)", "twice"]
    assert labels(module) == expected
    assert labels(module, name="add") == expected[:3]
    assert labels(module, "add(1, 2)", "add(1, 2)", "twice()") == ["add(1, 2)", "twice"]
    with pytest.raises(ArgumentError, match="declares no kernel 'subtract'"):
        labels(module, name="subtract")
    with pytest.raises(ArgumentError, match="has no kernel 'subtract'"):
        labels(module, "subtract(1)")
    with pytest.raises(ArgumentError, match="an argument is missing: N"):
        labels(module, "add(1)")


def test_without_the_hook(load_module):
    """Kernels without arguments, and those whose parameters have defaults; of the others the reason."""
    module = load_module(KERNELS.replace("M, N, dtype", "M=4, N=4, dtype").replace("def tilecore_kernels", "def other"))
    kernels, left_out = declared_kernels(module, None, [])
    assert [kernel.label for kernel in kernels] == ["add()", "twice"]
    assert [(kernel.label, kernel.reason) for kernel in left_out] == [("scaled", "it needs M, N")]
    assert '--call "scaled(M=..., N=...)"' in left_out[0].hint
    assert 'def tilecore_kernels(): yield scaled, {"M": ..., "N": ...}' in left_out[0].hint


@pytest.mark.parametrize("given", ["5", "(5, 1)", "add(4, 4)", "(add, 1, 2)", "None"])
def test_what_the_hook_may_not_give(load_module, given):
    module = load_module(KERNELS + f"\n\ndef tilecore_kernels():\n    yield {given}\n")
    with pytest.raises(ArgumentError, match="gives something that is no kernel") as caught:
        labels(module)
    assert ("a call compiles for this machine" in str(caught.value)) == (given == "add(4, 4)")


def test_a_hook_that_gives_nothing_to_iterate(load_module):
    with pytest.raises(ArgumentError, match="gives no kernels"):
        labels(load_module(KERNELS + "\n\ndef tilecore_kernels():\n    add(4, 4)\n"))
    assert labels(load_module(KERNELS + "\n\ntilecore_kernels = ['add(1, 2)', (add, (3, 4))]\n")) == [
        "add(1, 2)",
        "add(3, 4)",
    ]


@pytest.mark.parametrize(
    ("code", "error", "line"),
    [
        ("def tilecore_kernels():\n    yield twice\n    raise OSError('no list')", "OSError: no list", "raise OSError"),
        ("def tilecore_kernels():\n    return [add, {}[3]]", "KeyError: 3", "return [add, {}[3]]"),
        ("def tilecore_kernels():\n    import math\n    yield add, math.sqrt(-1)", "ValueError: ", "yield add, math"),
        ("def tilecore_kernels():\n    raise SystemExit(3)", "it ends the process (sys.exit)", "raise SystemExit"),
        (
            "def tilecore_kernels(n):\n    yield add, (n, n)",
            "TypeError: tilecore_kernels() missing 1 ",
            "def tilecore_",
        ),
    ],
    ids=["generator", "function", "library", "exit", "parameter"],
)
def test_a_hook_that_raises_an_error(run, tmp_path, code, error, line):
    """The command names the file, the line and the error; the traceback is printed on request."""
    source = f"{KERNELS}\n\n{code}\n"
    (tmp_path / "kernels.py").write_text(source)
    number = 1 + max(i for i, text in enumerate(source.splitlines()) if text.strip().startswith(line))
    exit_code, printed, told = run("compile", "kernels.py", "--target", "cpu")
    assert exit_code == 1
    assert told.startswith(f"tilecore: tilecore_kernels() of {tmp_path / 'kernels.py'} failed: {error}"), told
    assert f"  --> {tmp_path / 'kernels.py'}:{number}:1\n" in told
    assert "TILECORE_DEBUG=1" in told
    assert "Traceback" not in printed + told


def test_the_traceback_of_a_hook(run, tmp_path, monkeypatch):
    (tmp_path / "kernels.py").write_text(KERNELS + "\n\ndef tilecore_kernels():\n    yield add, {}[3]\n")
    monkeypatch.setenv("TILECORE_DEBUG", "1")
    _, _, told = run("compile", "kernels.py", "--list")
    assert told.startswith("Traceback")
    assert "in tilecore_kernels\n    yield add, {}[3]" in told
    assert "\ntilecore: tilecore_kernels() of " in told


def test_a_hook_is_asked_for_one_kernel_after_the_other(load_module):
    """What it changes after a yield does not change the kernels before."""
    code = "def tilecore_kernels():\n    sizes = {'N': 8}\n    for sizes['M'] in (1, 2):\n        yield add, sizes"
    assert labels(load_module(f"{KERNELS}\n\n{code}\n")) == ["add(N=8, M=1)", "add(N=8, M=2)"]


def test_targets_with_several_values():
    def texts(*words):
        return list(targets_of(words).values())

    assert texts("cpu -march=x86-64-v3,generic") == ["cpu -march=x86-64-v3", "cpu -march=generic"]
    assert texts("cpu -march=generic;cpu -march=haswell", "cpu -march=generic") == [
        "cpu -march=generic",
        "cpu -march=haswell",
    ]
    assert texts("cpu -march=generic -features='avx2,fma'") == ["cpu -features=avx2,fma -march=generic"]
    assert texts("cpu -march=generic,haswell -vector_bits=128,256") == [
        f"cpu -march={march} -vector_bits={bits}" for march in ("generic", "haswell") for bits in (128, 256)
    ]
    for wrong in ("cpu -march=generic,none", "nothing", "cpu -march=none"):
        with pytest.raises(TargetError):
            texts(wrong)
    with pytest.raises(ArgumentError, match="names no target"):
        texts(" ; ")


def test_a_kernel_with_a_target_of_its_own(load_module):
    kernels, _ = declared_kernels(load_module(KERNELS.replace('"cpu"', '"cpu -march=haswell"')), None, [])
    assert {task.request.target.get("march") for task in plan_of(kernels, {}, None).tasks} == {"haswell", "native"}
    plan = plan_of(kernels, targets_of(["cpu -march=generic"]), None)
    assert {task.target for task in plan.tasks} == {"cpu -march=generic"}
    assert (plan.failed, plan.left_out) == ((), ())


def test_settings_that_ask_for_simulated_kernels_are_refused(run, tmp_path, monkeypatch):
    (tmp_path / "kernels.py").write_text(KERNELS)
    for name in ("TILECORE_INTERPRET", "TILECORE_SIMULATE"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "1")
            code, _, told = run("compile", "kernels.py")
        assert code == 1
        assert f"{name} asks for kernels that no device runs" in told


def test_one_that_fails_does_not_stop_the_others(run, tmp_path):
    (tmp_path / "kernels.py").write_text(FAILING)
    code, printed, _ = run("compile", "kernels.py", "--target", "cpu", "--jobs", 2)
    assert code == 1
    assert "failed: add(4, 4, 'float99') for cpu: " in printed
    assert "2 kernels for 1 target" in printed
    assert "1 failed: no bundle is written; --keep-going writes it with the others" in printed
    assert not (tmp_path / "kernels.tcb").exists()
    code, printed, _ = run("compile", "kernels.py", "--target", "cpu", "--keep-going", "--json")
    facts = json.loads(printed)
    assert code == 1
    assert facts["bundle"] == "kernels.tcb"
    assert facts["bytes"] == (tmp_path / "kernels.tcb").stat().st_size
    assert [kernel["kernel"] for kernel in facts["kernels"]] == ["add(4, 4)", "scaled(M=6, N=8)"]
    assert [kernel["kernel"] for kernel in facts["failed"]] == ["add(4, 4, 'float99')"]
    assert list(tilecore.load_bundle(tmp_path / "kernels.tcb")) == ["add(4, 4)", "scaled(M=6, N=8)"]


def test_listing_compiles_nothing(run, tmp_path):
    (tmp_path / "kernels.py").write_text(KERNELS)
    code, printed, _ = run("compile", "kernels.py:add", "--target", "cpu -march=generic,haswell", "--list")
    assert code == 0
    assert "6 kernels" in printed
    assert "add(4, 4, dtype='int32')  cpu -march=haswell  native" in printed
    assert not (tmp_path / "kernels.tcb").exists()


def test_a_module_of_a_package(run, tmp_path, monkeypatch):
    (tmp_path / "some_package").mkdir()
    (tmp_path / "some_package" / "__init__.py").write_text("")
    (tmp_path / "some_package" / "few.py").write_text(KERNELS)
    monkeypatch.syspath_prepend(str(tmp_path))
    code, _, _ = run("compile", "some_package.few:twice", "--target", "cpu", "-o", "a.tcb")
    assert (code, list(tilecore.load_bundle("a.tcb"))) == (0, ["twice"])


def test_a_module_that_cannot_be_imported(run, tmp_path, monkeypatch):
    (tmp_path / "broken_package").mkdir()
    (tmp_path / "broken_package" / "few.py").write_text("import tilecore\n\n1 / 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    code, printed, told = run("compile", "broken_package.few", "--target", "cpu")
    assert code == 1
    assert told.startswith("tilecore: the module broken_package.few cannot be imported: ZeroDivisionError: ")
    assert f"  --> {tmp_path / 'broken_package' / 'few.py'}:3:1\n" in told
    assert "Traceback" not in printed + told


def test_folders_that_are_missing_are_made(run, tmp_path):
    (tmp_path / "kernels.py").write_text(FAILING)
    code, _, _ = run("compile", "kernels.py", "--target", "cpu", "-o", "none/too/a.tcb")
    assert code == 1
    assert not (tmp_path / "none").exists(), "no bundle is written"
    code, _, told = run("compile", "kernels.py:scaled", "--target", "cpu", "-o", "none/too/a.tcb")
    assert code == 0, told
    assert list(tilecore.load_bundle("none/too/a.tcb")) == ["scaled(M=6, N=8)"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["none.py"], "no Python file"),
        (["none.module"], "no Python file or module none.module"),
        (["empty.py"], "declares no kernels to compile"),
        (["kernels.py", "--target", "cpu", "-o", "empty.py/a.tcb"], "a folder that cannot be made"),
        (["kernels.py", "--target", "cpu", "-o", "new/"], "--out names the folder new/"),
        (["kernels.py", "--target", "cpu", "-o", ""], "--out is empty"),
        (["key.pub"], "key.pub is not a Python file"),
        (["kernels.py:nothing", "--target", "cpu"], "declares no kernel 'nothing'\n  = expected: add, scaled, twice"),
        (["kernels.py", "--target", "nothing"], "nothing"),
        (["kernels.py", "--target", "cpu", "--execution-backend", "none"], "has no execution backend 'none'"),
        (["kernels.py", "--target", "cpu", "--sign", "none"], "the key none cannot be read"),
        (["kernels.py", "--target", "cpu", "--sign", "key.pub"], "key.pub cannot sign a bundle"),
    ],
)
def test_errors(run, tmp_path, words, text):
    (tmp_path / "kernels.py").write_text(KERNELS)
    (tmp_path / "empty.py").write_text("import tilecore\n")
    (tmp_path / "key.pub").write_text("ssh-ed25519 AAAA me@example\n")
    code, _, told = run("compile", *words)
    assert code == 1
    assert text in told


def test_showing_a_bundle(run, tmp_path):
    path = written(tmp_path / "a.tcb", [kernel_of(1), kernel_of(2, machine="linux-x86_64")])
    code, printed, _ = run("bundle", path)
    assert code == 0
    assert "cpu -march=x\n" in printed
    assert "make(2)" in printed
    assert "2 kernels" in printed
    assert "not signed" in printed
    assert "\ntrusted here: it belongs to user " in printed
    path.chmod(0o666)
    code, printed, _ = run("bundle", path)
    assert "\nnot trusted here: the first problem says why\nproblem: " in printed
    code, printed, _ = run("bundle", path, "--json")
    facts = json.loads(printed)
    assert (code, facts["trusted"]) == (1, None)
    assert "can be written to by others" in facts["problems"][0]
    assert facts["kernels"][1]["machine"] == "linux-x86_64"
    data = path.read_bytes()
    path.write_bytes(data[:-1] + b"\0")
    code, printed, _ = run("bundle", path)
    assert code == 1
    assert "does not match its digest" in printed
    path.write_bytes(data + b"\0")
    code, printed, _ = run("bundle", path, "--json")
    assert code == 1
    assert "has bytes that belong to no kernel" in json.loads(printed)["problems"][-1]
    assert artifact_of(1).name == "kernel_1"
    code, _, told = run("bundle", tmp_path / "none.tcb")
    assert code == 1
    assert "cannot be read" in told


def test_a_bundle_of_another_version_is_told_by_the_command(run, tmp_path, monkeypatch):
    """Programs do not find its kernels, as their functions may mean something else; by name they are there."""
    path = written(tmp_path / "a.tcb", [kernel_of(1)])
    code, printed, _ = run("bundle", path)
    assert (code, "warning" in printed) == (0, False)
    monkeypatch.setattr(layers, "portable_versions", lambda *names: {"tilecore": "9.9"})
    code, printed, _ = run("bundle", path)
    assert code == 0
    assert "warning: TILECORE_CACHE_PATH does not use it: it was compiled by tilecore " in printed
    assert "and this is 9.9" in printed


def test_a_file_of_trusted_keys_that_is_not_there(run, tmp_path, monkeypatch):
    """The command tells it, also of a bundle that its owner makes trusted."""
    path = written(tmp_path / "a.tcb", [kernel_of(1)])
    monkeypatch.setenv("TILECORE_TRUSTED_KEYS", str(tmp_path / "none"))
    code, printed, _ = run("bundle", path)
    assert code == 0
    assert f"warning: TILECORE_TRUSTED_KEYS names {tmp_path / 'none'}, which does not exist" in printed
    path.chmod(0o666)
    code, printed, _ = run("bundle", path, "--json")
    facts = json.loads(printed)
    assert (code, facts["warnings"]) == (1, [])
    assert f"found: TILECORE_TRUSTED_KEYS names {tmp_path / 'none'}, which does not exist" in facts["problems"][0]


def test_signing(run, tmp_path, monkeypatch):
    pytest.importorskip("cryptography")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = Ed25519PrivateKey.generate()
    (tmp_path / "key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (tmp_path / "key.pub").write_bytes(key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH))
    other = Ed25519PrivateKey.generate().public_key()
    (tmp_path / "other.pub").write_bytes(other.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH))
    (tmp_path / "kernels.py").write_text(KERNELS)
    code, _, told = run("compile", "kernels.py:twice", "--target", "cpu", "--sign", "key", "-o", "a.tcb")
    assert code == 0, told
    code, printed, _ = run("bundle", "a.tcb", "--signed-by", "key.pub")
    assert (code, "signed by ssh-ed25519 AAAA" in printed) == (0, True)
    assert "whose signature is right" in printed
    assert "\ntrusted here: it is signed by the key that is asked for" in printed
    code, printed, _ = run("bundle", "a.tcb")
    assert (code, "\ntrusted here: it belongs to user " in printed) == (0, True)
    with monkeypatch.context() as patch:
        patch.setenv("TILECORE_TRUSTED_KEYS", "key.pub")
        code, printed, _ = run("bundle", "a.tcb", "--json")
        assert (code, json.loads(printed)["trusted"]) == (0, "it is signed by a trusted key")
    bundle = tilecore.load_bundle("a.tcb", signed_by="key.pub")
    assert list(bundle) == ["twice"]
    code, _, told = run("compile", "kernels.py:twice", "--target", "cpu -march=x86-64", "-o", "b.tcb")
    assert code == 0, told
    signed, other = (Path(name).read_bytes().split(b"\n", 2) for name in ("a.tcb", "b.tcb"))
    Path("c.tcb").write_bytes(b"\n".join([other[0], signed[1], other[2]]))
    Path("c.tcb").chmod(0o644)
    code, printed, told = run("bundle", "c.tcb")
    assert code == 1, "it is an own file, and its signature is checked nevertheless"
    assert printed.count("problem: ") == 1
    assert "problem: its signature is wrong" in printed
    monkeypatch.setenv("TILECORE_TRUSTED_KEYS", "key.pub")
    code, printed, told = run("bundle", "c.tcb")  # now loading it finds that, too; it is told once
    assert code == 1
    assert printed.count("problem: ") == 1
    assert "c.tcb is not trusted: its signature by ssh-ed25519 " in printed
    code, printed, told = run("bundle", "c.tcb", "--signed-by", "other.pub")
    assert code == 1
    assert printed.count("problem: ") == 2
    code, _, told = run("bundle", "a.tcb", "--signed-by", "key")
    assert code == 1
    assert "found: a private key, which only signs" in told


DIFFERENT_KERNELS = """
import tilecore
import tilecore.language as T


def made(factor):
    @tilecore.jit(target="cpu", out_idx=-1)
    def f(N=32):
        @T.prim_func
        def main(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
            with T.Kernel(1):
                for i in T.Parallel(N):
                    B[i] = A[i] * factor

        return main

    return f


class Factor:
    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return "Factor()"


@tilecore.jit(target="cpu", out_idx=-1)
def by_object(factor, widths=()):
    @T.prim_func
    def main(A: T.Tensor((4,), "float32"), B: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(4):
                B[i] = A[i] * factor.value

    return main


double, triple = made(2.0), made(3.0)
two, three = Factor(2.0), Factor(3.0)


def tilecore_kernels():
    yield double
    yield triple
    yield double
    yield by_object, (two,)
    yield by_object, (three,)
    yield by_object, (two, (0,) * 40 + (1,))
    yield by_object, (two, (0,) * 40 + (2,))
"""


def test_different_kernels_of_the_same_text_are_all_there(tmp_path, run):
    """Closures of one name, and arguments of the same repr: a number tells them apart, and none is lost."""

    class Same:
        def __repr__(self):
            return "Factor()"

    source, bundle_path = tmp_path / "k.py", tmp_path / "k.tcb"
    source.write_text(DIFFERENT_KERNELS)
    status, _, errors = run("compile", source, "--target", "cpu", "-o", bundle_path)
    assert status == 0, errors
    with tilecore.load_bundle(bundle_path) as bundle:
        assert list(bundle)[:4] == ["f()", "f() #2", "by_object(Factor())", "by_object(Factor()) #2"]
        assert len(bundle) == 6
        factors = [float(np.asarray(bundle[label](np.ones(n, "float32")))[0]) for label, n in zip(
            list(bundle)[:4], (32, 32, 4, 4), strict=True)]  # fmt: skip
        assert factors == [2, 3, 2, 3]
        with pytest.raises(ArgumentError, match="several kernels by_object"):
            bundle.find("by_object", Same())
        with pytest.raises(KeyError, match="has no kernel 'nothing'"):
            bundle["nothing"]


def test_a_kernel_without_parameters_takes_no_arguments(load_module):
    with pytest.raises(ArgumentError, match="the kernel twice takes no arguments"):
        labels(load_module(KERNELS + "\n\ndef tilecore_kernels():\n    yield twice, (3,)\n"))
