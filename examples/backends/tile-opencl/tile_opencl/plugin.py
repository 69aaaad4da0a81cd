"""The hook implementations of tile-opencl. Importing them is cheap: pyopencl and TVM are imported when needed."""

from __future__ import annotations

from tile_opencl.adapter import OpenCLAdapter
from tile_opencl.codegen import CODEGEN
from tile_opencl.target import SPEC
from tile_opencl.toolchain import TOOLCHAIN
from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.passes import PassEdit
from tilecore.contract.records import Codegen, Lowering, TargetSpec, Toolchain


@hookimpl
def tilecore_target() -> TargetSpec:
    return SPEC


@hookimpl
def tilecore_lowering() -> Lowering:
    from tile_opencl.add_branch_barriers import ADD_BRANCH_BARRIERS

    edits = (PassEdit("insert", "insert_barriers", ADD_BRANCH_BARRIERS),)
    return Lowering(family="simt", edits=edits)


@hookimpl
def tilecore_codegen() -> Codegen:
    return CODEGEN


@hookimpl
def tilecore_toolchain() -> Toolchain:
    return TOOLCHAIN


@hookimpl
def tilecore_adapters() -> list[OpenCLAdapter]:
    return [OpenCLAdapter()]
