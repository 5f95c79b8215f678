"""The worker as a process, independent of workloads."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from project import ran

WORKER = Path(__file__).parents[2] / "reference_pytorch" / "worker.py"
COMMON = Path(__file__).parents[2] / "reference_common"

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"
)


def run_worker(requests: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, str(WORKER), *options]
    return subprocess.run(command, input=requests, capture_output=True, timeout=120, check=False)


def test_help_lists_the_options():
    done = run_worker(b"", "--help")
    assert done.returncode == 0
    assert b"--device {cuda,cpu}" in done.stdout


def test_unknown_device_is_a_usage_error():
    done = run_worker(b"", "--device", "abacus")
    assert done.returncode == 2
    assert b"abacus" in done.stderr


def test_end_of_requests_ends_silently_with_0():
    done = run_worker(b"", "--device", "cpu")
    assert (done.returncode, done.stdout) == (0, b"")


def test_last_line_needs_no_newline():
    done = run_worker(b'{"op":"bye"}', "--device", "cpu")
    assert (done.returncode, done.stdout) == (0, b'{"status":"ok"}\n')


def test_bye_ends_with_0_and_leaves_the_rest_unread(start_worker):
    worker = start_worker("cpu")
    assert worker.ask("bye") == {"status": "ok"}
    assert worker.process.wait(60) == 0


def test_bad_lines_are_answered_and_the_worker_continues(start_worker):
    worker = start_worker("cpu")
    for line in (b"\n", b"{\n", b"[]\n", b'{"op":"dance"}\n', b"\xff\n", b'{"op":"bye","x":1}\n'):
        answer = worker.ask_line(line)
        assert answer["status"] == "failed"
        assert answer["reason"]
    assert worker.ask("bye")["status"] == "ok"


def test_too_long_line_is_one_bad_line(start_worker):
    worker = start_worker("cpu")
    answer = worker.ask_line(b" " * (65 << 20) + b'{"op":"bye"}\n')
    assert answer == {"status": "failed", "reason": "the line is longer than 67108864 bytes"}
    assert worker.ask("bye")["status"] == "ok"


def test_line_of_the_full_length_is_read(start_worker):
    worker = start_worker("cpu")
    request = b'{"op":"bye"}'
    line = b" " * ((64 << 20) - len(request) - 1) + request + b"\n"
    assert worker.ask_line(line) == {"status": "ok"}


def test_hello_comes_first(start_worker):
    worker = start_worker("cpu")
    answer = worker.ask("close", id="c")
    assert answer == {"status": "failed", "id": "c", "reason": "op: expected hello first"}


@pytest.mark.parametrize("protocol", [1, 3])
def test_another_protocol_is_refused_with_both_numbers(start_worker, protocol):
    answer = start_worker("cpu").ask("hello", protocol=protocol)
    reason = f"protocol: this worker speaks 2, found {protocol}"
    assert answer == {"status": "failed", "reason": reason}


def test_without_pytorch_hello_fails_with_the_reason(start_worker):
    # -S: no site-packages, so no PyTorch.
    worker = start_worker("cpu", "-S")
    answer = worker.hello()
    assert answer["status"] == "failed"
    assert answer["reason"].startswith("PyTorch is not installed for this Python: ")
    assert worker.end() == 0


@needs_torch
def test_without_a_gpu_hello_fails_with_the_reason():
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    hello = '{"op":"hello","protocol":2}\n'
    done = ran(sys.executable, WORKER, "--device", "cuda", input=hello, env=hidden, expect=None)
    answer = json.loads(done.stdout)
    assert answer["status"] == "failed"
    assert answer["reason"].startswith("no CUDA device (PyTorch ")
    assert done.returncode == 0


def test_hello_describes_the_worker(worker):
    answer = worker.hello()
    assert answer["protocol"] == 2
    assert answer["engine"] == "pytorch"
    assert answer["capabilities"] == {"allocate": ["caching"]}
    assert all(isinstance(version, str) for version in answer["versions"].values())
    assert answer["once_ns"]["import"] > 0
    device = answer["device"]
    if worker.device == "cpu":
        assert set(device) == {"kind", "name"}
        assert set(answer["once_ns"]) == {"import"}
    else:
        assert device["arch"].startswith("sm_")
        assert device["uuid"].startswith("GPU-")
        assert device["memory_bytes"] > 0
        assert device["l2_bytes"] > 0
        assert device["multiprocessors"] > 0
        assert set(answer["once_ns"]) == {"import", "context"}
    assert device["kind"] == worker.device
    assert device["name"]
    assert worker.hello() == answer, "start-up costs occur once"


@pytest.mark.long
@needs_torch
def test_killed_worker_leaves_no_temporary_files(start_worker, tmp_path, monkeypatch):
    folder, scratch = tmp_path / "temporary", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setenv("BENCH_SCRATCH", str(scratch))
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    worker = start_worker("cpu")
    assert worker.hello()["status"] == "ok"
    assert worker.open("compile")["status"] == "ok"
    worker.stop()
    # PyTorch keeps a folder per user for precompiled headers; 2.5 leaves a file of torch.distributed.
    left = {str(path.relative_to(folder)) for path in folder.rglob("*.*") if path.is_file()}
    kept = ("torchinductor_", "_remote_module_non_scriptable.")
    assert all(any(part in name for part in kept) for name in left), left
    assert list((scratch / "inductor").rglob("*.py")), "compiled code is in the run's folder"


def test_worker_without_a_reader_ends_silently(start_worker):
    worker = start_worker("cpu")
    worker.process.stdout.close()
    worker.process.stdin.write(b'{"op":"close"}\n{"op":"close"}\n')
    assert worker.process.wait(60) == 0


def test_stdio_is_reserved_for_the_protocol():
    # Output of Python, C and a child process, and a child that reads stdin.
    program = """
import os, subprocess, sys
import serving
requests, answers = serving.claim_stdio()
print("from Python")
os.write(1, b"from C\\n")
subprocess.run("cat; echo from a child", shell=True, check=True)
answers.write(b"heard " + requests.readline())
answers.flush()
"""
    done = ran(sys.executable, "-c", program, cwd=COMMON, input="request\n")
    assert done.stdout == "heard request\n"
    assert {"from Python", "from C", "from a child"} <= set(done.stderr.splitlines())
