"""The module raises something that `except Exception` does not catch, as some extension modules do.

step: resolve
says: importing base_exception:plugin raised Panic: the driver panicked
targets: broken
"""


class Panic(BaseException):
    pass


raise Panic("the driver panicked")
