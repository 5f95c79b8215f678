#!/usr/bin/env python3
"""Download MNIST into data/mnist/ unless a copy is already where programs look for one.

usage: reference_pytorch/get_mnist.py

Does nothing if $MNIST_DIR, data/mnist/ or ../shared/data/mnist/ has the data set. Else its four
files, 12 MB, are downloaded, compared with the SHA-256 of their contents, and moved into
data/mnist/ when all of them are right. A download that breaks off is resumed by the next call.

environment
  MNIST_DIR      a folder with the data set: the only one that is looked at
  MNIST_MIRRORS  base addresses to download from, in this order, separated by spaces

exit code: 0 the data set is there; 1 it could not be downloaded; 2 usage; 3 a file is not the one
that was published
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

# Of the contents: gzip wrappers differ from mirror to mirror.
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
SILENCE_S = 30  # a mirror that sends nothing for so long is given up
TRIES = 3  # each goes on where the one before broke off


class Stop(Exception):
    """The script ends with this exit code."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code


def say(text: str) -> None:
    """Tell the user, on stderr."""
    print(f"get_mnist.py: {text}", file=sys.stderr, flush=True)


# ---- what is here already ------------------------------------------------------------------------


def path_of(folder: Path, name: str) -> Path | None:
    """Return a file of the data set: plain before gzipped, as the readers choose."""
    return next((p for p in (folder / name, folder / f"{name}.gz") if p.exists()), None)


def has_any(folder: Path) -> bool:
    """Tell whether readers would take the folder for the data set."""
    return any(path_of(folder, name) for name in EXPECTED)


def digest_of(path: Path) -> str:
    """Return the SHA-256 of what is in a file, where it is gzipped and whole."""
    data = path.read_bytes()
    with contextlib.suppress(OSError, EOFError, zlib.error):
        data = gzip.decompress(data)
    return hashlib.sha256(data).hexdigest()


def is_right(path: Path, name: str) -> bool:
    """Tell whether the file is the one that was published."""
    return path.exists() and digest_of(path) == EXPECTED[name]


def missing() -> Iterator[str]:
    """Yield what data/mnist/ lacks; a wrong file, which the script did not bring, ends it."""
    for name, expected in EXPECTED.items():
        path = path_of(TARGET, name)
        if path is None:
            yield name
        elif (found := digest_of(path)) != expected:
            raise Stop(
                3,
                f"{path}: found SHA-256 {found} of the contents, expected {expected}; "
                "remove the file",
            )


# ---- downloading ---------------------------------------------------------------------------------


def size_of(path: Path) -> int:
    """Return how much of a file is here."""
    return path.stat().st_size if path.exists() else 0


def fetch(address: str, path: Path) -> None:
    """Go on where the file ends, or from the beginning where the mirror cannot do that."""
    begun = size_of(path)
    request = Request(address, headers={"Range": f"bytes={begun}-"} if begun else {})
    with urlopen(request, timeout=SILENCE_S) as answer:
        goes_on = (answer.headers.get("Content-Range") or "").startswith(f"bytes {begun}-")
        with path.open("ab" if goes_on else "wb") as file:
            before = file.tell()
            shutil.copyfileobj(answer, file)
            received = file.tell() - before
    announced = answer.headers.get("Content-Length")
    if announced is not None and received != int(announced):
        raise ConnectionError(f"broke off after {received} of {announced} bytes")


def fetch_patiently(address: str, path: Path) -> bool:
    """Fetch with a few tries; say what went wrong."""
    for left in reversed(range(TRIES)):
        try:
            fetch(address, path)
            return True
        except HTTPError as error:
            say(f"{address}: {error}")
            if error.code == 416:  # nothing follows where the file ends: it is no part of this one
                path.unlink()
                continue
            return False
        except (OSError, HTTPException, ValueError) as error:
            say(f"{address}: {error}")
            if left == 0 or size_of(path) == 0:
                return False
    return False


def download_from(address: str, part: Path, name: str) -> int:
    """Return 0, or 1: the mirror gave no file, or 3: it gave another one."""
    begun = size_of(part)
    say(f"downloading {address}" + (f", from byte {begun} on" if begun else ""))
    while fetch_patiently(address, part):
        if is_right(part, name):
            return 0
        say(
            f"{address}: found SHA-256 {digest_of(part)} of the contents, "
            f"expected {EXPECTED[name]}; removed"
        )
        part.unlink()
        if not begun:
            return 3
        begun = 0  # the beginning may have been another mirror's
        say(f"downloading {address} anew")
    return 1


def download(name: str, mirrors: list[str]) -> None:
    """Bring one file, from whatever mirror has it."""
    part = TARGET / f"{name}.gz.part"
    if is_right(part, name):
        say(f"{name}.gz was downloaded by an earlier call")
        return
    worst = 1
    for mirror in mirrors:
        status = download_from(f"{mirror.rstrip('/')}/{name}.gz", part, name)
        if status == 0:
            return
        worst = max(worst, status)
    raise Stop(worst, f"{name}.gz could not be had from: {' '.join(mirrors)}")


def get() -> str:
    """Bring what is missing; return what there is to say."""
    named = os.environ.get("MNIST_DIR")
    if named:
        if not has_any(Path(named)):
            unset = f"unset it to have it downloaded into {TARGET}/"
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
    # Only now: readers take a folder with one of the files for the whole data set.
    for name in wanted:
        (TARGET / f"{name}.gz.part").rename(TARGET / f"{name}.gz")
    return f"MNIST is in {TARGET}/, the files that were published"


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
    os.chdir(Path(__file__).resolve().parents[1])
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
