"""Reduces a program while it still has the same kind of finding."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tilecore.dtypes import FACTS
from tilecore.testing.fuzz.judges import DeadlineReached
from tilecore.testing.fuzz.program import (
    Alloc,
    Assign,
    Buffer,
    If,
    Kernel,
    Let,
    Load,
    Loop,
    Name,
    Num,
    Op,
    Path,
    Program,
    Tile,
    View,
    While,
    names_in,
    part,
    parts,
    replaced,
    substituted,
)
from tilecore.testing.fuzz.types import is_float, is_integer, limit

Interesting = Callable[[Program], bool]


@dataclass
class Effort:
    """The attempts and the time that are left."""

    attempts: int = 400
    seconds: float = 120.0

    def __post_init__(self) -> None:
        self.until = time.monotonic() + self.seconds

    def spent(self) -> bool:
        return self.attempts <= 0 or time.monotonic() > self.until


def shrink(program: Program, interesting: Interesting, effort: Effort | None = None) -> Program:
    """Removes and simplifies parts of the program as long as ``interesting`` holds of it."""
    effort = effort or Effort()
    steps = (_without_statements, _with_less_nesting, _with_smaller_sizes, _with_simpler_values, _with_simpler_kernels)
    seen = {program}
    smaller = True
    while smaller and not effort.spent():
        smaller = False
        for step in steps:
            candidate = _reduced_by(program, step, interesting, effort, seen)
            smaller |= candidate != program
            program = candidate
    return program


Step = Callable[[Program], Iterator[Program]]


def _reduced_by(program: Program, step: Step, interesting: Interesting, effort: Effort, seen: set[Program]) -> Program:
    """The program after all changes of one kind that keep it interesting."""
    changed = True
    while changed:
        changed = False
        for candidate in step(program):
            tidied = tidy(candidate)
            if tidied in seen or not defines_all_names(tidied):
                continue
            if effort.spent():
                return program
            seen.add(tidied)
            effort.attempts -= 1
            try:
                failure = interesting(tidied)
            except DeadlineReached:
                effort.attempts = 0
                return program
            if failure:
                program, changed = tidied, True
                break
    return program


def tidy(program: Program) -> Program:
    """The program without memory, tensors and sizes that nothing uses, and without empty loops and conditions."""
    while True:
        before = program
        for path, node in reversed(list(parts(program))):
            inner = (node.then or node.orelse) if isinstance(node, If) else getattr(node, "body", ())
            if isinstance(node, (Loop, While, If)) and not inner:
                program = replaced(program, path, ())
        used = names_in(program.kernels)
        for path, node in reversed(list(parts(program))):
            defined_name = node.buffer.name if isinstance(node, (Alloc, View)) else getattr(node, "name", "")
            if isinstance(node, (Alloc, View, Let)) and defined_name not in used:
                program = replaced(program, path, ())
        params = tuple(p for p in program.params if p.name in used)
        spaces = tuple(w for w in program.workspaces if w.name in used)
        program = replace(program, params=params or program.params[:1], workspaces=spaces)
        names = names_in((program.params, program.workspaces, program.kernels))
        shown = {name for p in program.params for name in p.shape}
        sizes = tuple((name, value) for name, value in program.sizes if name in names)
        dynamic = tuple(name for name in program.dynamic if name in shown)
        second_sizes = tuple((name, value) for name, value in program.second_sizes if name in dynamic)
        program = replace(program, sizes=sizes, dynamic=dynamic, second_sizes=second_sizes)
        if program == before:
            return program


def defines_all_names(program: Program) -> bool:
    """Is every name defined before its use?"""
    names = {name for name, _ in program.sizes} | {b.name for b in (*program.params, *program.workspaces)}
    return bool(program.params) and all(
        _defines_before_use(kernel.body, names | set(kernel.names)) for kernel in program.kernels
    )


def _defines_before_use(body: tuple, names: set[str]) -> bool:
    names = set(names)
    for statement in body:
        if isinstance(statement, (Alloc, View)):
            names.add(statement.buffer.name)
        inner = names | set(statement.names) if isinstance(statement, Loop) else names
        bodies = [vars(statement).get(name, ()) for name in ("body", "then", "orelse")]
        if not all(_defines_before_use(part, inner) for part in bodies):
            return False
        if isinstance(statement, While) and not names_in((Name(statement.name), statement.most)) <= names:
            return False
        if not isinstance(statement, (Loop, While, If)) and not names_in(statement) <= names:
            return False
        if isinstance(statement, Let):
            names.add(statement.name)
        if isinstance(statement, If) and not names_in(statement.condition) <= names:
            return False
    return True


# -- changes -------------------------------------------------------------------------------------------------------


def _without_statements(program: Program) -> Iterator[Program]:
    """Without a sequence of statements, long ones first, or without a kernel."""
    for number in range(len(program.kernels)):
        if len(program.kernels) > 1:
            kernels = (*program.kernels[:number], *program.kernels[number + 1 :])
            yield replace(program, kernels=kernels)
    bodies = list(_bodies(program))
    longest = max((len(body) for _, body in bodies), default=0)
    size = 1 << max(longest - 1, 0).bit_length()
    while size:
        for path, body in bodies:
            if len(body) < size and size > 1:
                continue
            for start in range(len(body) - size, -1, -1):
                yield _set(program, path, (*body[:start], *body[start + size :]))
        size //= 2


def _bodies(program: Program) -> Iterator[tuple[Path, tuple]]:
    for path, node in parts(program):
        if isinstance(node, (Kernel, Loop, While)) and node.body:
            yield (*path, "body"), node.body
        elif isinstance(node, If):
            yield (*path, "then"), node.then
            yield (*path, "orelse"), node.orelse


def _set(program: Program, path: Path, value: tuple) -> Program:
    owner = part(program, path[:-1])
    return replaced(program, path[:-1], (replace(owner, **{path[-1]: value}),))


def _with_less_nesting(program: Program) -> Iterator[Program]:
    """The body of a loop or condition in its place; plain loops in place of others; fewer axes."""
    for path, node in parts(program):
        if isinstance(node, If):
            yield replaced(program, path, node.then)
            yield replaced(program, path, node.orelse)
            yield replaced(program, path, (replace(node, orelse=()),))
        elif isinstance(node, While):
            yield replaced(program, path, node.body)
            yield replaced(program, path, (replace(node, most=Num(1)),))
        elif isinstance(node, Loop) and node.schedule:
            yield replaced(program, path, (replace(node, schedule=()),))
        elif isinstance(node, Loop) and node.kind not in ("Parallel", "grid"):
            yield replaced(program, path, substituted(node.body, {name: Num(0) for name in node.names}))
            for trips in (1, 2):
                if node.extents not in ((Num(1),), (Num(trips),)):
                    yield replaced(program, (*path, "extents"), ((Num(trips),),))
            if node.stages:
                yield replaced(program, path, (replace(node, stages=node.stages // 2),))
            if node.kind != "serial":
                yield replaced(program, path, (replace(node, kind="serial", stages=0),))
        elif isinstance(node, Tile):
            for number in range(len(node.options)):
                options = (*node.options[:number], *node.options[number + 1 :])
                yield replaced(program, path, (replace(node, options=options),))


def _with_smaller_sizes(program: Program) -> Iterator[Program]:
    for number, (name, value) in enumerate(program.sizes):
        for less in dict.fromkeys((1, 16, value // 2, value - 1)):
            if 0 < less < value:
                sizes = (*program.sizes[:number], (name, less), *program.sizes[number + 1 :])
                yield replace(program, sizes=sizes)
    if program.second_sizes:
        yield replace(program, second_sizes=())
    for number in range(len(program.dynamic)):
        yield replace(program, dynamic=(*program.dynamic[:number], *program.dynamic[number + 1 :]))


def _with_simpler_values(program: Program) -> Iterator[Program]:
    for path, node in parts(program):
        if not isinstance(node, (Op, Load)) or not _is_value(program, path):
            continue
        yield replaced(program, path, (Num(1),))
        if isinstance(node, Op):
            for arg in node.args:
                yield replaced(program, path, (arg,))
        if isinstance(node, Load) and any(not isinstance(i, (Name, Num)) for i in node.index):
            for axis, index in enumerate(node.index):
                inner = [n for _, n in parts(index) if isinstance(n, Name) and n != index]
                for simpler in (*inner, Num(0)):
                    yield replaced(program, (*path, "index", axis), (simpler,))


def _is_value(program: Program, path: Path) -> bool:
    """Is it an operand of a computation, rather than a size or the target of a store?"""
    owner = part(program, path[:-1]) if not isinstance(path[-1], int) else part(program, path[:-2])
    if isinstance(owner, (Kernel, Buffer)) or path[-1] == "target":
        return False
    if isinstance(owner, Loop) or (len(path) > 1 and path[-2] == "extents"):
        return False
    return not (isinstance(owner, Tile) and isinstance(part(program, path), Load))


def _with_simpler_kernels(program: Program) -> Iterator[Program]:
    """Fewer threads, simpler element types and scopes, smaller caps."""
    for number, kernel in enumerate(program.kernels):
        for threads in (32, 128):
            if threads != kernel.threads and kernel.threads != 32:
                yield replaced(program, ("kernels", number), (replace(kernel, threads=threads),))
    simple = {"float": "float32", "int": "int32", "uint": "int32", "bool": "int32"}
    for dtype in dict.fromkeys(node.dtype for _, node in parts(program) if isinstance(node, Buffer)):
        other = simple[FACTS[dtype].kind]
        if other != dtype:
            yield _retyped(program, dtype, other)
    for path, node in parts(program):
        if isinstance(node, Buffer) and node.form:
            yield replaced(program, path, (replace(node, form=""),))
        if isinstance(node, Buffer) and node.scope == "fragment":
            yield replaced(program, path, (replace(node, scope="shared"),))
        if isinstance(node, Assign) and node.sign == "+=":
            yield replaced(program, path, (replace(node, sign="="),))


def _retyped(program: Program, old: str, new: str) -> Program:
    """The program with element type ``new`` in place of ``old``."""
    for path, node in list(parts(program)):
        if isinstance(node, (Buffer, Op)) and node.dtype == old:
            changed = replace(node, dtype=new)
            if isinstance(changed, Buffer) and (is_integer(new) or is_float(new)):
                changed = replace(changed, cap=min(changed.cap, limit(new)))
            program = replaced(program, path, (changed,))
    return program
