"""``tilecore.carver.arch.driver``: figures of the GPUs of this machine, by the CUDA driver."""

from __future__ import annotations

from dataclasses import dataclass

from tile_cuda.driver import Driver, DriverError

# CUdevice_attribute (CUDA driver API, "Device Management")
_MAX_SHARED, _REGISTERS, _CLOCK, _PROCESSORS, _WARP = 8, 12, 13, 16, 10
_MEMORY_CLOCK, _BUS_BITS, _L2_BYTES, _SHARED_OF_PROCESSOR, _MAX_SHARED_OPT_IN, _PERSISTING = 36, 37, 38, 81, 97, 108
_FIGURES = (  # in the order of the fields of DeviceProperties
    *(_PROCESSORS, _WARP, _MAX_SHARED, _MAX_SHARED_OPT_IN, _SHARED_OF_PROCESSOR, _REGISTERS, _L2_BYTES, _PERSISTING),
    *(_CLOCK, _MEMORY_CLOCK, _BUS_BITS),
)
_UNITS = {"bytes": 1, "kb": 1 << 10, "mb": 1 << 20}


@dataclass(frozen=True)
class DeviceProperties:
    """Figures of one device. Sizes in bytes, clock rates in kHz, the memory bus in bits."""

    name: str
    major: int
    minor: int
    multiProcessorCount: int
    warpSize: int
    sharedMemPerBlock: int
    sharedMemPerBlockOptin: int
    sharedMemPerMultiprocessor: int
    regsPerBlock: int
    l2CacheSize: int
    persistingL2CacheMaxSize: int
    clockRate: int
    memoryClockRate: int
    memoryBusWidth: int


def get_cuda_device_properties(device_id: int = 0) -> DeviceProperties | None:
    """The figures of a device; None where there is no driver or no such device."""
    try:
        driver = Driver.shared()
        if not 0 <= device_id < driver.device_count():
            return None
        major, minor = driver.capability(device_id)
        figures = [driver.device_attribute(attribute, device_id) for attribute in _FIGURES]
        return DeviceProperties(driver.device_name(device_id), major, minor, *figures)
    except DriverError:
        return None


def _properties(device_id: int) -> DeviceProperties:
    properties = get_cuda_device_properties(device_id)
    if properties is None:
        raise RuntimeError(f"there is no CUDA device {device_id} on this machine: {_reason()}")
    return properties


def _reason() -> str:
    from tile_cuda.devices import visible_devices

    devices, reason = visible_devices()
    return reason or f"there are {len(devices)}"


def get_device_name(device_id: int = 0) -> str | None:
    """The device's name; None where there is no such device."""
    properties = get_cuda_device_properties(device_id)
    return None if properties is None else properties.name


def get_device_attribute(attr: int, device_id: int = 0) -> int:
    """A CUdevice_attribute of the driver. Raises RuntimeError where there is no such device or attribute."""
    try:
        return Driver.shared().device_attribute(attr, device_id)
    except DriverError as error:
        raise RuntimeError(str(error)) from error


def get_num_sms(device_id: int = 0) -> int:
    """The multiprocessors of a device. Raises RuntimeError where there is none."""
    return _properties(device_id).multiProcessorCount


def get_registers_per_block(device_id: int = 0) -> int:
    return _properties(device_id).regsPerBlock


def get_shared_memory_per_block(device_id: int = 0, format: str = "bytes") -> int | None:
    """The shared memory of a block that a kernel gets without asking for more, in ``format``: bytes, kb or mb; None
    where there is no such device."""
    properties = get_cuda_device_properties(device_id)
    return None if properties is None else properties.sharedMemPerBlock // _unit(format)


def get_max_dynamic_shared_size_bytes(device_id: int = 0, format: str = "bytes") -> int | None:
    """The most shared memory of a multiprocessor, in ``format``: bytes, kb or mb; None where there is no such
    device."""
    properties = get_cuda_device_properties(device_id)
    return None if properties is None else properties.sharedMemPerMultiprocessor // _unit(format)


def get_persisting_l2_cache_max_size(device_id: int = 0) -> int:
    """The bytes of L2 that may be set aside for persisting accesses."""
    return _properties(device_id).persistingL2CacheMaxSize


def _unit(name: str) -> int:
    if name.lower() not in _UNITS:
        raise ValueError(f"there is no unit {name!r}: one of {', '.join(_UNITS)}")
    return _UNITS[name.lower()]
