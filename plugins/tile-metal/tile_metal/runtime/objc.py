"""Sends messages to Objective-C objects through the runtime of macOS, by ctypes.

Every message that tile-metal sends is in ``MESSAGES``, with the types of Apple's headers: the runtime passes arguments
as C does and checks nothing, so a wrong type would be read as something else. Objects that a selector beginning with
``new``, ``alloc`` or ``copy`` returns belong to the caller and are wrapped in :class:`Owned`; all others live until
their autorelease pool ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import weakref
from collections.abc import Iterator
from typing import Any

RUNTIME = "/usr/lib/libobjc.A.dylib"
FRAMEWORKS = (  # Metal finds the default device only where CoreGraphics is loaded
    "/System/Library/Frameworks/CoreGraphics.framework/CoreGraphics",
    "/System/Library/Frameworks/Foundation.framework/Foundation",
    "/System/Library/Frameworks/Metal.framework/Metal",
)
OBJECT = ctypes.c_void_p
NUMBER = ctypes.c_ulong  # NSUInteger
TEXT = ctypes.c_char_p
ERROR = ctypes.POINTER(ctypes.c_void_p)  # NSError**


class Size(ctypes.Structure):
    """MTLSize: three NSUIntegers."""

    _fields_ = (("width", NUMBER), ("height", NUMBER), ("depth", NUMBER))


# selector -> (type of the result, types of the arguments); sources: Apple's headers of Foundation and Metal
MESSAGES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "new": (OBJECT, ()),
    "release": (None, ()),
    "respondsToSelector:": (ctypes.c_bool, (OBJECT,)),
    "stringWithUTF8String:": (OBJECT, (TEXT,)),
    "UTF8String": (TEXT, ()),
    "localizedDescription": (OBJECT, ()),
    "objectAtIndex:": (OBJECT, (NUMBER,)),
    "count": (NUMBER, ()),
    "retain": (OBJECT, ()),
    "name": (OBJECT, ()),
    "supportsFamily:": (ctypes.c_bool, (ctypes.c_long,)),
    "newCommandQueue": (OBJECT, ()),
    "setLanguageVersion:": (None, (NUMBER,)),
    "setFastMathEnabled:": (None, (ctypes.c_bool,)),
    "setMathMode:": (None, (ctypes.c_long,)),
    "setMathFloatingPointFunctions:": (None, (ctypes.c_long,)),
    "fileURLWithPath:": (OBJECT, (OBJECT,)),
    "arrayWithObject:": (OBJECT, (OBJECT,)),
    "setUrl:": (None, (OBJECT,)),
    "newBinaryArchiveWithDescriptor:error:": (OBJECT, (OBJECT, ERROR)),
    "setComputeFunction:": (None, (OBJECT,)),
    "setBinaryArchives:": (None, (OBJECT,)),
    "newComputePipelineStateWithDescriptor:options:reflection:error:": (OBJECT, (OBJECT, NUMBER, ERROR, ERROR)),
    "addComputePipelineFunctionsWithDescriptor:error:": (ctypes.c_bool, (OBJECT, ERROR)),
    "serializeToURL:error:": (ctypes.c_bool, (OBJECT, ERROR)),
    "newLibraryWithSource:options:error:": (OBJECT, (OBJECT, OBJECT, ERROR)),
    "newFunctionWithName:": (OBJECT, (OBJECT,)),
    "newComputePipelineStateWithFunction:error:": (OBJECT, (OBJECT, ERROR)),
    "maxTotalThreadsPerThreadgroup": (NUMBER, ()),
    "staticThreadgroupMemoryLength": (NUMBER, ()),
    "newBufferWithLength:options:": (OBJECT, (NUMBER, NUMBER)),
    "contents": (ctypes.c_void_p, ()),
    "commandBuffer": (OBJECT, ()),
    "computeCommandEncoder": (OBJECT, ()),
    "setComputePipelineState:": (None, (OBJECT,)),
    "setBuffer:offset:atIndex:": (None, (OBJECT, NUMBER, NUMBER)),
    "setBytes:length:atIndex:": (None, (ctypes.c_void_p, NUMBER, NUMBER)),
    "dispatchThreadgroups:threadsPerThreadgroup:": (None, (Size, Size)),
    "endEncoding": (None, ()),
    "commit": (None, ()),
    "waitUntilCompleted": (None, ()),
    "status": (NUMBER, ()),
    "error": (OBJECT, ()),
    "GPUStartTime": (ctypes.c_double, ()),
    "GPUEndTime": (ctypes.c_double, ()),
}


class ObjectiveCError(Exception):
    """The runtime, a framework or a class is missing, or a message went to no object."""


class Runtime:
    """The loaded libraries. Raises ObjectiveCError where they are missing."""

    def __init__(self, runtime: str, frameworks: tuple[str, ...]) -> None:
        try:
            self.library = ctypes.CDLL(runtime)
            self.frameworks = [ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL) for path in frameworks]
        except OSError as error:
            raise ObjectiveCError(str(error)) from None
        library = self.library
        library.objc_getClass.restype, library.objc_getClass.argtypes = OBJECT, (TEXT,)
        library.sel_registerName.restype, library.sel_registerName.argtypes = OBJECT, (TEXT,)
        library.objc_autoreleasePoolPush.restype, library.objc_autoreleasePoolPush.argtypes = OBJECT, ()
        library.objc_autoreleasePoolPop.restype, library.objc_autoreleasePoolPop.argtypes = None, (OBJECT,)
        self._address = ctypes.cast(library.objc_msgSend, ctypes.c_void_p).value or 0
        self._messages: dict[str, tuple[Any, int]] = {}

    def selector(self, name: str) -> int:
        """The number of a selector."""
        number: int = self.library.sel_registerName(name.encode())
        return number

    def send(self, receiver: int | None, name: str, *arguments: Any) -> Any:
        """The result of a message, one of MESSAGES; objects are their addresses, 0 or None for nil."""
        if not receiver:
            raise ObjectiveCError(f"the message {name} was sent to no object")
        message = self._messages.get(name)
        if message is None:
            result, types = MESSAGES[name]
            function = ctypes.CFUNCTYPE(result, OBJECT, OBJECT, *types)(self._address)
            message = self._messages[name] = function, self.selector(name)
        function, selector = message
        return function(receiver, selector, *arguments)

    def class_named(self, name: str) -> int:
        """The class of that name. Raises ObjectiveCError where the system has none."""
        found: int | None = self.library.objc_getClass(name.encode())
        if not found:
            raise ObjectiveCError(f"the system has no class {name}")
        return found

    def responds(self, receiver: int, name: str) -> bool:
        """Whether an object takes a message."""
        return bool(self.send(receiver, "respondsToSelector:", self.selector(name)))

    def string(self, text: str | bytes) -> int:
        """An NSString, which lives until the autorelease pool ends."""
        encoded = text.encode() if isinstance(text, str) else text
        return int(self.send(self.class_named("NSString"), "stringWithUTF8String:", encoded) or 0)

    def text(self, string: int | None) -> str:
        """The text of an NSString; "" for nil."""
        return (self.send(string, "UTF8String") or b"").decode(errors="replace") if string else ""

    def words(self, error: int | None) -> str:
        """The description of an NSError; "" for nil."""
        return self.text(self.send(error, "localizedDescription")) if error else ""

    @contextlib.contextmanager
    def pool(self) -> Iterator[None]:
        """An autorelease pool: objects that do not belong to the caller live until it ends."""
        token = self.library.objc_autoreleasePoolPush()
        try:
            yield
        finally:
            self.library.objc_autoreleasePoolPop(token)

    def owned(self, handle: int | None) -> Owned:
        """The owner of an object that belongs to the caller. Raises ObjectiveCError for nil."""
        if not handle:
            raise ObjectiveCError("the system returned no object")
        return Owned(self, handle)


class Owned:
    """Owns a reference to an object, which is released with this one. handle: the object's address."""

    __slots__ = ("__weakref__", "handle")

    def __init__(self, runtime: Runtime, handle: int) -> None:
        self.handle = handle
        # at the end of the process the system frees everything, in an order that may not suit a release
        weakref.finalize(self, runtime.send, handle, "release").atexit = False


@functools.lru_cache(maxsize=1)
def runtime() -> Runtime:
    """The runtime of this process. Raises ObjectiveCError where there is none."""
    return Runtime(RUNTIME, FRAMEWORKS)
