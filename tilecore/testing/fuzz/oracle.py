"""What a kernel should give, and whether it does. Both run in a worker process, which a kernel may kill."""

from __future__ import annotations

import functools
import linecache
import os
import re
import tempfile
from dataclasses import dataclass, replace
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilecore.errors import InterpreterError, LanguageError, LimitError, TargetError, TilecoreError, UnsupportedError
from tilecore.testing.fuzz.inputs import laid, make_inputs, tensors_of, values_of
from tilecore.testing.fuzz.printing import KERNEL, source_of

if TYPE_CHECKING:
    import numpy

    from tilecore.testing.fuzz.program import Program

ROUNDINGS = 16  # how many times as far as one rounding of each value led others may be from it
_REFUSALS = (UnsupportedError, LanguageError, TargetError)


@dataclass(frozen=True)
class Reference:
    """What the interpreter gives. bounds: how far results may be from it, by parameter. again: of the other call."""

    outputs: list[Any]
    bounds: list[float]
    again: Reference | None = None


@dataclass(frozen=True)
class Verdict:
    """What became of a kernel. kind: ok, rejected, refused (by the interpreter or the language), inexact, slow; or a
    finding: wrong, error, crash, hang. sort: what two findings of one cause have in common."""

    kind: str
    sort: str = ""
    text: str = ""

    @property
    def is_finding(self) -> bool:
        return self.kind in ("wrong", "error", "crash", "hang")


@functools.lru_cache(maxsize=8)
def load_kernel(source: str) -> Any:
    """The kernel function of a module's text, which is run from a file as the front end reads it. The same function for
    the interpreter and the target, which are asked one after the other."""
    with tempfile.TemporaryDirectory(prefix="tilecore-fuzz-") as folder:
        path = Path(folder, "fuzzed.py")
        path.write_text(source, encoding="utf-8")
        spec = util.spec_from_file_location("fuzzed", path)
        assert spec is not None
        assert spec.loader is not None
        module = util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
            function = getattr(module, KERNEL)
            _ = function.ir  # built while its text is there
        finally:
            linecache.cache.pop(os.fspath(path), None)
    return function


def reference_of(program: Program) -> Reference | Verdict:
    """What the program means; or why it is passed over, or that the front end or the interpreter fails."""
    meant = _of_one_call(program)
    other = program.called_again()
    if isinstance(meant, Reference) and other is not None:
        again = _of_one_call(other)
        if isinstance(again, Reference):  # else the kernel is not defined for these sizes
            return replace(meant, again=again)
    return meant


def _of_one_call(program: Program) -> Reference | Verdict:
    try:
        exactly = _interpreted(program, wide=False)
    except (InterpreterError, *_REFUSALS) as error:
        return Verdict("refused", sort_of(error), str(error))
    except Exception as error:
        return Verdict("error", sort_of(error), _described(error))
    if program.special or not _has_floats(program):
        return Reference(exactly, [0.0] * len(exactly))
    try:
        widely = _interpreted(program, wide=True)
    except LanguageError:  # products of integers and floats have no form in float64
        if not program.exact:
            return Verdict("inexact")
        widely = exactly
    around = _largest(exactly)
    bounds = [_bound(a, b, program.exact, around) for a, b in zip(exactly, widely, strict=True)]
    if not program.exact:
        bounds = [max(pair) for pair in zip(bounds, _of_sums(program, widely), strict=True)]
    if program.exact and any(bounds):
        return Verdict("inexact")
    return Reference(exactly, bounds)


def _of_sums(program: Program, widely: list[Any]) -> list[float]:
    """How far another order of the additions in sums may lead. The interpreter rounds a sum once, a device each partial
    sum, and each is at most the sum of the absolute values: so this is several times as far as one such rounding of
    every sum leads, up or down."""
    import numpy

    from tilecore.interpreter.tiles.perturbation import perturbed_sums

    rng, met = numpy.random.default_rng(program.seed), False

    def rounding(absolute: Any) -> Any:
        nonlocal met
        met = True
        return absolute * 2.0**-24 * rng.choice((-1.0, 1.0), numpy.shape(absolute))

    with perturbed_sums(rounding):
        moved = _interpreted(program, wide=True)
    return [_times_of_roundings(a, b) if met else 0.0 for a, b in zip(moved, widely, strict=True)]


def _times_of_roundings(moved: Any, wide: Any) -> float:
    import numpy

    if not isinstance(moved, numpy.ndarray):
        return 0.0
    with numpy.errstate(all="ignore"):
        apart = numpy.abs(moved.astype(numpy.float64) - wide.astype(numpy.float64))
    return ROUNDINGS * float(apart[numpy.isfinite(apart)].max(initial=0.0))


def _has_floats(program: Program) -> bool:
    return "float" in source_of(program)


def _interpreted(program: Program, wide: bool) -> list[Any]:
    import numpy

    from tilecore.interpreter import interpret

    arrays = inputs_of(program)
    if wide:
        arrays = [
            laid(a.astype(numpy.float64), p.form) if isinstance(a, numpy.ndarray) and a.dtype.kind not in "iub" else a
            for a, p in zip(arrays, program.params, strict=True)
        ]
    interpret(load_kernel(source_of(program, wide)).ir, *arrays)
    return arrays


def inputs_of(program: Program) -> list[Any]:
    """The parameters of a call, new ones each time."""
    return make_inputs(tensors_of(program), program.seed, values_of(program))


def _largest(arrays: list[Any]) -> float:
    """The largest finite float around: sums of such numbers are rounded to units of theirs, however small the sum."""
    import numpy

    floats = [a.astype(numpy.float64) for a in arrays if isinstance(a, numpy.ndarray) and a.dtype.kind not in "iub"]
    return max((float(numpy.abs(a[numpy.isfinite(a)]).max(initial=0.0)) for a in floats), default=0.0)


def _bound(narrow: Any, wide: Any, exact: bool, around: float) -> float:
    """How far another order of operations may lead: several times as far as all of the type's roundings did from the
    same computed in float64, and some units in the last place, of it and (in float32) of the largest number ``around``.
    Of whole numbers: 0 where nothing was rounded."""
    import numpy

    from tilecore.dtypes import FACTS

    if not isinstance(narrow, numpy.ndarray):
        return 0.0
    with numpy.errstate(all="ignore"):
        a, b = narrow.astype(numpy.float64), wide.astype(numpy.float64)
        facts = FACTS[str(narrow.dtype)]
        if (exact or facts.kind != "float") and numpy.array_equal(a, b, equal_nan=True):
            return 0.0
        finite = numpy.isfinite(a) & numpy.isfinite(b)
        if not finite.any():
            return 0.0
        spread, scale = float(numpy.abs(a - b)[finite].max()), float(numpy.abs(a)[finite].max())
    unit = 2.0**-facts.significand if facts.kind == "float" else 0.0
    near = min(around, 64 * scale) if facts.kind == "float" else 0.0  # else one large input would hide all
    return ROUNDINGS * spread + 8 * scale * max(unit, 2.0**-23) + 8 * near * 2.0**-23


def judge(program: Program, reference: Reference, target: str, backend: str | None) -> Verdict:
    """Compile for the target, run on its device, and compare."""
    import tilecore
    from tilecore.testing.conformance.cases.features import has_feature
    from tilecore.testing.conformance.cases.on_device import ready

    arrays, other = inputs_of(program), program.called_again()
    others = inputs_of(other) if other is not None and reference.again is not None else []
    try:
        function = load_kernel(source_of(program))
        kernel = ready(tilecore.compile(function, target=target, execution_backend=backend))
        kernel(*arrays)
        if others:
            kernel(*others)
    except _REFUSALS as error:
        if type(error) in (*_REFUSALS, LimitError) and (error.location or error.hint or error.expected):
            return Verdict("rejected", sort_of(error), str(error))
        return Verdict("error", sort_of(error), _described(error))
    except Exception as error:
        return Verdict("error", sort_of(error), _described(error))
    flushes = has_feature(target, "flushes_subnormals")
    verdict = compare(program, reference, arrays, flushes)
    if verdict.kind == "ok" and others and reference.again is not None:
        return compare(program, reference.again, others, flushes, " at the other call")
    return verdict


def compare(
    program: Program, reference: Reference, outputs: list[Any], flushes: bool = False, where: str = ""
) -> Verdict:
    """The first tensor that is other than it should be. flushes: as :func:`difference` has it."""
    for param, got, want, bound in zip(program.params, outputs, reference.outputs, reference.bounds, strict=True):
        if param.scope == "scalar":
            continue
        words = difference(got, want, bound, param.dtype, flushes)
        if words:
            return Verdict("wrong", f"wrong{where}", f"{param.name}{where}: {words}")
    return Verdict("ok")


def difference(got: numpy.ndarray, want: numpy.ndarray, bound: float, dtype: str = "", flushes: bool = False) -> str:
    """Where two results are further apart than ``bound``, in words; "" where they are not. dtype: where the arrays hold
    the bits of it. flushes: numbers below the normal range of float64, float32 and bfloat16 are taken for 0."""
    import numpy

    if flushes and str(got.dtype) in ("float64", "float32", "bfloat16"):
        least = numpy.finfo("float64" if got.dtype == "float64" else "float32").tiny
        got, want = (numpy.where(numpy.abs(a) < least, a.dtype.type(0), a) for a in (got, want))
    if dtype == "float4_e2m1fn":  # the two zeros are alike
        got, want = (numpy.where(a & 0x70, a, a & 0x7F) for a in (got, want))
        got, want = (numpy.where(a & 0x07, a, a & 0xF7) for a in (got, want))
    with numpy.errstate(all="ignore"):
        if got.dtype.kind not in "iub":
            got, want = got.astype(numpy.float64), want.astype(numpy.float64)
        same = (got == want) | ((got != got) & (want != want))
        if bound and got.dtype.kind == "f":
            same |= numpy.abs(got - want) <= bound
        elif bound:
            same |= numpy.abs(got.astype(numpy.float64) - want.astype(numpy.float64)) <= bound
    wrong = numpy.argwhere(~same)
    if not len(wrong):
        return ""
    at = tuple(int(number) for number in wrong[0])
    within = f", allowed is {bound:.3g}" if bound else ""
    return f"{len(wrong)} of {got.size} elements differ; at {list(at)} {got[at]} instead of {want[at]}{within}"


def sort_of(error: BaseException) -> str:
    """An error without what is of this kernel alone: numbers, names in quotes, places."""
    text = error.message if isinstance(error, TilecoreError) else str(error)
    kind = getattr(error, "kind", None)
    if isinstance(kind, str):
        return f"{type(error).__name__} {kind}"
    first = text.strip().partition("\n")[0]
    first = re.sub(r"\b[a-zA-Z]\w*?\d+\b(?:\[[^]]*\])?", "_", first)
    first = re.sub(r"[\w.]+(?: (?:[-+*%]|//) [\w.]+)+", "_", first)
    return f"{type(error).__name__}: {re.sub(r'[0-9]+', 'N', first)[:160]}"


def _described(error: BaseException) -> str:
    import traceback

    trace = traceback.format_exception(type(error), error, error.__traceback__)
    return "".join(trace)[-6000:] if not isinstance(error, TilecoreError) else f"{type(error).__name__}: {error}"
