"""Judges what a program uses: each name is looked up in tilecore itself, so that no second list can be out of date."""

from __future__ import annotations

import difflib
import inspect
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

from tilecore.errors import TilecoreError
from tilecore.plugins.pass_options import known_pass_configs
from tilecore.porting.targets import ChosenTarget, refused_on_every_target
from tilecore.porting.uses import Import, Program, Use, read_program
from tilecore.signatures import signature_of

_MISSING = object()


@dataclass(frozen=True)
class Finding:
    """Something that would not run. line: from 1; column: from 0. instead: what to write; "" where nothing is known."""

    line: int
    column: int
    name: str
    problem: str
    instead: str = ""


@dataclass
class FileReport:
    """What is to be said of one file. imports: the import lines that change, as (line, what to write)."""

    file: str
    imports: list[tuple[int, str]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def would_run(self) -> bool:
        return not self.findings

    def as_data(self) -> dict[str, Any]:
        """As data for JSON."""
        return {
            "file": self.file,
            "would_run": self.would_run,
            "imports": [{"line": line, "write": text} for line, text in self.imports],
            "findings": [asdict(finding) for finding in self.findings],
        }


def judge_file(path: str | Path, target: ChosenTarget | None = None) -> FileReport:
    """The report of one program, which is read and not executed. target: also what this target does not have."""
    report = FileReport(str(path))
    try:
        program = read_program(Path(path).read_text(encoding="utf-8"), str(path))
    except (SyntaxError, UnicodeDecodeError, ValueError) as error:
        place = getattr(error, "lineno", None) or 1
        report.findings.append(Finding(place, 0, str(path), f"it is no Python program: {error}"))
        return report
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        findings = [*_of_imports(program), *_of_uses(program, target), *_of_pass_configs(program)]
    report.findings = sorted(dict.fromkeys(findings), key=lambda finding: (finding.line, finding.column, finding.name))
    report.imports = sorted(set(_changed_imports(program)))
    return report


# -- imports ----------------------------------------------------------------------------------------------------------


def _changed_imports(program: Program) -> Iterator[tuple[int, str]]:
    """The import lines of ``tilelang`` as they are to be written."""
    for found in program.imports:
        if found.module.partition(".")[0] != "tilelang":
            continue
        text = " ".join(found.text.split()).replace("tilelang", "tilecore", 1)
        if text == "import tilecore":
            text = "import tilecore as tilelang"
        yield found.line, text


def _of_imports(program: Program) -> Iterator[Finding]:
    for found in program.imports:
        if found.is_optional:
            continue
        words = found.module.split(".")[1:]
        error = _module_error(words)
        name = ".".join([found.module, *([found.name] if found.name not in ("", "*") else [])])
        if error is None and found.name not in ("", "*"):
            error = _name_error(words, found.name)
        if error is not None:
            yield _finding(found, name, error)


def _module_error(words: list[str]) -> Exception | None:
    try:
        import_module(".".join(["tilecore", *words]))
    except Exception as error:
        return error
    return None


def _name_error(words: list[str], name: str) -> Exception | None:
    """Why ``from tilecore.<words> import name`` fails; None where it does not."""
    module = import_module(".".join(["tilecore", *words]))
    try:
        getattr(module, name)
    except Exception as missing:
        try:
            import_module(f"{module.__name__}.{name}")
        except ModuleNotFoundError:
            return missing
        except Exception as error:
            return error
    return None


def _finding(place: Import | Use, name: str, error: Exception) -> Finding:
    problem, instead = _parts(error)
    return Finding(place.line, place.column, name, problem, instead)


def _parts(error: Exception) -> tuple[str, str]:
    """What is wrong and what to write, of an error of tilecore's or of Python's."""
    if isinstance(error, TilecoreError):
        return error.message, error.hint or ""
    problem, separator, instead = str(error).partition("; instead: ")
    if not separator:
        problem, separator, instead = str(error).partition("; did you mean ")
        instead = f"did you mean {instead}" if separator else ""
    return problem, instead


# -- names and keywords -----------------------------------------------------------------------------------------------


def _of_uses(program: Program, target: ChosenTarget | None) -> Iterator[Finding]:
    imported = {(*found.module.split(".")[1:], found.name) for found in program.imports}
    for use in program.uses:
        value, error = _value(use.path)
        if error is not None:
            if use.path not in imported:  # else the line of its import says so
                yield _finding(use, use.written, error)
            continue
        if use.keywords is not None and value is not _MISSING:
            yield from _of_call(use, value)
        refusal = refused_on_every_target(use.path) if target is None else target.refusal(use.path)
        if refusal is not None:
            yield Finding(use.line, use.column, use.written, *refusal)


def _value(path: tuple[str, ...]) -> tuple[Any, Exception | None]:
    """What ``tilecore.<path>`` is, and None; or the error that its use raises. Attributes of objects that are neither
    modules nor classes are not looked up."""
    value: Any = import_module("tilecore")
    for word in path:
        if not isinstance(value, (ModuleType, type)):
            return _MISSING, None
        try:
            value = getattr(value, word)
        except Exception as missing:
            if not isinstance(value, ModuleType):
                return _MISSING, missing
            try:
                value = import_module(f"{value.__name__}.{word}")
            except ModuleNotFoundError:
                return _MISSING, missing
            except Exception as error:
                return _MISSING, error
    return value, None


def _of_call(use: Use, function: Any) -> Iterator[Finding]:
    """Keywords that the function does not take, and texts that name an execution backend or a target."""
    try:
        parameters = signature_of(function).parameters
    except (TypeError, ValueError):
        return
    takes_all = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    known = {*parameters, *getattr(function, "also_named", ())}
    for name in use.keywords or ():
        if not takes_all and name not in known:
            problem = f"{use.written} has no parameter {name!r}"
            yield Finding(use.line, use.column, f"{use.written}({name}=...)", problem, _near(name, list(parameters)))
    for name, text in use.texts:
        if name == "execution_backend":
            yield from _of_execution_backend(use, text)
        if name == "target":
            yield from _of_target(use, text)


def _near(name: str, parameters: list[str]) -> str:
    close = difflib.get_close_matches(name, parameters, 1)
    advice = f"did you mean {close[0]!r}? " if close else ""
    return f"{advice}its parameters: {', '.join(parameters)}" if parameters else "it takes no arguments"


def _of_target(use: Use, text: str) -> Iterator[Finding]:
    from tilecore.plugins import manager

    try:
        manager.resolve(text)
    except TilecoreError as error:
        yield _finding(use, f"{use.written}(target={text!r})", error)


def _of_execution_backend(use: Use, name: str) -> Iterator[Finding]:
    from tilecore.jit.execution_names import ExecutionBackend

    usual = get_args(ExecutionBackend)
    if name in usual:  # without a look at the backends
        return
    own = _own_execution_backends()
    if name not in own:
        close = difflib.get_close_matches(name, [*usual, *sorted(own)], 1)
        advice = f"did you mean {close[0]!r}?" if close else 'leave it out, or "auto"'
        place = f"{use.written}(execution_backend={name!r})"
        yield Finding(use.line, use.column, place, f"no installed target has the execution backend {name!r}", advice)


def _own_execution_backends() -> set[str]:
    """The names of the installed backends' own execution backends."""
    from tilecore.plugins import manager

    names: set[str] = set()
    for kind in manager.kinds():
        with suppress(TilecoreError):  # a broken backend
            names |= set(manager.get(kind).adapters)
    return names


def _of_pass_configs(program: Program) -> Iterator[Finding]:
    for config in program.pass_configs:
        try:
            known_pass_configs({config.key: None})
        except TilecoreError as error:
            problem, instead = _parts(error)
            yield Finding(config.line, config.column, f"pass_configs[{config.key!r}]", problem, instead)
