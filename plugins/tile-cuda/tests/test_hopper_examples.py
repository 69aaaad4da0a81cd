"""The kernels of examples/hopper on the simulated device: each compares its result with torch."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from simulated_kit import needs_compiler

from tilecore.errors import TilecoreError

EXAMPLES = Path(__file__).parents[3] / "examples" / "hopper"
pytestmark = [needs_compiler, pytest.mark.usefixtures("installed")]

# odd lengths, tiles without a token, one token; blocks with few heads; parts of the tokens, pairs of blocks
SIZES = {
    "mla_decode": [
        "--length 300",
        "--batch 2 --heads 5 --length 1 --splits 3 --latent 128 --rotary 32",
        "--heads 128 --length 700 --blocks 2 --splits 2 --dtype bfloat16",
        "--heads 65 --length 129 --latent 256 --rotary 16",
        "--heads 64 --length 64 --latent 384",
        "--batch 3 --heads 16 --length 385 --splits 4",
    ],
}
RUNS = [(name, words) for name, several in SIZES.items() for words in several]


@pytest.fixture(scope="module", autouse=True)
def needs_torch():
    pytest.importorskip("torch")


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"hopper_example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_example_is_left_out():
    assert sorted(SIZES) == sorted(path.stem for path in EXAMPLES.glob("*.py"))


@pytest.mark.parametrize(("name", "words"), RUNS, ids=[f"{name} {words}" for name, words in RUNS])
def test_right(name, words, monkeypatch, capsys):
    import torch

    checked = []
    compare = torch.testing.assert_close

    def counted(actual, expected, **options):
        compare(actual, expected, **options)
        checked.append(actual.numel())

    monkeypatch.setattr(torch.testing, "assert_close", counted)
    monkeypatch.setenv("TILECORE_SIMULATE", "1")
    torch.manual_seed(0)
    load(name).main(words.split())
    assert sum(checked) > 0, "the example compares nothing"
    assert f"{name} on sm_90a: " in capsys.readouterr().out


@pytest.mark.parametrize("seed", range(3))
def test_other_orders_of_threads(seed, monkeypatch):
    """The two warpgroups and the copies in other orders: what one reads, the other one has written."""
    monkeypatch.setenv("TILECORE_SIMULATE_SEED", str(seed))
    monkeypatch.setenv("TILECORE_SIMULATE", "1")
    load("mla_decode").main("--heads 64 --length 500 --latent 128".split())


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"length": 0}, "length must be at least 1"),
        ({"splits": 0}, r"splits \(0\) must be at least 1"),
        ({"latent": 192}, r"latent \(192\) must be 128, 256, 384 or 512"),
        ({"latent": 1024}, r"latent \(1024\) must be 128, 256, 384 or 512"),
        ({"heads": 64, "blocks": 2}, "1 blocks for 64 heads cannot form clusters of 2"),
        ({"each_half": 3}, "pieces of 256/3 latents"),
        ({"latent": 128, "each_half": 2}, "pieces of 64/2 latents"),
    ],
)
def test_sizes_that_it_cannot_do(options, match):
    with pytest.raises(ValueError, match=match):
        load("mla_decode").mla_decode(**{"batch": 1, "heads": 128, "length": 300, **options})


def test_other_architectures_refuse_it():
    import tilecore

    with pytest.raises(TilecoreError, match="sm_90"):
        tilecore.compile(load("mla_decode").mla_decode(1, 64, 300), target="cuda -arch=sm_80")
