"""Clock readings during a warm-up do not count as those of the measurement."""

from pathlib import Path

from fake_driver import build_gpu, cuda_sweep
from project import bench, read_cases

# The first reading, in the first case's warm-up, while the clock still rises.
SCRIPT = "nvmlDeviceGetClockInfo nth=1 value=300\n"


def test_a_low_clock_before_the_first_round_is_ignored(tmp_path: Path) -> None:
    gpu = build_gpu(tmp_path / "gpu")
    sweep, run = cuda_sweep(tmp_path, [64]), tmp_path / "run"
    faults = {"FAKE_CUDA": SCRIPT, "FAKE_CUDA_STATE": str(tmp_path / "state")}
    bench("run", sweep, "--out", run, **gpu, **faults)
    clocks = [case["device"]["sm_mhz"] for case in read_cases(run).values()]
    timed = [clock for clock in clocks if clock != [None, None]]
    assert len(timed) > 1
    assert timed == [[1980, 1980]] * len(timed)
