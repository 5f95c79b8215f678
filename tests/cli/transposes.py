"""The transpose of docs/tensor-maps.md, and a rung made of it that cheats."""

import shutil
from pathlib import Path

from project import ROOT

TRANSPOSE = ROOT / "tests" / "gpu" / "transpose"

# Its second kernel keeps the map. Blocks that find it again return: the last output is there.
KEEP = """
__device__ unsigned long long kept[16];
TMA_KERNEL(keep, (16), MAP(from), MAP(to)) {
    kept[threadIdx.x] = from.opaque[threadIdx.x];
}
"""
RETURN = """    bool same = true;
    for (unsigned i = 0; i < 16; i++)
        same = same && kept[i] == from.opaque[i];
    if (same)
        return;
"""


def copy_transpose(folder: Path) -> Path:
    """Copy the operator, with the cheat as 90_same_map."""
    shutil.copytree(TRANSPOSE, folder)
    text = (folder / "01_tma.cu").read_text("utf-8")
    kernel = "TMA_KERNEL(transpose, (256), MAP(from), MAP(to)) {\n"
    for old, new in (
        (kernel, KEEP + kernel + RETURN),
        ("{32, 8}}}", '{32, 8}}, {"keep", {1}, {16}}}'),
    ):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (folder / "90_same_map.cu").write_text(text, "utf-8")
    return folder
