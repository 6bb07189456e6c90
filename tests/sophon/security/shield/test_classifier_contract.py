"""Classifier of Shield: which answers count, and that nothing else does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.security.heuristics import Finding
from sophon.security.shield.classifier_contract import find_stricter, read_classification
from tests.tables import table

FINDING = Finding("escalate", 0.7, ("own.rule",))


@table(("answer", "severity"), [(0, "allow"), (0.84, "allow"), (0.85, "block"), (1, "block"), (FINDING, "escalate")])
def test_a_probability_or_a_finding_counts(answer: object, severity: str) -> None:
    assert read_classification(answer).severity == severity


@given(
    st.one_of(
        st.none(), st.booleans(), st.text(), st.floats(max_value=-0.01), st.floats(min_value=1.01),
        st.just(float("nan")), st.lists(st.floats()), st.dictionaries(st.text(), st.floats()),
        st.just(Finding("fine")),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    )
)  # fmt: skip
def test_any_other_answer_is_an_error(answer: object) -> None:
    with pytest.raises(ValueError, match="the classifier answered"):
        read_classification(answer)


def test_the_stricter_finding_counts_whoever_has_it() -> None:
    block, allow = Finding("block", 0.5), Finding("allow", 1.0)
    assert find_stricter(block, allow) is find_stricter(allow, block) is block
