"""Rules for commands that destroy data or stop what protects the system."""

from typing import Final

from sophon.security.heuristics.rule import HeuristicRule, Severity

_DEVICE: Final = r"/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk)"

_ROOTS: Final = r"(?:/\*?|~/?\*?|\$\{?HOME\}?/?\*?|/(?:etc|usr|bin|sbin|boot|lib|lib64|var|home|root|opt|srv)(?:/\*?)?)"


def _rule(name: str, severity: Severity, pattern: str) -> HeuristicRule:
    return HeuristicRule(f"destruction.{name}", severity, ("command",), pattern)


RULES: Final = (
    _rule(
        "delete_root", "critical", rf"\brm\s+(?:-\S+\s+)*(?:-\w*r\w*|--recursive)\s+(?:-\S+\s+)*{_ROOTS}(?:[\s;&|]|$)"
    ),
    _rule("no_preserve_root", "critical", r"\brm\b.*--no-preserve-root\b"),
    _rule("delete_tree", "medium", r"\brm\s+(?:\S+\s+)*(?:-\w*r\w*|--recursive)(?:\s|$)"),
    _rule("overwrite_disk", "critical", rf"\bdd\b.*\bof={_DEVICE}|>{{1,2}}\|?\s*{_DEVICE}"),
    _rule("format_disk", "critical", r"\b(?:mkfs(?:\.\w+)?|mke2fs|wipefs)\s.*/dev/\w"),
    _rule("fork_bomb", "critical", r"[\w:]+\s*\(\)\s*\{[^}]*\|[^}]*&\s*;?\s*\}"),
    _rule("shred", "medium", r"\bshred\s+\S"),
    _rule("open_permissions", "high", r"\bchmod\s+(?:-\S+\s+)*(?:-R|--recursive)\s+(?:0?777|a\+rwx|0?000)\b"),
    _rule("change_owner_of_root", "high", r"\bchown\s+(?:-\S+\s+)*(?:-R|--recursive)\s+\S+\s+/(?:\s|$|etc|usr|var)"),
    _rule("find_and_delete", "medium", r"\bfind\s.*(?:\s-delete\b|-exec(?:dir)?\s+(?:rm|shred)\b)|\bxargs\s.*\brm\b"),
    _rule("drop_database", "high", r"\b(?:drop\s+(?:database|schema|table)|truncate\s+table)\s+\w"),
    _rule(
        "rewrite_history",
        "medium",
        r"\bgit\s+(?:push\s+.*(?:--force\b|-f\b)|reset\s+--hard|clean\s+-\w*f|filter-branch)",
    ),
    _rule("stop_service", "high", r"\bsystemctl\s+(?:-\S+\s+)*(?:stop|disable|mask|kill)\b|\bservice\s+\S+\s+stop\b"),
    _rule("kill_all", "medium", r"\bkillall\s|\bkill\s+-(?:9|KILL)\s+-1\b"),
    _rule(
        "firewall_off",
        "high",
        r"\bip6?tables\s+(?:-\S+\s+)*(?:-F|--flush)\b|\bnft\s+flush\b|\bufw\s+disable\b|\bsetenforce\s+0\b",
    ),
    _rule(
        "erase_traces",
        "high",
        r">\s*/var/log/|\btruncate\s.*/var/log/|\brm\s.*(?:/var/log/|_history\b)|\bhistory\s+-c\b|\bunset\s+HISTFILE\b"
        r"|\bjournalctl\s.*--vacuum",
    ),
)
