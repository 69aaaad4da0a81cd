"""``tilecore bundle FILE``: what a bundle contains, who made it, and whether it is trusted and intact."""

from __future__ import annotations

import time
import warnings
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from tilecore.commands.text import counted, dump, note, size, table
from tilecore.errors import CacheError

if TYPE_CHECKING:
    from tilecore.bundles.file import BundleFile
    from tilecore.bundles.signatures import Signature

TEXT = """show what a bundle contains, whether it is trusted, and whether it is intact

Every byte is read and checked, and nothing is run. The exit code is 1 if the bundle is not trusted or is damaged."""
RIGHT, WRONG = "right", "wrong"
EXAMPLES = "  tilecore bundle kernels.tcb\n  tilecore bundle kernels.tcb --signed-by bundle_key.pub --json"


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a file that `tilecore compile` wrote")
    parser.add_argument("--signed-by", metavar="KEY", help="require a signature by this public key, or a file of them")


def run(arguments: Namespace) -> int:
    """Print the kernels, by call and target, and the problems. Raises BundleError for what is no bundle."""
    from tilecore.bundles.file import BundleFile
    from tilecore.bundles.keys import key_text
    from tilecore.bundles.signatures import parse_signature

    file = BundleFile(arguments.file)
    signature = parse_signature(file.signature)
    checked = None if signature is None else _check(file, signature)
    facts: dict[str, Any] = {
        "bundle": file.path,
        "bytes": file.facts.st_size,
        "tilecore": file.index.tilecore,
        "created": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(file.index.created)),
        "signed_by": None if signature is None else key_text(signature.key),
        "signature": checked,
        "kernels": [
            {
                "kernel": record.label,
                "target": record.target,
                "execution_backend": record.adapter,
                "machine": record.machine,
                "bytes": record.size,
            }
            for record in file.index.kernels
        ],
    }
    facts["trusted"], facts["problems"], facts["warnings"] = _problems(file, arguments.signed_by, checked)
    if arguments.json:
        dump(facts)
    else:
        _print(facts)
    return 1 if facts["problems"] else 0


def _check(file: BundleFile, signature: Signature) -> str:
    """Whether the signature is right. Loading a bundle that is trusted for its owner does not ask."""
    from tilecore.bundles.signatures import has_signed

    try:
        return RIGHT if has_signed(signature, file.first_line) else WRONG
    except CacheError as error:  # the package is missing
        return f"not checked: {error}"


def _problems(file: BundleFile, signed_by: str | None, checked: str | None) -> tuple[str | None, list[str], list[str]]:
    """Why the bundle is trusted here, None where it is not; what is wrong with it; and warnings: about the files of
    trusted keys, and about its version. checked: what `_check` says of its signature."""
    from tilecore.bundles.layers import require_version
    from tilecore.bundles.trust import UntrustedError, WrongSignatureError, require_trusted

    trusted, problems, is_told_of_signature = None, [], False
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            trusted = require_trusted(file, signed_by)
        except UntrustedError as error:
            problems.append(str(error))
            is_told_of_signature = isinstance(error, WrongSignatureError)
    if checked == WRONG and not is_told_of_signature:
        problems.append("its signature is wrong: the file was changed after it was signed")
    try:
        file.verify()
    except CacheError as error:
        problems.append(str(error))
    told = [str(warning.message) for warning in given]
    try:
        require_version(file)
    except CacheError as error:
        told.append(f"TILECORE_CACHE_PATH does not use it: {error.message}; {error.hint}")
    return trusted, problems, told


def _print(facts: dict[str, Any]) -> None:
    for target in dict.fromkeys(kernel["target"] for kernel in facts["kernels"]):
        rows = [
            (f"  {k['kernel']}", k["execution_backend"], k["machine"], size(k["bytes"]))
            for k in facts["kernels"]
            if k["target"] == target
        ]
        print(target)
        print(table(("  kernel", "execution backend", "machine", "size"), rows))
    signer = "not signed"
    if facts["signed_by"]:
        signer = f"signed by {facts['signed_by']}, whose signature is {facts['signature']}"
    total = f"{counted(len(facts['kernels']), 'kernel')}, {size(facts['bytes'])}"
    print(f"{facts['bundle']}: {total}, tilecore {facts['tilecore']}, {facts['created']}, {signer}")
    is_trusted = facts["trusted"] is not None
    print(f"trusted here: {facts['trusted']}" if is_trusted else "not trusted here: the first problem says why")
    for warning in facts["warnings"]:
        note("warning", warning)
    for problem in facts["problems"]:
        note("problem", problem)
