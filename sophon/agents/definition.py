"""Agent definition: a file `NAME.md` with YAML front matter in front of the agent's system prompt."""

from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, Literal, TypeAlias

from sophon._python.front_matter import (
    FileProblem,
    FrontMatterFields,
    find_name_problem,
    is_text_list,
    parse_front_matter,
    read_text_file,
)
from sophon._python.lazy_dataclass import dataclass
from sophon.principals import MAIN_AGENT
from sophon.security.linear_patterns import PatternError, compile_linear, make_encodable

SUFFIX: Final = ".md"

MAX_DESCRIPTION_CHARACTERS: Final = 1024
MAX_PROMPT_CHARACTERS: Final = 100_000
MAX_PATTERN_CHARACTERS: Final = 500
MAX_PATTERNS: Final = 64
MAX_ROUNDS: Final = 500
MAX_TIMEOUT_SECONDS: Final = 86_400
MAX_TEMPERATURE: Final = 2.0

AgentMemory: TypeAlias = Literal["owner", "agent", "none"]
"""What an agent keeps in the long-term memory: for all agents of the owner, for itself, or nothing at all."""

_MEMORIES: Final[tuple[AgentMemory, ...]] = ("owner", "agent", "none")
_KEYS: Final = frozenset(
    {
        *("name", "description", "model", "hint", "tools", "skills", "memory", "chain"),
        *("max-rounds", "timeout", "temperature", "channels", "patterns"),
    }
)


@dataclass(frozen=True, slots=True)
class AgentDefinition:
    """A valid agent.

    `tools` are names and globs (`files.*`) of the tools that it may use, of those that whoever runs it may use; None
    for all of these. `hint` prefers a model by a capability as that of a plan's step does, `model` names one. `skills`
    are loaded when it begins. `chain` is the name of the chain that runs it, "" for the caller's. `max_rounds`,
    `timeout_seconds` and `temperature` are None for the settings'. `channels` and `patterns` are whose messages it
    answers itself: channels or chats, and expressions (RE2, case ignored) for the text.
    """

    name: str
    description: str
    path: Path
    prompt: str
    model: str | None = None
    hint: str | None = None
    tools: tuple[str, ...] | None = None
    skills: tuple[str, ...] = ()
    memory: AgentMemory = "owner"
    chain: str = ""
    max_rounds: int | None = None
    timeout_seconds: float | None = None
    temperature: float | None = None
    channels: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()

    def matches(self, text: str) -> bool:
        """Return whether one of the patterns is found in a text."""
        readable = make_encodable(text) if self.patterns else text
        return any(compile_linear(each, ignore_case=True).search(readable) is not None for each in self.patterns)


def read_agent(path: Path) -> tuple[AgentDefinition | None, list[FileProblem]]:
    """Read the agent in a file: (agent, []) or (None, all of its problems). Blocks; raises nothing."""
    problems: list[FileProblem] = []
    text = read_text_file(path, problems)
    return (None, problems) if text is None else parse_agent(text, path)


def parse_agent(text: str, path: Path) -> tuple[AgentDefinition | None, list[FileProblem]]:
    """Parse the text of an agent's file: (agent, []) or (None, all of its problems)."""
    problems: list[FileProblem] = []
    front = parse_front_matter(text, path, problems)
    if front is None:
        return None, problems
    content, lines, prompt = front
    fields = FrontMatterFields(content, lines, path, _KEYS)
    rounds = fields.read_number("max-rounds", 1, MAX_ROUNDS)
    if rounds is not None and rounds != int(rounds):
        fields.note("max-rounds", f"max-rounds {rounds:g} must be a whole number")
    description = fields.read_text(
        "description", MAX_DESCRIPTION_CHARACTERS, required_because="it tells others when to use the agent"
    )
    agent = AgentDefinition(
        name=_read_name(fields),
        description=" ".join(description.split()),
        path=path,
        prompt=prompt.strip(),
        model=fields.read_text("model", 200) or None,
        hint=fields.read_text("hint", 200) or None,
        tools=fields.read_names("tools"),
        skills=fields.read_names("skills") or (),
        memory=_read_memory(fields),
        chain=fields.read_text("chain", 200),
        max_rounds=None if rounds is None else int(rounds),
        timeout_seconds=fields.read_number("timeout", 1, MAX_TIMEOUT_SECONDS),
        temperature=fields.read_number("temperature", 0, MAX_TEMPERATURE),
        channels=fields.read_names("channels") or (),
        patterns=_read_patterns(fields),
    )
    problems += fields.problems
    if not agent.prompt:
        problems.append(FileProblem(path, text.count("\n") + 1, "there is no prompt below the front matter"))
    elif len(agent.prompt) > MAX_PROMPT_CHARACTERS:
        message = f"the prompt has {len(agent.prompt)} characters; at most {MAX_PROMPT_CHARACTERS} are allowed"
        problems.append(FileProblem(path, 0, message))
    return (None, problems) if problems else (agent, [])


def tool_matcher(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    """Return a function that says whether a tool's name is one of the names and globs."""
    names = frozenset(patterns)
    globs = [each for each in patterns if any(mark in each for mark in "*?[")]
    return lambda name: name in names or any(fnmatchcase(name, each) for each in globs)


def _read_name(fields: FrontMatterFields) -> str:
    name, stem = fields.content.get("name"), fields.path.name.removesuffix(SUFFIX)
    if not isinstance(name, str):
        fields.note("name", "a name is missing" if name is None else "the name must be text; put it in quotes")
        return ""
    if (problem := find_name_problem(name)) is not None:
        fields.note("name", problem)
    elif name == MAIN_AGENT:
        fields.note("name", f"the name {MAIN_AGENT!r} is that of the agent without a file")
    elif name != stem:
        fields.note("name", f"the name {name!r} must be that of its file, {stem!r}")
    return name


def _read_memory(fields: FrontMatterFields) -> AgentMemory:
    memory = fields.read_text("memory", 20) or "owner"
    for known in _MEMORIES:
        if memory == known:
            return known
    fields.note("memory", f"memory {memory!r} must be one of {', '.join(_MEMORIES)}")
    return "owner"


def _read_patterns(fields: FrontMatterFields) -> tuple[str, ...]:
    value = fields.content.get("patterns")
    if value is None:
        return ()
    # Not as names: a pattern may hold blanks and commas.
    patterns: object = [value] if isinstance(value, str) else value
    if not is_text_list(patterns) or not all(patterns) or len(patterns) > MAX_PATTERNS:
        fields.note("patterns", f"patterns must be a list of at most {MAX_PATTERNS} expressions")
        return ()
    for each in patterns:
        if len(each) > MAX_PATTERN_CHARACTERS:
            fields.note("patterns", f"a pattern is longer than {MAX_PATTERN_CHARACTERS} characters: {each[:40]!r}...")
            continue
        try:
            compile_linear(each, ignore_case=True)
        except PatternError as error:
            fields.note("patterns", f"a pattern cannot be used: {error}")
    return tuple(patterns)
