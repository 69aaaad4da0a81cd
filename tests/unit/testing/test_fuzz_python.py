"""Random bodies of Python statements: by CPython and as kernels."""

from __future__ import annotations

import pytest

from tilecore.testing.fuzz.python.generate import generate
from tilecore.testing.fuzz.python.hunt import hunt
from tilecore.testing.fuzz.python.judge import expected, function_text, judge


@pytest.mark.parametrize("first", range(0, 24, 8))
def test_bodies_mean_what_python_means(first, tmp_path):
    hunted = hunt(range(first, first + 8), [], tmp_path)
    assert hunted.counts == {"right": 8}, hunted.findings


def test_bodies_are_right_when_compiled(tmp_path):
    hunted = hunt(range(100, 104), ["cpu"], tmp_path)
    assert hunted.counts == {"right": 4}, hunted.findings


def test_a_seed_gives_one_body():
    assert function_text(generate(7), kernel=True) == function_text(generate(7), kernel=True)
    assert len({function_text(generate(seed), kernel=True) for seed in range(20)}) == 20


def test_python_and_the_kernel_run_the_same_statements():
    body = generate(3)
    python, kernel = (function_text(body, kernel=which).splitlines() for which in (False, True))
    statements = [line.strip() for line in python[3:]]
    assert [line.strip() for line in kernel[-len(statements) :]] == statements
    assert len(expected(body)) == 3


def test_values_that_are_read_late_are_found_and_cut_down(monkeypatch, tmp_path):
    """Were loads put back whatever is written in between, a few bodies would show it."""
    monkeypatch.setattr("tilecore.frontend.settle._Order.is_stale", lambda self, value, use, buffer: False)
    seed = next(seed for seed in range(50) if judge(generate(seed), []).kind == "wrong")
    hunted = hunt([seed], [], tmp_path)
    ((_, verdict, path),) = hunted.findings
    assert verdict.kind == "wrong"
    whole = function_text(generate(seed), kernel=True)
    assert len(path.read_text().splitlines()) < len(whole.splitlines())
