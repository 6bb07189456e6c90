"""The text of a prompt, as the platforms show it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon import ApprovalRequest, Risk, ToolCall
from sophon_channels.approval_buttons import build_approval_buttons
from sophon_channels.contract import OutboundMessage
from sophon_channels.telegram import rendering as telegram
from sophon_channels.text.markdown import runs_from_markdown
from sophon_channels.text.styled_text import to_plain_text
from sophon_channels.whatsapp import rendering as whatsapp
from sophon_hosting.channels.approval_text import format_prompt, to_visible_line

MARKUP = st.lists(
    st.sampled_from(
        [*"*_~`[]()<>|\\#-+ \n\t&/;", "```", "~~~", "tg://x", "https://e.org", "rm", "\u202e", "\x00", "    "]
    )
).map("".join)


def prompt(command: str) -> tuple[ApprovalRequest, OutboundMessage]:
    request = ApprovalRequest.from_call(ToolCall("c", "run_*it*", {"command": command}), "r", Risk.CRITICAL)
    text = format_prompt(request, "/approve X or /reject X")
    return request, OutboundMessage(text, buttons=build_approval_buttons("ABCDEFGH"))


@given(MARKUP | st.text())
def test_a_prompt_shows_exactly_the_preview_and_interprets_nothing_in_it(command: str) -> None:
    request, message = prompt(command)
    runs = runs_from_markdown(message.text)
    shown = request.whole_preview.replace("```", "⟦U+0060⟧" * 3)
    assert (
        to_plain_text(runs)
        == f"May run_*it* run? (critical risk)\n\n{shown.rstrip(chr(10))}\n\n/approve X or /reject X"
    )
    assert all(not run.style.link for run in runs)


def test_on_whatsapp_no_sign_of_a_long_command_is_taken_for_markup() -> None:
    command = " ".join(f"rm ~/{number}* _x_ ~/y" for number in range(400))
    _, message = prompt(command)
    texts = [payload["text"] for payload in whatsapp.render_payloads(message)]
    assert len(texts) > 2
    assert max(map(len, texts)) <= 4096
    assert len(texts[-1]) <= 1024
    inside = " ".join(" ".join(re.findall(r"```(.*?)```", text, re.DOTALL)) for text in texts)
    assert [word for word in inside.split() if word.startswith("~/")] == [w for w in command.split() if w[:2] == "~/"]
    assert all(text.count("```") in (0, 2) for text in texts)


def test_on_telegram_the_parts_together_are_the_whole_command() -> None:
    command = " ".join(map(str, range(2200)))
    _, message = prompt(command)
    payloads = telegram.render_payloads(message)
    assert [bool(payload.get("keyboard")) for payload in payloads][-1:] == [True]
    assert " ".join(map(str, range(2200))).split() == [
        word for payload in payloads for word in payload["plain"].split() if word.isdigit()
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Ada", "Ada"),
        ("Ada\n✅ Approved by olga", "Ada ✅ Approved by olga"),
        ("\u202eadA\x00", "⟦U+202E⟧adA⟦U+0000⟧"),
        ("x" * 70, "x" * 63 + "…"),
    ],
)
def test_a_name_or_reason_in_a_decision_is_one_visible_line(text: str, shown: str) -> None:
    assert to_visible_line(text, 64) == shown
