"""Rules for access to credentials."""

from typing import Final

from sophon.security.heuristics.rule import HeuristicRule, Scope, Severity


def _rule(name: str, severity: Severity, pattern: str, *scopes: Scope) -> HeuristicRule:
    return HeuristicRule(f"credentials.{name}", severity, scopes or ("command",), pattern)


RULES: Final = (
    _rule(
        "ssh_keys", "high", r"(?:^|[\s/=@'\"])\.ssh/id_|\bid_(?:rsa|dsa|ecdsa|ed25519)(?:[^.\w]|$)", "command", "path"
    ),
    _rule(
        "cloud_accounts",
        "high",
        r"\.aws/(?:credentials|config)\b|\.azure/|\.config/gcloud\b|\.kube/config\b|\.docker/config\.json\b",
        "command",
        "path",
    ),
    _rule("password_hashes", "critical", r"/etc/g?shadow\b", "command", "path"),
    _rule(
        "environment_file",
        "medium",
        r"(?:^|[\s/'\"@=<])\.env(?:\.(?:local|prod|production|dev|staging))?(?:[\s'\";|&)]|$)",
    ),
    _rule(
        "environment_dump",
        "medium",
        r"(?:^|[;&|(]\s*)(?:env|printenv|export\s+-p)\s*(?:$|[|>;)])|/proc/(?:self|\d+)/environ",
    ),
    _rule(
        "metadata_service",
        "critical",
        r"169\.254\.169\.254|metadata\.google\.internal|fd00:ec2::254|100\.100\.100\.200|://0?xa9fea9fe|://2852039166",
        "command",
        "url",
    ),
    _rule(
        "browser_store", "high", r"\bLogin Data\b|\blogins\.json\b|\bkey4\.db\b|\bcookies\.sqlite\b", "command", "path"
    ),
    _rule(
        "key_store",
        "high",
        r"\bsecurity\s+(?:find-(?:generic|internet)-password|dump-keychain)|\bsecret-tool\s+(?:lookup|search)\b"
        r"|\bgpg\s.*--export-secret|\bpass\s+show\b",
    ),
    _rule(
        "search_for_secrets",
        "medium",
        r"\b(?:grep|rg|ag)\s+(?:\S+\s+)*[\"']?[^\s]*(?:password|passwd|secret|api[_-]?key|private key|begin rsa)",
    ),
    _rule("password_file", "high", r"(?:^|[\s/=@'\"~])\.(?:netrc|git-credentials|pgpass|pypirc)\b", "command", "path"),
)
