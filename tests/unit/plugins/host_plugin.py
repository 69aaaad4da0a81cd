"""A plugin for tests: the target ``acme`` computes as cpu does, with parts of its own."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import tilecore
import tilecore.language as T
from tilecore.backends.cpu import codegen, lowering, target, toolchain
from tilecore.backends.cpu.adapter import NativeAdapter
from tilecore.codegen.registration import register_codegen
from tilecore.contract.hookspecs import hookimpl
from tilecore.plugins import manager


class Plugin:
    """build: the code generator, None to register none. tools: changes of the toolchain. facts: changes of what it
    can. parts: of the lowering."""

    function = "target.build.tilecore_acme"

    def __init__(
        self, build=codegen.build, tools=(), adapter=NativeAdapter, language=(), facts=(), modules=(), **parts
    ):
        self.build, self.tools, self.adapter = build, dict(tools), adapter
        self.language = dict(language)
        self.modules = dict(modules)
        self.facts = dict(facts)
        self.lowering = replace(lowering.LOWERING, **{"implementations": (), "edits": (), **parts})

    @hookimpl
    def tilecore_target(self):
        capable = lambda requested: replace(target.capabilities(requested), **self.facts)  # noqa: E731
        names = {"language": self.language, "modules": self.modules}
        return replace(target.SPEC, kind="acme", aliases={}, capabilities=capable, **names)

    @hookimpl
    def tilecore_lowering(self):
        return self.lowering

    @hookimpl
    def tilecore_codegen(self):
        return replace(codegen.CODEGEN, function=self.function, register=self.register)

    @hookimpl
    def tilecore_toolchain(self):
        return replace(toolchain.TOOLCHAIN, **self.tools)

    @hookimpl
    def tilecore_adapters(self):
        return [self.adapter()]

    def register(self):
        from tilecore.ir.nodes import tvm_ffi

        if self.build is not None:
            register_codegen(self.function, self.build)
        elif tvm_ffi.get_global_func(self.function, allow_missing=True):
            tvm_ffi.registry.remove_global_func(self.function)


@contextmanager
def registered(**parts):
    with manager.register(Plugin(**parts), package="tile-acme", version="1.5"):
        yield


def compiled(func, **parts):
    with registered(**parts):
        return tilecore.compile(func, target="acme")


@T.prim_func
def twice(A: T.Tensor((16,), "float32"), B: T.Tensor((16,), "float32")):
    with T.Kernel(1):
        tile = T.alloc_shared((16,), "float32")
        T.copy(A, tile)
        for i in T.Parallel(16):
            B[i] = tile[i] * 2.0
