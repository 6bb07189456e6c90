"""What rules find in a reply: false claims, hidden failures, addresses that failed, and five kinds of faults."""

import pytest

from sophon.decisions import reply_faults
from sophon.decisions.action_claim_correction import NOT_DONE, announce
from sophon.decisions.actions_taken import Action
from sophon.decisions.reply_faults import CHECKS, find_fault, list_parts
from sophon.decisions.url_outcome_list import add_url_outcomes, collect_url_outcomes
from tests.tables import table

SENT = Action("mail.send", {}, "done", "sent", has_effects=True)
DENIED = Action("mail.send", {}, "denied", "denied: no", has_effects=True)


@table(
    "claim",
    [
        "I've sent the email to Ada.",
        "I have scheduled a reminder for eight.",
        "Your reminder has been set up.",
        "I saved the report to the file report.md.",
        "He enviado el correo a Ada.",
        "I have started an agent for that.",
        "I have run the script.",
    ],
)
def test_a_claim_of_an_action_that_did_not_run_is_removed(claim: str) -> None:
    found = announce(f"The price is 5. {claim} Anything else?", [])
    assert found.text == "The price is 5. Anything else?"
    assert found.removed == [claim]


def test_a_reply_of_nothing_but_claims_says_that_nothing_was_done() -> None:
    assert announce("I've sent the email.", []).text == NOT_DONE


def test_a_claim_of_an_action_that_ran_stays_and_the_action_is_listed() -> None:
    found = announce("I've sent the email.", [SENT])
    assert found.text == "I've sent the email.\n\nActions:\n- mail.send: done"
    assert found.removed == []


@table(
    "text",
    [
        "Here is a table that I created.",
        "You can send an email yourself.",
        "I could not send the email.",
        "Sent emails: 5",
    ],
)
def test_what_is_no_claim_stays(text: str) -> None:
    assert announce(text, []).text == text


def test_a_hidden_failure_is_added() -> None:
    found = announce("Everything is ready.", [DENIED])
    assert found.text == "Everything is ready.\n\nActions:\n- mail.send: denied (denied: no)"
    assert announce("I could not send it.", [DENIED]).hidden == []
    assert announce("Ready.", [DENIED, SENT]).hidden == []


def test_a_list_of_actions_that_the_model_wrote_is_replaced() -> None:
    assert announce("Done.\n\nActions:\n- mail.send: done\n- files.write: done", []).text == "Done."


def test_each_address_has_its_outcome_if_one_failed() -> None:
    read = Action("http.request", {"url": "https://a.example"}, "done")
    failed = Action("http.request", {"url": "https://b.example"}, "failed", "error: 404")
    assert collect_url_outcomes([read, read]) == {}
    assert add_url_outcomes("Text.", collect_url_outcomes([read, failed])) == (
        "Text.\n\nAddresses:\n- https://a.example: done\n- https://b.example: failed (error: 404)"
    )
    assert add_url_outcomes("Text.", {"https://a.example": read}) == "Text."


LONG = "Cats sleep during most days and hunt at dusk, which many people find charming indeed. " * 4


@pytest.mark.parametrize(
    ("request_text", "reply", "actions", "results", "check"),
    [
        ("Look it up", "I'll check the weather now.", [], [], "incomplete"),
        ("Write code", "```python\nprint(1)", [], [], "incomplete"),
        ("List them", "There are apples, pears and", [], [], "incomplete"),
        ("Just make a plan, don't execute anything", "I did it.", [SENT], [], "planning_mode_violation"),
        ("1. Name a river\n2. Name a mountain", "The river is the Danube.", [], [], "incomplete_multipart"),
        (
            "What is the height of Everest? Which ocean is deepest?",
            "Everest has 8849 m.",
            [],
            [],
            "incomplete_multipart",
        ),
        ("Find it", "See https://made.up/page for it.", [], ["nothing there"], "grounding_fail"),
        ("Is the harbour server up?", "The harbour server is up.", [], ["harbour server: down"], "grounding_fail"),
        ("Please compare current mortgage interest rates offered", LONG, [], [], "drift"),
    ],
)
def test_a_fault_is_found(
    request_text: str,
    reply: str,
    actions: list[Action],
    results: list[str],
    check: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fault = find_fault(request_text, reply, actions, results)
    assert fault is not None
    assert fault.check == check
    monkeypatch.setattr(reply_faults, "CHECKS", [each for each in CHECKS if each != check])
    assert find_fault(request_text, reply, actions, results) is None


@table(
    ("request_text", "reply", "results"),
    [
        ("What is the capital of France?", "Paris.", []),
        ("Look it up", "It will rain tomorrow.", []),
        ("Say hello", "Hello! Let me know what you need.", []),
        ("1. Name a river\n2. Name a mountain", "The river is the Danube, the mountain Everest.", []),
        ("Find it", "See https://a.example/page for it.", ["found https://a.example/page"]),
        ("Is the harbour server up?", "The harbour server is down.", ["harbour server: down"]),
        ("Translate this text into French please now", LONG, []),
        ("What is 2.5 times 3? ", "7.5", []),
        ("Write code", "```python\nprint(1)\n```", []),
    ],
)
def test_a_good_reply_has_no_fault(request_text: str, reply: str, results: list[str]) -> None:
    assert find_fault(request_text, reply, [], results) is None


def test_parts_are_numbered_from_one_or_questions() -> None:
    assert list_parts("1. one\n2. two") == ["one", "two"]
    assert list_parts("2. two\n5. five") == []
    assert list_parts("Is version 1.2 older than 2.0?") == []
