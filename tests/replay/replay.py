"""What every backend makes of the same kernels, beside what it made when that was last recorded.

    python tests/replay/replay.py [--update] [--targets cuda,cpu]

A change of the core shows here what it means for each backend: the differences in the emitted source, as a diff. With
--update they become what is recorded; the commit that changes them shows them to its reader. A recorded source has the
suffix of its language, the one of dumped files; what is recorded instead of a source (a refusal, a count of lines) has
TEXT. A recorded file that belongs to no kernel counts as a difference, and --update removes it. Targets whose package
is not installed are left out, and said to be; acme is what ``tilecore new-backend`` writes. The exit status is 1 if
anything differs.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RECORDED = Path(__file__).parent / "recorded"
MOST_LINES = 800  # of a recorded source
TEXT = "txt"  # suffix of what is recorded instead of a source

# of examples/: the function, and its arguments
KERNELS: dict[str, tuple[Any, ...]] = {
    "vector_add": (4096, 1024, 128),
    "softmax": (64, 256),
    "rms_norm": (64, 256),
    "matmul": (256, 256, 256),
    "gemm": (200, 264, 136),
    "attention": (1, 4, 2, 256, 64, True),
    "mla_decode": (1, 16, 300),
    "dequant_matmul": (16, 256, 256),
}
TARGETS = {
    "cpu": "cpu -march=generic",
    "cuda-sm_80": "cuda -arch=sm_80",
    "cuda-sm_90a": "cuda -arch=sm_90a",
    "tpu": "tpu",
    "opencl": "opencl -threads=1024 -local_bytes=262144 -extensions=cl_khr_fp64",
    "acme": "acme",
}
SAMPLE = "acme"  # the package that `tilecore new-backend` writes


@dataclass(frozen=True)
class Replayed:
    """path: where it is recorded. was, now: the source, "" for none; a refusal is recorded as its text.

    A recorded file that belongs to no kernel is one whose source is "" now."""

    path: Path
    was: str
    now: str

    def diff(self) -> str:
        """The difference, "" for none."""
        name = f"{self.path.parent.name}/{self.path.name}"
        lines = difflib.unified_diff(self.was.splitlines(), self.now.splitlines(), f"{name}, recorded", name, "", "")
        return "".join(line.rstrip() + "\n" for line in lines)


def emitted(kernel: str, target: str) -> tuple[str, str]:
    """(the source that a target makes of a kernel, the suffix of its language); the text of its refusal, and TEXT."""
    from tilecore.compiler import emit, lower
    from tilecore.errors import TilecoreError
    from tilecore.jit.request import make_request
    from tilecore.target_report.files import module_of

    try:
        request = make_request(target=target)
        func = getattr(module_of(ROOT / "examples" / f"{kernel}.py"), kernel)(*KERNELS[kernel]).ir
        module, _ = lower(func, request.backend, request.target, request.options)
        result = emit(module, request.backend, request.target, request.adapter)
        source, suffix = result.source, result.source_format or request.backend.codegen.emits
    except TilecoreError as error:
        source, suffix = f"{type(error).__name__}: {error}\n", TEXT
    return source.replace(str(ROOT), "").rstrip() + "\n", suffix


def replayed(kernel: str, place: str) -> Replayed:
    now, suffix = emitted(kernel, TARGETS[place])
    lines = len(now.splitlines())
    if lines > MOST_LINES:
        now, suffix = f"{lines} lines, too many to keep\n", TEXT
    path = RECORDED / place / f"{kernel}.{suffix}"
    return Replayed(path, path.read_text() if path.exists() else "", now)


def without_kernel(places: list[str], paths: set[Path]) -> Iterator[Replayed]:
    """The recorded files of these places, and of places that are no target, other than ``paths``."""
    for path in sorted(path for path in RECORDED.rglob("*") if path.is_file() and path not in paths):
        place = path.relative_to(RECORDED).parts[0]
        if place in places or place not in TARGETS:
            yield Replayed(path, path.read_text(), "")


def installed(place: str) -> bool:
    from tilecore.plugins import manager

    return re.split(r"[ -]", TARGETS[place])[0] in manager.kinds()


@contextmanager
def sample() -> Iterator[None]:
    """What the scaffold writes, registered."""
    from tilecore.plugins import manager
    from tilecore.scaffold.package import write_package

    with tempfile.TemporaryDirectory() as folder:
        write_package(SAMPLE, Path(folder))
        sys.path.insert(0, folder)
        try:
            with manager.register(importlib.import_module(f"tile_{SAMPLE}.plugin"), package=f"tile-{SAMPLE}"):
                yield
        finally:
            sys.path.remove(folder)


def replay(places: list[str]) -> Iterator[Replayed]:
    """Every kernel on these targets, and then the recorded files that belong to none."""
    paths = set()
    for place in places:
        for kernel in KERNELS:
            source = replayed(kernel, place)
            paths.add(source.path)
            yield source
    yield from without_kernel(places, paths)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="record what is emitted now")
    parser.add_argument("--targets", default=",".join(TARGETS), help=f"of {', '.join(TARGETS)}")
    options = parser.parse_args()
    places = options.targets.split(",")
    unknown = [place for place in places if place not in TARGETS]
    if unknown:
        parser.error(f"--targets: {unknown[0]!r} is none of {', '.join(TARGETS)}")
    with sample():
        return show(places, options.update)


def show(places: list[str], update: bool) -> int:
    """Print the differences, or record what is emitted; the exit status."""
    for place in places:
        if not installed(place):
            print(f"{place}: not installed here", file=sys.stderr)
    changed = [source for source in replay([place for place in places if installed(place)]) if source.diff()]
    for source in changed:
        print(source.diff(), end="")
        if update:
            record(source)
    done = "recorded" if update else "other than recorded; --update records them"
    print(f"{len(changed)} sources are {done}" if changed else "every source is as recorded", file=sys.stderr)
    return int(bool(changed) and not update)


def record(source: Replayed) -> None:
    if not source.now:
        source.path.unlink()
        return
    source.path.parent.mkdir(parents=True, exist_ok=True)
    source.path.write_text(source.now)


if __name__ == "__main__":
    sys.exit(main())
