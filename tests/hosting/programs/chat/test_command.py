"""`sophon chat` as a person uses it, on a machine without network or keys."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


PLANNED = (
    "First write down that my cat is called Ada, then look up what you know about cats, and finally summarise both in "
    "three steps"
)


def test_two_tools_at_once_and_the_right_answer(sophon: Command) -> None:
    done = sophon("chat", "What is 17 * 23, and what day is it today?")
    assert done.code == 0
    assert "calculator (17 * 23) → 391" in done.out
    assert "datetime.now" in done.out
    assert "17 * 23 = 391" in done.out
    assert done.err == ""


def test_the_offline_model_says_once_how_to_have_a_real_one(sophon: Command) -> None:
    first, second = sophon("chat", "2 + 2"), sophon("chat", "2 + 3")
    assert first.out.count("OPENAI_API_KEY") == 1
    assert "OPENAI_API_KEY" not in second.out


def test_a_plan_is_shown_asked_about_once_and_run(process: Command) -> None:
    done = process("chat", PLANNED, lines="what is that?\napprove\n")
    assert done.code == 0
    assert done.out.count("Approval needed") == 1
    assert "Run a plan of 3 steps" in done.out
    assert "not a valid answer" in done.out
    assert "memory.write" in done.out
    assert done.out.count(" done") == 3
    assert "1. I wrote down: your cat is called Ada." in done.out


@pytest.mark.parametrize("lines", ["reject not today\n", ""])
def test_a_refused_command_does_not_run_and_the_answer_says_so(process: Command, lines: str) -> None:
    done = process("chat", "Run the command: echo ran-$((1+1))", lines=lines)
    assert done.code == (0 if lines else 1)  # nobody rejected it where the input had ended
    assert "I did not run the command" in done.out
    assert ("not today" if lines else "the input ended") in done.out
    assert "ran-2" not in done.out


def test_an_approved_command_shows_its_output(process: Command) -> None:
    done = process("chat", "Run the command: echo ran-$((1+1))", lines="approve\n")
    assert "critical risk" in done.out
    assert "command: echo ran-$((1+1))" in done.out
    assert "ran-2" in done.out


def test_what_is_approved_in_advance_is_not_asked_about_in_a_later_run(process: Command) -> None:
    first = process("chat", 'write "milk" to notes/a.txt', lines="approve session\n")
    assert "any file directly in the folder notes" in first.out
    assert "Wrote 4 characters to notes/a.txt" in first.out
    assert "Approval needed" not in process("chat", 'write "tea" to notes/b.txt').out
    assert "Approval needed" in process("chat", 'write "tea" to other/b.txt', lines="reject\n").out


def test_an_edit_that_does_not_fit_is_asked_again(process: Command) -> None:
    answers = 'edit {"cmd": "x"}\nedit {"command": "echo other-$((2+2))"}\n'
    done = process("chat", "Run the command: echo ran-$((1+1))", lines=answers)
    assert "invalid arguments: command: field required" in done.out
    assert "other-4" in done.out
    assert "ran-2" not in done.out


def test_approve_up_to_answers_up_to_that_risk(sophon: Command) -> None:
    done = sophon("chat", "--approve-up-to", "medium", PLANNED)
    assert "Approval needed" not in done.out
    assert "Plan of 3 steps" in done.out
    assert "your cat is called Ada" in done.out
    assert "Approval needed" in sophon("chat", "--approve-up-to", "high", "Run the command: uname -a").out
    assert "ran-2" in sophon("chat", "--approve-up-to", "critical", "Run the command: echo ran-$((1+1))").out


def test_a_session_is_remembered_across_runs(process: Command, sophon: Command) -> None:
    process("chat", "--approve-up-to", "medium", "Remember that my cat is called Ada")
    assert "Ada" in process("chat", "What do you know about cats?").out
    listed = sophon("sessions", "list", "--json").json
    assert [(each["id"], each["messages"]) for each in listed] == [("main", 4)]


def test_a_session_is_chosen_or_new(sophon: Command) -> None:
    sophon("chat", "--session", "work", "2 + 2")
    sophon("chat", "--new", "2 + 3")
    ids = [each["id"] for each in sophon("sessions", "list", "--json").json]
    assert len(ids) == 2
    assert "work" in ids


def test_json_is_an_event_a_line_and_the_response_last(sophon: Command) -> None:
    events = sophon("chat", "--json", "What is 17 * 23?").events
    names = [each["event"] for each in events]
    assert names[0] == "task_started"
    assert {"tool_call_started", "tool_call_completed", "stream_chunk", "task_completed"} <= set(names)
    assert names[-1] == "response"
    assert events[-1]["data"]["finish_reason"] == "stop"
    assert "391" in events[-1]["data"]["text"]


def test_a_chunk_in_json_says_where_it_stands(sophon: Command) -> None:
    for line in ("What is 17 * 23?", "What is 2 + 2, and what day is it today?"):
        chunks = [each["data"] for each in sophon("chat", "--json", line).events if each["event"] == "stream_chunk"]
        assert len(chunks) > 1
        length = 0
        for chunk in chunks:
            assert chunk["offset"] == length
            length += len(chunk["text"])


def test_a_question_in_json_is_answered_by_the_next_line_too(process: Command) -> None:
    done = process("chat", "--json", "Run the command: echo hi", lines="approve\n")
    names = [each["event"] for each in done.events]
    assert names.count("approval_requested") == 1
    assert "approve, reject" in done.err
    assert "hi" in done.events[-1]["data"]["text"]


def test_without_streaming_the_answer_comes_once(sophon: Command) -> None:
    assert sophon("chat", "--no-stream", "What is 17 * 23?").out.count("17 * 23 = 391") == 1


def test_lines_of_a_pipe_are_turns_and_answers(fresh_process: Command) -> None:
    done = fresh_process("chat", lines="2 + 2\n\nRun the command: uname -a\nno\n3 + 3\n")
    assert done.code == 0
    assert [line for line in done.out.splitlines() if line.startswith("> ")] == [
        "> 2 + 2",
        "> Run the command: uname -a",
        "> 3 + 3",
    ]
    assert "3 + 3 = 6" in done.out


def test_commands_of_the_prompt_work_over_a_pipe_and_paths_are_messages(process: Command) -> None:
    done = process("chat", lines="/help\n/new work\n2 + 2\n/session\n/modl\n/etc/hosts what is it\n/quit\n3 + 3\n")
    assert "session work, 2 messages" in done.out
    assert "there is no command '/modl'; did you mean '/model'?" in done.err
    assert "> /etc/hosts what is it\n" in done.out
    assert "offline/offline" in done.out.partition("> /etc/hosts")[2]
    assert "3 + 3" not in done.out


def test_no_line_at_all_plays_the_demonstration(process: Command) -> None:
    done = process("chat", SOPHON__Hub__Prot="1", lines="")
    assert done.code == 0
    assert "this is a demonstration" in done.out
    assert "17 * 23 = 391" in done.out
    assert "✓ step3 done" in done.out
    assert "reject [reason] or edit {...}: reject this is only a demonstration" in done.out
    assert "I did not run the command" in done.out
    assert done.err == ""


def test_the_demonstration_leaves_nothing_behind(process: Command, folder: Path) -> None:
    before = sorted(map(str, folder.iterdir()))
    process("chat")
    assert sorted(map(str, folder.iterdir())) == before


def test_hostile_output_of_a_command_does_not_reach_the_terminal(process: Command) -> None:
    done = process("chat", "Run the command: printf '\\033[31m[bold]red'", lines="approve\n")
    assert "\x1b" not in done.out
    assert "␛[31m[bold]red" in done.out


def test_a_turn_that_ends_without_an_answer_is_no_success(sophon: Command) -> None:
    done = sophon("chat", "--set", "Budget.Providers.*.DailyTokens=1", "What is 17 * 23?")
    assert done.code == 1
    assert "DailyTokens" in done.out + done.err


def test_bytes_that_are_no_text_are_replaced(sophon: Command) -> None:
    done = sophon("chat", "Remember that my cat is called \udcff")
    assert done.code == 0
    assert "\ufffd" in done.out


def test_a_failing_middleware_ends_its_turn_and_not_the_conversation(process: Command, folder: Path) -> None:
    (folder / "own.py").write_text(
        "from sophon_middlewares.chains import twelve\n"
        "from sophon import Pipeline\n"
        "async def fragile(ctx, next):\n"
        "    if 'boom' in ctx.text:\n"
        "        raise KeyError('boom')\n"
        "    await next(ctx)\n"
        "def chain(services):\n"
        "    record, *others = twelve(services)\n"
        "    return Pipeline.compose(record, fragile, *others)\n"
    )
    done = process("chat", "--set", "Chain.Factory=own:chain", lines="boom\n3 + 3\n")
    assert done.code == 1
    assert done.err == "error: unexpected KeyError: 'boom'; run it with --debug for the traceback\n"
    assert "3 + 3 = 6" in done.out


TALKATIVE = """
from sophon.testing import FunctionModel

async def answer(request):
    return "word " * 2000

def build():
    return FunctionModel(answer, name="talkative", stream=True)
"""


@pytest.mark.parametrize("mode", [(), ("--json",)])
def test_a_reply_above_the_limit_is_an_error_that_names_the_setting(
    sophon: Command, folder: Path, mode: tuple[str, ...]
) -> None:
    (folder / "talkative.py").write_text(TALKATIVE)
    settings = {
        "Providers": [{"Id": "talkative", "Type": "python", "Factory": "talkative:build"}],
        "AgentExecution": {"MaxReplyBytes": 2000, "Titles": False},
        "Planning": {"Mode": "Never"},
    }
    (folder / "appsettings.json").write_text(json.dumps({"Sophon": settings}))
    done = sophon("chat", *mode, "tell me everything")
    assert done.code == 1
    assert "AgentExecution.MaxReplyBytes" in done.out + done.err
    assert "Traceback" not in done.out + done.err
    if mode:
        failures = [each["data"]["error"]["code"] for each in done.events if each["event"] == "task_failed"]
        assert failures == ["response_too_large"]
        assert done.events[-1]["data"]["finish_reason"] == "error"


def test_the_last_message_is_answered_again_in_a_branch(process: Command, sophon: Command) -> None:
    done = process("chat", "--session", "s", lines="2 + 2\n3 + 3\n/regenerate\n/session\n/retry nothing/like-it\n")
    assert done.out.count("3 + 3 = 6") == 2
    assert "session s" not in done.out.rpartition("> /session")[2]
    assert "nothing/like-it" in done.err
    transcript = sophon("sessions", "show", "s").out
    assert transcript.count("> 3 + 3") == 1
    empty = process("chat", "--session", "new", lines="/regenerate\n")
    assert empty.code != 0
    assert empty.err.endswith(
        "error: you have written nothing in this session yet, so there is nothing to answer again\n"
    )


def test_a_file_goes_with_the_next_message_only(process: Command, sophon: Command, folder: Path) -> None:
    (folder / "my notes.txt").write_text("reeds")
    done = process("chat", "--session", "s", lines='/attach "my notes.txt"\n/attach\n2 + 2\n3 + 3\n/attach none.txt\n')
    assert done.out.count("attached: my notes.txt, text/plain, 5 bytes") == 2
    assert "none.txt cannot be read" in done.err
    assert sophon("sessions", "show", "s").out.count("file: my notes.txt") == 1
    again = process("chat", "--session", "s", lines="/attach\n/regenerate\n")
    assert "nothing is attached" in again.out


def test_a_skill_is_called_by_its_name_and_listed_by_help(process: Command, folder: Path) -> None:
    for name, header in (("shout", "user-invocable: true\nargument-hint: '[text]'"), ("quiet", "")):
        (folder / "data" / "skills" / name).mkdir(parents=True)
        (folder / "data" / "skills" / name / "SKILL.md").write_text(
            f"---\nname: {name}\ndescription: About {name}.\n{header}\n---\nDo it."
        )
    done = process("chat", "--json", lines="/shout hello\n/quiet\n")
    loaded = [json.loads(line)["data"]["name"] for line in done.out.splitlines() if '"skill_loaded"' in line]
    assert loaded == ["shout"]
    assert "there is no command '/quiet'" in done.err
    shown = process("chat", lines="/help\n").out
    assert "/shout [text]" in shown
    assert "About quiet" not in shown


def test_a_chat_without_a_host_says_what_works_on_goals(sophon: Command) -> None:
    first, second = (sophon("--set", "Chain.Name=wasp", "chat", "hi") for _ in range(2))
    assert "Goals that are made here are worked on while a host runs" in first.out + first.err
    assert "Goals that are made" not in second.out + second.err + sophon("chat", "--new", "hi").out
