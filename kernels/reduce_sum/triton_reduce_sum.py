"""Sum in Triton: one sum per program, then a program that adds those."""

import torch
import triton
import triton.language as tl

GRAPH = True

BLOCK = 4096
MOST_PROGRAMS = 1024


@triton.jit
def sum_parts(x, sums, n, BLOCK: tl.constexpr):
    own = tl.zeros((BLOCK,), tl.float32)
    start = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for first in range(start, n, step):
        element = first + tl.arange(0, BLOCK)
        own += tl.load(x + element, mask=element < n, other=0)
    tl.store(sums + tl.program_id(0), tl.sum(own, axis=0))


@triton.jit
def sum_sums(sums, y, programs, BLOCK: tl.constexpr):
    program = tl.arange(0, BLOCK)
    tl.store(y, tl.sum(tl.load(sums + program, mask=program < programs, other=0), axis=0))


def run(x):
    y = torch.empty((), dtype=x.dtype, device=x.device)
    programs = min(MOST_PROGRAMS, triton.cdiv(x.numel(), BLOCK))
    sums = torch.empty(programs, dtype=x.dtype, device=x.device)
    sum_parts[(programs,)](x, sums, x.numel(), BLOCK=BLOCK, num_warps=8)
    sum_sums[(1,)](sums, y, programs, BLOCK=MOST_PROGRAMS, num_warps=4)
    return y
