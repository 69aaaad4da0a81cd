"""Compares the kernels of examples/ on one GPU with torch (cuBLAS, cuDNN), torch.compile and Triton in the same run.

    python benchmarks/h200.py [--only gemm,attention,...] [--match TEXT] [--without PEERS] [--rounds 25] [--out FILE]

Every configuration is checked against torch. Then rounds go over configurations and peers, each round in another order
(matrix work on this card is limited by power, so a fixed order favours some); times are measured on the device between
two events, medians over the rounds. A line: TB/s or TFLOP/s, microseconds, and the ratio to torch (cuDNN for
attention) in this run. The clocks are those of h200_measure.py. launch: microseconds of one call on the host, three
tensors. compile: milliseconds of a GEMM kernel from the decorated function to a kernel that can be called, nothing
cached, TVM imported.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from datetime import date
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import h200_attention
import h200_calls
import h200_decode
import h200_products
import h200_rows
import torch

import tilecore

CASES = {**h200_rows.CASES, **h200_products.CASES, **h200_attention.CASES, **h200_decode.CASES}
CALLS = {"launch": h200_calls.launch, "compile": h200_calls.compile_gemm}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join([*CASES, *CALLS]))
    parser.add_argument("--match", default="", help="only cases that have this in their name, such as 4000x")
    parser.add_argument("--without", default="", help="peers to leave out, such as inductor, slow to compile")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--out")
    options = parser.parse_args()
    names = options.only.split(",")
    unknown = [name for name in names if name not in {**CASES, **CALLS}]
    if unknown:
        parser.error(f"--only: {unknown[0]!r} is none of {', '.join([*CASES, *CALLS])}")
    rows: list[dict[str, Any]] = []
    for name in names:
        for make, sizes in CASES.get(name, ()):
            case = make(*sizes)
            case.without = frozenset(options.without.split(",")) - {case.base}
            rows += case.measure(options.rounds) if options.match in case.name else []
        if name in CALLS:
            rows += CALLS[name]()
        write(options.out, rows)
    return 0


def write(path: str | None, rows: list[dict[str, Any]]) -> None:
    """Writes the results so far."""
    facts = {
        "date": str(date.today()),
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "python": platform.python_version(),
        "tilecore": tilecore.__version__,
        "command": " ".join(["python", "benchmarks/h200.py", *sys.argv[1:]]),
    }
    if path:
        Path(path).write_text(json.dumps({"facts": facts, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
