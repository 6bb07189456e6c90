"""Rules for what takes a system over: privilege escalation, persistence, reverse shells."""

from typing import Final

from sophon.security.heuristics.rule import HeuristicRule, Severity
from sophon.security.heuristics.rules.obfuscation import SHELL

_WRITES_FILES: Final = frozenset({"write_file", "copy_file", "move_file", "archive_extract"})

_START_FILES: Final = r"\.(?:bashrc|zshrc|profile|bash_profile|bash_login|zprofile|zshenv|xinitrc)\b"

_GIT_PROGRAMS: Final = (
    r"(?:\bcore\.(?:fsmonitor|pager|editor|sshCommand|gitProxy|askPass)\b|\b(?:diff|interactive|sequence)\."
    r"(?:external|diffFilter|editor)\b|\b(?:filter|diff|merge)\.[\w-]+\.(?:clean|smudge|process|command|textconv|driver)\b"
    r"|\balias\.[\w-]+[\s=]+['\"]?!|\bcredential\.(?:\S+\.)?helper\b|\bgpg\.(?:\w+\.)?program\b|\bprotocol\.ext\.allow\b)"
)
"""Settings of Git that name a program."""


def _rule(name: str, severity: Severity, pattern: str) -> HeuristicRule:
    return HeuristicRule(name, severity, ("command",), pattern)


_PRIVILEGE: Final = (
    _rule("privilege.sudo", "medium", r"(?:^|[;&|(\s])(?:sudo|doas|pkexec)\s+\S|\bsu\s+-(?:\s|$|c)"),
    _rule("privilege.set_user_id", "high", r"\bchmod\s+(?:-\S+\s+)*(?:[ugo]*\+[rwx]*s|[2467][0-7]{3}\b)"),
    _rule("privilege.sudoers", "critical", r"(?:>{1,2}\s*|\btee\s.*)/etc/sudoers"),
    _rule(
        "privilege.container",
        "high",
        r"\b(?:docker|podman)\s+run\s.*(?:--privileged\b|--pid[=\s]host\b|(?:-v|--volume)[=\s]*/:|docker\.sock)|\bnsenter\s",
    ),
    _rule("privilege.capabilities", "high", r"\bsetcap\s+\S*cap_"),
    _rule(
        "privilege.account",
        "high",
        r"\b(?:usermod|gpasswd)\s.*\b(?:sudo|wheel|docker|root)\b|\buseradd\s.*(?:-u\s*0|-o)\b",
    ),
    _rule("privilege.preload", "high", r"\bLD_PRELOAD=|/etc/ld\.so\.preload"),
)

_PERSISTENCE: Final = (
    _rule(
        "persistence.cron",
        "high",
        r"\|\s*crontab\b|\bcrontab\s+(?:-u\s+\S+\s+)?(?:-e\b|[^-\s])|(?:>{1,2}\s*|\btee\s.*|\bcp\s.*)(?:/etc/cron|/var/spool/cron)",
    ),
    _rule("persistence.start_file", "high", rf"(?:>{{1,2}}\s*|\btee\s.*)\S*(?:{_START_FILES}|/etc/profile)"),
    HeuristicRule("persistence.start_file_write", "high", ("path",), rf"(?:^|/){_START_FILES}$", _WRITES_FILES),
    _rule("persistence.ssh_key", "critical", r"(?:>{1,2}\s*|\btee\s.*)\S*authorized_keys\b"),
    _rule(
        "persistence.git_hook",
        "high",
        r"(?:>{1,2}\s*|\b(?:tee|cp|mv|ln|install)\s.*)\S*\.git/hooks/|\bcore\.hooksPath\b",
    ),
    HeuristicRule("persistence.git_hook_write", "high", ("path",), r"(?:^|/)\.git/hooks/", _WRITES_FILES),
    # Git runs programs that its configuration names, also for `git status` and `git diff`.
    _rule(
        "persistence.git_program",
        "high",
        rf"\bgit\s.*{_GIT_PROGRAMS}|(?:>{{1,2}}\s*|\b(?:tee|cp|mv|ln|install)\s.*)\S*(?:\.git/config\b|\.gitconfig\b)",
    ),
    HeuristicRule(
        "persistence.git_config_write",
        "high",
        ("path",),
        r"(?:^|/)(?:\.git/config(?:\.worktree)?|\.git/info/attributes|\.gitconfig)$",
        _WRITES_FILES,
    ),
    _rule(
        "persistence.service",
        "high",
        r"(?:>{1,2}\s*|\b(?:tee|cp|mv|install)\s.*)\S*(?:/etc/systemd/system|\.config/systemd/user|LaunchAgents|LaunchDaemons)"
        r"|\bsystemctl\s+(?:-\S+\s+)*enable\b",
    ),
    _rule("persistence.scheduled", "medium", r"\|\s*at\s+(?:now|\d)|\bat\s+now\s*\+"),
)

_REVERSE_SHELL: Final = (
    _rule("reverse_shell.device", "critical", r"/dev/(?:tcp|udp)/[\w.$-]"),
    _rule(
        "reverse_shell.netcat",
        "critical",
        r"\b(?:nc|ncat|netcat)\s.*\s-\w*[ec]\w*\s+\S*sh\b|\b(?:nc|ncat|netcat)\s+-\w*[ec]\w*\s+\S*sh\b",
    ),
    _rule(
        "reverse_shell.interpreter",
        "critical",
        r"\b(?:python[0-9.]*|perl|ruby|php|node)\s+-\w*[cer]\b.*\b(?:socket|fsockopen|TCPSocket|net\.connect|createConnection)\b"
        r".*(?:dup2|pty|exec|spawn|/bin/\w*sh|subprocess)",
    ),
    _rule("reverse_shell.pipe", "critical", r"\bmk(?:fifo|nod)\s.*\|\s*(?:nc|ncat|netcat|openssl)\s"),
    _rule("reverse_shell.socat", "critical", r"\bsocat\s.*\bexec:"),
    _rule(
        "reverse_shell.download_to_shell",
        "high",
        rf"\b(?:curl|wget)\b.*\|\s*{SHELL}|\b(?:ba|z|da|k)?sh\s+(?:-c\s+)?[\"']?(?:<\(|\$\(|`)\s*(?:curl|wget)\b"
        r"|\b(?:curl|wget)\b.*\|\s*(?:python[0-9.]*|perl|ruby|node)\b",
    ),
    _rule(
        "reverse_shell.download_and_run",
        "high",
        r"\b(?:curl|wget)\b.*(?:&&|;)\s*(?:chmod\s+\S*[x7]|(?:ba)?sh\s+\S|\./\S)",
    ),
    _rule(
        "reverse_shell.tunnel", "medium", r"\bssh\s.*-\w*R\s*\S*\d+:|\bngrok\s+(?:http|tcp)\b|\bcloudflared\s+tunnel\b"
    ),
)

RULES: Final = (*_PRIVILEGE, *_PERSISTENCE, *_REVERSE_SHELL)
