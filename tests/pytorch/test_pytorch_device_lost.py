"""An unusable device: the worker reports it and exits, so that a new one can be started."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import needs_gpu
from project import ran

torch = pytest.importorskip("torch")

FOLDER = Path(__file__).parents[2] / "reference_pytorch"
MESSAGE = "CUDA error: an illegal memory access was encountered"

# The worker with a workload that cannot be opened and a device whose later calls all fail.
FAKE = f"""
import sys, torch, worker, device, allocate

def fault(*_arguments):
    raise RuntimeError("{MESSAGE}\\nCUDA kernel errors might be reported elsewhere")

class Gpu(device.CpuDevice):
    expect_alive = device.CudaDevice.expect_alive

device.DEVICES["cpu"] = Gpu
allocate.Allocate.open = fault
torch.cuda.synchronize = {{synchronize}}
sys.exit(worker.main(["--device", "cpu"]))
"""

# PyTorch's kernel finds an index out of bounds and traps, which destroys the context.
REAL = """
import sys, torch, worker, allocate
from project import ran

def fault(*_arguments):
    index = torch.tensor([1 << 20], device="cuda")
    torch.zeros(4, device="cuda")[index].cpu()

allocate.Allocate.open = fault
sys.exit(worker.main(["--device", "cuda"]))
"""


def ask_to_open(program: str, device: str = "cpu") -> subprocess.CompletedProcess[str]:
    """Send hello and open two cases."""
    case = {
        "workload": "allocate",
        "engine": "pytorch",
        "device": device,
        "variant": "caching",
        "dtype": "f32",
        "params": {"live": 1},
        "techniques": {},
    }
    requests = [{"op": "hello", "protocol": 2}]
    requests += [{"op": "open", "case": {"id": name, **case}, "seed": 1} for name in ("a", "b")]
    return ran(
        sys.executable,
        "-c",
        program,
        cwd=FOLDER,
        input="".join(json.dumps(request) + "\n" for request in requests),
        expect=None,
    )


def statuses(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [json.loads(line)["status"] for line in done.stdout.splitlines()]


def test_lost_device_ends_the_worker_with_its_error_last():
    done = ask_to_open(FAKE.format(synchronize="fault"))
    assert done.returncode == 1
    assert statuses(done) == ["ok"], "hello is answered, open is not"
    last = done.stderr.splitlines()[-1]
    assert last == f"worker: the device is unusable: RuntimeError: {MESSAGE}"


def test_error_that_the_device_survives_fails_only_its_case():
    done = ask_to_open(FAKE.format(synchronize="lambda: None"))
    assert done.returncode == 0
    assert statuses(done) == ["ok", "failed", "failed"]
    assert json.loads(done.stdout.splitlines()[2])["reason"] == f"RuntimeError: {MESSAGE}"


@needs_gpu
def test_fault_on_a_gpu_ends_the_worker_with_its_error_last():
    done = ask_to_open(REAL, "cuda")
    assert done.returncode == 1
    assert statuses(done) == ["ok"]
    last = done.stderr.splitlines()[-1]
    assert last.startswith("worker: the device is unusable: ")
    assert "CUDA error: device-side assert triggered" in last
