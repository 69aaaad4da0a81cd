"""Flags that programs write for nvcc, as NVRTC takes them (NVRTC's manual, "Supported Compile Options")."""

from __future__ import annotations

import re
from collections.abc import Sequence

# of nvcc alone: options for the host's compiler and linker, for warnings, for files, and for language modes that NVRTC
# has always. It has no -O options either: it always optimizes.
_DROPPED = re.compile(
    r"O\d?|W.*|g|keep|shared|fPIC|t\d*|threads|l(?!ineinfo).*|L.*|Xcompiler|compiler-options|ccbin|compiler-bindir|Xlinker|"
    r"linker-options|(expt-)?extended-lambda|allow-unsupported-compiler|forward-unknown-.*|res-usage|resource-usage"
)
_WITH_VALUE = ("Xptxas", "ptxas-options", "Xcompiler", "compiler-options", "Xlinker", "linker-options", "ccbin",
               "compiler-bindir", "threads", "t")  # fmt: skip
_PTXAS = ("Xptxas", "ptxas-options")


def nvrtc_options(flags: Sequence[str]) -> list[str]:
    """The flags without those that only nvcc has. Options for ptxas come one by one: nvcc takes a list of them with
    commas. Functions without __device__ are the device's where nvcc would take constexpr ones for that."""
    options: list[str] = []
    rest = list(flags)
    while rest:
        flag = rest.pop(0)
        name, _, value = flag.lstrip("-").partition("=")
        if name in _WITH_VALUE and not value and rest:
            value = rest.pop(0)
        if name in _PTXAS:
            options += [f"--ptxas-options={option}" for option in value.split(",") if option]
        elif name == "expt-relaxed-constexpr":
            options.append("-default-device")
        elif not _DROPPED.fullmatch(name):
            options.append(flag)
    return options
