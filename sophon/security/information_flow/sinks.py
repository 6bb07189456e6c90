"""Sinks of tool calls: where the data in a call's arguments would go, by its action type and arguments."""

import posixpath
import re
from collections.abc import Mapping
from typing import Any, Final

from sophon.risk import Risk
from sophon.security.assessed_arguments import find_objects, has_command
from sophon.security.file_access import read_command_text
from sophon.security.heuristics.payload_texts import TooManyValues, find_texts
from sophon.security.information_flow.flow_decision import Sink
from sophon.security.linear_patterns import make_encodable

_SINKS_BY_ACTION: Final[Mapping[str, tuple[Sink, ...]]] = {
    **dict.fromkeys(
        (
            *("http_request", "send_message", "send_email", "browser_click", "browser_type", "git_push", "open"),
            *("create_event", "update_event", "generate_image", "edit_image", "generate_video"),
        ),
        ("external",),
    ),
    # An agent, and what is scheduled, read their text later; a schedule of the host in the session it was made in.
    **dict.fromkeys(
        ("memory_write", "create_schedule", "schedules.add", "create_agent", "agent_message"),
        ("memory",),
    ),
    **dict.fromkeys(
        (
            *("write_file", "delete_file", "move_file", "copy_file", "create_directory", "copy_directory"),
            *("move_directory", "delete_directory", "archive_create", "archive_extract", "spreadsheet_write"),
            *("clipboard_write", "canvas_create", "canvas_update", "canvas_project", "git_commit", "git_branch"),
            *("git_checkout", "email_move", "email_mark", "delete_event", "delete_schedule", "delete_agent"),
            *("schedules.remove", "schedules.pause", "schedules.resume"),
        ),
        ("workspace_write",),
    ),
    **dict.fromkeys(
        (
            *("read_file", "list_directory", "search_files", "grep_files", "pdf_read", "spreadsheet_read"),
            *("system_info", "screenshot", "clipboard_read", "email_list", "email_read", "email_search"),
            *("read_calendar", "list_schedules", "git_status", "git_diff", "git_log", "memory_search", "notify"),
            *("agent_status", "agent_result", "list_agents", "browser_extract", "browser_screenshot", "git_pull"),
        ),
        ("workspace_read",),
    ),
}

READING_TYPES: Final = frozenset(
    {"browser_navigate", *(name for name, sinks in _SINKS_BY_ACTION.items() if sinks == ("workspace_read",))}
)
"""Action types that only read."""

LINK_ACTIONS: Final = frozenset({"browser_navigate", "git_clone"})
"""Actions that send nothing but the address that they open."""

_OWN_CHAT: Final = frozenset({"chat.send_file"})
"""Tools that answer in the chat of the turn: who is in it reads the reply too."""

OWN_TURN: Final = frozenset({"agents.run"})
"""Tools that run a part of the turn: it shares the taint of the turn, and each of its own calls is judged."""

_SENDER: Final = re.compile(
    r"(?:^|[._-])(?:send|post|publish|upload|share|mail|email|e-mail|sms|tweet|toot|webhook|notify|fetch|download|http|"
    r"browse|push|submit|pay|transfer|order|book|invite|reply|forward|dm|message)(?:$|[._-])",
    re.IGNORECASE,
)
"""Names of tools of one's own that send their arguments somewhere."""

MAX_COMMANDS: Final = 20
"""Commands in one call that are parsed; more of them may do anything."""

_DESTINATIONS: Final = frozenset(
    {
        *("url", "uri", "to", "recipient", "recipients", "cc", "bcc", "webhook", "email", "link", "href", "endpoint"),
        *("host", "hostname", "domain", "site", "website", "remote", "phone"),
    }
)
"""Names that name a destination, of an argument or of what is nested in one."""

_ADDRESS: Final = re.compile(r"\s*(?:(?!file:)[a-z][a-z0-9+.-]{1,15}://|//|www\.|mailto:)\S+\s*", re.IGNORECASE)
"""A text that is an address of the network as a whole, whatever its argument is called."""


def find_sinks(
    tool_name: str, action_type: str, arguments: Mapping[str, Any], *, is_external: bool, risk: Risk
) -> tuple[Sink, ...]:
    """Return the sinks of a call. `is_external` and `risk` are those of its tool, and `action_type` is "" if these
    contradict its name.

    A tool whose action type is not known runs what its arguments have as a command, and sends its arguments away if its
    results come from outside, if its risk is Medium or above, if its name says so or that of an argument, at any depth,
    or if one is an address; otherwise it only reads.
    """
    if action_type in OWN_TURN or (action_type and tool_name in _OWN_CHAT):
        return ()
    if action_type == "execute_command":
        return _find_command_sinks(arguments)
    if action_type in LINK_ACTIONS:
        return ("external",)
    known = _SINKS_BY_ACTION.get(action_type)
    if known is not None:
        # A built-in tool has a name of its own; one that is called like an action may open whatever address it gets.
        opens = tool_name == action_type and "external" not in known and _has_address(arguments)
        return (*known, "external") if opens else known
    sends = is_external or risk >= Risk.MEDIUM or _SENDER.search(tool_name) or _names_destination(arguments)
    commands = [each for each in find_objects(arguments) if has_command(each)]
    if not commands:
        return ("external",) if sends or _has_address(arguments) else ("workspace_read",)
    if sends or len(commands) > MAX_COMMANDS or any(map(may_use_network, commands)):
        return ("exec", "external")
    return ("exec",)


def _find_command_sinks(arguments: Mapping[str, Any]) -> tuple[Sink, ...]:
    return ("exec", "external") if may_use_network(arguments) else ("exec",)


def _names_destination(arguments: Mapping[str, Any]) -> bool:
    return any(str(name).casefold() in _DESTINATIONS for each in find_objects(arguments) for name in each)


def _has_address(arguments: Mapping[str, Any]) -> bool:
    try:
        return any(map(_ADDRESS.fullmatch, find_texts(arguments)))
    except TooManyValues:
        return True


_NETWORK_PROGRAMS: Final = frozenset(
    {
        *("curl", "wget", "http", "https", "xh", "aria2c", "axel", "lynx", "links", "w3m", "elinks", "ftp"),
        *("sftp", "tftp", "lftp", "scp", "rsync", "ssh", "mosh", "telnet", "nc", "ncat", "netcat", "socat"),
        *("openssl", "ping", "ping6", "traceroute", "tracepath", "mtr", "dig", "nslookup", "host", "drill"),
        *("whois", "getent", "resolvectl", "sendmail", "mail", "mailx", "mutt", "msmtp", "swaks", "git", "gh"),
        *("glab", "hub", "svn", "hg", "rclone", "aws", "gcloud", "gsutil", "az", "kubectl", "docker", "podman"),
        *("helm", "terraform", "npm", "npx", "yarn", "pnpm", "pip", "pip3", "uv", "pipx", "gem", "cargo", "go"),
        *("apt", "apt-get", "dnf", "yum", "apk", "brew", "snap", "flatpak", "systemd-resolve", "nmap", "nmcli"),
        *("arp", "smbclient", "mount", "xdg-open", "open", "start", "firefox", "chromium", "google-chrome"),
    }
)
_LOCAL_GIT: Final = frozenset(
    {
        *("status", "diff", "log", "show", "branch", "tag", "rev-parse", "describe", "blame", "shortlog"),
        *("ls-files", "ls-tree", "cat-file", "add", "commit", "checkout", "switch", "restore", "merge"),
        *("rebase", "stash", "reset", "rm", "mv", "init", "config", "grep"),
    }
)
_INTERPRETERS: Final = re.compile(
    r"(?:ba|z|da|k)?sh|python[\d.]*|node|nodejs|deno|bun|perl|ruby|php|lua|g?awk|env|xargs|sudo|doas|eval|exec|source|"
    r"\.|nohup|timeout|busybox|parallel|watch"
)
_NETWORK_TEXT: Final = re.compile(
    r"://|/dev/(?:tcp|udp)/|\b(?:socket|urllib|requests|httpx|aiohttp|http\.client|smtplib|ftplib|fetch\(|XMLHttp|"
    r"Net::|IO::Socket|LWP|inet_|gethostby|getaddrinfo|curl|wget|nslookup|dig|ncat|netcat|nc|ssh|scp|rsync|telnet)\b",
    re.IGNORECASE,
)


def may_use_network(arguments: Mapping[str, Any]) -> bool:
    """Return whether a shell command may send data out: it names a program or code that does, or cannot be read.

    A program of one's own, and a script in a file, may send without being recognised; every command is asked about.
    """
    from sophon.security.commands.syntax import SyntaxProblem, find_commands  # lazy: few processes need the grammar

    command = read_command_text(arguments)
    if not command:
        return True
    text = make_encodable(command)
    if _NETWORK_TEXT.search(text):
        return True
    try:
        commands = find_commands(text)
    except (SyntaxProblem, RecursionError):
        return True
    return any(_sends(each.name, [word.text for word in each.arguments]) for each in commands if each.words)


def _sends(name: str | None, arguments: list[str]) -> bool:
    if name is None:  # the shell computes the name of the program
        return True
    program = posixpath.basename(name)
    if program == "git":
        return next((each for each in arguments if not each.startswith("-")), "status") not in _LOCAL_GIT
    if program in _NETWORK_PROGRAMS:
        return True
    # Code in a word, decoded or not, has been searched for what sends; a word that names a program has not.
    return _INTERPRETERS.fullmatch(program) is not None and any(
        posixpath.basename(word) in _NETWORK_PROGRAMS for each in arguments for word in each.split()
    )
