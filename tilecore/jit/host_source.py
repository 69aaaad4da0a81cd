"""The host's part of a launch as C: a function with the calling convention of TVM FFI (tvm/ffi/c_api.h).

It reads and checks the arguments, computes the sizes of the call and the grids, and calls ``tilecore_launch``, which
the execution backend defines (``KernelAdapter.host_code``). All parameters are passed, outputs too. The function is
named ``__tvm_ffi_<kernel>``: ``tvm_ffi.load_module(path)["<kernel>"]`` calls it, with tensors of every library.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilecore.artifact.records import ScalarParam, TensorParam
from tilecore.codegen.literals import quoted
from tilecore.dtypes import FACTS
from tilecore.errors import UnsupportedError
from tilecore.jit.host_sizes import SIZE_FUNCTIONS, allocations, dim_text, require_allocation

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact
    from tilecore.contract.adapter import HostCode

_HEAD = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int32_t type_index;
  uint32_t padding;
  union { int64_t integer; double floating; void *pointer; } value;
} tc_any;
typedef struct { int32_t kind, index; } tc_device;
typedef struct { uint8_t code, bits; uint16_t lanes; } tc_dtype;
typedef struct {
  void *data; tc_device device; int32_t ndim; tc_dtype dtype; int64_t *shape, *strides; uint64_t byte_offset;
} tc_tensor;
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);

static int tc_fail(const char *kind, const char *message) {
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}
static const tc_tensor *tc_tensor_of(const tc_any *argument) {
  if (argument->type_index == 7) return argument->value.pointer;                   // DLTensor*
  if (argument->type_index == 70) return (void *)((char *)argument->value.pointer + 24);  // a tensor behind its head
  return NULL;
}
static int64_t tc_stride_of(const tc_tensor *tensor, int axis) {
  if (tensor->strides != NULL) return tensor->strides[axis];
  int64_t stride = 1;
  for (int behind = tensor->ndim - 1; behind > axis; --behind) stride *= tensor->shape[behind];
  return stride;
}
"""
_STREAM = """
void *TVMFFIEnvGetStream(int32_t device_type, int32_t device);
static inline void *tilecore_stream(int device) { return TVMFFIEnvGetStream(DEVICE_TYPE, device); }
"""
_TYPE_CODES = {"int": 0, "uint": 1, "float": 2}  # of DLPack; floats of 8 bits and bool have several
_FLOATS = {"float64": "double", "float32": "float"}


def host_source(artifact: Artifact, code: HostCode, device_type: int) -> str:
    """The C source. code: what the execution backend defines. device_type: of DLPack, where tensors have to be.

    Raises UnsupportedError for workspaces that the execution backend does not allocate, and for scalars of types that C
    does not have.
    """
    require_allocation(artifact, code)
    return "\n".join(
        [
            f"// tilecore: the host's part of {artifact.name}{_HEAD}{SIZE_FUNCTIONS}",
            _STREAM.replace("DEVICE_TYPE", str(device_type)) if code.has_streams else "",
            code.source,
            *_function(artifact, device_type, code),
        ]
    )


def _function(artifact: Artifact, device_type: int, code: HostCode) -> list[str]:
    params = artifact.params
    tensors = [number for number, param in enumerate(params) if isinstance(param, TensorParam)]
    scalars = [number for number, param in enumerate(params) if isinstance(param, ScalarParam)]
    names = {symbol.name: f"size_{number}" for number, symbol in enumerate(artifact.symbols)}
    behind = len(tensors) + len(artifact.workspaces)  # slots of tensors, workspaces, scalars, sizes
    slots = behind + len(scalars) + len(artifact.symbols)
    lines = [
        f"int __tvm_ffi_{artifact.name}(void *self, const tc_any *arguments, int32_t count, tc_any *result) {{",
        f"  int64_t slots[{slots + len(code.sizes) + 1}] = {{0}}, grids[{4 * len(artifact.entries)}];",
        *_check(artifact, f"count == {len(params)}", f"takes {len(params)} arguments, outputs included"),
    ]
    for number in tensors:
        lines += _read_tensor(artifact, number, device_type)
    for place, number in enumerate(scalars):
        lines += _read_scalar(artifact, number, behind + place)
    for place, symbol in enumerate(artifact.symbols):
        lines += _read_size(artifact, symbol, names[symbol.name], behind + len(scalars) + place)
    for number in tensors:
        lines += _check_sizes(artifact, number, names)
    for assumption in artifact.assumptions:
        lines += _check(artifact, dim_text(assumption.condition, names), f"Assume: {assumption.text}", "RuntimeError")
    for place, number in enumerate(tensors):
        lines.append(f"  slots[{place}] = (int64_t)((char *)tensor_{number}->data + tensor_{number}->byte_offset);")
        align = params[number].align  # type: ignore[union-attr]
        message = f"{params[number].name} is not at a multiple of {align} bytes"
        lines += _check(artifact, f"slots[{place}] % {align} == 0", message)
    for number, entry in enumerate(artifact.entries):
        for axis, dim in enumerate((*entry.grid, entry.shared_bytes)):
            lines.append(f"  grids[{4 * number + axis}] = {dim_text(dim, names)};")
        lines += [
            f"  if (tc_wrong_grid(grids + {4 * number})) {{",
            "    char message[256];",
            f'    snprintf(message, sizeof(message), "{artifact.name}(): %s", tc_wrong_grid(grids + {4 * number}));',
            '    return tc_fail("ValueError", message);',
            "  }",
        ]
    lines += [f"  slots[{slots + at}] = {dim_text(size, names)};" for at, size in enumerate(code.sizes)]
    device = f"tensor_{tensors[0]}->device.index" if tensors else "0"
    return [
        *lines,
        *allocations(artifact, len(tensors), device, names, lambda text: f'return tc_fail("MemoryError", {text});'),
        f"  const int code = tilecore_launch(slots, grids, {device});",
        *(f"  tilecore_free((void *)slots[{place}], {device});" for place in range(len(tensors), behind)),
        *(f"  {_failed(artifact, number, message)}" for number, message in code.errors.items()),
        "  if (code != 0) {",
        "    char message[128];",
        f'    snprintf(message, sizeof(message), "{artifact.name}(): the launch returned %d", code);',
        '    return tc_fail("RuntimeError", message);',
        "  }",
        "  memset(result, 0, sizeof(*result));",
        "  return 0;",
        "}",
        "",
    ]


def _check(artifact: Artifact, condition: str, message: str, kind: str = "ValueError") -> list[str]:
    text = quoted(f"{artifact.name}(): {message}")
    return [f'  if (!({condition})) return tc_fail("{kind}", {text});']


def _read_tensor(artifact: Artifact, number: int, device_type: int) -> list[str]:
    param = artifact.params[number]
    assert isinstance(param, TensorParam)
    name, tensor = param.name, f"tensor_{number}"
    bits = FACTS[param.dtype].bits
    is_type = f"{tensor}->dtype.bits * {tensor}->dtype.lanes == {max(bits, 8)}"
    type_code = 4 if param.dtype == "bfloat16" else _TYPE_CODES.get(FACTS[param.dtype].kind)
    if type_code is not None and bits >= 8 and (type_code < 2 or bits >= 16):
        is_type = f"{tensor}->dtype.code == {type_code} && {is_type}"
    return [
        f"  const tc_tensor *{tensor} = tc_tensor_of(&arguments[{number}]);",
        *_check(artifact, f"{tensor} != NULL", f"{name} must be a tensor", "TypeError"),
        *_check(artifact, f"{tensor}->ndim == {len(param.shape)}", f"{name} must have {len(param.shape)} axes"),
        *_check(artifact, is_type, f"{name} must have elements of type {param.dtype}", "TypeError"),
        *_check(artifact, f"{tensor}->device.kind == {device_type}", f"{name} is on another kind of device"),
    ]


def _read_scalar(artifact: Artifact, number: int, place: int) -> list[str]:
    param = artifact.params[number]
    facts, argument = FACTS[param.dtype], f"arguments[{number}]"
    number_of = f"{argument}.type_index == 1 || {argument}.type_index == 2"
    if facts.kind != "float":
        value = f"{argument}.value.integer" if facts.kind != "bool" else f"{argument}.value.integer != 0"
        return [
            *_check(artifact, number_of, f"{param.name} must be an integer", "TypeError"),
            f"  slots[{place}] = {value};",
        ]
    kind = _FLOATS.get(param.dtype)
    if kind is None:
        raise UnsupportedError(f"{artifact.name}: a library takes no scalar of type {param.dtype}", found=param.name)
    return [
        *_check(artifact, f"{argument}.type_index == 3 || {number_of}", f"{param.name} must be a number", "TypeError"),
        f"  const {kind} scalar_{number} = ({kind})({argument}.type_index == 3 ? {argument}.value.floating"
        f" : (double){argument}.value.integer);",
        f"  memcpy(&slots[{place}], &scalar_{number}, sizeof(scalar_{number}));",
    ]


def _read_size(artifact: Artifact, symbol: Any, name: str, place: int) -> list[str]:
    kind, param, axis = symbol.source
    param_name = artifact.params[param].name
    if kind == "scalar":
        source, text = f"arguments[{param}].value.integer", param_name
    elif kind == "shape":
        source, text = f"tensor_{param}->shape[{axis}]", f"{param_name}.shape[{axis}]"
    else:
        source, text = f"tc_stride_of(tensor_{param}, {axis})", f"the stride of axis {axis} of {param_name}"
    difference = f"({source} - INT64_C({symbol.offset}))"
    fits = f"{difference} % INT64_C({symbol.scale}) == 0"
    return [
        *_check(artifact, fits, f"{text} must be {symbol.scale} * {symbol.name} + {symbol.offset}"),
        f"  const int64_t {name} = {difference} / INT64_C({symbol.scale});  // {symbol.name}",
        f"  slots[{place}] = {name};",
    ]


def _failed(artifact: Artifact, code: int, message: str) -> str:
    text = quoted(f"{artifact.name}(): {message}")
    return f'if (code == {code}) return tc_fail("RuntimeError", {text});'


def _check_sizes(artifact: Artifact, number: int, names: dict[str, str]) -> list[str]:
    param = artifact.params[number]
    assert isinstance(param, TensorParam)
    lines, tensor = [], f"tensor_{number}"
    extents = [dim_text(dim, names) for dim in param.shape]
    if param.packed > 1 and extents:
        extents[-1] = f"tc_floor_div({extents[-1]} + {param.packed - 1}, {param.packed})"
    for axis, extent in enumerate(extents):
        message = f"axis {axis} of {param.name} must have {param.shape[axis]} elements"
        lines += _check(artifact, f"{tensor}->shape[{axis}] == {extent}", message)
    for axis, stride in enumerate(_strides(param, extents, names)):
        condition = f"{tensor}->shape[{axis}] <= 1 || tc_stride_of({tensor}, {axis}) == {stride}"
        lines += _check(artifact, condition, f"axis {axis} of {param.name} has another stride than declared")
    return lines


def _strides(param: TensorParam, extents: Sequence[str], names: dict[str, str]) -> list[str]:
    if param.strides is not None:
        return [dim_text(dim, names) for dim in param.strides]
    return [" * ".join(["1", *(f"({extent})" for extent in extents[axis + 1 :])]) for axis in range(len(extents))]
