"""The definitions of the header, as tile_metal/header.py takes them: clang sees the names that each is said to provide,
and each compiles with those alone that it needs."""

from __future__ import annotations

import re
import subprocess

import compiler
import pytest
from tile_metal import header
from tile_metal.header_parts import definitions, definitions_of, words

from tilecore.codegen.header_names import HEADER_NAMES

CONDITIONS = sorted({definition.only_for for definition in definitions()} - {""})
# names of docs/hooks/header.md that no source for the target has
OTHERS = {
    "tc_named_barrier": "a threadgroup has one barrier",
    "tc_copy_async": "there are no asynchronous copies",
    "tc_commit_async": "there are no asynchronous copies",
    "tc_wait_async": "there are no asynchronous copies",
    "tc_block_vote_any": "tc_threadgroup_any, which gets a word of memory",
    "tc_block_vote_all": "tc_threadgroup_all",
    "tc_block_vote_count": "tc_threadgroup_count",
    "tc_half": "half",
    "tc_bfloat16": "bfloat",
}
# arithmetic that rounds towards zero, up or down, which the target refuses
DIRECTED = {
    f"tc_{name}_{mode}" for name in ("add", "sub", "mul", "fma", "div", "rcp", "sqrt") for mode in ("rz", "ru", "rd")
}


def provided() -> set[str]:
    return {name for definition in definitions() for name in definition.provides}


def test_clang_sees_the_names_that_each_definition_provides():
    """Of functions, structures and enumerations, after macros are expanded."""
    text = "".join(
        f"tc_piece {number}\n" + ("" if "#include" in definition.text else definition.text)
        for number, definition in enumerate(definitions())
    )
    command = [compiler.clang(), "-E", "-P", "-x", "c++", "-D__METAL_VERSION__=320", "-"]
    process = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
    assert process.returncode == 0, process.stderr
    pieces = re.split(r"tc_piece (\d+)\n", process.stdout)[1:]
    assert len(pieces) == 2 * len(definitions())
    for number, code in zip(pieces[::2], pieces[1::2], strict=True):
        definition = definitions()[int(number)]
        names = set(re.findall(r"\binline\s[^(;{}]*?\b(\w+)\s*(?:<[\w ]+>)?\(", code))
        names |= set(re.findall(r"\bstruct (\w+)[^;{(]*[;{]", code))
        for name, values in re.findall(r"\benum (\w+) \{([^}]*)\}", code):
            names |= {name, *re.findall(r"\w+", values)}
        macros = words("".join(re.findall(r"#define \w+", definition.text)))
        said = {name for name in definition.provides - macros if name.startswith("tc_")}
        if "#include" not in definition.text:
            assert names == said, definition.text


def test_a_definition_needs_those_in_front_of_it():
    first: dict[str, int] = {}
    for number, definition in enumerate(definitions()):
        for name in definition.provides:
            first.setdefault(name, number)
    macros = {name: one.words for one in definitions() if one.text.startswith("#define") for name in one.provides}
    for number, definition in enumerate(definitions()):
        if definition.text.startswith("#define"):  # what it has is needed where it is called
            continue
        used = set(definition.words)
        while more := set().union(*(macros[name] for name in used & set(macros))) - used:
            used |= more
        behind = {name for name in used if first.get(name, 0) > number}
        assert not behind, f"{definition.text} uses what stands behind it: {behind}"


def test_types_that_not_every_version_has_are_in_programs_that_have_them():
    for definition in definitions():
        for word, condition in {"bfloat": "bfloat", "TC_COHERENT": "coherent"}.items():
            if word in definition.words and not any(name.startswith("TC_COHERENT_") for name in definition.provides):
                assert definition.only_for == condition, definition.text
    macros = [name for definition in definitions() for name in definition.provides if name.startswith("TC_")]
    assert len(macros) == len(set(macros)), "a macro is defined twice"


def test_every_name_that_the_target_emits_is_in_the_header():
    table = {name.name for name in HEADER_NAMES.values() if not name.only_c}
    assert table - provided() == set(OTHERS) | DIRECTED
    assert {"tc_threadgroup_any", "tc_threadgroup_all", "tc_threadgroup_count"} <= provided()


@pytest.mark.parametrize(("version", "conditions"), [(300, ""), (400, " ".join(CONDITIONS))])
def test_each_name_compiles_with_what_it_needs_alone(version, conditions):
    """Each in a namespace of its own: without the other types for which it has overloads, and with all of them."""
    texts = {"": "#include <metal_stdlib>\n#include <metal_simdgroup_matrix>\n"}
    if version >= 400:
        texts[""] += "#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>\n"
    chosen = set()
    names = provided() - {"simdgroup_matrix"}
    if conditions:
        names = {name for one in definitions() if one.only_for for name in one.provides} | {"tc_matmul2d"}
    for name in sorted(names):
        needed = tuple(header.needed_definitions(f"{name} {conditions}"))
        if needed not in chosen:
            chosen.add(needed)
            text = re.sub(r"^#include .*\n", "", header.joined(needed), flags=re.MULTILINE)
            macros = "".join(f"#undef {macro}\n" for macro in sorted(_macros(needed)))
            texts[name] = f"namespace alone_{len(texts)} {{\n{text}{macros}}}\n"
    assert len(texts) > (30 if conditions else 90)
    program = "".join(texts.values())
    assert compiler.errors_as_cpp(program, version) == []


def _macros(needed: tuple[header.Definition, ...]) -> set[str]:
    return {name for definition in needed for name in definition.provides if name.startswith("TC_")}


def test_how_parts_are_read():
    text = """// Of the part.

// Of the paragraph.
#define TC_BOTH(A, B) \\
  TC_FN int A(int x) { return B(x); }
TC_BOTH(tc_a, tc_b)  // provides: tc_a
#if __METAL_VERSION__ >= 310  // for: bfloat
TC_FN int tc_c(bfloat x) {  // tc_d
  return 1;
}
#endif

template <typename T>
struct tc_e<T> {
  T of;
};
enum tc_f { tc_g, tc_h };
"""
    macro, call, function, structure, enumeration = definitions_of("part.h", text)
    assert macro.comments == ("// Of the part.\n", "// Of the paragraph.\n")
    assert structure.comments == ("// Of the part.\n",)
    assert [set(one.provides) for one in (macro, call, function)] == [{"TC_BOTH"}, {"tc_a"}, {"tc_c"}]
    assert [set(one.provides) for one in (structure, enumeration)] == [{"tc_e"}, {"tc_f", "tc_g", "tc_h"}]
    assert call.text == "TC_BOTH(tc_a, tc_b)\n"
    assert {"TC_BOTH", "tc_b"} < call.words
    assert function.only_for == "bfloat"
    assert "tc_d" not in function.words
    assert words("a // b\nc /* d */ e1") == {"a", "c", "e1"}
