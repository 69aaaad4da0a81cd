"""The records of a target report: the result of each kernel on each target."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilecore.errors import TilecoreError
    from tilecore.target_report.kernels import LeftOut
    from tilecore.target_report.remarks import Remark
    from tilecore.target_report.targets import ReportTarget

OK, SLOW, REFUSED, FAILED, BROKEN = "ok", "slow", "refused", "failed", "broken"


@dataclass(frozen=True)
class Verdict:
    """The result of compiling a kernel for a target.

    state: ok; slow (the kernel compiles, and a remark says what could be faster); refused; failed (an error of the
    compiler or of a package, not of the kernel); broken (the package cannot be used). whole: whether the whole kernel
    was checked. changes: values of arguments with which the kernel compiles. call: the alternative call whose kernel
    the target compiles, as it refuses the first for ``reason``; both "" where the verdict is on the first.
    """

    kernel: str
    target: str
    state: str
    refusals: tuple[TilecoreError, ...] = ()
    whole: bool = True
    remarks: tuple[Remark, ...] = ()
    changes: tuple[str, ...] = ()
    call: str = ""
    reason: str = ""

    @property
    def compiles(self) -> bool:
        return self.state in (OK, SLOW)


@dataclass
class TargetReport:
    """All verdicts, kernel by kernel; the kernels that were left out; the source file of each kernel."""

    targets: list[ReportTarget]
    verdicts: list[Verdict] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)

    @property
    def compiles(self) -> bool:
        """Whether there is a kernel and every target compiles every kernel."""
        return bool(self.verdicts) and not self.left_out and all(verdict.compiles for verdict in self.verdicts)
