"""This machine's package settings, for the bare system that check_fresh.py makes."""

import ast
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

CERTIFICATES = ["PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"]
# In addition to the system's ca-certificates.
BUNDLE = "/etc/host-certificates.crt"
MIRRORS = {
    "debian": "http://deb.debian.org/debian",
    "ubuntu": "http://archive.ubuntu.com/ubuntu",
}


@dataclass
class Host:
    """The settings to copy."""

    environment: dict[str, str] = field(default_factory=dict)
    folders: list[Path] = field(default_factory=list)  # mounted read-only at the same path
    files: list[Path] = field(default_factory=list)  # copied to the same path
    certificates: Path | None = None

    def install(self, root: Path) -> None:
        """Copy the settings into a bare system."""
        for folder in self.folders:
            (root / folder.relative_to("/")).mkdir(parents=True, exist_ok=True)
        for file in self.files:
            copy = root / file.relative_to("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)
        for name in ("resolv.conf", "hosts"):
            if Path("/etc", name).exists():
                shutil.copy(Path("/etc", name), root / "etc" / name)
        if self.certificates:
            shutil.copy(self.certificates, root / BUNDLE.lstrip("/"))
        (root / "etc/apt/apt.conf.d/90host").write_text(apt_settings(self.certificates is not None))


def pip_settings(root: Path) -> dict[str, str]:
    """Return pip's configuration, from all its sources, as environment variables."""
    python = subprocess.run([root / "tests/tools/python.sh"], text=True, capture_output=True)
    command = [python.stdout.strip() or "python3", "-m", "pip", "config", "list"]
    try:
        listed = subprocess.run(command, text=True, capture_output=True, check=False).stdout
    except OSError:
        return {}
    found = {}
    # Those of the environment come last: they take precedence.
    for _, key, value in re.findall(r"^(global|install|:env:)\.([\w-]+)=(.*)$", listed, re.M):
        words = " ".join(str(ast.literal_eval(value)).split())
        found["PIP_" + key.upper().replace("-", "_")] = words
    return found


def paths_named_by(values: list[str]) -> list[Path]:
    words = " ".join(values).split()
    return [
        path
        for path in (Path(word.removeprefix("file://")) for word in words)
        if path.is_absolute()
    ]


def files_named_by(values: list[str]) -> list[Path]:
    """Return the files of this machine that the settings name, say of pip's constraints."""
    return sorted({path for path in paths_named_by(values) if path.is_file()})


def folders_named_by(values: list[str]) -> list[Path]:
    """Return the folders of this machine that the settings name."""
    found = set()
    for folder in paths_named_by(values):
        if not folder.is_dir():
            continue
        # The files of an index are in its parent folder.
        if folder.name == "simple" and folder.parent != Path("/"):
            folder = folder.parent
        found.add(folder)
    return sorted(found)


def apt_settings(has_certificates: bool) -> str:
    dumped = subprocess.run(["apt-config", "dump"], text=True, capture_output=True, check=False)
    kept = re.findall(r'^Acquire::https?::(?:[^ ]*::)?Proxy ".+";$', dumped.stdout, re.M)
    if has_certificates:
        kept.append(f'Acquire::https::CaInfo "{BUNDLE}";')
    return "".join(f"{line}\n" for line in kept)


def apt_mirror(system: str, suite: str) -> str:
    """Return apt's mirror for a suite, or the public mirror."""
    sources = [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]
    for path in filter(Path.is_file, sources):
        text = path.read_text(errors="replace")
        if path.suffix == ".sources":
            for stanza in re.split(r"\n\s*\n", text):
                uris = re.search(r"^URIs:\s*(\S+)", stanza, re.M)
                suites = re.search(r"^Suites:(.*)$", stanza, re.M)
                if uris and suites and suite in suites[1].split():
                    return uris[1]
        else:
            line = re.search(rf"^deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+{suite}\s+.*\bmain\b", text, re.M)
            if line:
                return line[1]
    return MIRRORS[system]


def host_settings(root: Path) -> Host:
    host = Host()
    host.environment = pip_settings(root)
    for name, value in os.environ.items():
        if name.lower() in {"http_proxy", "https_proxy", "no_proxy", "all_proxy"}:
            host.environment[name] = value
    if os.environ.get("MNIST_MIRRORS"):
        host.environment["MNIST_MIRRORS"] = os.environ["MNIST_MIRRORS"]
    named = [host.environment.get("PIP_CERT", ""), *(os.environ.get(n, "") for n in CERTIFICATES)]
    host.certificates = next((Path(name) for name in named if name and Path(name).is_file()), None)
    if host.certificates:
        host.environment.update({name: BUNDLE for name in CERTIFICATES})
    host.folders = folders_named_by(list(host.environment.values()))
    host.files = files_named_by(list(host.environment.values()))
    return host
