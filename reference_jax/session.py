"""The session of JAX: its compiler's cache and its errors."""

from __future__ import annotations

import jax
import jaxlib
from jax.experimental.compilation_cache import compilation_cache

import protocol
from device import DEVICES, out_of_memory_reason
from engine_session import EngineSession
from operator_case import JaxOperator
from operator_request import Operator


class Session(EngineSession):
    """The state from hello to bye. Raises `needs.Unavailable` if the device is missing."""

    engine = "jax"
    # No `allocate`: a JAX program does not allocate; XLA plans its buffers when it compiles.
    workloads = {}

    def __init__(self, device_kind: str) -> None:
        super().__init__(DEVICES[device_kind]())

    def operator(self, operator: Operator) -> JaxOperator:
        return JaxOperator(operator)

    def versions(self) -> dict[str, str]:
        return {"jax": jax.__version__, "jaxlib": jaxlib.__version__}

    def out_of_memory_reason(self, error: BaseException) -> str | None:
        return out_of_memory_reason(error, self._device.kind)

    def compiles(self) -> dict[str, list[str]]:
        """Return the modes on a GPU with matrix products: XLA chooses kernels for them by timing."""
        if self._device.kind == "cpu":
            return {}
        # All described workloads go by one name: theirs are not known before `open`.
        return {"operator": list(JaxOperator.modes)}

    def prepare(self, request: protocol.OpenRequest) -> None:
        if request.compile_cache:
            _use_compile_cache(request.compile_cache)


def _use_compile_cache(folder: str) -> None:
    """Have XLA read and keep its programs, and what it chose by timing, in this folder."""
    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    compilation_cache.reset_cache()
    jax.clear_caches()  # those in memory
