"""The rules of the heuristics, each against its cases."""

from sophon.security.heuristics import Finding, HeuristicRule, evaluate_heuristics
from sophon.security.heuristics.rule import combine_matches
from sophon.security.heuristics.rules import RULES
from tests.sophon.security.heuristics.cases import CASES
from tests.tables import table

BY_ID = {rule.id: rule for rule in RULES}


def find(rule: HeuristicRule, text: str) -> Finding:
    """Evaluate an action that has the text where the rule looks."""
    if "command" in rule.scopes and not text.startswith(("/", "http")):
        return evaluate_heuristics("execute_command", {"command": text})
    if "url" in rule.scopes and text.startswith("http"):
        return evaluate_heuristics("browser_navigate", {"url": text})
    if "path" in rule.scopes:
        action_type = next(iter(rule.action_types)) if rule.action_types else "read_file"
        return evaluate_heuristics(action_type, {"path": text})
    if "command" in rule.scopes:
        return evaluate_heuristics("execute_command", {"command": text})
    return evaluate_heuristics("send_message", {"parts": [{"text": text}]})


def test_every_rule_has_texts_that_must_and_texts_that_must_not_match() -> None:
    assert set(CASES) == set(BY_ID)
    assert all(matching and other for matching, other in CASES.values())
    assert len(BY_ID) == len(RULES) >= 79


@table(("name", "text"), [(name, text) for name, (texts, _) in CASES.items() for text in texts])
def test_an_attack_is_found(name: str, text: str) -> None:
    if name == "credentials.password_hashes" and "''" in text:
        text = f"cat {text}"
    finding = find(BY_ID[name], text)

    assert name in finding.rules
    assert finding.severity == ("block" if BY_ID[name].severity == "critical" else finding.severity)


@table(("name", "text"), [(name, text) for name, (_, texts) in CASES.items() for text in texts])
def test_a_text_near_an_attack_is_not_found(name: str, text: str) -> None:
    assert name not in find(BY_ID[name], text).rules


def test_the_strictest_rule_gives_verdict_and_confidence() -> None:
    finding = combine_matches(BY_ID[name] for name in ("privilege.sudo", "staging.archive", "destruction.fork_bomb"))

    assert finding == Finding("block", 0.95, ("destruction.fork_bomb", "staging.archive", "privilege.sudo"))
    assert combine_matches([BY_ID["staging.archive"], BY_ID["privilege.sudo"]]).confidence == 0.85
    assert combine_matches([BY_ID["privilege.sudo"]]) == Finding("escalate", 0.7, ("privilege.sudo",))
    assert combine_matches([]) == Finding("allow", 0.5, ())
