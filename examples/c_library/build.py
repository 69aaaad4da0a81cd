"""A kernel as a library for programs in C: writes softmax.so and softmax.h beside this file, or into the folder given.

python examples/c_library/build.py [folder]
cc -O2 -I folder examples/c_library/main.c folder/softmax.so -Wl,-rpath,folder -lm -o folder/main && folder/main
"""

import sys
from pathlib import Path

import tilecore
import tilecore.language as T

rows, columns = T.dynamic("rows"), T.dynamic("columns")


@T.prim_func
def softmax(X: T.Tensor((rows, columns), "float32"), Y: T.Tensor((rows, columns), "float32")):
    """Y[i, j] = exp(X[i, j]) / sum of exp(X[i, :])."""
    with T.Kernel(rows) as row:
        most = T.alloc_var("float32", init=-T.infinity("float32"))
        total = T.alloc_var("float32", init=0.0)
        for j in T.serial(columns):
            most = T.max(most, X[row, j])
        for j in T.serial(columns):
            Y[row, j] = T.exp(X[row, j] - most)
            total += Y[row, j]
        for j in T.serial(columns):
            Y[row, j] = Y[row, j] / total


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    kernel = tilecore.compile(softmax, target="cpu -march=generic")
    kernel.export_library(folder / "softmax.so", header=folder / "softmax.h")
    print(f"wrote {folder / 'softmax.so'} and {folder / 'softmax.h'}")


if __name__ == "__main__":
    main()
