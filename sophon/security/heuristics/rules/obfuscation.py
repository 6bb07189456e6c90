"""Rules for what hides a command or a text: encodings piped to a shell, invisible and look-alike characters."""

from typing import Final

from sophon.security.heuristics.rule import HeuristicRule, Severity

SHELL: Final = r"(?:sudo\s+)?(?:\S*/)?(?:ba|z|da|k)?sh\b"
"""Shell that reads its standard input."""


def _command(name: str, severity: Severity, pattern: str) -> HeuristicRule:
    return HeuristicRule(f"obfuscation.{name}", severity, ("command",), pattern)


def _raw(name: str, severity: Severity, pattern: str) -> HeuristicRule:
    return HeuristicRule(f"obfuscation.{name}", severity, ("raw",), pattern)


RULES: Final = (
    _raw("zero_width", "medium", r"[a-z][\x{200B}-\x{200D}\x{2060}\x{FEFF}\x{180E}]+[a-z]"),
    _raw("bidi_override", "high", r"[\x{202D}\x{202E}]"),
    _raw("tag_characters", "high", r"[\x{E0020}-\x{E007E}]{8}"),
    _raw("variation_selectors", "medium", r"[\x{FE00}-\x{FE0F}\x{E0100}-\x{E01EF}]{4}"),
    _raw("look_alike_letters", "medium", r"[a-z]\p{Cyrillic}|\p{Cyrillic}[a-z]"),
    HeuristicRule(
        "obfuscation.encoded_path",
        "high",
        ("path",),
        r"(?:\\x[0-9a-f]{2}){3}|(?:%[0-9a-f]{2}){4}|%2e%2e(?:%2f|/)|\.\.%2f|%00",
    ),
    _command("base64_to_shell", "critical", rf"\bbase(?:64|32)\s+(?:-\S+\s+)*(?:-d|--decode)\b.*\|\s*{SHELL}"),
    _command("hex_to_shell", "critical", rf"\bxxd\s+(?:-\S+\s+)*-\w*r\w*\b.*\|\s*{SHELL}"),
    _command(
        "escapes_to_shell",
        "critical",
        rf"\b(?:printf|echo)\b.*\\(?:x[0-9a-f]{{2}}|0?[0-7]{{3}}).*\|\s*{SHELL}",
    ),
    _command("openssl_to_shell", "critical", rf"\bopenssl\s+(?:enc|base64)\b.*\s-d\b.*\|\s*{SHELL}"),
    _command("letters_to_shell", "high", rf"\b(?:rev|tr\s+\S+\s+\S+)\s*\|\s*{SHELL}"),
    _command("eval_decoded", "high", r"\beval\b.*\b(?:base64|base32|xxd|printf|rev|openssl)\b"),
    _command(
        "interpreter_decodes",
        "high",
        r"\b(?:python[0-9.]*|perl|ruby|node|php)\s+-[cer]\b.*(?:b64decode|base64|fromhex|unhexlify|pack\s*\(|"
        r"fromCharCode|atob|decode64)",
    ),
    _command("hidden_program", "high", r"^\x{E000}$"),  # payload_texts.HIDDEN_PROGRAM
    _command("field_separator", "high", r"\$\{?IFS\b"),
    _command("escaped_quoting", "medium", r"\$'[^']*\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|[0-7]{3})"),
    _command("joined_variables", "medium", r"\w=\S{1,12}(?:;|\s)\s*\w+=\S{1,12}[;\s].*\$\{?\w+\}?\$\{?\w"),
)
