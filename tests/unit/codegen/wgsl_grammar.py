"""A check of what examples/emitters/wgsl.py emits: tokens, declarations, statements, expressions by WGSL's grammar."""

from __future__ import annotations

import re

TOKEN = re.compile(
    r"//[^\n]*|(?P<word>@?[A-Za-z_]\w*)|(?P<number>0x[\da-f.]+(?:p[+-]?\d+)?[fu]?|\d+\.?\d*(?:e[+-]?\d+)?[fu]?)"
    r"|(?P<sign><<|>>|<=|>=|==|!=|&&|\|\||\+\+|\+=|-=|\*=|[-+*/%<>=!&|^~.,:;(){}\[\]])|\s+|(?P<wrong>.)"
)
OPERATORS = {"||", "&&", "|", "^", "&", "==", "!=", "<", "<=", ">", ">=", "<<", ">>", "+", "-", "*", "/", "%"}
TYPES = {"f32", "i32", "u32", "bool"}
KEYWORDS = {"let", "var", "fn", "for", "while", "if", "else", "break", "continue", "struct", "array", "bitcast"}


class Grammar:
    """Reads a whole source; fails where it is not of the language. ``declared``: names at module scope."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        for match in TOKEN.finditer(text):
            assert not match["wrong"], f"{match['wrong']!r} is no token: {text[match.start() : match.start() + 40]}"
            if match.lastgroup:
                self.tokens.append(match[0])
        self.tokens.append("")
        self.at = 0
        self.declared: list[str] = []

    @property
    def next(self) -> str:
        return self.tokens[self.at]

    def take(self, *expected: str) -> str:
        token = self.next
        assert not expected or token in expected, (
            f"{token!r} instead of {expected}: {' '.join(self.tokens[self.at - 9 :][:18])}"
        )
        self.at += 1
        return token

    def is_next(self, *words: str) -> bool:
        if self.next in words:
            self.at += 1
            return True
        return False

    def name(self) -> str:
        word = self.take()
        is_name = re.fullmatch(r"[A-Za-z_]\w*", word) and word not in KEYWORDS | TYPES
        assert is_name, f"{word!r} is no name"
        return word

    def module(self) -> None:
        while self.next:
            while self.next.startswith("@"):
                self.attribute()
            word = self.take("fn", "var", "struct")
            if word == "var":
                self.listed("<", ">")
                self.declared.append(self.name())
                self.typed()
                self.take(";")
            elif word == "struct":
                self.declared.append(self.name())
                self.listed("{", "}")
            else:
                self.declared.append(self.name())
                self.listed("(", ")")
                self.block()

    def attribute(self) -> None:
        self.take()
        if self.next == "(":
            self.listed("(", ")")

    def listed(self, start: str, end: str) -> None:
        """Anything up to the bracket that closes it."""
        self.take(start)
        while not self.is_next(end):
            self.listed(start, end) if self.next == start else self.take()

    def typed(self) -> None:
        self.take(":")
        self.kind()

    def kind(self) -> None:
        """A type; the brackets of nested ones are two tokens."""
        word = self.take()
        if word in ("array", "atomic"):
            self.take("<")
            self.kind()
            if self.is_next(","):
                assert self.take().isdigit()
            if self.next == ">>":
                self.tokens[self.at : self.at + 1] = [">", ">"]
            self.take(">")
        else:
            assert word in TYPES or word.startswith("Of_"), f"{word!r} is no type"

    def block(self) -> None:
        self.take("{")
        while not self.is_next("}"):
            self.statement()

    def statement(self) -> None:
        if self.is_next("let"):
            self.name()
            self.typed()
            self.take("=")
            self.expression()
        elif self.is_next("var"):
            self.name()
            self.typed()
        elif self.is_next("if", "while"):
            return self.branch()
        elif self.is_next("for"):
            return self.loop()
        elif not self.is_next("break", "continue"):
            self.assignment()
        self.take(";")

    def branch(self) -> None:
        self.take("(")
        self.expression()
        self.take(")")
        self.block()
        if self.is_next("else"):
            return self.branch() if self.is_next("if") else self.block()

    def loop(self) -> None:
        self.take("(")
        self.take("var")
        name = self.name()
        self.take("=")
        self.expression()
        self.take(";")
        self.take(name)
        self.take("<")
        self.expression()
        for token in (";", name, "++", ")"):
            self.take(token)
        self.block()

    def assignment(self) -> None:
        is_call = self.place()
        if not is_call:
            self.take("=", "+=", "-=", "*=")
            self.expression()

    def place(self) -> bool:
        """A name with indices, fields or arguments. Is the last of them a call?"""
        self.name()
        is_call = False
        while self.next in ("[", ".", "("):
            bracket = self.take()
            is_call = bracket == "("
            if bracket == ".":
                self.name()
            elif bracket == "[":
                self.expression()
                self.take("]")
            else:
                self.arguments()
        return is_call

    def arguments(self) -> None:
        while not self.is_next(")"):
            if self.is_next("&"):  # of an atomic function
                self.place()
            else:
                self.expression()
            if self.next != ")":
                self.take(",")

    def expression(self) -> None:
        self.unary()
        while self.next in OPERATORS:
            self.take()
            self.unary()

    def unary(self) -> None:
        if self.is_next("-", "!", "~"):
            return self.unary()
        if self.is_next("("):
            self.expression()
            self.take(")")
            # no cast in C's form: nothing but an operator or a bracket goes behind
            assert not re.match(r"[\w(]", self.next or ";"), f"a cast in C's form before {self.next!r}"
            return None
        if re.match(r"\d", self.next):
            self.take()
            return None
        if self.next in TYPES or self.next == "bitcast":
            if self.take() == "bitcast":
                self.take("<")
                self.kind()
                self.take(">")
            self.take("(")
            return self.arguments()
        self.place()
        return None
