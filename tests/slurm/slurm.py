"""A Slurm of two nodes on this machine, without systemd: a folder and ports of its own."""

import contextlib
import getpass
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from project import TIMEOUT_S, ran, wait_until

NODES = ("node1", "node2")
PROGRAMS = (
    "setpriv",
    "munged",
    "slurmctld",
    "slurmd",
    "sbatch",
    "scancel",
    "scontrol",
    "squeue",
    "sinfo",
)
PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))

# cred_expire: how long a requeued job waits, too. Without cgroups and accounting.
CONFIGURATION = """\
ClusterName=bench
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=5
SlurmctldPort={ports[0]}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmdSpoolDir={folder}/%n
StateSaveLocation={folder}/state
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/linear
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0
KillWait=2
JobRequeue=0
ReturnToService=0
SlurmdTimeout=300
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
PartitionName=all Nodes={nodes} Default=YES MaxTime=10 State=UP
"""
NODE = "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1\n"


def missing() -> str:
    """Return why there can be no Slurm here, or nothing."""
    lacking = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]
    packages = "apt-get install slurm-wlm munge"
    return f"{', '.join(lacking)} not found ({packages})" if lacking else ""


class DoesNotStartError(Exception):
    """What Slurm's daemons say."""


def free_ports(n: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(n)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


class Slurm:
    """Commands for a running Slurm."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": PATH}

    def ask(self, *command: str) -> str:
        return ran(*command, env={**os.environ, **self.environment}).stdout

    def jobs(self) -> dict[str, str]:
        """Return the states of all jobs, by job or task: 3_1."""
        lines = self.ask("squeue", "--noheader", "--array", "--states=all", "--format=%i %T")
        return dict(line.split() for line in lines.splitlines())

    def wait(self, what: str, condition: Callable[[], bool]) -> None:
        try:
            wait_until(what, condition)
        except AssertionError as why:
            raise AssertionError(f"{why}\n{self.jobs()}\n{self.logs()}") from None

    def wait_for(self, job: str, *states: str) -> str:
        """Wait until a job is in one of the states, and return it."""
        self.wait(f"{job} {states}", lambda: self.jobs().get(job) in states)
        return self.jobs()[job]

    def logs(self) -> str:
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(f"{log.name}: {log.read_text()[-1500:]}" for log in logs)


def configure(folder: Path) -> None:
    ports, host = free_ports(1 + len(NODES)), socket.gethostname()
    nodes = "".join(
        NODE.format(name=name, host=host, port=port)
        for name, port in zip(NODES, ports[1:], strict=True)
    )
    head, _, partition = CONFIGURATION.partition("PartitionName")
    text = (head + nodes + "PartitionName" + partition).format(
        host=host, user=getpass.getuser(), folder=folder, ports=ports, nodes=",".join(NODES)
    )
    (folder / "slurm.conf").write_text(text, encoding="utf-8")
    (folder / "state").mkdir()
    (folder / "munge").mkdir(mode=0o755)
    key = folder / "munge" / "key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)


def daemons(folder: Path) -> dict[str, list[str]]:
    munge = {"key-file": "key", "socket": "socket", "pid-file": "pid", "seed-file": "seed"}
    options = [f"--{option}={folder}/munge/{name}" for option, name in munge.items()]
    nodes = {f"slurmd-{node}": ["slurmd", "-D", "-N", node] for node in NODES}
    return {
        "munged": ["munged", "--foreground", *options],
        "slurmctld": ["slurmctld", "-D"],
        **nodes,
    }


@contextlib.contextmanager
def running() -> Iterator[Slurm]:
    """Start all daemons; stop them, and what they left running, at the end.

    Raises:
        DoesNotStartError: their nodes are not idle within a minute.

    """
    # A short path, as a socket's may have 107 characters.
    with (
        tempfile.TemporaryDirectory(prefix="bench-slurm-") as name,
        contextlib.ExitStack() as stack,
    ):
        folder = Path(name)
        folder.chmod(0o755)  # munged refuses folders that others cannot enter
        configure(folder)
        slurm = Slurm(folder)
        for program, command in daemons(folder).items():
            log = stack.enter_context((folder / f"{program}.log").open("w"))
            process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", *command],  # also if pytest is killed
                env={**os.environ, **slurm.environment},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            stack.callback(stop, process)
        stack.callback(end_jobs, slurm)
        try:
            slurm.wait("idle nodes", lambda: idle(slurm))
        except AssertionError as why:  # no fault of bench
            raise DoesNotStartError(str(why)) from None
        yield slurm


def idle(slurm: Slurm) -> bool:
    try:
        states = slurm.ask("sinfo", "--noheader", "--Node", "--format=%T").split()
    except AssertionError:
        return False  # the controller is starting
    return states == ["idle"] * len(NODES)


def end_jobs(slurm: Slurm) -> None:
    command = ("scancel", "--full", "--signal=KILL", "--user", getpass.getuser())
    ran(*command, env={**os.environ, **slurm.environment}, expect=None)


def stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
