"""The options and the help of ``tilecore port``; it is imported to list the commands, so it imports nothing else."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

TEXT = """read a TileLang program and list what would not run, by line, with what to write

The program is read and not executed. Each import, name and keyword of `tilelang` is looked up in tilecore, and each
name of `tvm` in the installed TVM; literal keys of pass_configs, execution backends and targets are checked, too. With
--target, names are listed that the target does not have: operations, element types, names of other chips. What only
compiling shows (sizes, shapes, memory) is for `tilecore explain FILE --targets TARGET`.
With --fix, the changed imports are written into the files, and nothing else in them is changed. Of a folder, all .py
files are read, except for hidden folders and installed packages. Lines and columns count from 1.
The exit code is 1 when something would not run. docs/from-tilelang.md says what differs and why."""

EXAMPLES = """  tilecore port kernels.py
  tilecore port src --target cpu
  tilecore port src --diff
  tilecore port src --fix
  tilecore port kernels.py --json"""


def add_options(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="PATH", help="a program written for TileLang, or a folder of them"
    )
    parser.add_argument("--target", default=None, help="also list what this target does not have, such as cpu")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--fix", action="store_true", help="write the changed imports into the files")
    forms.add_argument(
        "--diff", action="store_true", help="print what --fix would change as a unified diff, and change nothing"
    )
