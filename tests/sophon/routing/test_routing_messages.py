"""The tier that the measures of complexity choose for messages, beside the one that a person would choose."""

from collections.abc import Callable
from pathlib import Path

from sophon.learning.complexity_tiers import compute_tier
from sophon.learning.task_profile import profile_task
from sophon.task_types import ComplexityMeasure
from tests.tables import table

MESSAGES = Path(__file__).parents[2] / "cases" / "routing_messages.tsv"


def load_messages() -> list[tuple[str, bool]]:
    """Return the messages, with whether a person would pay for the large model; the odd lines are held out."""
    rows = [line.split("\t", 1) for line in MESSAGES.read_text("utf-8").splitlines()]
    return [(text.replace("\\n", "\n"), tier == "high") for tier, text in rows]


def is_high(text: str, measure: ComplexityMeasure = "Factors") -> bool:
    profile = profile_task(text, measure=measure)
    return compute_tier(profile.complexity, confidence=profile.confidence) == 3


def measure_agreement(decide: Callable[[str], bool], messages: list[tuple[str, bool]]) -> float:
    return sum(decide(text) is wanted for text, wanted in messages) / len(messages)


def test_the_factors_agree_with_people_on_messages_that_they_were_not_fitted_to() -> None:
    held_out = load_messages()[1::2]
    assert len(held_out) == 107
    assert measure_agreement(is_high, held_out) >= 0.94
    for measure in ("Prompt", "Keywords"):
        assert measure_agreement(lambda text, of=measure: is_high(text, of), held_out) < 0.7


@table("text", ["hi", "ok", "thanks", "fix the bug", "yes please", "gracias", "danke dir", ""])
def test_what_is_short_and_simple_never_needs_the_large_model(text: str) -> None:
    assert not is_high(text)


@table(
    "text",
    [
        "integrate x^2 e^x",
        "is 2^61-1 prime?",
        "∫ x² ln x dx",
        "Solve x^3 - 6x^2 + 11x - 6 = 0",
        "differentiate sin(x)^x",
        "What is the derivative of x^x?",
        "find the eigenvalues of A^2 + I",
        "factor x^4 + 4",
        r"Does \sum 1/n^2 converge?",
        "limit of (1+1/n)^n",
        "last digit of 7^2023 mod 1000",
        "minimize x^2 + y^2 subject to xy = 1",
        "Löse x^2 + 3x - 7 = 0",
        "Ist 2^31-1 eine Primzahl?",
        "resuelve x^2 - 5x + 6 = 0",
        "Calcule l'intégrale de x^2 e^x",
        "roots of x^5 - 1",
        "Is a^2 + b^2 = c^3 solvable in integers?",
        "remainder of 3^100 divided by 7",
        r"simplify \frac{x^2-1}{x-1}",
    ],
)
def test_a_short_problem_of_mathematics_needs_the_large_model(text: str) -> None:
    assert is_high(text)


@table(
    "text",
    [
        "what is 2^10",
        "2^10",
        "How many m² is my flat, 5 by 8 metres?",
        "My address is 10 m² away ^^",
        "thanks ^^",
        "that was great ^_^",
        "see you at the root of the tree",
        "Find a prime rib recipe",
        "Play the song E=mc²",
        "what does the ^ sign mean",
        "add CO² to my shopping list",
        "convert 30 km² to acres",
        "what is the square root of 16",
        "√16",
        "git reset HEAD^",
        "find my limit for data this month",
        "order Prime delivery",
        "show me the value of my shares",
        "^ this",
        "what is 5³",
    ],
)
def test_a_sign_of_mathematics_alone_does_not(text: str) -> None:
    assert not is_high(text)
