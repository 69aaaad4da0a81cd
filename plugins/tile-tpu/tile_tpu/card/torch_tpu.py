"""SophGo's ``torch_tpu``: which package it is, and launching through it.

PyPI has a package of the same name from somebody else. SophGo's is not on PyPI; it says "sophgo" as its author and
offers ``torch.ops.my_ops.dynlib_execute(so_url, func_name, tensors, tensors_index, fp_scalars, fp_scalars_index,
fixed_scalars, fixed_scalars_index)``, which hands arguments to libtpudnn by their position (torch_tpu/tpu/jit.py).

Not tested on hardware: how libtpudnn lays out the arguments of the kernel, and how many work items it launches, is in a
library that is not public. A kernel whose entries say more than one core counts on exactly so many. Tensors alone are
passed as 64-bit addresses everywhere; kernels with scalars are refused unless ``SCALARS_KNOWN`` is set by somebody who
has seen them arrive.
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
    """The package ``torch_tpu`` that is installed. folder: None when there is none. is_sophgo: it is the right one."""

    folder: Path | None
    version: str
    author: str
    is_sophgo: bool

    def words(self) -> str:
        """What is wrong with it, for people; "" when nothing is."""
        if self.folder is None:
            return f"the package {NAME} is not installed"
        if not self.is_sophgo:
            whose = f"by {self.author}" if self.author else "by somebody else"
            return (
                f"the package {NAME} {self.version} in {self.folder} is {whose}, not SophGo's: it has no dynlib_execute"
            )
        return ""


def installed() -> Package:
    """Looks without importing it."""
    module = sys.modules.get(NAME)
    try:
        spec = importlib.util.find_spec(NAME) if module is None else module.__spec__
    except (ImportError, ValueError):
        spec = None
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    if not places:
        return Package(None, "", "", False)
    folder = Path(places[0])
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
    """Whether its own sources use the operation."""
    for name in ("tpu/jit.py", "__init__.py"):
        try:
            if "dynlib_execute" in (folder / name).read_text(errors="replace"):
                return True
        except OSError:
            continue
    return False


def operation() -> Any:
    """``dynlib_execute``; importing torch_tpu registers it. Raises ImportError when it is not there."""
    import torch

    package = installed()
    if package.words():
        raise ImportError(package.words())
    importlib.import_module(NAME)
    try:
        return torch.ops.my_ops.dynlib_execute
    except (AttributeError, RuntimeError):
        raise ImportError(f"{NAME} {package.version} in {package.folder} registers no my_ops::dynlib_execute") from None


def execute(run: Any, library: str, entry: str, tensors: Sequence[Any], scalars: Sequence[int | float]) -> None:
    """Launch ``entry`` on the current stream. run: the operation. Tensors come first, as in the struct."""
    floats = [(i, v) for i, v in enumerate(scalars, len(tensors)) if isinstance(v, float)]
    ints = [(i, int(v)) for i, v in enumerate(scalars, len(tensors)) if not isinstance(v, float)]
    run(
        library, entry, list(tensors), list(range(len(tensors))), [v for _, v in floats], [i for i, _ in floats],
        [v for _, v in ints], [i for i, _ in ints],
    )  # fmt: skip
