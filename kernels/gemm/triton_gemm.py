"""Matrix product in Triton: tiles with tl.dot, their shape chosen by autotuning at the first call."""

import torch
import triton
import triton.language as tl

GRAPH = True


def config(rows, columns, depth, warps, stages):
    tile = {"ROWS": rows, "COLUMNS": columns, "DEPTH": depth}
    return triton.Config(tile, num_warps=warps, num_stages=stages)


CONFIGS = [
    config(16, 32, 256, 4, 4),
    config(16, 64, 128, 4, 5),
    config(64, 64, 64, 4, 5),
    config(64, 128, 64, 4, 4),
    config(128, 128, 64, 4, 4),
    config(128, 128, 64, 8, 4),
    config(128, 256, 64, 8, 3),
    config(128, 256, 64, 8, 4),
    config(256, 128, 64, 8, 3),
]
DOWN = 8  # tiles downwards before the next column, as in tiles.cuh


@triton.autotune(configs=CONFIGS, key=["m", "n", "k"])
@triton.jit
def gemm(
    a, b, y, m, n, k,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, DOWN: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(n, COLUMNS)
    group = tl.program_id(0) // (DOWN * across)
    in_group = tl.program_id(0) % (DOWN * across)
    down = min(tl.cdiv(m, ROWS) - group * DOWN, DOWN)
    row = (group * DOWN + in_group % down) * ROWS + tl.arange(0, ROWS)
    column = in_group // down * COLUMNS + tl.arange(0, COLUMNS)
    depth = tl.arange(0, DEPTH)
    from_a = a + row[:, None].to(tl.int64) * k + depth[None, :]
    from_b = b + column[None, :].to(tl.int64) * k + depth[:, None]
    sums = tl.zeros((ROWS, COLUMNS), tl.float32)
    for first in range(0, k, DEPTH):
        left = k - first
        part_a = tl.load(from_a, mask=(row[:, None] < m) & (depth[None, :] < left), other=0)
        part_b = tl.load(from_b, mask=(column[None, :] < n) & (depth[:, None] < left), other=0)
        sums = tl.dot(part_a, part_b, sums)
        from_a += DEPTH
        from_b += DEPTH
    to = y + row[:, None].to(tl.int64) * n + column[None, :]
    inside = (row[:, None] < m) & (column[None, :] < n)
    tl.store(to, sums.to(y.dtype.element_ty), mask=inside)


def run(a, b):
    (m, k), n = a.shape, b.shape[0]
    y = torch.empty((m, n), dtype=a.dtype, device=a.device)

    def grid(tile):
        return (triton.cdiv(m, tile["ROWS"]) * triton.cdiv(n, tile["COLUMNS"]),)

    gemm[grid](a, b, y, m, n, k, DOWN=DOWN)
    return y
