"""Computes in float16 what is asked for in float32."""

import honest
import numpy as np

VERDICT = {"status": "wrong", "reason": "relative L2 error"}


class Contender(honest.Contender):
    def forward(self, x: np.ndarray) -> np.ndarray:
        x = x.astype(np.float16)
        for i, (w, b) in enumerate(self._layers):
            x = (x if i == 0 else np.maximum(x, 0)) @ w.T.astype(np.float16) + b.astype(np.float16)
        return x
