"""The script that downloads MNIST, against mirrors on this machine and with digests of small files."""

import gzip
import hashlib
import os
import re
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from project import ROOT, TIMEOUT_S

SCRIPT = ROOT / "reference_common" / "get_mnist.py"
NAMES = [
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
]
CONTENTS = {name: f"what {name} holds, {number}".encode() for number, name in enumerate(NAMES)}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a project with only the script, which expects `CONTENTS`."""
    text = SCRIPT.read_text()
    for name, content in CONTENTS.items():
        text, n = re.subn(rf"\b[0-9a-f]{{64}}  {name}\b", f"{sha256(content)}  {name}", text)
        assert n == 1
    script = tmp_path / "project" / "reference_common" / SCRIPT.name
    script.parent.mkdir(parents=True)
    script.write_text(text)
    script.chmod(0o755)
    return script.parents[1]


def mirror_at(folder: Path, **instead: bytes) -> str:
    """Make a mirror; `instead` replaces files (with _ for -) by other bytes, b"" removes them."""
    folder.mkdir()
    for name, content in CONTENTS.items():
        data = instead.get(name.replace("-", "_"), gzip.compress(content, mtime=0))
        if data:
            (folder / f"{name}.gz").write_bytes(data)
    return folder.as_uri()


def get(project: Path, mirrors: str, expect: int, **environment: str) -> str:
    """Run the script and return its stderr."""
    named = {"MNIST_MIRRORS": mirrors, "no_proxy": "127.0.0.1", **environment}
    kept = {name: value for name, value in os.environ.items() if name != "MNIST_DIR"}
    done = subprocess.run(
        [sys.executable, str(project / "reference_common" / SCRIPT.name)],
        env={**kept, **named},
        text=True,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.stdout == ""
    assert done.returncode == expect, done.stderr
    return done.stderr


def check_complete(project: Path) -> None:
    """Expect all files and no others."""
    folder = project / "data" / "mnist"
    assert sorted(path.name for path in folder.iterdir()) == sorted(f"{name}.gz" for name in NAMES)
    for name, content in CONTENTS.items():
        assert gzip.decompress((folder / f"{name}.gz").read_bytes()) == content


def parts_of(project: Path) -> list[str]:
    return sorted(path.name for path in (project / "data" / "mnist").iterdir())


def test_files_are_downloaded_once(project, tmp_path):
    mirror = mirror_at(tmp_path / "mirror")
    printed = get(project, mirror, 0)
    for name in NAMES:
        assert f"get_mnist.py: downloading {mirror}/{name}.gz\n" in printed
    assert printed.endswith("MNIST is in data/mnist/: the published files\n")
    check_complete(project)
    assert (
        get(project, "file:///nowhere", 0)
        == "get_mnist.py: MNIST is in data/mnist/: nothing to do\n"
    )


def test_a_wrong_file_is_removed_and_both_digests_are_printed(project, tmp_path):
    other = gzip.compress(b"something else")
    mirror = mirror_at(tmp_path / "mirror", train_labels_idx1_ubyte=other)
    printed = get(project, mirror, 3)
    name = "train-labels-idx1-ubyte"
    assert (
        f"{mirror}/{name}.gz: found SHA-256 {sha256(b'something else')} of the contents, "
        f"expected {sha256(CONTENTS[name])}; removed\n"
    ) in printed
    assert printed.endswith(f"cannot download {name}.gz from: {mirror}\n")
    # Correct files are kept for the next call, under names that readers ignore.
    assert parts_of(project) == ["train-images-idx3-ubyte.gz.part"]


def test_files_that_the_first_mirror_lacks_come_from_the_next(project, tmp_path):
    first = mirror_at(
        tmp_path / "first",
        t10k_images_idx3_ubyte=b"",
        t10k_labels_idx1_ubyte=gzip.compress(b"something else"),
    )
    second = mirror_at(tmp_path / "second")
    printed = get(project, f"{first} {second}/", 0)
    assert f"downloading {second}/t10k-images-idx3-ubyte.gz\n" in printed
    assert f"downloading {second}/t10k-labels-idx1-ubyte.gz\n" in printed
    assert f"downloading {second}/train" not in printed
    check_complete(project)


def test_a_call_resumes_the_previous_one(project, tmp_path):
    mirror = mirror_at(tmp_path / "mirror")
    get(project, mirror_at(tmp_path / "half", t10k_images_idx3_ubyte=b""), 1)
    waiting = [f"{name}.gz.part" for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte")]
    assert parts_of(project) == waiting
    # The third ends in its middle.
    begun = gzip.compress(CONTENTS["t10k-images-idx3-ubyte"])[:20]
    (project / "data/mnist/t10k-images-idx3-ubyte.gz.part").write_bytes(begun)
    printed = get(project, mirror, 0)
    assert "train-images-idx3-ubyte.gz was downloaded by an earlier call\n" in printed
    assert f"downloading {mirror}/t10k-images-idx3-ubyte.gz from byte 20\n" in printed
    assert "from the start" not in printed
    check_complete(project)


# ---- over HTTP -------------------------------------------------------------------------------------


class Plain(SimpleHTTPRequestHandler):
    """Python's server, which does not support ranges."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_arguments) -> None:
        pass


class WithRanges(Plain):
    """A server with ranges, as the real mirrors, which may close the connection early."""

    most_bytes = 1 << 20

    def do_GET(self) -> None:  # noqa: N802
        whole = Path(self.translate_path(self.path)).read_bytes()
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        begin = int(asked[1]) if asked else 0
        if begin >= len(whole):
            self.send_error(416)
            return
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {begin}-{len(whole) - 1}/{len(whole)}")
        self.send_header("Content-Length", str(len(whole) - begin))
        self.end_headers()
        self.wfile.write(whole[begin:][: self.most_bytes])
        self.close_connection = True


class ClosesEarly(WithRanges):
    most_bytes = 25


class Silent(WithRanges):
    most_bytes = 0


@pytest.fixture
def serve(tmp_path):
    servers = []

    def start(handler: type[Plain], **instead: bytes) -> str:
        mirror_at(tmp_path / "mirror", **instead)
        handler = partial(handler, directory=str(tmp_path / "mirror"))
        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), handler))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_address[1]}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def begin_a_part(project: Path) -> None:
    part = project / "data/mnist/train-images-idx3-ubyte.gz.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(gzip.compress(CONTENTS["train-images-idx3-ubyte"], mtime=0)[:20])


@pytest.mark.parametrize("handler", [Plain, WithRanges])
def test_a_part_is_resumed_if_the_mirror_supports_it(project, serve, handler):
    begin_a_part(project)
    printed = get(project, serve(handler), 0)
    assert "ubyte.gz from byte 20\n" in printed
    assert "from the start" not in printed
    check_complete(project)


def test_a_part_of_another_file_is_replaced(project, serve):
    part = project / "data/mnist/train-images-idx3-ubyte.gz.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * 20)
    mirror = serve(WithRanges)
    assert f"downloading {mirror}/train-images-idx3-ubyte.gz from the start\n" in get(
        project, mirror, 0
    )
    check_complete(project)


def test_a_closed_connection_is_resumed_at_once(project, serve):
    printed = get(project, serve(ClosesEarly), 0)
    assert "connection closed after 25 of " in printed
    check_complete(project)


def test_a_complete_but_wrong_part_is_downloaded_again(project, serve):
    part = project / "data/mnist/train-images-idx3-ubyte.gz.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * 1000)
    assert "416" in get(project, serve(WithRanges), 0)
    check_complete(project)


def test_mirror_that_sends_nothing_times_out(project, serve):
    printed = get(project, serve(Silent), 1)
    assert printed.count("connection closed after 0 of ") == 1


# ---- existing files --------------------------------------------------------------------------------


def test_a_shared_set_is_enough(project, tmp_path):
    folder = tmp_path / "shared/data/mnist"
    folder.mkdir(parents=True)
    (folder / "train-images-idx3-ubyte").write_bytes(b"")
    printed = get(project, "file:///nowhere", 0)
    assert printed == "get_mnist.py: MNIST is in ../shared/data/mnist/: nothing to do\n"
    assert not (project / "data").exists()


def test_a_named_folder_is_the_only_one_that_counts(project, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    named = {"MNIST_DIR": str(folder)}
    printed = get(project, "file:///nowhere", 2, **named)
    reason = f"{folder} has no MNIST; unset it to download MNIST into data/mnist/"
    assert printed == f"get_mnist.py: $MNIST_DIR: {reason}\n"
    (folder / "t10k-labels-idx1-ubyte.gz").write_bytes(b"")
    printed = get(project, "file:///nowhere", 0, **named)
    assert printed == f"get_mnist.py: MNIST is in {folder}: nothing to do\n"


def test_only_missing_files_are_downloaded(project, tmp_path):
    folder = project / "data/mnist"
    folder.mkdir(parents=True)
    (folder / "t10k-labels-idx1-ubyte").write_bytes(CONTENTS["t10k-labels-idx1-ubyte"])
    printed = get(project, mirror_at(tmp_path / "mirror"), 0)
    assert printed.count("downloading") == 3
    assert "t10k-labels" not in printed


def test_a_wrong_file_of_the_user_is_reported_and_kept(project):
    path = project / "data/mnist/t10k-labels-idx1-ubyte"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"mine")
    printed = get(project, "file:///nowhere", 3)
    assert printed == (
        f"get_mnist.py: data/mnist/{path.name}: found SHA-256 {sha256(b'mine')} of the contents, "
        f"expected {sha256(CONTENTS[path.name])}; remove the file\n"
    )
    assert path.read_bytes() == b"mine"


def test_digests_match_an_existing_copy():
    folders = [ROOT / "data" / "mnist", ROOT.parent / "shared" / "data" / "mnist"]
    script = SCRIPT.read_text()
    copies = [
        (name, path)
        for folder in folders
        for name in NAMES
        for path in (folder / name, folder / f"{name}.gz")
        if path.exists()
    ]
    if not copies:
        pytest.skip("no MNIST: reference_common/get_mnist.py downloads it")
    for name, path in copies:
        data = path.read_bytes()
        content = gzip.decompress(data) if path.suffix == ".gz" else data
        assert f"{sha256(content)}  {name}\n" in script
