"""Every example runs, checks its result against torch, and says so.

TILECORE_TEST_TARGETS: targets to run them on, separated by commas; else cpu, and cuda (simulated where there is no GPU)
if it is installed.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import tilecore
from tilecore.plugins import manager

EXAMPLES = Path(__file__).parents[1] / "examples"
FILES = sorted(EXAMPLES.glob("*.py"))

# sizes at which no tile is full, and further options
SIZES = {
    "attention": [
        "--length 100 --heads 2 --kv-heads 1 --causal --lse --block 32 --dim 64",
        "--length 70 --heads 2 --block 32 --dim 64 --lse",
        "--batch 2 --length 64 --heads 1 --block 32 --dim 64 --dtype bfloat16",
        "--length 140 --heads 1 --causal",
        "--length 70 --heads 2 --dim 80 --dim-v 48",
        "--length 140 --heads 3 --block 32 --dim 64 --lse --cores 14",  # one tile of 15 remains, and is divided
        "--length 150 --heads 3 --kv-heads 1 --block 32 --dim 64 --causal --cores 4",
    ],
    "attention_backward": [
        "--length 100 --heads 2 --kv-heads 1 --dim 32 --causal",
        "--batch 2 --length 140 --heads 1 --dim 64",
        "--length 150 --heads 1 --dim 64 --causal",
        "--length 70 --heads 1 --dim 128",
    ],
    "attention_varlen": [
        "--lengths 70 5 33 --heads 2 --kv-heads 1 --dim 32 --causal",
        "--lengths 70 5 64 --cached 3 100 0 --heads 2 --kv-heads 1 --dim 32 --causal",
        "--lengths 70 5 64 --cached 3 100 0 --heads 2 --dim 32",
    ],
    "autotune_matmul": ["--m 70 --n 45 --k 33"],
    "block_scaled_gemm": [
        "--m 130 --n 200 --k 300",
        "--m 7 --n 136 --k 128 --out-dtype float32",
        "--m 1 --n 1 --k 1 --dtype float8_e5m2",
    ],
    "conv2d": [
        "--batch 2 --height 9 --width 7 --channels 5 --filters 10 --padding 1",
        "--height 12 --width 13 --channels 16 --filters 64 --stride 2 --dilation 2 --padding 2",
        "--height 5 --width 9 --channels 40 --filters 70 --kernel 1",
    ],
    "decode_attention": [
        "--length 100 --splits 3 --dim 32",
        "--batch 1 --heads 3 --kv-heads 3 --length 1 --dim 80",
        "--heads 4 --kv-heads 1 --length 129 --splits 1",
    ],
    "dequant_matmul": [
        "--m 5 --n 70 --k 96 --group 32",
        "--m 33 --n 192 --k 256 --group 128",
        "--m 300 --n 130 --k 128 --group 64",
    ],
    "dynamic_shapes": ["--columns 77"],
    "eager_add": ["--rows 65 --columns 130"],
    "flash_attention": ["--heads 2 --length 100 --dim 32", "--batch 2 --heads 1 --length 70 --dim 32 --causal"],
    "gelu": ["--n 1500"],
    "gemm": [
        "--m 130 --n 70 --k 100",
        "--m 130 --n 72 --k 104 --layout NT --dtype bfloat16",
        "--m 130 --n 70 --k 45 --layout TN --dtype tfloat32",
        "--m 130 --n 72 --k 100 --layout TT --out-dtype float32",
        "--m 17 --n 100 --k 40 --dtype float32",
        "--m 70 --n 48 --k 208 --dtype int8 --layout TT",
        "--m 70 --n 40 --k 200 --dtype float8_e4m3fn --layout NT",
        "--m 70 --n 48 --k 208 --dtype float8_e5m2 --out-dtype float16",
        "--m 5 --n 130 --k 400 --split-k 3 --block 16 64",
        "--m 17 --n 1000 --k 400 --split-k 9 --block 16 64 --dtype int8",
        "--m 150 --n 200 --k 500 --stream-k 5 --block 64 64",  # two rounds, and two tiles of a third one
        "--m 40 --n 130 --k 1000 --stream-k 7 --block 64 64 --layout TT --dtype int8",  # three tiles
        "--m 150 --n 130 --k 300 --stream-k 3 --block 64 64 --layout NT --dtype bfloat16",  # whole rounds
    ],
    "grouped_gemm": ["--sizes 70 0 5 64 --n 70 --k 48", "--sizes 0 3 0 --n 130 --k 72"],
    "layer_norm": ["--rows 9 --columns 100", "--rows 9 --columns 100 --rms", "--rows 3 --columns 9000"],
    "linear_attention": [
        "--heads 2 --length 100 --dim-k 32 --dim-v 80",
        "--batch 2 --heads 1 --length 7 --dim-k 16 --dim-v 16 --decay none",
        "--heads 2 --length 200 --dim-k 32 --dim-v 32 --segments 3 --decay head --scale 0.25 --initial",
    ],
    "matmul": ["--m 130 --n 70 --k 45"],
    "mla_decode": [
        "--heads 5 --length 70 --latent 64 --rotary 16 --splits 2 --block-heads 16",
        "--batch 2 --heads 20 --length 40 --splits 8",
        "--heads 20 --length 100 --splits 1 --latent 128 --rotary 32",
    ],
    "paged_attention": [
        "--lengths 130 33 1 --heads 4 --kv-heads 2 --splits 2 --dim 32",
        "--lengths 200 0 --heads 3 --kv-heads 1 --page-size 64 --splits 5 --dim 32",
        "--lengths 130 0 1 --heads 8 --kv-heads 4 --splits 1 --dim 32 --heads-each 2",
    ],
    "reduction": ["--rows 70 --columns 300"],
    "rms_norm": [
        "--rows 9 --columns 100",
        "--rows 5 --columns 1000",
        "--rows 2 --columns 8191",
        "--rows 1 --columns 9000",
        "--rows 2 --columns 32771",
    ],
    "softmax": [
        "--rows 9 --columns 100",
        "--rows 1 --columns 1",
        "--rows 5 --columns 1000 --dtype float16",
        "--rows 3 --columns 9000",
        "--rows 2 --columns 32767 --dtype bfloat16",
        "--rows 2 --columns 17001",
        "--rows 2 --columns 9001 --dtype float16",
    ],
    "stream_k": ["--m 130 --n 140 --k 300 --blocks 3", "--m 30 --n 140 --k 130 --blocks 100"],
    "topk_gate": ["--tokens 45 --experts 20 --k 3", "--tokens 33 --experts 64 --k 8 --renormalize"],
    "vector_add": ["--n 1500"],
}
TARGETS = os.environ.get("TILECORE_TEST_TARGETS", "").split(",")
if TARGETS == [""]:
    TARGETS = [kind for kind in manager.kinds() if kind in ("cpu", "cuda")]
RUNS = [(name, words) for name, several in SIZES.items() for words in several]


@pytest.fixture(scope="module", autouse=True)
def needs_torch(module_cache):
    pytest.importorskip("torch")


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_examples_say_how_they_are_explained(path):
    """The calls in EXPLAIN make kernels; every kernel of the file is among them."""
    from tilecore.target_report.kernels import Kernel, kernels_of

    kernels = kernels_of(load(path.stem), None, ())
    assert kernels
    for kernel in kernels:
        assert isinstance(kernel, Kernel), kernel
        if "over_clusters" not in kernel.label or "cuda" in manager.kinds():  # whose names of the language it has
            assert kernel.make({}).attrs["global_symbol"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_an_example_does_with_less_memory_is_explained(path):
    """A call that is made after a LimitError is an alternative in EXPLAIN, with the same tiles. Proposals fit."""
    tree = ast.parse(path.read_text())
    takes_proposals = 'configs="auto"' in path.read_text()
    handlers = [node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)]
    tiles = [
        {f"{word.arg}={ast.unparse(word.value)}" for word in call.keywords if isinstance(word.value, ast.Constant)}
        for handler in handlers
        for call in ast.walk(handler)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "compiled"
    ]
    explained = [text.split(" or ")[1:] for text in load(path.stem).EXPLAIN]
    alternatives = [text for texts in explained for text in texts]
    assert bool(handlers) == bool(alternatives) or takes_proposals
    for words in tiles:
        assert any(all(f" {word}" in text for word in words) for text in alternatives), words


def command_in(path: Path) -> list[str]:
    """The words of the command at the end of the example's docstring."""
    docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
    return shlex.split(docstring.splitlines()[-1])


def test_no_example_is_left_out():
    assert [path.stem for path in FILES] == sorted(SIZES)


def test_the_readme_has_a_line_for_each():
    lines = (EXAMPLES / "README.md").read_text().splitlines()
    named = [line.split("`")[1] for line in lines if line.startswith("| `")]
    assert sorted(named) == [path.name for path in FILES]


@pytest.mark.parametrize(("name", "words"), RUNS, ids=[f"{name} {words}" for name, words in RUNS])
@pytest.mark.parametrize("target", TARGETS)
def test_example(name, words, target, monkeypatch, capsys):
    import torch

    checked = []
    compare = torch.testing.assert_close

    def counted(actual, expected, **options):
        compare(actual, expected, **options)
        checked.append(actual.numel())

    monkeypatch.setattr(torch.testing, "assert_close", counted)
    torch.manual_seed(0)
    load(name).main(["--target", target, *words.split()])
    assert sum(checked) > 0, "the example compares nothing"
    assert f"{name}: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "words", "match"),
    [
        ("attention", "--heads 3 --kv-heads 2", r"heads \(3\) must be a multiple of kv_heads \(2\)"),
        ("attention_backward", "--heads 3 --kv-heads 2", r"heads \(3\) must be a multiple of kv_heads \(2\)"),
        ("conv2d", "--height 2 --kernel 5", "a window of 5 does not fit into 2 x 28"),
        ("dequant_matmul", "--k 100 --group 64", r"K \(100\) must be a whole number of groups \(64\)"),
        ("linear_attention", "--scale 0", r"scale \(0.0\) must be more than 0"),
        ("linear_attention", "--segments 0", r"length \(500\) and segments \(0\) must be at least 1"),
        ("mla_decode", "--length 0", "length must be at least 1"),
        ("paged_attention", "--page-size 48", "a tile of 64 keys must be a whole number of pages of 48"),
        ("gemm", "--split-k 2 --stream-k 5", r"stream_k \(5\) must be at least 1, with split_k=1 \(not 2\), or 0"),
        ("gemm", "--stream-k -1", "the call gives stream_k=-1, which no configuration can have"),
        ("stream_k", "--blocks 0", "no work to divide"),
        ("topk_gate", "--k 9 --experts 8", r"k \(9\) must be from 1 to the number of experts \(8\)"),
    ],
)
def test_sizes_that_an_example_can_not_do(name, words, match):
    with pytest.raises(ValueError, match=match):
        load(name).main(["--target", "cpu", *words.split()])


class Interpreted:
    """Stands for tilecore in an example: its kernels run by definition: bounds, races, unwritten memory.

    Outputs get their shapes from the kernel on cpu."""

    PassConfigKey = tilecore.PassConfigKey

    @staticmethod
    def jit(factory, **settings):
        def call(*words, **options):
            return Interpreted.compile(factory(*words, **options), **settings)

        call.factory, call.target = factory, settings["target"]
        return call

    @staticmethod
    def autotune(configs, tries):
        """With the configuration that the first of the proposals gives the kernel on the target."""

        def decorate(jitted):
            tuned = tilecore.autotune(configs=configs, tries=tries)(tilecore.jit(jitted.factory, target=jitted.target))
            return lambda *words, **options: jitted(*words, **options, **config_of(tuned, words, options))

        def config_of(tuned, words, options):
            config = getattr(tuned(*words, **options), "config", None) or {}
            return {name: value for name, value in config.items() if options.get(name) is None}

        return decorate

    @staticmethod
    def compile(func, target, out_idx=None, pass_configs=None):
        import torch

        from tilecore.interpreter import interpret

        kernel = tilecore.compile(func, target=target, out_idx=out_idx)

        def call(*inputs):
            results = kernel(*(x.clone() for x in inputs))
            outputs = [] if results is None else [results] if torch.is_tensor(results) else results
            fresh = [torch.empty_like(x) for x in outputs]
            places = [out_idx] if isinstance(out_idx, int) else out_idx or []
            arguments = list(inputs)
            for place, tensor in zip(places, fresh, strict=True):
                arguments.insert(place if place >= 0 else len(inputs), tensor)
            interpret(func.ir, *map(as_array, arguments))
            return fresh if len(fresh) > 1 else fresh[0] if fresh else None

        call.adapter, call.target = kernel.adapter, kernel.target
        return call


def as_array(tensor):
    """The same memory; numpy has no bfloat16 and no 8-bit floats of its own."""
    import ml_dtypes
    import torch

    if tensor.dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
        bits = tensor.view(torch.int16 if tensor.dtype == torch.bfloat16 else torch.uint8).numpy()
        return bits.view(getattr(ml_dtypes, str(tensor.dtype).removeprefix("torch.")))
    return tensor.numpy()


# of the others the kernels are not made by calls of tilecore.jit or tilecore.compile
BY_DEFINITION = [(n, w) for n, w in RUNS if n not in ("autotune_matmul", "eager_add")]


@pytest.mark.parametrize(("name", "words"), BY_DEFINITION, ids=[f"{name} {words}" for name, words in BY_DEFINITION])
def test_example_by_definition(name, words, monkeypatch):
    import torch

    torch.manual_seed(0)
    module = load(name)
    monkeypatch.setattr(module, "tilecore", Interpreted)
    module.main(["--target", "cpu", *words.split()])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_command_in_the_docstring(path, capsys):
    python, script, *words = command_in(path)
    assert (python, script) == ("python", f"examples/{path.name}")
    load(path.stem).main(words)
    assert f"{path.stem}: " in capsys.readouterr().out


def test_an_example_as_a_script():
    ended = subprocess.run(
        [sys.executable, str(EXAMPLES / "vector_add.py"), "--n", "99"], capture_output=True, text=True, timeout=180
    )  # on the machine's own target
    assert re.fullmatch(r"vector_add: 99 elements right on \w+\n", ended.stdout), ended.stderr


def test_a_wrong_kernel_fails_its_example(monkeypatch):
    module = load("gelu")
    monkeypatch.setattr(module, "gelu_of", lambda x: x)
    with pytest.raises(AssertionError, match="Mismatched elements"):
        module.main(["--target", "cpu", "--n", "100"])
