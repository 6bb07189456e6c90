"""Web intents: fetch a URL in the clause, or send a request with a body to it."""

import re

from sophon.models.offline.intent import CallResult, Intent, IntentInput, PlannedCall
from sophon.models.offline.language.english import strip_quotes
from sophon.models.offline.tool_results import format_block
from sophon.tools.tool import Risk

_URL = re.compile(r"https?://[^\s<>\"'`]+", re.IGNORECASE)
_VERB = re.compile(
    r"(?:fetch|visit|download|get|open|request|call|go to|check|load|read|look at|browse)\b", re.IGNORECASE
)
_HOST = re.compile(
    r"[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,6}\.(?:com|org|net|io|dev|edu|gov|info|de|uk|eu)(?:/\S*)?"
)
_METHOD = re.compile(r"\b(POST|PUT|DELETE|PATCH)\b")
_HEAD = re.compile(r"\bHEAD\b")
_SEND = re.compile(r"(?P<verb>post|put|patch) (?P<body>.+) (?:to|at|on) https?://", re.IGNORECASE | re.DOTALL)
_BODY = re.compile(
    r"\b(?:with|body|data|containing)(?: the)?(?: body| data| text)?:? (?P<body>.+)", re.IGNORECASE | re.DOTALL
)


def _match_fetch(intent_input: IntentInput) -> PlannedCall | None:
    url = extract_url(intent_input.clause)
    if url is None:
        return None
    return PlannedCall(
        "http.request", {"url": url, "method": "HEAD"} if _HEAD.search(intent_input.clause) else {"url": url}
    )


def _match_send(intent_input: IntentInput) -> PlannedCall | None:
    url = extract_url(intent_input.clause)
    if url is None:
        return None
    sends, method = _SEND.match(intent_input.clause), _METHOD.search(intent_input.clause)
    if method is not None:
        body = _BODY.search(intent_input.clause, intent_input.clause.find(url) + len(url))
        return _send_call(url, method[1], body["body"] if body else "")
    return _send_call(url, sends["verb"].upper(), sends["body"]) if sends is not None else None


def _send_call(url: str, method: str, body: str) -> PlannedCall:
    arguments = {"url": url, "method": method}
    return PlannedCall("http.send", arguments | {"body": strip_quotes(body)} if body else arguments)


def extract_url(clause: str) -> str | None:
    """Return the address in a clause, or behind a verb the name of a host, as a URL; None without one."""
    found = _URL.search(clause)
    if found is not None:
        return found[0].rstrip(".,;:!?)]")
    if not _VERB.match(clause):
        return None
    hosts = (word.strip(".,;:!?()\"'`") for word in clause.split())
    return next((f"https://{host}" for host in hosts if _HOST.fullmatch(host)), None)


def _describe_result(result: CallResult) -> str:
    return f"{_url_of(result.call)} answered:\n{format_block(result.text)}"


def _url_of(call: PlannedCall) -> str:
    return str(call.arguments.get("url", "the address"))


FETCH = Intent(
    tool="http.request",
    group="web",
    match_clause=_match_fetch,
    describe_result=_describe_result,
    describe_call=lambda call: f"fetch {_url_of(call)}",
    risk=Risk.LOW,
)
SEND = Intent(
    tool="http.send",
    group="web",
    match_clause=_match_send,
    describe_result=_describe_result,
    describe_call=lambda call: f"send something to {_url_of(call)}",
    risk=Risk.HIGH,
)
