"""SophGo's ``torch_tpu``: recognizes the package, and launches kernels through it.

PyPI has another package of the same name. SophGo's package is not on PyPI; its author is "sophgo", and it registers
``torch.ops.my_ops.dynlib_execute(so_url, func_name, tensors, tensors_index, fp_scalars, fp_scalars_index,
fixed_scalars, fixed_scalars_index)``, which passes arguments to libtpudnn by position (torch_tpu/tpu/jit.py).

Not tested on hardware. libtpudnn is not public, so the layout of its kernel arguments and the number of work items that
it launches are not known, while a kernel for several cores depends on that number. Kernels with tensors only get 64-bit
addresses. Kernels with scalars are refused until somebody has tested them on a card and sets ``SCALARS_KNOWN``.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NAME = "torch_tpu"
SCALARS_KNOWN = False
FIX = "install SophGo's wheel of torch_tpu (from its releases, not from PyPI)"


@dataclass(frozen=True)
class Package:
    """The installed package ``torch_tpu``. folder: None where none is installed. is_sophgo: it is SophGo's package."""

    folder: Path | None
    version: str
    author: str
    is_sophgo: bool

    def problem(self) -> str:
        """The reason why kernels cannot be launched through the package; "" where they can."""
        if self.folder is None:
            return f"the package {NAME} is not installed"
        if not self.is_sophgo:
            author = f"by {self.author}" if self.author else "by another author"
            return (
                f"the package {NAME} {self.version} in {self.folder} is {author}, not SophGo's: "
                "it has no dynlib_execute"
            )
        return ""


def installed() -> Package:
    """The installed package, found without importing it."""
    module = sys.modules.get(NAME)
    try:
        spec = importlib.util.find_spec(NAME) if module is None else module.__spec__
    except (ImportError, ValueError):
        spec = None
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    if not folders:
        return Package(None, "", "", False)
    folder = Path(folders[0])
    version, author = _metadata()
    return Package(folder, version, author, "sophgo" in author.lower() or _offers_launch(folder))


def _metadata() -> tuple[str, str]:
    """(version, author) of the distribution."""
    try:
        facts: Any = importlib.metadata.metadata(NAME)
    except importlib.metadata.PackageNotFoundError:
        return "", ""
    author = facts.get("Author") or facts.get("Author-email") or ""
    return facts.get("Version", ""), author


def _offers_launch(folder: Path) -> bool:
    """Whether the sources of the package use ``dynlib_execute``."""
    for name in ("tpu/jit.py", "__init__.py"):
        try:
            if "dynlib_execute" in (folder / name).read_text(errors="replace"):
                return True
        except OSError:
            continue
    return False


def operation() -> Any:
    """The operation ``dynlib_execute``, which importing torch_tpu registers. Raises ImportError where it is missing."""
    import torch

    package = installed()
    if package.problem():
        raise ImportError(package.problem())
    importlib.import_module(NAME)
    try:
        return torch.ops.my_ops.dynlib_execute
    except (AttributeError, RuntimeError):
        raise ImportError(f"{NAME} {package.version} in {package.folder} registers no my_ops::dynlib_execute") from None


def execute(run: Any, library: str, entry: str, tensors: Sequence[Any], scalars: Sequence[int | float]) -> None:
    """Launches ``entry`` on the current stream by ``run``, the operation. Tensors come first, as in the struct."""
    floats = [(i, v) for i, v in enumerate(scalars, len(tensors)) if isinstance(v, float)]
    ints = [(i, int(v)) for i, v in enumerate(scalars, len(tensors)) if not isinstance(v, float)]
    run(
        library, entry, list(tensors), list(range(len(tensors))), [v for _, v in floats], [i for i, _ in floats],
        [v for _, v in ints], [i for i, _ in ints],
    )  # fmt: skip
