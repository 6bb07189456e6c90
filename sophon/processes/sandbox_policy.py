"""Policy of a sandbox: what a program sees, may change and may use; and the arguments of bubblewrap that enforce it.

The program sees a file system of its own: the folders of the system and a list of files in /etc, read-only; the working
folder, writable; an empty /tmp. What is not listed does not exist there, the host's settings, data and home folder
included. Rejected alternative: the whole file system read-only, with secrets masked. It shows whatever is forgotten.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from sophon._python.lazy_dataclass import dataclass

SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Folders with the programs of the system; on most systems all but the first are links into it."""

SYSTEM_FILES = tuple(
    f"/etc/{name}"
    for name in (
        *(
            "alternatives",
            "bash.bashrc",
            "ca-certificates",
            "ca-certificates.conf",
            "crypto-policies",
            "debian_version",
        ),
        *("fonts", "group", "host.conf", "hosts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "magic"),
        *("mime.types", "nsswitch.conf", "os-release", "passwd", "perl", "pki/ca-trust", "pki/tls/certs", "profile"),
        *("protocols", "resolv.conf", "services", "shells", "ssl/certs", "ssl/openssl.cnf", "terminfo", "timezone"),
    )
)
"""Files and folders of /etc that programs need; none of them holds a secret."""

MAX_SHARED_MEMORY_BYTES = 64 * 1024 * 1024
"""Size of /dev/shm."""


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """Resources of all processes in a sandbox together.

    `memory_bytes` holds for their memory, and once more for the files in /tmp. `processes` counts threads too.
    `seconds` is elapsed time. `output_bytes` is what may be written to stdout and stderr. `folder_bytes` is the size of
    the working folder, with all that earlier programs left in it.
    """

    memory_bytes: int = 512 * 1024 * 1024
    processes: int = 64
    seconds: float = 60.0
    output_bytes: int = 10 * 1024 * 1024
    folder_bytes: int = 1024 * 1024 * 1024

    @property
    def total_memory_bytes(self) -> int:
        """The memory of all processes together with the files in /tmp and /dev/shm."""
        return 2 * self.memory_bytes + min(self.memory_bytes, MAX_SHARED_MEMORY_BYTES)


@dataclass(frozen=True, slots=True)
class SandboxPolicy:
    """What a program in a sandbox sees and may change.

    `folder` is its working folder and writable, as are the folders in `writable`; those in `readable` are read-only.
    All have their own paths in the sandbox. Folders in `hidden` lie in one of these and are shown empty. `network`
    gives it the network of the host, loopback included; otherwise it has a loopback of its own and nothing else.
    """

    folder: Path
    limits: SandboxLimits
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    network: bool = False

    @property
    def mounted(self) -> tuple[Path, ...]:
        """Everything of the host that the program sees besides the system."""
        return (self.folder, *self.writable, *self.readable)


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The sandbox of this machine: the program, and which optional arguments it knows.

    `problem` is the sentence on why programs cannot run in it, empty if they can. `group_folder` is where control
    groups for the number of processes are created; None where the kernel enforces an rlimit. `memory_folder` is where
    those for the memory are created; None where that cannot be.
    """

    program: str
    options: tuple[str, ...] = ()
    problem: str = ""
    group_folder: Path | None = None
    memory_folder: Path | None = None


def build_arguments(policy: SandboxPolicy, links: Mapping[str, str], options: Iterable[str] = ()) -> list[str]:
    """Return the arguments of bubblewrap in front of the program.

    `links` are the targets of those `SYSTEM_FOLDERS` that are links, `options` are further ones that this version of
    bubblewrap knows.
    """
    limits = policy.limits
    namespaces = ["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"]
    if not policy.network:
        namespaces.append("--unshare-net")
    shared_memory = min(limits.memory_bytes, MAX_SHARED_MEMORY_BYTES)
    return [
        *namespaces,
        *options,
        *("--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"),
        *_mount_system(links),
        *("--proc", "/proc", "--dev", "/dev"),
        *("--size", str(shared_memory), "--tmpfs", "/dev/shm"),  # noqa: S108 - a path in the sandbox
        *("--size", str(limits.memory_bytes), "--tmpfs", "/tmp"),  # noqa: S108 - a path in the sandbox
        *("--dir", "/run", "--symlink", "../tmp", "/var/tmp"),  # noqa: S108 - a path in the sandbox
        *(each for path in policy.readable for each in ("--ro-bind", str(path), str(path))),
        *(each for path in (*policy.writable, policy.folder) for each in ("--bind", str(path), str(path))),
        *(each for path in policy.hidden for each in ("--tmpfs", str(path), "--remount-ro", str(path))),
        # Last: both are in memory, and would be a place to write to without a limit.
        *("--remount-ro", "/dev", "--remount-ro", "/"),
        *("--chdir", str(policy.folder)),
    ]


def _mount_system(links: Mapping[str, str]) -> Iterator[str]:
    for path in SYSTEM_FOLDERS:
        yield from ("--symlink", links[path], path) if path in links else ("--ro-bind-try", path, path)
    for path in SYSTEM_FILES:
        yield from ("--ro-bind-try", path, path)


def read_system_links() -> dict[str, str]:
    """Return the targets of the system's folders that are links."""
    return {path: str(Path(path).readlink()) for path in SYSTEM_FOLDERS if Path(path).is_symlink()}


def find_exposed_files(mounted: Sequence[Path], secret: Iterable[Path]) -> list[Path]:
    """Return which of the secret files and folders a program would see, or parts of them, in the mounted folders."""
    seen = [path.resolve() for path in mounted]
    return [path for path in secret if any(path.resolve().is_relative_to(root) for root in seen)]
