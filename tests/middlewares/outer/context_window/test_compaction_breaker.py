"""A summary that keeps failing is not waited for again and again."""

from sophon_middlewares.outer.context_window.compaction_breaker import MAX_MODELS, CompactionBreaker


def failed(times: int, now: float = 0.0) -> CompactionBreaker:
    breaker = CompactionBreaker()
    for _ in range(times):
        breaker.record_failure("a/b", now)
    return breaker


def test_two_failures_change_nothing() -> None:
    assert failed(2).allows("a/b", 0.0)


def test_a_success_in_between_begins_the_count_anew() -> None:
    breaker = failed(2)
    breaker.record_success("a/b")
    breaker.record_failure("a/b", 0.0)
    assert breaker.allows("a/b", 0.0)


def test_the_first_failure_after_the_rest_begins_the_next_one() -> None:
    breaker = failed(3)
    breaker.record_failure("a/b", 60.0)
    assert not breaker.allows("a/b", 119.0)


def test_one_model_does_not_stand_in_for_another() -> None:
    assert failed(3).allows("c/d", 0.0)


def test_it_never_remembers_more_than_so_many_models() -> None:
    breaker = failed(3)
    for number in range(MAX_MODELS):
        breaker.record_failure(f"model/{number}", 0.0)
    assert breaker.allows("a/b", 0.0)
