"""The record of a training's losses."""

from __future__ import annotations

import math
from collections.abc import Sequence

from workload import CaseError

LOSS_EVERY = 10


def loss_curve(losses: Sequence[float]) -> list[list[float]]:
    """Return [step, loss] of every tenth step and of the last."""
    steps = sorted({*range(0, len(losses), LOSS_EVERY), len(losses) - 1})
    return [[step, losses[step]] for step in steps]


def expect_finite(losses: Sequence[float], first_step: int = 0) -> None:
    """Raise `CaseError` if a loss is not finite."""
    for step, loss in enumerate(losses, first_step):
        if not math.isfinite(loss):
            raise CaseError(f"loss is not finite from step {step} on")
