"""The kernels of benchmarks/hip_codeobjects.py: calls of functions of examples/.

Those of the performance suite have the sizes of benchmarks/h200.py and tiles that fit into 64 KiB of LDS. Of the
examples they are the calls of their ``EXPLAIN``; where the tiles of these do not fit into 64 KiB, a call with smaller
ones besides.
"""

from __future__ import annotations

# by example: the kernels whose speed counts
SUITE = {
    "gemm": [
        "gemm(8192, 8192, 8192, block_K=32, stages=2, threads=256)",
        "gemm(8192, 8192, 8192, block_M=256, block_K=32, stages=2, threads=256)",
        "gemm(8192, 8192, 8192, layout='NT', block_K=32, stages=2, threads=256)",
        "gemm(8192, 8192, 8192, 'bfloat16', block_K=32, stages=2, threads=256)",
        "gemm(8192, 8192, 8192, 'float8_e4m3fn', layout='NT', block_K=64, stages=2, threads=256)",
        "gemm(8192, 8192, 8192, 'int8', layout='NT', block_K=64, stages=2, threads=256)",
        "gemm(16, 8192, 8192, block_M=16, block_K=64, stages=2, threads=128, split_k=4)",
    ],
    "attention": [
        "attention(4, 32, 32, 4096, 128, block_N=64, stages=2, threads=256)",
        "attention(4, 32, 32, 4096, 128, True, block_N=64, stages=2, threads=256)",
        "attention(4, 32, 32, 4096, 128, block_N=32, stages=2, threads=256, q_in_registers=False)",
        "attention(4, 32, 32, 4096, 128, True, block_N=32, stages=2, threads=256, q_in_registers=False)",
        "attention(8, 32, 32, 2048, 64, True, block_N=64, stages=2, threads=256)",
    ],
    "dequant_matmul": [
        "dequant_matmul(16, 8192, 8192, 64, block_N=64, block_K=64, stages=2)",
        "dequant_matmul(4096, 8192, 8192, 64, block_M=64, block_N=64, block_K=64, stages=1, threads=256)",
    ],
    "paged_attention": ["paged_attention(32, 32, 8, 128, 64, stages=1)"],
    "mla_decode": ["mla_decode(64, 128, 4096, block_H=16, block_N=16, stages=1)"],
    "softmax": [
        "softmax_of_rows(16384, 4096, 1, 256, 'float16')",
        "softmax_in_pieces(4096, 30000, 1024, 'float16')",
    ],
    "rms_norm": ["rms_norm_of_rows(16384, 4096, 1, 256)"],
    "vector_add": ["vector_add(268435456, 2048, 256)"],
}
# calls with tiles for the registers of one family
CDNA_ONLY = frozenset(call for call in SUITE["attention"] if "128" in call and "block_N=64" in call)
RDNA_ONLY = frozenset(call for call in SUITE["attention"] if "q_in_registers=False" in call)
# by example: with tiles that fit, where those of EXPLAIN do not
SMALLER = {
    "attention_backward": ["attention_backward(1, 4, 4, 1024, 64, block_M=32, block_N=32, stages=1, threads=128)"],
    "autotune_matmul": ["matmul(512, 512, 512, 64, 64, 32)"],
    "flash_attention": ["flash_attention(1, 8, 1024, 32)"],
    "linear_attention": ["linear_attention(1, 500, 4, 64, 64, chunk=32, block_V=32, stages=1)"],
    "matmul": ["matmul(1024, 1024, 1024, 64, 64)"],
    "reduction": ["column_sum(4096, 1000, 32)"],
    "stream_k": ["stream_k(300, 300, 500, block_K=32, stages=2)"],
}
