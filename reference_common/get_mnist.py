#!/usr/bin/env python3
"""Download MNIST into data/mnist/ unless it is already available.

usage: reference_common/get_mnist.py

Does nothing if $MNIST_DIR, data/mnist/ or ../shared/data/mnist/ has the data set. Otherwise
downloads its four files (12 MB), checks the SHA-256 of their contents and moves them into
data/mnist/ when all are correct. The next call resumes an interrupted download.

environment
  MNIST_DIR      a folder with the data set: the only one that is searched
  MNIST_MIRRORS  base URLs to download from, in this order, separated by spaces

exit code: 0 the data set is available; 1 download failed; 2 usage; 3 a file differs from the
published one
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import shutil
import sys
import zlib
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

# Of the uncompressed contents: the gzip files differ between mirrors.
DIGESTS = """
ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db  train-images-idx3-ubyte
65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5  train-labels-idx1-ubyte
0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7  t10k-images-idx3-ubyte
ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2  t10k-labels-idx1-ubyte
"""
EXPECTED = {name: digest for digest, name in map(str.split, DIGESTS.strip().splitlines())}
MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/ "
    "https://storage.googleapis.com/cvdf-datasets/mnist/"
)
TARGET = Path("data/mnist")
SILENCE_S = 30  # timeout for a mirror that sends nothing
TRIES = 3  # each resumes the one before


class Stop(Exception):
    """Ends the script with an exit code and a message."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code


def say(text: str) -> None:
    """Print a message to stderr."""
    print(f"get_mnist.py: {text}", file=sys.stderr, flush=True)


# ---- existing files ------------------------------------------------------------------------------


def path_of(folder: Path, name: str) -> Path | None:
    """Return a file of the data set: plain before gzipped, as the readers choose."""
    return next((p for p in (folder / name, folder / f"{name}.gz") if p.exists()), None)


def has_any(folder: Path) -> bool:
    """Return whether readers would use the folder as the data set."""
    return any(path_of(folder, name) for name in EXPECTED)


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, uncompressed if it is a complete gzip file."""
    data = path.read_bytes()
    with contextlib.suppress(OSError, EOFError, zlib.error):
        data = gzip.decompress(data)
    return hashlib.sha256(data).hexdigest()


def is_right(path: Path, name: str) -> bool:
    """Return whether the file exists and has the published contents."""
    return path.exists() and digest_of(path) == EXPECTED[name]


def mismatch(found: str, name: str) -> str:
    """Return the message for a file with other contents."""
    return f"found SHA-256 {found} of the contents, expected {EXPECTED[name]}"


def missing() -> Iterator[str]:
    """Yield the names of missing files; raise `Stop` for a file with wrong contents."""
    for name, expected in EXPECTED.items():
        path = path_of(TARGET, name)
        if path is None:
            yield name
        elif (found := digest_of(path)) != expected:
            raise Stop(3, f"{path}: {mismatch(found, name)}; remove the file")


# ---- downloading ---------------------------------------------------------------------------------


def size_of(path: Path) -> int:
    """Return the size of a file, 0 if it does not exist."""
    return path.stat().st_size if path.exists() else 0


def fetch(address: str, path: Path) -> None:
    """Append the rest of the file, or download all of it if the mirror does not support that."""
    offset = size_of(path)
    request = Request(address, headers={"Range": f"bytes={offset}-"} if offset else {})
    with urlopen(request, timeout=SILENCE_S) as answer:
        resumes = (answer.headers.get("Content-Range") or "").startswith(f"bytes {offset}-")
        with path.open("ab" if resumes else "wb") as file:
            before = file.tell()
            shutil.copyfileobj(answer, file)
            received = file.tell() - before
    announced = answer.headers.get("Content-Length")
    if announced is not None and received != int(announced):
        raise ConnectionError(f"connection closed after {received} of {announced} bytes")


def fetch_with_retries(address: str, path: Path) -> bool:
    """Fetch with a few tries and report errors; return whether it succeeded."""
    for left in reversed(range(TRIES)):
        try:
            fetch(address, path)
            return True
        except HTTPError as error:
            say(f"{address}: {error}")
            if error.code == 416:  # range not satisfiable: the part belongs to another file
                path.unlink()
                continue
            return False
        except (OSError, HTTPException, ValueError) as error:
            say(f"{address}: {error}")
            if left == 0 or size_of(path) == 0:
                return False
    return False


def download_from(address: str, part: Path, name: str) -> int:
    """Return 0: downloaded, 1: failed or 3: the mirror has a different file."""
    resumed = size_of(part)
    say(f"downloading {address}" + (f" from byte {resumed}" if resumed else ""))
    while fetch_with_retries(address, part):
        if is_right(part, name):
            return 0
        say(f"{address}: {mismatch(digest_of(part), name)}; removed")
        part.unlink()
        if not resumed:
            return 3
        resumed = 0  # the first part may have come from another mirror
        say(f"downloading {address} from the start")
    return 1


def download(name: str, mirrors: list[str]) -> None:
    """Download one file from the first mirror that has it."""
    part = TARGET / f"{name}.gz.part"
    if is_right(part, name):
        say(f"{name}.gz was downloaded by an earlier call")
        return
    code = 1
    for mirror in mirrors:
        status = download_from(f"{mirror.rstrip('/')}/{name}.gz", part, name)
        if status == 0:
            return
        code = max(code, status)
    raise Stop(code, f"cannot download {name}.gz from: {' '.join(mirrors)}")


def get() -> str:
    """Download missing files; return a message for the user."""
    named = os.environ.get("MNIST_DIR")
    if named:
        if not has_any(Path(named)):
            unset = f"unset it to download MNIST into {TARGET}/"
            raise Stop(2, f"$MNIST_DIR: {named} has no MNIST; {unset}")
        return f"MNIST is in {named}: nothing to do"
    beside = Path("../shared/data/mnist")
    if not has_any(TARGET) and has_any(beside):
        return f"MNIST is in {beside}/: nothing to do"
    wanted = list(missing())
    if not wanted:
        return f"MNIST is in {TARGET}/: nothing to do"
    TARGET.mkdir(parents=True, exist_ok=True)
    for name in wanted:
        download(name, (os.environ.get("MNIST_MIRRORS") or MIRRORS).split())
    # Only now: readers expect a folder with one of the files to have all of them.
    for name in wanted:
        (TARGET / f"{name}.gz.part").rename(TARGET / f"{name}.gz")
    return f"MNIST is in {TARGET}/: the published files"


def main() -> int:
    """Return the exit code."""
    usage = str(__doc__).partition("\n\n")[2]
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(usage, end="")
        return 0
    if sys.argv[1:]:
        print(usage, end="", file=sys.stderr)
        say(f"unknown option {sys.argv[1]}")
        return 2
    data = Path(__file__).resolve().parents[1]
    if not (data / "installed.txt").exists():  # else the current folder is the project's
        os.chdir(data)
    try:
        say(get())
    except Stop as stop:
        say(str(stop))
        return stop.code
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
