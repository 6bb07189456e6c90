"""A message list does what a list does, and tells how many of its leading messages nobody has touched."""

import contextlib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sophon import Message
from sophon.context.message_list import MessageList

POOL = [Message("user", str(number)) for number in range(6)]

some = st.lists(st.sampled_from(POOL), max_size=4)
index = st.integers(-6, 6)
slices = st.builds(slice, st.none() | index, st.none() | index, st.none() | st.sampled_from([-2, -1, 1, 2, 3]))
operations = st.one_of(
    st.tuples(st.just("append"), st.sampled_from(POOL)),
    st.tuples(st.just("extend"), some),
    st.tuples(st.just("__iadd__"), some),
    st.tuples(st.just("insert"), index, st.sampled_from(POOL)),
    st.tuples(st.just("pop")),
    st.tuples(st.just("pop"), index),
    st.tuples(st.just("remove"), st.sampled_from(POOL)),
    st.tuples(st.just("__delitem__"), index | slices),
    st.tuples(st.just("__setitem__"), index, st.sampled_from(POOL)),
    st.tuples(st.just("__setitem__"), slices, some),
    st.tuples(st.just("__imul__"), st.integers(0, 2)),
    st.tuples(st.sampled_from(["clear", "reverse"])),
    st.tuples(st.just("sort")),
    st.tuples(st.just("assign"), some),
)


def perform(messages: list[Message], operation: str, *values: Any) -> Any:
    if operation == "sort":
        return messages.sort(key=lambda message: message.content)
    if operation == "assign" and not isinstance(messages, MessageList):
        messages[:] = values[0]
        return None
    try:
        return getattr(messages, operation)(*values)
    except (IndexError, ValueError) as error:
        return type(error)


def same_objects(one: list[Message], other: list[Message]) -> bool:
    return len(one) == len(other) and all(mine is yours for mine, yours in zip(one, other, strict=True))


@given(some, some, st.lists(operations, max_size=6))
def test_it_does_what_a_list_does_and_its_unchanged_messages_are_those_of_the_mark(
    first: list[Message], then: list[Message], done: list[tuple[Any, ...]]
) -> None:
    plain, tracked = [*first, *then], MessageList(first)
    tracked += then
    assert tracked.unchanged == 0
    tracked.mark_unchanged()
    marked = list(tracked)

    for operation, *values in done:
        one, other = perform(plain, operation, *values), perform(tracked, operation, *values)
        assert (one is plain) == (other is tracked)
        assert one is plain or one == other

    assert same_objects(plain, tracked)
    assert tracked.unchanged <= len(marked)
    assert same_objects(tracked[: tracked.unchanged], marked[: tracked.unchanged])


def test_appending_changes_nothing_and_what_is_done_to_the_end_leaves_the_rest() -> None:
    messages = MessageList(POOL)
    messages.mark_unchanged()
    messages.append(POOL[0])
    messages += POOL
    messages.insert(len(messages), POOL[0])
    messages[len(POOL) :] = []
    assert messages.unchanged == len(POOL)
    messages[-1] = POOL[0]
    assert messages.unchanged == len(POOL) - 1
    messages.pop(1)
    assert messages.unchanged == 1


def test_a_failed_change_does_not_matter() -> None:
    messages = MessageList(POOL)
    messages.mark_unchanged()
    with contextlib.suppress(ValueError):
        messages.remove(Message("user", "unknown"))
    assert messages.unchanged == len(POOL)
