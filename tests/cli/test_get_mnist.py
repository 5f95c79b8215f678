"""The script that downloads MNIST, against mirrors on this machine and with digests of small files."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from project import ROOT, TIMEOUT_S

SCRIPT = ROOT / "reference_pytorch" / "get_mnist.sh"
NAMES = [
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
]
CONTENTS = {name: f"what {name} holds, {number}".encode() for number, name in enumerate(NAMES)}
TOOLS = [path for path in map(shutil.which, ("curl", "wget")) if path]

pytestmark = pytest.mark.skipif(not TOOLS, reason="neither curl nor wget is here")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a project that has the script alone, told to expect `CONTENTS`."""
    text = SCRIPT.read_text()
    for name, content in CONTENTS.items():
        text, n = re.subn(rf"\b[0-9a-f]{{64}}  {name}\b", f"{sha256(content)}  {name}", text)
        assert n == 1
    script = tmp_path / "project" / "reference_pytorch" / SCRIPT.name
    script.parent.mkdir(parents=True)
    script.write_text(text)
    script.chmod(0o755)
    return script.parents[1]


def mirror_at(folder: Path, **instead: bytes) -> str:
    """Make a mirror; `instead` gives files (with _ for -) other bytes, none of them: no file."""
    folder.mkdir()
    for name, content in CONTENTS.items():
        data = instead.get(name.replace("-", "_"), gzip.compress(content))
        if data:
            (folder / f"{name}.gz").write_bytes(data)
    return folder.as_uri()


def get(project: Path, mirrors: str, expect: int, **environment: str) -> str:
    """Run the script and return what it says."""
    named = {"MNIST_MIRRORS": mirrors, **environment}
    kept = {name: value for name, value in os.environ.items() if name != "MNIST_DIR"}
    done = subprocess.run(
        [str(project / "reference_pytorch" / SCRIPT.name)],
        env={**kept, **named},
        text=True,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.stdout == ""
    assert done.returncode == expect, done.stderr
    return done.stderr


def check_whole(project: Path) -> None:
    """Expect all files, and nothing beside them."""
    folder = project / "data" / "mnist"
    assert sorted(path.name for path in folder.iterdir()) == sorted(f"{name}.gz" for name in NAMES)
    for name, content in CONTENTS.items():
        assert gzip.decompress((folder / f"{name}.gz").read_bytes()) == content


def parts_of(project: Path) -> list[str]:
    return sorted(path.name for path in (project / "data" / "mnist").iterdir())


def file_test(function):
    """Skip a test without curl: wget reads no file:// addresses."""
    return pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not here")(function)


@file_test
def test_files_are_downloaded_once(project, tmp_path):
    mirror = mirror_at(tmp_path / "mirror")
    said = get(project, mirror, 0)
    for name in NAMES:
        assert f"get_mnist.sh: downloading {mirror}/{name}.gz\n" in said
    assert said.endswith("MNIST is in data/mnist/, the files that were published\n")
    check_whole(project)
    assert (
        get(project, "file:///nowhere", 0)
        == "get_mnist.sh: MNIST is in data/mnist/: nothing to do\n"
    )


@file_test
def test_another_file_is_removed_and_both_digests_are_named(project, tmp_path):
    other = gzip.compress(b"something else")
    mirror = mirror_at(tmp_path / "mirror", train_labels_idx1_ubyte=other)
    said = get(project, mirror, 3)
    name = "train-labels-idx1-ubyte"
    assert (
        f"{mirror}/{name}.gz: found SHA-256 {sha256(b'something else')} of the contents, "
        f"expected {sha256(CONTENTS[name])}; removed\n"
    ) in said
    assert said.endswith(f"{name}.gz could not be had from: {mirror}\n")
    # What was right waits for the next call, under a name that no reader takes for the data set.
    assert parts_of(project) == ["train-images-idx3-ubyte.gz.part"]


@file_test
def test_what_is_no_gzip_file_is_another_file(project, tmp_path):
    page = b"<html>log in first</html>"
    said = get(project, mirror_at(tmp_path / "mirror", train_images_idx3_ubyte=page), 3)
    assert f"found SHA-256 {sha256(page)} of the contents" in said
    assert parts_of(project) == []


@file_test
def test_the_next_mirror_serves_what_the_first_does_not(project, tmp_path):
    first = mirror_at(
        tmp_path / "first",
        t10k_images_idx3_ubyte=b"",
        t10k_labels_idx1_ubyte=gzip.compress(b"something else"),
    )
    second = mirror_at(tmp_path / "second")
    said = get(project, f"{first} {second}/", 0)
    assert f"downloading {second}/t10k-images-idx3-ubyte.gz\n" in said
    assert f"downloading {second}/t10k-labels-idx1-ubyte.gz\n" in said
    assert f"downloading {second}/train" not in said
    check_whole(project)


@file_test
def test_without_a_mirror_nothing_is_left_that_a_reader_would_take(project):
    said = get(project, "file:///nowhere file:///nowhere/else", 1)
    assert said.endswith(
        "train-images-idx3-ubyte.gz could not be had from: file:///nowhere file:///nowhere/else\n"
    )
    assert parts_of(project) == []


@file_test
def test_a_call_goes_on_where_the_last_one_stopped(project, tmp_path):
    whole = mirror_at(tmp_path / "whole")
    get(project, mirror_at(tmp_path / "half", t10k_images_idx3_ubyte=b""), 1)
    waiting = [f"{name}.gz.part" for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte")]
    assert parts_of(project) == waiting
    # The third breaks off in its middle.
    begun = gzip.compress(CONTENTS["t10k-images-idx3-ubyte"])[:20]
    (project / "data/mnist/t10k-images-idx3-ubyte.gz.part").write_bytes(begun)
    said = get(project, whole, 0)
    assert "train-images-idx3-ubyte.gz was downloaded by an earlier call\n" in said
    assert f"downloading {whole}/t10k-images-idx3-ubyte.gz, from byte 20 on\n" in said
    assert "anew" not in said
    check_whole(project)


@file_test
def test_a_beginning_of_another_file_does_not_spoil_it(project, tmp_path):
    whole = mirror_at(tmp_path / "whole")
    part = project / "data/mnist/train-images-idx3-ubyte.gz.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * 20)
    said = get(project, whole, 0)
    assert f"downloading {whole}/train-images-idx3-ubyte.gz anew\n" in said
    check_whole(project)


# ---- over HTTP -------------------------------------------------------------------------------------


class Quiet(SimpleHTTPRequestHandler):
    """Python's own server; it sends no file from its middle."""

    def log_message(self, *_arguments) -> None:
        pass


@pytest.fixture
def serve():
    servers = []

    def start(folder: Path) -> str:
        handler = partial(Quiet, directory=str(folder))
        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), handler))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_address[1]}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(params=TOOLS, ids=[Path(tool).name for tool in TOOLS])
def only(request, tmp_path) -> dict[str, str]:
    """Return an environment in which one of the tools is the only one."""
    folder = tmp_path / "bin"
    folder.mkdir()
    needed = ["bash", "env", "dirname", "cat", "awk", "gzip", "sha256sum", "cut", "wc", "mv", "rm"]
    for program in [*map(shutil.which, [*needed, "mkdir"]), request.param]:
        (folder / Path(program).name).symlink_to(program)
    return {"PATH": str(folder), "no_proxy": "127.0.0.1"}


def test_each_tool_downloads(project, tmp_path, serve, only):
    mirror_at(tmp_path / "mirror")
    get(project, serve(tmp_path / "mirror"), 0, **only)
    check_whole(project)


def test_each_tool_starts_anew_where_a_mirror_cannot_go_on(project, tmp_path, serve, only):
    mirror_at(tmp_path / "mirror")
    part = project / "data/mnist/train-images-idx3-ubyte.gz.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(gzip.compress(CONTENTS["train-images-idx3-ubyte"])[:20])
    get(project, serve(tmp_path / "mirror"), 0, **only)
    check_whole(project)


def test_each_tool_says_what_a_mirror_has_not(project, tmp_path, serve, only):
    mirror_at(tmp_path / "mirror", train_images_idx3_ubyte=b"")
    said = get(project, serve(tmp_path / "mirror"), 1, **only)
    assert "404" in said
    assert parts_of(project) == []


def test_without_a_tool_the_missing_one_is_named(project, tmp_path, only):
    for tool in TOOLS:
        (tmp_path / "bin" / Path(tool).name).unlink(missing_ok=True)
    said = get(project, "file:///nowhere", 2, **only)
    assert said == "get_mnist.sh: neither curl nor wget is here: install one of them\n"


# ---- what is here already --------------------------------------------------------------------------


def test_a_set_beside_the_project_is_enough(project, tmp_path):
    folder = tmp_path / "shared/data/mnist"
    folder.mkdir(parents=True)
    (folder / "train-images-idx3-ubyte").write_bytes(b"")
    said = get(project, "file:///nowhere", 0)
    assert said == "get_mnist.sh: MNIST is in ../shared/data/mnist/: nothing to do\n"
    assert not (project / "data").exists()


def test_a_named_folder_is_the_only_one_that_counts(project, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    named = {"MNIST_DIR": str(folder)}
    said = get(project, "file:///nowhere", 2, **named)
    reason = f"{folder} has no MNIST; unset it to have it downloaded into data/mnist/"
    assert said == f"get_mnist.sh: $MNIST_DIR: {reason}\n"
    (folder / "t10k-labels-idx1-ubyte.gz").write_bytes(b"")
    said = get(project, "file:///nowhere", 0, **named)
    assert said == f"get_mnist.sh: MNIST is in {folder}: nothing to do\n"


@file_test
def test_only_what_is_missing_is_downloaded(project, tmp_path):
    folder = project / "data/mnist"
    folder.mkdir(parents=True)
    (folder / "t10k-labels-idx1-ubyte").write_bytes(CONTENTS["t10k-labels-idx1-ubyte"])
    said = get(project, mirror_at(tmp_path / "mirror"), 0)
    assert said.count("downloading") == 3
    assert "t10k-labels" not in said


def test_a_file_that_the_script_did_not_bring_is_named_and_kept(project):
    path = project / "data/mnist/t10k-labels-idx1-ubyte"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"mine")
    said = get(project, "file:///nowhere", 3)
    assert said == (
        f"get_mnist.sh: data/mnist/{path.name}: found SHA-256 {sha256(b'mine')} of the contents, "
        f"expected {sha256(CONTENTS[path.name])}; remove the file\n"
    )
    assert path.read_bytes() == b"mine"


@pytest.mark.parametrize(("option", "code"), [("--help", 0), ("--force", 2)])
def test_usage(option, code):
    done = subprocess.run(
        [str(SCRIPT), option], text=True, capture_output=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == code
    assert "usage: reference_pytorch/get_mnist.sh" in (done.stderr if code else done.stdout)


@pytest.mark.parametrize("name", NAMES)
def test_digests_are_those_of_a_copy_that_is_here(name):
    folder = ROOT.parent / "shared" / "data" / "mnist"
    for path in (folder / name, folder / f"{name}.gz"):
        if path.exists():
            data = path.read_bytes()
            content = gzip.decompress(data) if path.suffix == ".gz" else data
            assert f"{sha256(content)}  {name}\n" in SCRIPT.read_text()
            return
    pytest.skip("no copy is here")
