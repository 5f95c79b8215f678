"""One Triton kernel."""

import torch
import triton
import triton.language as tl


@triton.jit
def multiply_add(a, b, y, n, width: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * width + tl.arange(0, width)
    own = tl.load(a + at, mask=at < n)
    tl.store(y + at, own * tl.load(b + at, mask=at < n) + own, mask=at < n)


def run(a, b):
    y = torch.empty_like(a)
    multiply_add[(triton.cdiv(a.numel(), 1024),)](a, b, y, a.numel(), width=1024)
    return y
