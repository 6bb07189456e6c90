"""Rules for data that leaves the host, and for data that is gathered to leave it."""

from typing import Final

from sophon.security.heuristics.rule import HeuristicRule, Scope, Severity

_SENSITIVE: Final = (
    r"(?:\.ssh\b|\.aws\b|\.gnupg\b|\.kube\b|\.env\b|/etc/(?:passwd|shadow)|id_rsa|credentials|\.pem\b|\.key\b)"
)


def _rule(name: str, severity: Severity, pattern: str, *scopes: Scope) -> HeuristicRule:
    return HeuristicRule(name, severity, scopes or ("command",), pattern)


RULES: Final = (
    _rule(
        "exfiltration.upload_file",
        "high",
        r"\bcurl\b.*\s(?:-d\s*@|-F\s*\S*=@|-T\s*\S|--data(?:-binary|-raw|-urlencode)?[=\s]\S*@|--form[=\s]\S*=@|--upload-file\b)"
        r"|\bcurl\b.*\s-d\s*[\"']@|\bwget\b.*--(?:post|body)-file",
    ),
    _rule(
        "exfiltration.computed_request",
        "critical",
        r"\b(?:curl|wget|nslookup|dig|host|ping)\b.*(?:\$\(|`)\s*(?:cat|base64|env|printenv|head|tail|tar|gpg|xxd)\b",
    ),
    _rule(
        "exfiltration.pipe_to_network",
        "high",
        r"\|\s*(?:\S*/)?(?:nc|ncat|netcat|socat|telnet)\s|\|\s*curl\b.*(?:\s-d\s*@-|-T\s*-|--data\S*[=\s]@-|=@-)",
    ),
    _rule("exfiltration.dns", "high", r"\b(?:dig|nslookup|host|drill|ping)\s.*(?:\$\(|`|\$\{?\w+\}?\.)"),
    _rule("exfiltration.copy_to_host", "medium", r"\b(?:scp|rsync|sftp|rclone)\s.*\s[\w.-]+(?:@[\w.-]+)?:\S*"),
    _rule(
        "exfiltration.secret_in_url",
        "high",
        r"[?&#/=.:](?:sk-[\w-]{16}|gh[pousr]_\w{20}|AKIA[0-9A-Z]{16}|xox[abprs]-[\w-]{10}|AIza[\w-]{30}|"
        r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.)",
        "url",
        "command",
    ),
    _rule(
        "exfiltration.data_in_url",
        "medium",
        r"://[^\s]*[?&](?:data|d|q|payload|content|body|dump|leak|exfil|c|x)=[A-Za-z0-9+/_-]{80}",
        "url",
        "command",
    ),
    _rule(
        "exfiltration.data_in_host_name",
        "medium",
        r"://(?:[^/?#@\s]*\.)?[a-z0-9_-]{45,63}\.[^/?#\s]+\.\w",
        "url",
        "command",
    ),
    _rule(
        "exfiltration.capture_host",
        "high",
        r"\b(?:webhook\.site|requestbin\.\w+|\w+\.ngrok(?:-free)?\.(?:io|app)|interact\.sh|oast\.(?:fun|pro|live|me|"
        r"site|online)|burpcollaborator\.net|pipedream\.net|beeceptor\.com)\b",
        "url",
        "command",
    ),
    _rule(
        "exfiltration.paste_host",
        "medium",
        r"\b(?:transfer\.sh|0x0\.st|file\.io|termbin\.com|ix\.io|paste\.ee|pastebin\.com/api)\b",
        "url",
        "command",
    ),
    _rule("exfiltration.image", "medium", r"!\[[^\]]*\]\(https?://[^)\s]*[?&][^)\s=]*=[^)\s]{24}", "text"),
    _rule("staging.archive", "high", rf"\b(?:tar|zip|7z|rar|cpio)\s.*{_SENSITIVE}"),
    _rule(
        "staging.copy", "high", rf"\b(?:cp|mv|install|ln)\s.*{_SENSITIVE}.*\s(?:/tmp|/dev/shm|/var/tmp|/var/www|/srv)\b"
    ),
    _rule("staging.web_root", "medium", r"\b(?:cp|mv|tee|ln|install)\s.*(?:/var/www/|/public_html\b|/srv/http/)"),
    _rule("staging.split", "medium", rf"\b(?:split|fold)\s.*{_SENSITIVE}"),
    _rule("staging.serve_folder", "medium", r"\bpython[0-9.]*\s+-m\s+http\.server\b|\bphp\s+-S\s|\bruby\s+-run\b"),
    _rule("staging.encode", "high", rf"\b(?:base64|xxd|openssl\s+enc)\s.*{_SENSITIVE}"),
)
