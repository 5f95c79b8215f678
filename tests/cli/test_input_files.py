"""The files of a case's inputs in runs: one rival cannot harm another by them, and none stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from operator_folders import X, run_operator, write_operator

pytestmark = pytest.mark.usefixtures("warm_workers")

# Its own process has read them by then; the next ones have not.
VANDAL = """
    import gc, json, os, shutil
    import input_files
    (FOLDER,) = {{o.folder for o in gc.get_objects() if type(o) is input_files.InputFiles}}
    LOG = {log!r}
    def run(x):
        found = sorted(os.listdir(FOLDER)) if FOLDER.exists() else []
        with open(LOG, "a") as log:
            print(json.dumps([str(FOLDER), found]), file=log)
        {harm}
        return 2 * x
    """
HARMS = {
    "writes": (
        "for path in FOLDER.glob('0/x'): "
        "os.chmod(path, 0o600); path.write_bytes(bytes(path.stat().st_size))"
    ),
    "deletes": "shutil.rmtree(FOLDER / '0', ignore_errors=True)",
    "links": (
        "(FOLDER / '0' / 'x').unlink(missing_ok=True); os.makedirs(FOLDER / '0', exist_ok=True); "
        "(FOLDER / '0' / 'x').symlink_to('/dev/zero')"
    ),
}
# Both languages have the same bits: a permutation of 0 … n - 1, and normal numbers, each exactly.
IN_C = """
    void run(const T *x, const long long *p, const T *const *w, T *y, long long *q, T *r, long long n) {
        for (long long i = 0; i < n; i++) {
            y[i] = 2 * x[i];
            q[i] = p[i];
            r[i] = w[i / (n / 2)][i % (n / 2)];
        }
    }
    """


def test_what_a_rival_does_to_them_harms_no_other(tmp_path: Path) -> None:
    """Nor does it find the inputs of a later request there."""
    files = {
        f"{name}.py": VANDAL.format(log=str(tmp_path / "log"), harm=harm)
        for name, harm in HARMS.items()
    }
    folder = write_operator(tmp_path / "twice", {**files, "honest.py": "def run(x): return x + x"})
    cpu: dict[str, Any] = {"device": ["cpu"]}
    contenders = [
        {"engine": "python", "variants": [*HARMS], **cpu},
        {"engine": "python", "variants": ["honest"], **cpu},
        {"engine": "pytorch", "variants": ["eager"], **cpu},
    ]
    cases = run_operator(folder, contenders)
    assert {name: case["status"] for name, case in cases.items()} == dict.fromkeys(
        [*HARMS, "honest", "eager"], "ok"
    ), cases
    seen = [
        json.loads(line) for line in (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    ]
    refills = [set(found) - {"0"} for _, found in seen]
    assert max(map(len, refills)) == 1, "the one that is asked for"
    assert set() in refills, "and none between requests"
    assert len(set().union(*refills)) > 1
    assert not any(Path(place).exists() for place, _ in seen)


def test_c_and_python_have_the_same_bits(tmp_path: Path) -> None:
    arrays = [
        X,
        {"name": "p", "shape": ["n"], "dtype": "i64", "fill": "permutation"},
        {"name": "w", "repeat": 2, "shape": ["n / 2"], "dtype": "T"},
    ]
    exact = {"rel_l2": 0, "max_abs": 0}
    outputs = [
        {"name": "y", "shape": ["n"], "dtype": "T", "tolerance": {"f32": exact}},
        {"name": "q", "shape": ["n"], "dtype": "i64"},
        {"name": "r", "shape": ["n"], "dtype": "T", "tolerance": {"f32": exact}},
    ]
    files = {
        "reference.py": "import torch\ndef reference(x, p, w): return 2 * x, p, torch.cat(w)",
        "in_c.c": IN_C,
        "mine.py": "import torch\ndef run(x, p, w): return x + x, p.clone(), torch.cat(w)",
    }
    folder = write_operator(tmp_path / "bits", files, inputs=arrays, outputs=outputs)
    contenders: list[dict[str, Any]] = [
        {"engine": "cpu", "variants": ["in_c"]},
        {"engine": "python", "variants": ["mine"], "device": ["cpu"]},
    ]
    cases = run_operator(folder, contenders)
    assert {name: (case["status"], case.get("reason")) for name, case in cases.items()} == {
        "in_c": ("ok", None),
        "mine": ("ok", None),
    }
