"""Returns, from the second run on, a view in another order, which its reader would have to copy."""

from _honest import row_shares

VERDICT = {"status": "failed", "reason": "y of a timed run has strides"}

seen = []


def run(x):
    y = row_shares(x)
    if not seen:
        seen.append(x.shape)
        return y
    return y.t().contiguous().t()
