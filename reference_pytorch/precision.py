"""PyTorch's switches of precision and of how libraries choose: the same for all contenders.

A module of a user may change them as it is imported, for itself and for all that share its process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch


class _Switch(NamedTuple):
    name: str
    value: Any
    read: Callable[[], Any]
    write: Callable[[Any], None]


def _of_backends(path: str, value: Any) -> _Switch | None:
    """Return an attribute below `torch.backends`; None: this version has none of that name."""
    *parts, name = path.split(".")
    owner: Any = torch.backends
    for part in parts:
        owner = getattr(owner, part, None)
    if owner is None or not _has(owner, name):
        return None
    return _Switch(path, value, lambda: getattr(owner, name), lambda x: setattr(owner, name, x))


def _has(owner: Any, name: str) -> bool:
    try:
        return hasattr(owner, name)
    except RuntimeError:  # its value is another than that of the newer switch
        return True


# Products and convolutions of float32 in float32, as on the CUDA side: no TF32 and no bfloat16. The
# newer names come last, as setting an older one changes them.
_FLOAT32 = {
    "cuda.matmul.allow_tf32": False,
    "cudnn.allow_tf32": False,
    "fp32_precision": "ieee",
    **{
        f"{library}fp32_precision": "ieee"
        for library in (
            *("cuda.matmul.", "cudnn.", "cudnn.conv.", "cudnn.rnn."),
            *("mkldnn.", "mkldnn.matmul.", "mkldnn.conv.", "mkldnn.rnn."),
        )
    },
}
# As PyTorch has them, so that its times are those of its users.
_DEFAULTS = {
    "cuda.matmul.allow_fp16_reduced_precision_reduction": True,
    "cuda.matmul.allow_bf16_reduced_precision_reduction": True,
    "cuda.matmul.allow_fp16_accumulation": False,
    "cudnn.enabled": True,
    "cudnn.benchmark": False,
    "cudnn.deterministic": False,
    "mkldnn.deterministic": False,
}
_FUNCTIONS = (
    _Switch(
        "float32_matmul_precision",
        "highest",
        torch.get_float32_matmul_precision,
        torch.set_float32_matmul_precision,
    ),
    _Switch("default_dtype", torch.float32, torch.get_default_dtype, torch.set_default_dtype),
    _Switch(
        "deterministic_algorithms",
        False,
        torch.are_deterministic_algorithms_enabled,
        torch.use_deterministic_algorithms,
    ),
)
# What our values become in cases of a dtype that allows TF32, and only there. The CPU's stay.
_TF32 = {
    "float32_matmul_precision": "high",
    "cuda.matmul.allow_tf32": True,
    "cudnn.allow_tf32": True,
    **{
        f"{library}.fp32_precision": "tf32"
        for library in ("cuda.matmul", "cudnn.conv", "cudnn.rnn")
    },
}
_allows_tf32 = False
_BACKENDS = (_of_backends(path, value) for path, value in (_FLOAT32 | _DEFAULTS).items())
_SWITCHES = (*_FUNCTIONS, *(switch for switch in _BACKENDS if switch is not None))


def switch_all() -> None:
    """Set every switch that has another value: to set some imports the compiler, which takes 1 s."""
    for switch in _SWITCHES:
        if _found(switch) != _expected(switch):
            switch.write(_expected(switch))


@contextmanager
def products(*, tf32: bool) -> Iterator[None]:
    """Allow TF32 in products and convolutions, or not, as a case's dtype says."""
    global _allows_tf32
    if not tf32:
        yield
        return
    _allows_tf32 = True
    switch_all()
    try:
        yield
    finally:
        _allows_tf32 = False
        switch_all()


def changed() -> list[str]:
    """Return the switches that do not have our value, as `cudnn.allow_tf32 = True`."""
    return [
        f"{switch.name} = {found}"
        for switch in _SWITCHES
        if (found := _found(switch)) != _expected(switch)
    ]


def restore() -> list[str]:
    """Set every switch again if one was changed, and return those."""
    found = changed()
    if found:
        switch_all()
    return found


def text() -> str:
    """Return all switches for a run's header."""
    return ", ".join(f"{switch.name} = {_found(switch)}" for switch in _SWITCHES)


def _expected(switch: _Switch) -> Any:
    return _TF32.get(switch.name, switch.value) if _allows_tf32 else switch.value


def _found(switch: _Switch) -> Any:
    try:
        return switch.read()
    except RuntimeError:  # an older switch of which only a part was changed, by the newer ones
        return "mixed"
