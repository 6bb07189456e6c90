"""Catalogue of the agents: the definitions in a folder, read anew when one of its files has changed."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from sophon._python.front_matter import FileProblem
from sophon._python.lazy_dataclass import dataclass
from sophon.agents.definition import SUFFIX, AgentDefinition, read_agent

MAX_AGENTS: Final = 200
"""Files that are read; further ones are named as a problem."""


@dataclass(frozen=True, slots=True)
class AgentSet:
    """The agents of one moment by name, in alphabetical order, and the problems of those that cannot be used."""

    agents: Mapping[str, AgentDefinition]
    problems: Sequence[FileProblem] = ()


EMPTY: Final = AgentSet({})

WORKER: Final = AgentDefinition(
    name="worker",
    description="Works on one task on its own, with the tools of its caller, and returns the result.",
    path=Path("worker.md"),
    prompt=(
        "You work on one task that another agent gives you. Nobody answers questions: decide yourself what the task "
        "leaves open, and say what you assumed. Use tools until the task is done or cannot be done. Answer with the "
        "result alone: what was found or made, where it is, and what is missing."
    ),
)
"""The agent of `Agents.Worker`, which has no file."""


class AgentCatalog:
    """The agents in a folder. A file with a problem is left out and named; the others are used.

    `read` blocks, and costs a system call per file while nothing has changed: of a file that has changed alone the
    text is read. A catalogue may be shared by threads. Without a folder it has no files; with `has_worker` it has the
    agent `worker`, unless a file has that name.
    """

    def __init__(self, folder: Path | None, *, has_worker: bool = False) -> None:
        self.folder, self._has_worker = folder, has_worker
        self._read: dict[Path, tuple[object, AgentDefinition | None, Sequence[FileProblem]]] = {}
        self._fingerprint: object = None
        self._current = EMPTY

    @property
    def current(self) -> AgentSet:
        """What the last `read` has found."""
        return self._current

    def read(self) -> AgentSet:
        """Return the agents, read anew if the folder or a file has changed."""
        stamps = dict(self._list_stamps())
        if stamps != self._fingerprint:
            self._current = self._read_all(stamps)
            self._fingerprint = stamps
        return self._current

    def _list_stamps(self) -> Iterator[tuple[Path, object]]:
        for path in () if self.folder is None else list_agent_files(self.folder):
            try:
                status = path.stat()
            except OSError:
                yield path, None
            else:
                yield path, (status.st_mtime_ns, status.st_size, status.st_ino)

    def _read_all(self, stamps: Mapping[Path, object]) -> AgentSet:
        known, self._read = self._read, {}
        problems: list[FileProblem] = []
        agents: dict[str, AgentDefinition] = {}
        for number, (path, stamp) in enumerate(stamps.items()):
            if number == MAX_AGENTS:
                problems.append(FileProblem(path, 0, f"it is not read: there are more than {MAX_AGENTS} agents"))
                break
            entry = known.get(path)
            if entry is None or entry[0] != stamp:
                entry = (stamp, *read_agent(path))
            self._read[path] = entry
            _, agent, its_problems = entry
            problems += its_problems
            if agent is not None:
                agents[agent.name] = agent
        if self._has_worker and WORKER.name not in agents:
            agents = dict(sorted({**agents, WORKER.name: WORKER}.items()))
        return AgentSet(agents, tuple(problems))


def list_agent_files(folder: Path) -> list[Path]:
    """Return the files of agents in a folder by name; none if it is not there. Blocks."""
    try:
        return sorted(each for each in folder.iterdir() if each.suffix == SUFFIX and not each.name.startswith("."))
    except OSError:
        return []
