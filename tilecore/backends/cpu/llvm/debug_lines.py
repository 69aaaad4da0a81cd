"""The user's lines as LLVM's debug metadata, of which LLVM makes the line tables of object files (DWARF).

LLVM's language reference, "Specialized Metadata Nodes" and "Debug information metadata". Only lines are described: no
variables and no types.
"""

from __future__ import annotations

import os

_FIRST = 1_000_000  # number of the first node; those of alias scopes are smaller


class DebugLines:
    """The debug metadata of one module."""

    def __init__(self) -> None:
        self._nodes: list[str] = []
        self._known: dict[tuple[object, ...], int] = {}
        self._unit = -1

    def subprogram(self, symbol: str, path: str, line: int) -> int:
        """The number of the description of a function that begins at a line."""
        file = self._file(path)
        if self._unit < 0:
            self._unit = self._node(
                f"distinct !DICompileUnit(language: DW_LANG_C99, file: !{file}, producer: {_text('tilecore')}, "
                "isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug)"
            )
        types = self._once(("types",), "!DISubroutineType(types: !{null})")
        return self._node(
            f"distinct !DISubprogram(name: {_text(symbol)}, scope: !{file}, file: !{file}, line: {line}, "
            f"scopeLine: {line}, type: !{types}, unit: !{self._unit}, spFlags: DISPFlagDefinition | DISPFlagOptimized)"
        )

    def location(self, subprogram: int, path: str, line: int) -> int:
        """The number of a line inside of a function; the line may be of another file, as that of a macro is."""
        file = self._file(path)
        block = f"!DILexicalBlockFile(scope: !{subprogram}, file: !{file}, discriminator: 0)"
        scope = self._once(("scope", subprogram, file), block)
        return self._once(("line", scope, line), f"!DILocation(line: {line}, column: 1, scope: !{scope})")

    def lines(self) -> list[str]:
        """The metadata of the module; nothing where no function is described."""
        if self._unit < 0:
            return []
        flags = [self._node(f"!{{i32 {behaviour}, !{_text(name)}, i32 {value}}}") for behaviour, name, value in _FLAGS]
        named = [f"!llvm.dbg.cu = !{{!{self._unit}}}", f"!llvm.module.flags = !{{{', '.join(f'!{n}' for n in flags)}}}"]
        return [*named, *(f"!{_FIRST + number} = {node}" for number, node in enumerate(self._nodes))]

    def _file(self, path: str) -> int:
        folder, name = os.path.split(os.path.abspath(path))
        return self._once(("file", path), f"!DIFile(filename: {_text(name)}, directory: {_text(folder)})")

    def _once(self, key: tuple[object, ...], node: str) -> int:
        if key not in self._known:
            self._known[key] = self._node(node)
        return self._known[key]

    def _node(self, node: str) -> int:
        self._nodes.append(node)
        return _FIRST + len(self._nodes) - 1


_FLAGS = ((2, "Debug Info Version", 3), (7, "Dwarf Version", 4))  # (what modules that are linked do, name, value)


def _text(text: str) -> str:
    """A string of LLVM's."""
    data = text.encode()
    return '"' + "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\' else f"\\{b:02X}" for b in data) + '"'
