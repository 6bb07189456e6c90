"""Built-in tool `chat.ask`: asks the person of the turn a question; offered with `Approval.Questions`."""

from collections.abc import Mapping
from typing import Any

from sophon.errors import ToolError
from sophon.invisible_characters import escape_invisible, render_for_person
from sophon.tools.tool import Risk, tool

MAX_QUESTION_CHARACTERS = 2000
MAX_CHOICES = 10
MAX_CHOICE_CHARACTERS = 200


@tool(
    deferred=True,
    name="chat.ask",
    risk=Risk.NONE,
    group="chat",
    editable=False,
    tags=("ask", "question", "clarify", "choose", "choice", "which", "confirm", "person", "user"),
)
async def chat_ask(question: str, choices: list[str] | None = None) -> str:
    """Ask the person of this conversation a question and wait for the answer. Only for what you cannot find out by
    yourself; never ask for passwords or keys.

    Args:
        question: The question, complete in itself.
        choices: Up to 10 answers to choose from; the person may also write another one.
    """
    raise ToolError("nobody can be asked here: the chain has no Approval")


def find_question_problem(arguments: Mapping[str, Any]) -> str:
    """Return why valid arguments are no question that a person can be asked; "" if they are one. Pure."""
    question, choices = str(arguments["question"]), list_choices(arguments)
    if not question.strip() or len(question) > MAX_QUESTION_CHARACTERS:
        return f"question must have 1 to {MAX_QUESTION_CHARACTERS:,} characters"
    if len(choices) > MAX_CHOICES:
        return f"there are {len(choices)} choices; {MAX_CHOICES} are allowed"
    if any(not choice.strip() or len(choice) > MAX_CHOICE_CHARACTERS for choice in choices):
        return f"each choice must have 1 to {MAX_CHOICE_CHARACTERS} characters"
    return ""


def list_choices(arguments: Mapping[str, Any]) -> list[str]:
    """Return the choices of a question; none for free text only. Pure."""
    return [str(each) for each in arguments.get("choices") or ()]


def choose_answer(arguments: Mapping[str, Any], text: str) -> str:
    """Return the answer that a person typed: the choice of that number, else the text. Pure."""
    text, choices = text.strip(), list_choices(arguments)
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(MAX_CHOICES))
    return choices[int(text) - 1] if is_number and 1 <= int(text) <= len(choices) else text


def render_question(arguments: Mapping[str, Any]) -> str:
    """Return a question as text for a person. Its lines are indented, so none is taken for one of the host. Pure."""
    lines = ["The agent asks:", f"  {render_for_person(str(arguments['question']), indent='  ')}"]
    for number, choice in enumerate(list_choices(arguments), start=1):
        lines.append(f"  {number}. {escape_invisible(' '.join(choice.split()))}")
    return "\n".join(lines)
