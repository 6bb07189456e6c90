"""Ctrl-C and SIGTERM, in a real terminal."""

import signal
from collections.abc import Callable
from typing import Any

SLEEP = "Run the command: sleep 60\n"
QUESTION = "edit {...}: "
Start = Callable[..., Any]
Command = Callable[..., Any]


def kinds(sophon: Command) -> list[str]:
    return [each["kind"] for each in sophon("sessions", "show", "main", "--json").json["records"]]


def test_ctrl_c_stops_the_turn_and_the_second_leaves(terminal: Start, sophon: Command) -> None:
    it = terminal("chat", fresh=True)
    it.wait_for("> ")
    it.type(SLEEP)
    it.wait_for(QUESTION)
    it.type("approve\n")
    it.wait_for("running system.execute")
    it.type("\x03")
    it.wait_for("– stopped")
    it.wait_for("\n> ")
    it.type("What is 17 * 23?\n")
    it.wait_for("17 * 23 = 391")
    it.wait_for("\n> ")
    it.interrupt_the_prompt()
    it.wait_for("Press Ctrl-C again")
    it.wait_for("\n> ")
    it.interrupt_the_prompt()
    assert it.ends() == 130
    assert "cancelled" in kinds(sophon)


def test_ctrl_c_at_a_question_stops_the_turn(terminal: Start) -> None:
    it = terminal()
    it.wait_for("> ")
    it.type(SLEEP)
    it.wait_for(QUESTION)
    it.type("\x03")
    it.wait_for("– stopped")
    it.wait_for("\n> ")
    it.type("/quit\n")
    assert it.ends() == 0


def test_ctrl_d_at_a_question_rejects_and_at_the_prompt_leaves(terminal: Start) -> None:
    it = terminal("chat")
    it.wait_for("> ")
    it.type(SLEEP)
    it.wait_for(QUESTION)
    it.type("\x04")
    it.wait_for("I did not run the command")
    it.wait_for("\n> ")
    it.type("\x04")
    assert it.ends() == 0


def test_a_single_message_that_is_stopped_ends_with_130(terminal: Start, sophon: Command) -> None:
    it = terminal("chat", SLEEP.strip())
    it.wait_for(QUESTION)
    it.type("\x03")
    assert it.ends() == 130
    assert kinds(sophon)[-1] == "cancelled"


def test_sigterm_records_the_turn_as_cancelled_and_ends(terminal: Start, sophon: Command) -> None:
    it = terminal("chat")
    it.wait_for("> ")
    it.type(SLEEP)
    it.wait_for(QUESTION)
    it.process.send_signal(signal.SIGTERM)
    assert it.ends() == 143
    assert kinds(sophon)[-1] == "cancelled"
    assert "Traceback" not in it.shown


def test_an_open_chat_is_calm_in_eighty_columns(terminal: Start) -> None:
    it = terminal("chat")
    it.wait_for("> ")
    it.type("What is 17 * 23, and what day is it today?\n")
    it.wait_for("session main")
    it.wait_for("\n> ")
    it.type("/quit\n")
    it.ends()
    quiet = [line for line in it.shown.splitlines() if "✓" in line]
    assert len(quiet) == 2


def test_a_turn_that_was_killed_is_told_of_at_the_next_start_and_no_other(terminal: Start) -> None:
    it = terminal("chat")
    it.wait_for("> ")
    it.type(SLEEP)
    it.wait_for(QUESTION)
    it.process.kill()
    it.ends()
    it = terminal("chat")
    it.wait_for("session main, 1 message\x1b")
    it.wait_for("The last turn was interrupted before its answer. Send it again, or continue.")
    it.wait_for("> ")
    it.type("What is 17 * 23?\n")
    it.wait_for("17 * 23 = 391")
    it.wait_for("\n> ")
    it.type("/quit\n")
    assert it.ends() == 0
    it = terminal("chat")
    it.wait_for("\n> ")
    assert "interrupted" not in it.shown


def test_a_question_that_nobody_answers_expires_and_says_so(terminal: Start) -> None:
    it = terminal("chat", "--set", "Approval.Timeout=00:00:00.1", "Run the command: ls")
    it.wait_for(QUESTION)
    it.wait_for("the approval expired: nobody decided within 0.1 seconds")
    it.wait_for("I did not run the command")
    assert it.ends() == 0


def test_a_parked_question_is_asked_again(terminal: Start) -> None:
    park = ("--set", "Approval.Timeout=00:00:00.5", "--set", "Approval.OnTimeout=Park")
    it = terminal("chat", *park, "Run the command: echo ran-$((1+1))")
    it.wait_for(QUESTION)
    it.wait_for(QUESTION)
    it.type("approve\n")
    it.wait_for("ran-2")
    assert it.ends() == 0
