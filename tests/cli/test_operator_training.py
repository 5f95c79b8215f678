"""Trainings on the fake GPU: the launches of a step, curves, lists, whole trainings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cuda_rungs import HEAD, IN_GRAPH, SAMPLE, STEPS, Gpu, cuda, ok
from fake_driver import compile_fake
from operator_folders import X, run_operator, write_operator
from project import bench

pytestmark = pytest.mark.usefixtures("warm_workers")

pytest.importorskip("torch")

P = {"name": "p", "shape": ["n"], "dtype": "T", "fill": {"constant": 1}, "in_place": True}

# p grows by 6 x in each of 5 steps; every second one's first value is kept.
TRAINING_IN_C = """
    static double spent_ns;
    static void run_record(const kernel_t *kernel, void *const *arguments) {
        (void)kernel;
        spent_ns += 400000;
        if (AT(int, 6) == 0 && AT(float *, 1)[0] != 1)
            note("p is not as it was copied in");
        AT(float *, 2)[AT(int, 6) / 2] = AT(float *, 1)[0];
    }
    static void run_add(const kernel_t *kernel, void *const *arguments) {
        (void)kernel;
        spent_ns += 300000;
        for (long long i = 0; i < AT(long long, 4); i++)
            AT(float *, 1)[i] += (AT(int, 7) + 1) * AT(const float *, 0)[i];
    }
    #define STEP .argument_bytes = {8, 8, 8, 8, 8, 8, 4, 4}, .spent_ns = &spent_ns
    const kernel_t record = {"record", STEP, .n_arguments = 7, .run = run_record};
    const kernel_t add = {"add", STEP, .n_arguments = 8, .run = run_add};
    """
# Launched as a graph, first launches that overlap the step before, and those of an index side by side.
OTHER_TRAINING_RUNG = """
    LAUNCHED_AS_GRAPH;
    ALGORITHMIC;
    LAUNCHES = {every("2", {"record", {1}, {1}, "", {}, 0, 1}), side_by_side("3", {"add"})};
    KERNEL(record) { first[step / 2] = p[0]; }
    INDEXED_KERNEL(add) { p[0] += (index + 1) * x[0]; }
    """
TRAINING_RUNG = """
    LAUNCHES = {every("2", {"record"}), indexed("3", {"add"})};
    KERNEL(record) { first[step / 2] = p[0]; }
    INDEXED_KERNEL(add) { p[0] += (index + 1) * x[0]; }
    """


GROWING = "def step(p, x, step): return p + 6 * x, p[0]"
LEARNED = """
def data(params, dtype):
    import torch
    return [torch.ones(params["n"])]

def evaluate(p, x):
    return {"accuracy": p[0].item() / x[0].item(), "dataset": "made up"}
"""


def growing(folder: Path, rung: str, **keys: Any) -> Path:
    """Make a training with one rung, `grow`."""
    curve = {"name": "first", "shape": ["ceil_div(steps, 2)"], "dtype": "T"}
    return write_operator(
        folder,
        {
            "reference.py": GROWING + LEARNED,
            "grow.cu": HEAD + rung,
        },
        params={"n": {"default": 1000}, "steps": {"default": 5}},
        outputs=[{**curve, "curve": True, "every": 2}],
        **{"training": {"steps": "steps"}, "inputs": [P, X], **keys},
    )


def test_launches_of_a_training(tmp_path: Path) -> None:
    gpu = Gpu(tmp_path / "gpu", more_in_c=TRAINING_IN_C)
    folder = growing(tmp_path / "growing", TRAINING_RUNG)
    contenders = [cuda("grow"), cuda("grow", launch=["graph"])]
    cases = gpu.run(folder, contenders, axes={"steps": [5, 20]})
    parts = {"part_record", "part_add"}
    assert {name: ok(case) for name, case in cases.items()} == {
        "grow/steps=5": SAMPLE | parts,
        "grow/steps=5/launch=graph": IN_GRAPH | parts,
        # 70 launches.
        "grow/steps=20": SAMPLE,
        "grow/steps=20/launch=graph": IN_GRAPH,
    }
    for name, case in cases.items():
        if "steps=5" not in name:
            continue
        assert [step for step, _ in case["results"]["first"]] == [0, 2, 4]
        assert "algorithmic" not in case["results"]
        ns = {phase: facts["median"] for phase, facts in case["phases"].items()}
        events = ns["kernel"] - 3 * 400000 - 15 * 300000
        assert events > 0
        assert ns["part_record"] == pytest.approx(3 * (400000 + events))
        assert ns["part_add"] == pytest.approx(15 * (300000 + events))
    assert not any(line.startswith("p is") for line in gpu.launches())


@pytest.mark.parametrize("compared", ["step", "train"])
def test_a_training_that_is_compared_by_its_steps(tmp_path: Path, compared: str) -> None:
    gpu = Gpu(tmp_path / "gpu", more_in_c=TRAINING_IN_C)
    folder = growing(tmp_path / "growing", TRAINING_RUNG, compare=compared)
    contenders = [cuda("grow", alloc=["malloc"]), cuda("grow", launch=["graph"])]
    cases = gpu.run(folder, contenders)
    parts = {"part_record", "part_add"}
    assert {name: ok(case) for name, case in cases.items()} == {
        "grow/alloc=malloc": STEPS | {"malloc", "free"} | parts,
        "grow/launch=graph": STEPS | parts,
    }
    for case in cases.values():
        ns = {phase: facts["median"] for phase, facts in case["phases"].items()}
        assert ns["step_device"] == pytest.approx(ns["train_device"] / 5)
        assert ns["train"] > 3 * ns["step"] > 0


# As the rung, in C, which is told nothing of the steps before.
GROWING_IN_C = """
void run(T *p, const T *x, T *first, long long n, long long steps) {
    for (int s = 0; s < WORKLOAD_STEPS; s++) {
        if (s % 2 == 0)
            first[s / 2] = p[0];
        for (long long i = 0; i < n; i++)
            p[i] += 6 * x[i];
    }
}
"""


def test_a_whole_training_is_call_after_call(tmp_path: Path) -> None:
    """Each goes on where the last one ended, in every engine; the reference says what is learned."""
    gpu = Gpu(tmp_path / "gpu", more_in_c=TRAINING_IN_C)
    training = {"steps": "steps", "whole": "4 * steps"}
    start = {**P, "fill": {"uniform": [0, 1]}}
    inputs = [start, {**X, "fill": "data"}]
    keys = {"training": training, "compare": "step", "inputs": inputs}
    folder = growing(tmp_path / "growing", TRAINING_RUNG, **keys)
    (folder / "omp.c").write_text(GROWING_IN_C.replace("T *p, const T *x", "const T *x, T *p"))
    cpu = {"device": ["cpu"], "variants": ["eager"]}
    contenders = [
        cuda("grow"),
        {"engine": "cpu", "variants": ["omp"]},
        {"engine": "pytorch", **cpu},
    ]
    cases = gpu.run(folder, contenders, axes={"steps": [4]})
    (tmp_path / "growing_run").rename(tmp_path / "before")
    omp = {"engine": "cpu", "variants": ["omp"]}
    again = run_operator(folder, [omp], axes={"steps": [4]})
    assert len(cases) == 3
    for case in cases.values():
        ok(case)
        results = case["results"]
        assert results == again["omp/steps=4"]["results"], "each run has the same"
        audited = case["trust"] != "sealed" and case["claims"]["ratio"] is not None
        assert audited == (case["engine"] != "cuda"), "it answers an audit"
        steps, values = zip(*results["first"], strict=True)
        assert steps == tuple(range(0, 16, 2))
        assert values == pytest.approx([values[0] + 6 * step for step in steps])
        assert results["accuracy"] == pytest.approx(values[0] + 6 * 16)
        assert results["dataset"] == "made up"


@pytest.mark.parametrize("drawn", [True, False])
def test_a_count_of_steps_is_the_same_for_all_inputs(tmp_path: Path, drawn: bool) -> None:
    """It says nothing of a contender, but what is beside it does."""
    count = {"name": "count", "shape": [1], "dtype": "i32", "in_place": True}
    count |= {"fill": {"constant": 0}}
    start = {**P, "fill": {"uniform": [0, 1]} if drawn else {"constant": 1}}
    inputs = [start, count, X if drawn else {**X, "fill": {"constant": 1}}]
    folder = growing(tmp_path / "growing", "", inputs=inputs)
    (folder / "grow.cu").unlink()
    step = "def step(p, count, x, step): return p + 6 * x, count + 1, p[0]"
    (folder / "reference.py").write_text(step)
    contenders = [{"engine": "pytorch", "device": ["cpu"], "variants": ["eager"]}]
    (case,) = run_operator(folder, contenders).values()
    assert (case["status"] == "ok") == drawn, case["reason"]
    assert drawn or "one output would pass for different inputs" in case["reason"]


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ('{"accuracy": p.numpy()}', "evaluate: accuracy is array(["),
        ('{"accuracy": 1e400}', "evaluate: accuracy is inf, expected numbers"),
        ('{"accuracy": 10**30}', "evaluate: accuracy is 1000000000000000000000000000000, expected"),
        ("{(1, 2): 3}", "evaluate: (1, 2) is 3, expected"),
        ('{"kind": chr(0xD800)}', "evaluate: kind is '"),
        ("None", "evaluate returned a NoneType, expected a dict"),
        ('{"first": 1}', "evaluate returned first, which is the name of a curve"),
    ],
)
def test_an_evaluation_that_fails(tmp_path: Path, returned: str, said: str) -> None:
    """The first contender was failed, and others had no results."""
    training = {"steps": "steps", "whole": "2 * steps"}
    inputs = [{**P, "fill": {"uniform": [0, 1]}}, {**X, "fill": "data"}]
    folder = growing(tmp_path / "growing", "", training=training, inputs=inputs)
    (folder / "grow.cu").unlink()
    with (folder / "reference.py").open("a") as reference:
        reference.write(f"\ndef evaluate(p, x):\n    return {returned}\n")
    contenders = [{"engine": "pytorch", "device": ["cpu"], "variants": ["eager", "inference"]}]
    cases = run_operator(folder, contenders, expect=1)
    assert len(cases) == 2
    for case in cases.values():
        assert case["status"] == "failed"
        assert said in case["reason"]
    assert said in bench("workload", "check", folder, expect=2).stdout


LOADED = """
import torch
def step(p, x, step): return p + 6 * x, p[0]
def model(p):
    module = torch.nn.Module()
    module.p = torch.nn.Parameter(p)
    return module
def train(model, x, step):
    first = model.p[0].detach().clone()
    with torch.no_grad():
        model.p += 6 * x
    return first
def dataloader(model, x, n):
    return torch.stack([train(model, x, step) for step in range({})][::2])
"""


def test_check_trains_for_several_steps(tmp_path: Path) -> None:
    """Arrays were made so small that one step was left, in which all of these are right."""
    steps = "ceil_div(n, 4000)"
    keys = {
        "params": {"n": {"default": 20000}},
        "outputs": [
            {
                "name": "first",
                "shape": [f"ceil_div({steps}, 2)"],
                "dtype": "T",
                "curve": True,
                "every": 2,
            }
        ],
        "training": {"steps": steps},
        "inputs": [P, {**X, "fill": {"uniform": [0, 1]}}],
    }
    in_c = GROWING_IN_C.replace("T *p, const T *x", "const T *x, T *p").replace(
        ", long long steps", ""
    )
    files = {"reference.py": LOADED.format("(n + 3999) // 4000"), "omp.c": in_c}
    printed = bench("workload", "check", write_operator(tmp_path / "right", files, **keys)).stdout
    assert (
        "  right            PyTorch eager, PyTorch dataloader, C omp, at small sizes\n" in printed
    )
    files["reference.py"] = LOADED.format("min(2, (n + 3999) // 4000)")
    files["omp.c"] = in_c.replace("p[i] += 6 * x[i]", "p[i] += s < 2 ? 6 * x[i] : 0")
    folder = write_operator(tmp_path / "wrong", files, **keys)
    printed = bench("workload", "check", folder, expect=1).stdout
    assert "  right            PyTorch eager, at small sizes\n" in printed
    assert "  wrong            PyTorch dataloader, n=10000 f32: " in printed
    assert "  wrong            C omp, n=10000 f32: p differs" in printed


@pytest.mark.parametrize("fill", [{"constant": 1}, "data"])
def test_after_a_whole_training_runs_begin_anew(tmp_path: Path, fill: Any) -> None:
    """Also with what a refill leaves, such as momenta of 0 and weights that were trained before."""
    gpu = Gpu(tmp_path / "gpu", more_in_c=TRAINING_IN_C)
    training = {"steps": "steps", "whole": "4 * steps"}
    inputs = [{**P, "fill": fill}, {**X, "resident": True}]
    folder = growing(tmp_path / "growing", TRAINING_RUNG, training=training, inputs=inputs)
    (folder / "omp.c").write_text(GROWING_IN_C.replace("T *p, const T *x", "const T *x, T *p"))
    with (folder / "reference.py").open("a") as reference:
        reference.write(GROWING.replace("step(", "jax_step(", 1))
    contenders = [
        cuda("grow"),
        {"engine": "cpu", "variants": ["omp"]},
        {"engine": "pytorch", "device": ["cpu"], "variants": ["eager", "inference"]},
        {"engine": "jax", "device": ["cpu"], "variants": ["scan"]},
    ]
    cases = gpu.run(folder, contenders, axes={"steps": [4]})
    assert len(cases) == 5
    for case in cases.values():
        ok(case)
        assert [step for step, _ in case["results"]["first"]] == list(range(0, 16, 2))


# Of two arrays: t[i] is 6 x, or 12 x, then added to p[i]. A launch takes long enough for a trace.
LISTS = """
    #define TEMPORARIES TEMPORARY_LIST(float, t, 2, "4 * n", "grow[i]", "add[i]")
    #include "common/workload.cuh"
    LAUNCHES = {indexed("2", {"grow"}), in_turn({"add"})};
    INDEXED_KERNEL(grow) { t[index][0] = 6 * (index + 1) * x[0]; }
    INDEXED_KERNEL(add) { p[index][0] += t[index][0]; first[step / 2] = p[0][0]; }
    """
LISTS_IN_C = """
    #include <unistd.h>
    static void run_grow(const kernel_t *kernel, void *const *arguments) {
        usleep(50); // # mood: the fake trace has a kernel in every 20 µs
        float *const *p = arguments[1], *const *t = arguments[7];
        const int index = AT(int, 8);
        const bool adds = kernel->name[0] == 'a';
        if (t[index] == NULL || t[1 - index] != NULL)
            note("another is held");
        if (adds && AT(int, 6) % 2 == 0 && index == 0)
            AT(float *, 2)[AT(int, 6) / 2] = p[0][0];
        for (long long i = 0; i < AT(long long, 4) && adds; i++)
            p[index][i] += t[index][i];
        for (long long i = 0; i < AT(long long, 4) && !adds; i++)
            t[index][i] = 6 * (index + 1) * AT(const float *, 0)[i];
    }
    #define LISTS .argument_bytes = {8, 16, 8, 8, 8, 8, 4, 16, 4}, .n_arguments = 9, .run = run_grow
    const kernel_t grow = {"grow", LISTS}, add = {"add", LISTS};
    """
LISTS_OMP = """
void run(const T *x, T *const *p, T *first, long long n, long long steps) {
    for (int s = 0; s < WORKLOAD_STEPS; s++) {
        if (s % 2 == 0)
            first[s / 2] = p[0][0];
        for (long long i = 0; i < n; i++)
            p[0][i] += 6 * x[i], p[1][i] += 12 * x[i];
    }
}
"""


def test_lists_in_place_and_of_temporaries(tmp_path: Path) -> None:
    """Two launches take turns, and each has of a list what its index has taken."""
    gpu = Gpu(tmp_path / "gpu", more_in_c=LISTS_IN_C)
    cupti = tmp_path / "libcupti.so.13"
    compile_fake(cupti, ["cupti"])
    gpu.environment["BENCH_CUPTI"] = str(cupti)
    inputs = [{**P, "repeat": 2}, X]
    keys = {"compare": "step", "techniques": {"allocator": "caching"}}
    folder = growing(tmp_path / "growing", "", inputs=inputs, **keys)
    step = "def step(p, x, step): return [p[i] + 6 * (i + 1) * x for i in range(2)], p[0][0]"
    for name, text in {"reference.py": step, "grow.cu": LISTS, "omp.c": LISTS_OMP}.items():
        (folder / name).write_text(text)
    contenders = [
        cuda("grow", allocator=["arena", "malloc", "caching"]),
        cuda("grow", launch=["graph"], allocator=["caching", "malloc"]),
        {"engine": "cpu", "variants": ["omp"]},
        {"engine": "pytorch", "device": ["cpu"], "variants": ["eager", "compile"]},
    ]
    cases = gpu.run(folder, contenders)
    returns = cases.pop("grow/allocator=malloc/launch=graph")
    reason = "launch=graph replays fixed addresses: needs memory from arena or caching"
    assert (returns["status"], returns["reason"]) == ("skipped", reason)
    assert len(cases) == 7
    for name, case in cases.items():
        ok(case)
        assert ("split" in case["results"]) == name.startswith("grow"), name
    assert not {line for line in gpu.launches() if "held" in line}
    # The fake CUPTI reports a kernel of 1 µs every 20 µs, and no calls.
    split = cases["grow"]["results"]["split"]
    assert 0 < split["kernels_ns"] <= split["epoch_ns"] / 20 + 1000
    assert split["driver_ns"] == 0
    calls = {
        name: [call["driver_calls"] for call in case["results"]["epochs"]]
        for name, case in cases.items()
        if name.startswith("grow")
    }
    # Four arrays, and in each of five steps two temporaries: all of it taken and given back.
    assert calls["grow/allocator=malloc"] == [28, 28]
    assert calls["grow/allocator=arena"] == calls["grow/launch=graph"] == [0, 0]
    first, later = calls["grow"]
    assert first > 0 and later == 0


def test_a_whole_training_has_whole_calls(tmp_path: Path) -> None:
    folder = growing(tmp_path / "growing", "", training={"steps": "steps", "whole": 12})
    refused = bench(
        "run", "--workload", folder, "--set", "steps=5", "--set", "device=cpu", expect=2
    ).stderr
    assert "training.whole: 12, expected a multiple of the 5 steps of a call" in refused


def test_what_a_rung_says_of_its_launches(tmp_path: Path) -> None:
    gpu = Gpu(tmp_path / "gpu", more_in_c=TRAINING_IN_C)
    cases = gpu.run(growing(tmp_path / "growing", OTHER_TRAINING_RUNG), [cuda("grow")])
    assert ok(cases["grow"]) == IN_GRAPH | {"part_record", "part_add"}
    assert cases["grow"]["results"]["algorithmic"] is True
    same = "grid=1,1,1 threads=1,1,1 shared=0 cluster=1,1,1 cooperative=0"
    # No run overlaps the one before.
    assert gpu.launches() == {f"record {same}", f"record {same} overlaps=1", f"add {same}"}
