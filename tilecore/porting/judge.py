"""Judges what a program uses: each name is looked up in tilecore itself, so that no second list can be out of date."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Collection, Iterator

from tilecore.errors import TilecoreError
from tilecore.plugins.pass_options import known_pass_configs
from tilecore.porting.calls import of_call
from tilecore.porting.host import missing_packages, other_devices
from tilecore.porting.lookup import MISSING, Answer, is_attribute, missing_module, missing_name, parts, value_of
from tilecore.porting.report import FileReport, Finding, in_order
from tilecore.porting.rewrite import rewrite_of
from tilecore.porting.scopes import Path, path_of_module
from tilecore.porting.source import read_source
from tilecore.porting.targets import ChosenTarget, refused_on_every_target
from tilecore.porting.uses import Import, Program, Use, read_program


def judge_file(path: str | pathlib.Path, target: ChosenTarget | None = None) -> FileReport:
    """The report of one program, which is read and not executed. target: also what this target does not have."""
    report = FileReport(str(path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program = read_program(read_source(pathlib.Path(path)), str(path))
        except (SyntaxError, ValueError, RecursionError, MemoryError, OSError) as error:
            report.findings.append(_unreadable(error))
            return report
        imports = program.imports_of_package()
        report.uses_tilelang = bool(imports)
        if imports:
            findings = [*_of_names(program, target), *_of_pass_configs(program)]
            report.findings = in_order(findings)
            devices = other_devices(program, target) if target is not None else ()
            report.notes = in_order([*missing_packages(program, pathlib.Path(path)), *devices])
            report.rewrite = rewrite_of(program, is_attribute)
    return report


def _unreadable(error: Exception) -> Finding:
    if isinstance(error, OSError):
        return Finding(1, 1, "", f"the file cannot be read: {error.strerror or error}")
    if isinstance(error, (RecursionError, MemoryError)):
        return Finding(1, 1, "", "the program's expressions are too deeply nested to be read")
    line, column = getattr(error, "lineno", None) or 1, getattr(error, "offset", None) or 1
    return Finding(line, max(column, 1), "", f"this is no Python program: {getattr(error, 'msg', None) or error}")


def _refused_imports(program: Program) -> Iterator[tuple[Import, Path, Answer]]:
    """(import, path of what it imports, why it fails) of the imports that fail and that the program needs."""
    for imported in program.imports_of_package():
        module = path_of_module(imported.module)
        if imported.is_optional or module is None:
            continue
        answer = missing_module(module)
        if answer is None and imported.name not in ("", "*"):
            answer = missing_name(module, imported.name)
        if answer is not None:
            yield imported, _path_of(imported), answer


def _path_of(imported: Import) -> Path:
    module = path_of_module(imported.module) or ()
    return module if imported.name in ("", "*") else (*module, imported.name)


def _of_names(program: Program, target: ChosenTarget | None) -> Iterator[Finding]:
    """Of imports and uses. A use of what could not be imported has the reason of the import."""
    refused: dict[Path, Answer] = {}
    for imported, path, answer in _refused_imports(program):
        refused[path] = answer
        has_name = imported.name not in ("", "*")
        written = f"{imported.module}.{imported.name}" if has_name else imported.module
        yield Finding(imported.line, imported.column, written, *answer)
    optional = {_path_of(imported) for imported in program.imports_of_package() if imported.is_optional}
    for use in program.uses:
        beginnings = [use.path[:count] for count in range(len(use.path), 0, -1)]
        reasons = [refused[path] for path in beginnings if path in refused]
        if reasons:
            yield Finding(use.line, use.column, use.written, *reasons[0])
        else:
            yield from _of_use(use, target, optional.intersection(beginnings))


def _of_use(use: Use, target: ChosenTarget | None, optional: Collection[Path]) -> Iterator[Finding]:
    """optional: what of the use is imported where the program goes on without it."""
    value, answer = value_of(use.path)
    if answer is not None:
        if not optional:
            yield Finding(use.line, use.column, use.written, *answer)
        return
    if use.keywords is not None and value is not MISSING:
        yield from of_call(use, value)
    refusal = refused_on_every_target(use.path) if target is None else target.refusal(use.path)
    if refusal is not None:
        yield Finding(use.line, use.column, use.written, *refusal)


def _of_pass_configs(program: Program) -> Iterator[Finding]:
    for config in program.pass_configs:
        try:
            known_pass_configs({config.key: None})
        except TilecoreError as error:
            yield Finding(config.line, config.column, f"pass_configs[{config.key!r}]", *parts(error))
