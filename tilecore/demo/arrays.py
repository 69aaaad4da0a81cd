"""The demo's tensors: torch's where torch is installed, else numpy's."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from tilecore.errors import TargetError

if TYPE_CHECKING:
    from tilecore.demo.cases import Case


class Arrays:
    """Tensors on ``device`` (a torch device), and the references that work on them.

    torch: whether to use torch; None: when it is installed.
    """

    def __init__(self, device: str, torch: bool | None = None) -> None:
        self.device = device
        self._torch: ModuleType | None = None
        if find_spec("torch") is not None if torch is None else torch:
            import torch as library

            self._torch = library
        elif device != "cpu":
            raise TargetError(f"tensors on device {device!r} need torch", hint="pip install torch")

    @property
    def name(self) -> str:
        """ "torch" or "numpy"."""
        return "numpy" if self._torch is None else "torch"

    @property
    def library(self) -> str:
        """Name, version and threads of what the references run on."""
        if self._torch is None:
            return f"numpy {np.__version__}"
        threads = f", {self._torch.get_num_threads()} threads" if self.device == "cpu" else ""
        return f"torch {self._torch.__version__}{threads}"

    def place(self, array: np.ndarray) -> Any:
        """The array as a tensor on the device."""
        return array if self._torch is None else self._torch.from_numpy(array).to(self.device)

    def fetch(self, tensor: Any) -> np.ndarray:
        """The tensor as a numpy array of float64."""
        array = tensor if self._torch is None else tensor.cpu().numpy()
        return array.astype(np.float64)

    def reference(self, case: Case) -> Callable[..., Any]:
        """The function that the case is compared with; it takes the inputs."""
        module: ModuleType
        if self._torch is None:
            from tilecore.demo import numpy_references as module
        else:
            from tilecore.demo import torch_references as module
        function = getattr(module, case.reference)
        return lambda *inputs: function(*inputs, **case.options)
