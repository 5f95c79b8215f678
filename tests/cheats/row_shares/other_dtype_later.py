"""Returns half as many bytes from the second run on."""

from _honest import row_shares

VERDICT = {"status": "failed", "reason": "y of a timed run has dtype: f16"}

seen = []


def run(x):
    y = row_shares(x)
    if not seen:
        seen.append(x.shape)
        return y
    return y.half()
