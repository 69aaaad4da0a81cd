"""Packages with a fault in their adapter."""

from __future__ import annotations

from broken_packages import BrokenPackage

PACKAGES = (
    BrokenPackage(
        "adapter_nonsense_from_advice",
        "The adapter returns the wrong thing from advice.",
        step="advice",
        says="plain.load().advice returned a wrong value",
        adapter="""\
def advise(self, code):
    return ["do", "this"]
""",
    ),
    BrokenPackage(
        "adapter_nonsense_from_available",
        "The adapter returns the wrong thing from available.",
        step="available",
        says="plain.available returned a wrong value",
        adapter="""\
def available(self, target):
    return True
""",
    ),
    BrokenPackage(
        "adapter_nonsense_from_binary_formats",
        "The adapter returns the wrong thing from binary_formats.",
        step="resolve",
        says="plain.binary_formats returned a wrong value",
        adapter="""\
def binary_formats(self):
    return "text"
""",
    ),
    BrokenPackage(
        "adapter_nonsense_from_capture",
        "The adapter returns the wrong thing from capture.",
        step="capture",
        says="plain.capture returned a wrong value",
        adapter="""\
def capture(self, device_index, stream):
    return None
""",
    ),
    BrokenPackage(
        "adapter_nonsense_from_current_stream",
        "The adapter returns the wrong thing from current_stream.",
        step="current_stream",
        says="plain.current_stream returned a wrong value",
        adapter="""\
def current_stream(self, device_index):
    return None
""",
    ),
    BrokenPackage(
        "adapter_nonsense_from_empty",
        "The adapter returns the wrong thing from empty.",
        step="empty",
        says="plain.empty returned a wrong value",
        adapter="""\
def empty(self, shape, dtype, device_index=0):
    return None
""",
    ),
    BrokenPackage(
        "adapter_nonsense_from_error",
        "The adapter returns the wrong thing from error.",
        step="error",
        says="plain.load().error returned a wrong value",
        adapter="""\
def describe(self, code):
    return None
""",
    ),
    BrokenPackage(
        "adapter_nonsense_from_foreign_tensor",
        "The adapter returns the wrong thing from foreign_tensor.",
        step="foreign_tensor",
        says="plain.foreign_tensor returned a wrong value",
        adapter="""\
def foreign_tensor(self, value, stream):
    return 4096
""",
    ),
    BrokenPackage(
        "adapter_nonsense_from_host_code",
        "The adapter returns the wrong thing from host_code.",
        step="host_code",
        says="plain.host_code returned a wrong value",
        adapter="""\
def host_code(self, artifact):
    return "int main;"
""",
    ),
    BrokenPackage(
        "adapter_nonsense_from_machine",
        "The adapter returns the wrong thing from machine.",
        step="machine",
        says="plain.machine returned a wrong value",
        adapter="""\
def machine(self, target):
    return None
""",
    ),
    BrokenPackage(
        "adapter_nonsense_from_fit",
        "The adapter returns the wrong thing from fit.",
        step="fit",
        says="plain.fit returned a wrong value",
        adapter="""\
def fit(self, compiled_for, wanted):
    return "well"
""",
    ),
    BrokenPackage(
        "adapter_nonsense_from_largest_run",
        "The adapter returns the wrong thing from largest_run.",
        step="largest_run",
        says="plain.largest_run returned a wrong value",
        adapter="""\
def largest_run(self):
    return "many"
""",
    ),
    BrokenPackage(
        "adapter_nonsense_from_allocate",
        "The adapter returns the wrong thing from allocate.",
        step="allocate",
        says="plain.allocate returned a wrong value",
        adapter="""\
def allocate(self, size, device_index):
    return 4096
""",
    ),
    BrokenPackage(
        "adapter_nonsense_from_device_ranges",
        "The adapter returns the wrong thing from device_ranges.",
        step="device_ranges",
        says="plain.device_ranges returned a wrong value",
        adapter="""\
def device_ranges(self):
    return "nvtx"
""",
    ),
    BrokenPackage(
        "adapter_nonsense_from_launch",
        "The adapter's launch returns the wrong thing.",
        step="launch",
        says="plain.load().launch returned a wrong value",
        adapter="""\
def launch(self, slots, grids, stream):
    return "done"
""",
    ),
    BrokenPackage(
        "adapter_nonsense_from_load",
        "The adapter returns the wrong thing from load.",
        step="load",
        says="plain.load returned a wrong value",
        adapter="""\
def load(self, artifact):
    return None
""",
    ),
    BrokenPackage(
        "adapter_nonsense_from_target",
        "The adapter returns the wrong thing from target.",
        step="target",
        says="plain.target returned a wrong value",
        adapter="""\
def target(self, target):
    return "int main;"
""",
    ),
    BrokenPackage(
        "adapter_nonsense_from_timer",
        "The adapter returns the wrong thing from timer.",
        step="timer",
        says="plain.timer returned a wrong value",
        adapter="""\
def timer(self, device_index=0, backend="event"):
    return 1.5
""",
    ),
    BrokenPackage(
        "adapter_nonsense_from_torch_device",
        "The adapter returns the wrong thing from torch_device.",
        step="torch_device",
        says="plain.torch_device returned a wrong value",
        adapter="""\
def torch_device(self, device_index=0):
    return device_index
""",
    ),
    BrokenPackage(
        "adapter_raises_in_advice",
        "The adapter raises in advice.",
        step="advice",
        says="plain.load().advice raised RuntimeError: boom",
        adapter="""\
def advise(self, code):
    raise RuntimeError("boom")
""",
    ),
    BrokenPackage(
        "adapter_raises_in_available",
        "The adapter raises in available.",
        step="available",
        says="plain.available raised OSError: the device is gone",
        adapter="""\
def available(self, target):
    raise OSError("the device is gone")
""",
    ),
    BrokenPackage(
        "adapter_raises_in_binary_formats",
        "The adapter raises in binary_formats.",
        step="resolve",
        says="plain.binary_formats raised RuntimeError: boom",
        adapter="""\
def binary_formats(self):
    raise RuntimeError("boom")
""",
    ),
    BrokenPackage(
        "adapter_raises_in_capture",
        "The adapter raises in capture.",
        step="capture",
        says="plain.capture raised OSError: the device is gone",
        adapter="""\
def capture(self, device_index, stream):
    raise OSError("the device is gone")
""",
    ),
    BrokenPackage(
        "adapter_raises_in_current_stream",
        "The adapter raises in current_stream.",
        step="current_stream",
        says="plain.current_stream raised OSError: the device is gone",
        adapter="""\
def current_stream(self, device_index):
    raise OSError("the device is gone")
""",
    ),
    BrokenPackage(
        "adapter_raises_in_empty",
        "The adapter raises in empty.",
        step="empty",
        says="plain.empty raised RuntimeError: boom",
        adapter="""\
def empty(self, shape, dtype, device_index=0):
    raise RuntimeError("boom")
""",
    ),
    BrokenPackage(
        "adapter_raises_in_error",
        "The adapter raises in error.",
        step="error",
        says="plain.load().error raised OSError: the device is gone",
        adapter="""\
def describe(self, code):
    raise OSError("the device is gone")
""",
    ),
    BrokenPackage(
        "adapter_raises_in_foreign_tensor",
        "The adapter raises in foreign_tensor.",
        step="foreign_tensor",
        says="plain.foreign_tensor raised RuntimeError: boom",
        adapter="""\
def foreign_tensor(self, value, stream):
    raise RuntimeError("boom")
""",
    ),
    BrokenPackage(
        "adapter_raises_in_host_code",
        "The adapter raises in host_code.",
        step="host_code",
        says="plain.host_code raised RuntimeError: boom",
        adapter="""\
def host_code(self, artifact):
    raise RuntimeError("boom")
""",
    ),
    BrokenPackage(
        "adapter_raises_in_machine",
        "The adapter raises in machine.",
        step="machine",
        says="plain.machine raised RuntimeError: boom",
        adapter="""\
def machine(self, target):
    raise RuntimeError("boom")
""",
    ),
    BrokenPackage(
        "adapter_raises_in_fit",
        "The adapter raises in fit.",
        step="fit",
        says="plain.fit raised RuntimeError: boom",
        adapter="""\
def fit(self, compiled_for, wanted):
    raise RuntimeError("boom")
""",
    ),
    BrokenPackage(
        "adapter_raises_in_allocate",
        "The adapter raises in allocate.",
        step="allocate",
        says="plain.allocate raised RuntimeError: boom",
        adapter="""\
def allocate(self, size, device_index):
    raise RuntimeError("boom")
""",
    ),
    BrokenPackage(
        "adapter_raises_in_device_ranges",
        "The adapter raises in device_ranges.",
        step="device_ranges",
        says="plain.device_ranges raised RuntimeError: boom",
        adapter="""\
def device_ranges(self):
    raise RuntimeError("boom")
""",
    ),
    BrokenPackage(
        "adapter_raises_in_largest_run",
        "The adapter raises in largest_run.",
        step="largest_run",
        says="plain.largest_run raised RuntimeError: boom",
        adapter="""\
def largest_run(self):
    raise RuntimeError("boom")
""",
    ),
    BrokenPackage(
        "adapter_raises_in_launch",
        "The adapter raises in launch.",
        step="launch",
        says="plain.load().launch raised OSError: the device is gone",
        adapter="""\
def launch(self, slots, grids, stream):
    raise OSError("the device is gone")
""",
    ),
    BrokenPackage(
        "adapter_raises_in_load",
        "The adapter raises in load.",
        step="load",
        says="plain.load raised OSError: the device is gone",
        adapter="""\
def load(self, artifact):
    raise OSError("the device is gone")
""",
    ),
    BrokenPackage(
        "adapter_raises_in_synchronize",
        "The adapter raises in synchronize.",
        step="synchronize",
        says="plain.synchronize raised OSError: the device is gone",
        adapter="""\
def synchronize(self, device_index=0):
    raise OSError("the device is gone")
""",
    ),
    BrokenPackage(
        "adapter_raises_in_target",
        "The adapter raises in target.",
        step="target",
        says="plain.target raised RuntimeError: boom",
        adapter="""\
def target(self, target):
    raise RuntimeError("boom")
""",
    ),
    BrokenPackage(
        "adapter_raises_in_timer",
        "The adapter raises in timer.",
        step="timer",
        says="plain.timer raised RuntimeError: boom",
        adapter="""\
def timer(self, device_index=0, backend="event"):
    raise RuntimeError("boom")
""",
    ),
    BrokenPackage(
        "adapter_raises_in_torch_device",
        "The adapter raises in torch_device.",
        step="torch_device",
        says="plain.torch_device raised RuntimeError: boom",
        adapter="""\
def torch_device(self, device_index=0):
    raise RuntimeError("boom")
""",
    ),
    BrokenPackage(
        "adapter_unknown_size",
        "A launch wants to know a size that the kernel does not have.",
        step="load",
        says="plain.load returned a LoadedKernel with sizes of unknown symbols",
        imports="from tilecore.artifact.dims import DimExpr",
        adapter="""\
def load(self, artifact):
    return replace(super().load(artifact), sizes=(DimExpr("rows"),))
""",
    ),
    BrokenPackage(
        "adapter_wrong_capsule",
        "A native launch that takes the device, in the capsule of one that does not.",
        step="load",
        says="plain.load returned a LoadedKernel with a wrong launch",
        imports="import ctypes",
        adapter="""\
def load(self, artifact):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return LoadedKernel(new(16, b"tilecore.launch", None), on_device=True)
""",
    ),
    BrokenPackage(
        "adapter_wrong_device",
        "An adapter's tensors are on a device that DLPack does not know.",
        step="resolve",
        says="tilecore_adapters: field 'device' of BrokenAdapter is wrong",
        adapter="""\
device = "gpu"
""",
    ),
    BrokenPackage(
        "adapter_wrong_host_tensors",
        "An adapter says in words that it takes the host's tensors.",
        step="resolve",
        says="tilecore_adapters: field 'host_tensors' of BrokenAdapter is wrong",
        adapter="""\
host_tensors = "numpy"
""",
    ),
    BrokenPackage(
        "adapter_wrong_launch",
        "A loaded kernel that cannot be launched.",
        step="load",
        says="plain.load returned a LoadedKernel with a wrong launch",
        adapter="""\
def load(self, artifact):
    return LoadedKernel(launch=0x7F0000)
""",
    ),
    BrokenPackage(
        "adapter_wrong_launch_arguments",
        "A launch that takes the device, and does not say so.",
        step="load",
        says="plain.load returned a LoadedKernel with a wrong launch",
        adapter="""\
def launch(self, slots, grids, device, stream):
    return 0
""",
    ),
    BrokenPackage(
        "adapter_wrong_on_device",
        "A loaded kernel that does not say whether it takes the device.",
        step="load",
        says="plain.load returned a wrong value: field 'on_device' of LoadedKernel is wrong",
        adapter="""\
def load(self, artifact):
    return replace(super().load(artifact), on_device=1)
""",
    ),
    BrokenPackage(
        "adapter_wrong_sizes",
        "A loaded kernel whose sizes are a list.",
        step="load",
        says="plain.load returned a wrong value: field 'sizes' of LoadedKernel is wrong",
        adapter="""\
def load(self, artifact):
    return replace(super().load(artifact), sizes=[16])
""",
    ),
    BrokenPackage(
        "adapter_wrong_state",
        "A loaded kernel whose state is no address.",
        step="load",
        says="plain.load returned a wrong value: field 'state' of LoadedKernel is wrong",
        adapter="""\
def load(self, artifact):
    return replace(super().load(artifact), state="here")
""",
    ),
    BrokenPackage(
        "adapter_reserved_name",
        "An adapter has the name by which users leave the choice to tilecore.",
        step="resolve",
        says="tilecore_adapters: field 'name' of BrokenAdapter is reserved",
        adapter="""\
name = "auto"
""",
    ),
    BrokenPackage(
        "adapter_reserved_name_of_the_interpreter",
        "An adapter has the name of the interpreter.",
        step="resolve",
        says="tilecore_adapters: field 'name' of BrokenAdapter is reserved",
        adapter="""\
name = "interpret"
""",
    ),
    BrokenPackage(
        "adapter_wrong_streams",
        "An adapter does not say whether its streams are the tensors' library's.",
        step="resolve",
        says="tilecore_adapters: field 'tensor_streams' of BrokenAdapter is wrong",
        adapter="""\
tensor_streams = "torch"
""",
    ),
    BrokenPackage(
        "adapter_wrong_takes_tensors",
        "A launch that takes the tensors as objects, by a parameter too few.",
        step="load",
        says="plain.load returned a LoadedKernel with a wrong launch",
        adapter="""\
def load(self, artifact):
    return replace(super().load(artifact), takes_tensors=True)
""",
    ),
    BrokenPackage(
        "adapter_wrong_words",
        "A loaded kernel whose error is no function.",
        step="load",
        says="plain.load returned a wrong value: field 'error' of LoadedKernel is wrong",
        adapter="""\
def load(self, artifact):
    return replace(super().load(artifact), error="failed")
""",
    ),
)
