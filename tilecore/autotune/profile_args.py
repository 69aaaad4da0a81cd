"""Defines the arguments that say how candidates are run, checked and timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from tilecore.caller import refuse_unknown
from tilecore.errors import ArgumentError
from tilecore.profiler.compare import Tolerance
from tilecore.profiler.supply import TensorSupplyType
from tilecore.profiler.warning import available_clock


class ProfileOptions(TypedDict, total=False):
    """The keywords of :class:`ProfileArgs`, for functions that take them on."""

    warmup: float
    rep: float
    timeout: float
    supply_type: TensorSupplyType
    ref_prog: Callable[..., Any] | None
    supply_prog: Callable[..., Sequence[Any]] | None
    rtol: float
    atol: float
    max_mismatched_ratio: float
    skip_check: bool
    manual_check_prog: Callable[..., Any] | None
    cache_input_tensors: bool
    progress: bool | None
    early_stop: bool
    early_stop_factor: float
    backend: str


@dataclass(frozen=True)
class ProfileArgs:
    """warmup, rep: milliseconds, as for do_bench. timeout: seconds for compiling a candidate, and for running it once
    and for timing it. supply_type: what inputs are filled with; supply_prog: makes them instead, from the parameters.

    ref_prog: computes what is right, from the kernel's arguments; rtol, atol, max_mismatched_ratio: how close
    candidates must come. manual_check_prog: judges instead of them, given both lists of outputs. skip_check: take
    every candidate that runs for right. cache_input_tensors: kept for compatibility; one set of inputs is used for all
    candidates that take the same shapes in any case. progress: what a search says on standard error while it goes on:
    when not given, bars on a terminal, and lines elsewhere if the setting TILECORE_VERBOSE or the kernel's ``verbose``
    asks for them; True: lines wherever there is no terminal; False: nothing. early_stop: a candidate whose estimate is
    more than early_stop_factor (at least 1) times the best time so far is not timed further. backend: the clock that
    times candidates, as for do_bench.
    """

    warmup: float = 25
    rep: float = 100
    timeout: float = 30
    supply_type: TensorSupplyType = TensorSupplyType.Auto
    ref_prog: Callable[..., Any] | None = None
    supply_prog: Callable[..., Sequence[Any]] | None = None
    rtol: float = 1e-2
    atol: float = 1e-2
    max_mismatched_ratio: float = 0.01
    skip_check: bool = False
    manual_check_prog: Callable[..., Any] | None = None
    cache_input_tensors: bool = False
    progress: bool | None = None
    early_stop: bool = True
    early_stop_factor: float = 2.0
    backend: str = "event"

    def __post_init__(self) -> None:
        if self.manual_check_prog is not None and self.ref_prog is None:
            raise ArgumentError("manual_check_prog compares with a reference", expected="ref_prog as well")
        if self.timeout <= 0:
            raise ArgumentError(f"timeout={self.timeout!r}", expected="seconds, more than 0")
        if self.early_stop and self.early_stop_factor < 1:
            raise ArgumentError(f"early_stop_factor={self.early_stop_factor!r}", expected="a number of at least 1")
        if not isinstance(self.backend, str):
            raise ArgumentError(f"backend={self.backend!r}", expected='the name of a clock, such as "event"')

    @classmethod
    def of(cls, call: str, options: Mapping[str, Any], keywords: Sequence[str] = ()) -> ProfileArgs:
        """Those of a public function that takes them as ``**options``.

        call: its name, for errors; keywords: those that it has beside them. Raises WrongTypeError for an unknown name.
        """
        refuse_unknown(call, options, [*keywords, *ProfileOptions.__annotations__])
        given = dict(options)
        if isinstance(given.get("backend"), str):  # here, as users see no warnings of the process of candidates
            given["backend"] = available_clock(given["backend"])
        return cls(**given)

    @property
    def tolerance(self) -> Tolerance:
        return Tolerance(self.rtol, self.atol)

    def key_parts(self) -> dict[str, Any]:
        """What of it decides which candidates may win."""
        return {
            "supply": self.supply_type.name,
            "tolerance": (float(self.rtol), float(self.atol), float(self.max_mismatched_ratio)),
            "check": ("skip" if self.skip_check else "", self.ref_prog is not None, self.manual_check_prog is not None),
            "supply_prog": self.supply_prog is not None,
            "clock": self.backend,
        }
