"""How a text is cut into clauses."""

from hypothesis import given
from hypothesis import strategies as st

from sophon.models.offline.language.clauses import MAX_CLAUSES, split_clauses
from tests.tables import table


@table(
    ("text", "clauses"),
    [
        ("What is 17 * 23, and what day is it today?", ["What is 17 * 23", "what day is it today?"]),
        ("First do a, then do b, and finally do c", ["do a", "do b", "do c"]),
        ("1. read a.txt 2. read b.txt", ["read a.txt", "read b.txt"]),
        ("Do this:\n- read a.txt\n- list the files", ["read a.txt", "list the files"]),
        ("Run the command: ls; pwd && echo hi. Ok", ["Run the command: ls; pwd && echo hi. Ok"]),
        ("Run the command: uname, then tell me the time", ["Run the command: uname", "tell me the time"]),
        ("run `a; b and then c` and tell me the time", ["run `a; b and then c`", "tell me the time"]),
        ("Write 'x, and then y' to a.txt", ["Write 'x, and then y' to a.txt"]),
        ("Remember that I read books and write poems", ["Remember that I read books and write poems"]),
        ("Add 3 and 4", ["Add 3 and 4"]),
        ("2+2 and 3*3", ["2+2", "3*3"]),
        ("Hello there! What is 2+2?", ["What is 2+2?"]),
        ("Also, what time is it?", ["what time is it?"]),
        ("Summarise this: One. Two. Then three.", ["Summarise this: One. Two. Then three."]),
        ("It costs 3.50 e.g. here", ["It costs 3.50 e.g. here"]),
        (" ,. \n ", []),
    ],
)
def test_a_text_is_cut_where_a_new_clause_begins(text: str, clauses: list[str]) -> None:
    assert [clause.text for clause in split_clauses(text)] == clauses


def test_words_of_order_mark_a_clause_as_following() -> None:
    assert [clause.is_sequential for clause in split_clauses("First a. Then b, and finally c. And read d")] == [
        False,
        True,
        True,
        False,
    ]


def test_a_text_of_many_clauses_keeps_the_rest_in_the_last_one() -> None:
    clauses = split_clauses(". ".join(f"read {n}" for n in range(100)))
    assert len(clauses) == MAX_CLAUSES
    assert clauses[-1].text.endswith("read 99")


@given(st.text(alphabet=st.sampled_from("ab1 .,;:!?\n\"'`“”()-*and then first what read")))
def test_clauses_are_disjoint_pieces_of_the_text(text: str) -> None:
    clauses = split_clauses(text)
    assert len(clauses) <= MAX_CLAUSES
    tidy, at = "\n".join(" ".join(line.split()) for line in text.splitlines()), 0
    for clause in clauses:
        assert clause.text
        if "\n" not in clause.text:
            at = tidy.index(clause.text, at) + len(clause.text)
