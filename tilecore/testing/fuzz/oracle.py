"""Computes the expected results of a kernel, and compares the target's with them, in a worker process."""

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
from tilecore.testing.fuzz.inputs import make_inputs, tensors_of, values_of, with_form
from tilecore.testing.fuzz.printing import KERNEL, source_of

if TYPE_CHECKING:
    import numpy

    from tilecore.testing.fuzz.program import Program

ROUNDINGS = 16  # the allowed error, as a multiple of the effect of one rounding of each value
UNIT_OF_FLOAT8_SUMS = 2.0**-15  # ROUNDINGS of these are the errors of four additions of a matrix unit
_REFUSALS = (UnsupportedError, LanguageError, TargetError)


@dataclass(frozen=True)
class Reference:
    """The interpreter's results. bounds: the allowed errors, by parameter. second_call: those of the second call."""

    outputs: list[Any]
    bounds: list[float]
    second_call: Reference | None = None


@dataclass(frozen=True)
class Verdict:
    """The verdict on a kernel. kind: ok, rejected, refused (by the interpreter or the language), inexact, slow; or a
    finding: wrong, error, crash, hang. signature: the same for findings that probably have the same cause."""

    kind: str
    signature: str = ""
    text: str = ""

    @property
    def is_finding(self) -> bool:
        return self.kind in ("wrong", "error", "crash", "hang")


@functools.lru_cache(maxsize=8)
def load_kernel(source: str) -> Any:
    """The kernel function of a module's text, which is run from a file, as the front end reads the source. Cached, so
    that the interpreter and the target get the same function."""
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
            _ = function.ir  # built while the file exists
        finally:
            linecache.cache.pop(os.fspath(path), None)
    return function


def reference_of(program: Program) -> Reference | Verdict:
    """The interpreter's results for a program; or a verdict where the program is refused, or where the front end or the
    interpreter fails."""
    first_call = _reference_of_call(program)
    other = program.second_call()
    if isinstance(first_call, Reference) and other is not None:
        second_reference = _reference_of_call(other)
        if isinstance(second_reference, Reference):  # else the kernel is not defined for these sizes
            return replace(first_call, second_call=second_reference)
    return first_call


def _reference_of_call(program: Program) -> Reference | Verdict:
    try:
        outputs = _interpret(program, wide=False)
    except (InterpreterError, *_REFUSALS) as error:
        return Verdict("refused", signature_of(error), str(error))
    except Exception as error:
        return Verdict("error", signature_of(error), _described(error))
    if program.special or not _has_floats(program):
        return Reference(outputs, [0.0] * len(outputs))
    try:
        wide_outputs = _interpret(program, wide=True)
    except LanguageError:  # products of integers and floats have no form in float64
        if not program.exact:
            return Verdict("inexact")
        wide_outputs = outputs
    around = _largest(outputs)
    bounds = [_bound(a, b, program.exact, around) for a, b in zip(outputs, wide_outputs, strict=True)]
    if not program.exact:
        bounds = [max(pair) for pair in zip(bounds, _bounds_of_sums(program, outputs, wide_outputs), strict=True)]
    if program.exact and any(bounds):
        return Verdict("inexact")
    return Reference(outputs, bounds)


def _bounds_of_sums(program: Program, outputs: list[Any], wide_outputs: list[Any]) -> list[float]:
    """The errors that another order of the additions in sums may cause.

    The interpreter rounds a sum once, a device each partial sum, and each is at most the sum of the absolute values. So
    this is a multiple of the effect of one such rounding of every sum, up or down: in float32, and of products that are
    summed in 16 bits also in their type. Matrix units add products of 8-bit floats with 13 bits below the largest one.
    """
    source = source_of(program)
    is_product = ".gemm(" in source
    unit = UNIT_OF_FLOAT8_SUMS if is_product and "float8" in source else 2.0**-24
    bounds = _bounds_of_perturbation(program, wide_outputs, wide=True, least_unit=unit)
    if not is_product or "float16" not in source:  # bfloat16 has it in its name, too
        return bounds
    return [max(pair) for pair in zip(bounds, _bounds_of_perturbation(program, outputs, wide=False), strict=True)]


def _bounds_of_perturbation(
    program: Program, references: list[Any], wide: bool, least_unit: float = 2.0**-24
) -> list[float]:
    """The bounds from one run with perturbed sums; 0 where it has none. references: of the run without. least_unit: by
    what part of the sum of its absolute values each sum is perturbed at least."""
    import numpy

    from tilecore.dtypes import FACTS
    from tilecore.interpreter.tiles.perturbation import perturbed_sums

    rng, has_sums = numpy.random.default_rng(program.seed), False

    def rounding(absolute: Any, dtype: str) -> Any:
        nonlocal has_sums
        has_sums = True
        unit = max(2.0 ** -(FACTS[dtype].significand + 1), least_unit)
        return absolute * unit * rng.choice((-1.0, 1.0), numpy.shape(absolute))

    with perturbed_sums(rounding):
        perturbed_outputs = _interpret(program, wide)
    return [_rounding_bound(a, b) if has_sums else 0.0 for a, b in zip(perturbed_outputs, references, strict=True)]


def _rounding_bound(perturbed_outputs: Any, wide: Any) -> float:
    import numpy

    if not isinstance(perturbed_outputs, numpy.ndarray):
        return 0.0
    with numpy.errstate(all="ignore"):
        apart = numpy.abs(perturbed_outputs.astype(numpy.float64) - wide.astype(numpy.float64))
    return ROUNDINGS * float(apart[numpy.isfinite(apart)].max(initial=0.0))


def _has_floats(program: Program) -> bool:
    return "float" in source_of(program)


def _interpret(program: Program, wide: bool) -> list[Any]:
    import numpy

    from tilecore.interpreter import interpret

    arrays = inputs_of(program)
    if wide:
        arrays = [
            with_form(a.astype(numpy.float64), p.form)
            if isinstance(a, numpy.ndarray) and a.dtype.kind not in "iub"
            else a
            for a, p in zip(arrays, program.params, strict=True)
        ]
    interpret(load_kernel(source_of(program, wide)).ir, *arrays)
    return arrays


def inputs_of(program: Program) -> list[Any]:
    """New arguments for a call."""
    return make_inputs(tensors_of(program), program.seed, values_of(program))


def _largest(arrays: list[Any]) -> float:
    """The largest finite float in the arrays: a sum of such numbers has rounding errors in proportion to them, however
    small the sum is."""
    import numpy

    floats = [a.astype(numpy.float64) for a in arrays if isinstance(a, numpy.ndarray) and a.dtype.kind not in "iub"]
    return max((float(numpy.abs(a[numpy.isfinite(a)]).max(initial=0.0)) for a in floats), default=0.0)


def _bound(narrow: Any, wide: Any, exact: bool, around: float) -> float:
    """The error that another order of operations may cause: a multiple of the difference from the same computation in
    float64, plus some units in the last place, of the result and (in float32) of the largest number ``around``. For
    integers, 0 where nothing was rounded."""
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
    near = min(around, 64 * scale) if facts.kind == "float" else 0.0  # else one large input would hide all differences
    return ROUNDINGS * spread + 8 * scale * max(unit, 2.0**-23) + 8 * near * 2.0**-23


def judge(program: Program, reference: Reference, target: str, backend: str | None) -> Verdict:
    """Compile for the target, run on its device, and compare."""
    import tilecore
    from tilecore.testing.conformance.cases.features import has_feature
    from tilecore.testing.conformance.cases.on_device import ready

    arrays, other = inputs_of(program), program.second_call()
    others = inputs_of(other) if other is not None and reference.second_call is not None else []
    try:
        function = load_kernel(source_of(program))
        kernel = ready(tilecore.compile(function, target=target, execution_backend=backend))
        kernel(*arrays)
        if others:
            kernel(*others)
    except _REFUSALS as error:
        if type(error) in (*_REFUSALS, LimitError) and (error.location or error.hint or error.expected):
            return Verdict("rejected", signature_of(error), str(error))
        return Verdict("error", signature_of(error), _described(error))
    except Exception as error:
        return Verdict("error", signature_of(error), _described(error))
    flushes = has_feature(target, "flushes_subnormals")
    verdict = compare(program, reference, arrays, flushes)
    if verdict.kind == "ok" and others and reference.second_call is not None:
        return compare(program, reference.second_call, others, flushes, " at the other call")
    return verdict


def compare(
    program: Program, reference: Reference, outputs: list[Any], flushes: bool = False, where: str = ""
) -> Verdict:
    """The verdict for the first tensor that differs from the reference. flushes: as for :func:`difference`."""
    for param, result, expected, bound in zip(
        program.params, outputs, reference.outputs, reference.bounds, strict=True
    ):
        if param.scope == "scalar":
            continue
        words = difference(result, expected, bound, param.dtype, flushes)
        if words:
            return Verdict("wrong", f"wrong{where}", f"{param.name}{where}: {words}")
    return Verdict("ok")


def difference(
    result: numpy.ndarray, expected: numpy.ndarray, bound: float, dtype: str = "", flushes: bool = False
) -> str:
    """Where two results are further apart than ``bound``, in words; "" where they are not. dtype: the type
    whose bits the arrays hold. flushes: subnormal numbers of float64, float32 and bfloat16 count as 0."""
    import numpy

    if flushes and str(result.dtype) in ("float64", "float32", "bfloat16"):
        least = numpy.finfo("float64" if result.dtype == "float64" else "float32").tiny
        result, expected = (numpy.where(numpy.abs(a) < least, a.dtype.type(0), a) for a in (result, expected))
    if dtype == "float4_e2m1fn":  # 0 and -0 are equal
        result, expected = (numpy.where(a & 0x70, a, a & 0x7F) for a in (result, expected))
        result, expected = (numpy.where(a & 0x07, a, a & 0xF7) for a in (result, expected))
    with numpy.errstate(all="ignore"):
        if result.dtype.kind not in "iub":
            result, expected = result.astype(numpy.float64), expected.astype(numpy.float64)
        same = (result == expected) | ((result != result) & (expected != expected))
        if bound and result.dtype.kind == "f":
            same |= numpy.abs(result - expected) <= bound
        elif bound:
            same |= numpy.abs(result.astype(numpy.float64) - expected.astype(numpy.float64)) <= bound
    wrong = numpy.argwhere(~same)
    if not len(wrong):
        return ""
    index = tuple(int(position) for position in wrong[0])
    within = f", allowed is {bound:.3g}" if bound else ""
    values = f"{result[index]} instead of {expected[index]}"
    return f"{len(wrong)} of {result.size} elements differ; at {list(index)} {values}{within}"


def signature_of(error: BaseException) -> str:
    """The error's type and message without the parts that only this kernel has: numbers, generated names, sizes."""
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
