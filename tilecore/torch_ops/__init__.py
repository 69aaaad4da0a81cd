"""Kernels as operations of torch: schema, fake implementation, gradient, and rules for autocast and vmap.

    op = kernel.torch_op("mine::scale")       # also torch.ops.mine.scale
    torch.compile(lambda x: op(x, 2.0) + 1)   # and torch.export, AOTInductor, make_fx, DDP

Nothing here imports torch before an operation is registered.
"""

from tilecore.torch_ops.fake import fake_of
from tilecore.torch_ops.register import OpSource, op_of_kernel, register_op
from tilecore.torch_ops.rules import TorchOpRules
from tilecore.torch_ops.schema import optional_arguments

__all__ = ["OpSource", "TorchOpRules", "fake_of", "op_of_kernel", "optional_arguments", "register_op"]
