"""Claims in the grammars: work that did not happen, and what only looks like a claim of it."""

from sophon.decisions.action_claim_correction import announce, remove_false_claims
from sophon.decisions.actions_taken import Action
from tests.tables import table

WRITTEN = Action("files.write", {}, "done", has_effects=True)


@table(
    ("text", "left"),
    [
        ("Done! Your list is in todo.txt.", "I have not done that: no such action ran."),
        ("Fertig! Deine Liste steht in todo.txt.", "Das habe ich nicht getan: keine solche Aktion ist gelaufen."),
        ("¡Listo! Tu lista está en todo.txt.", "No lo he hecho: no se ejecutó ninguna acción así."),
        (
            "C'est fait ! Ta liste est dans todo.txt.",
            "Je ne l'ai pas fait : aucune action de ce genre n'a été exécutée.",
        ),
    ],
)
def test_a_list_that_was_written_nowhere_is_in_no_file(text: str, left: str) -> None:
    assert announce(text, []).text == left
    assert announce(text, [WRITTEN]).removed == []


@table(
    "text",
    [
        "If the file has been created, open it.",
        "The report was written by Ada in 2019.",
        "I've shortened the text below.",
        "Soll ich die Datei speichern?",
        "Die Datei ist noch nicht gespeichert.",
        "No he borrado el archivo.",
        "Rien n'a été envoyé.",
        'She said "I have deleted the file".',
        "```\nDone. The file has been saved.\n```",
        "The text is always first, and what was stored is an entry like every other.",
    ],
)
def test_what_claims_no_work_stays(text: str) -> None:
    assert remove_false_claims(text, []) == (text, [])


def test_a_state_may_rest_on_an_earlier_turn_and_an_action_may_not() -> None:
    state, action = "Your list is saved in todo.txt.", "I've saved the list to todo.txt."
    assert remove_false_claims(state, [], ["files.write"]) == (state, [])
    assert remove_false_claims(action, [], ["files.write"]) == ("", [action])


@table(
    ("tool", "is_true"),
    [("mail.send", False), ("memory.graph", False), ("system.execute", True), ("order_pizza", True)],
)
def test_the_work_must_be_of_the_claimed_kind(tool: str, is_true: bool) -> None:
    text = "I've saved the notes to meeting.md."
    assert (remove_false_claims(text, [Action(tool, {}, "done")])[0] == text) is is_true


def test_a_call_that_failed_is_no_work() -> None:
    text = "I've saved the notes to meeting.md."
    assert remove_false_claims(text, [Action("files.write", {}, "failed")])[1] == [text]


def test_a_promise_of_a_reminder_needs_a_schedule() -> None:
    text = "Okay, I'll remind you tomorrow at 9."
    assert remove_false_claims(text, [])[1] == [text]
    assert remove_false_claims(text, [Action("schedules.add", {}, "done")])[1] == []
