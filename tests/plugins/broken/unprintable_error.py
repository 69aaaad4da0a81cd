"""An exception whose own text cannot be printed.

step: resolve
says: importing unprintable_error:plugin raised Unprintable: (its message cannot be printed)
targets: broken
"""


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no")


raise Unprintable
