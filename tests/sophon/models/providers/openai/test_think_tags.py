"""Reasoning between tags in the text of a model."""

from sophon.models.providers.openai.think_tags import ThinkTagScanner
from tests.tables import table

CASES = [
    ("plain", "plain", ""),
    ("", "", ""),
    ("<think>hm</think>done", "done", "hm"),
    ("\n<think>\nhm\n</think>\n\ndone", "done", "hm"),
    ("<think>a < b </ b</think> done </think>", "done </think>", "a < b </ b"),
    ("<think>never closed", "", "never closed"),
    ("<think>never closed </thi", "", "never closed </thi"),
    ("<thin", "<thin", ""),
    ("<thinking>no</thinking>", "<thinking>no</thinking>", ""),
    ("The tag <think>is quoted</think>.", "The tag <think>is quoted</think>.", ""),
    ("<think></think>done", "done", ""),
    ("<think>hm</think>", "", "hm"),
]


@table("size", [1, 2, 5, 1000])
@table(("text", "visible", "reasoning"), CASES)
def test_a_block_at_the_beginning_is_reasoning_wherever_the_text_is_cut(
    text: str, visible: str, reasoning: str, size: int
) -> None:
    scanner, shown, thought = ThinkTagScanner(), "", ""
    for start in range(0, len(text), size):
        shown += scanner.feed(text[start : start + size])
        thought += scanner.take_reasoning()
    shown += scanner.close()
    thought += scanner.take_reasoning()
    assert (shown, thought) == (visible, reasoning)
