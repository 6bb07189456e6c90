"""Events that a resumed turn emits again are published once."""

from sophon.events import GuardVerdict, TaskStarted
from sophon_hosting.events.resume_deduplication import EventDeduplicator


def verdict(rule: str = "protected_tier2", call_id: str = "c") -> GuardVerdict:
    return GuardVerdict(
        task_id="t", run_id="t", call_id=call_id, guard="Protection", verdict="escalate", rule=rule, reason="it writes"
    )


def test_the_verdict_of_a_turn_that_is_judged_again_is_published_once() -> None:
    seen = EventDeduplicator()
    seen.register(TaskStarted(task_id="t", run_id="t"))

    events = (verdict(), verdict(), verdict("protected_tier1"), verdict(call_id="d"))
    assert [seen.register(each) for each in events] == [True, False, True, True]
