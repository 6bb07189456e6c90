"""What every store promises about the labels of sessions, files and memory entries."""

from sophon.messages import Message
from sophon.security.information_flow.taint import Taint
from sophon.stores.contract import Store
from sophon.stores.data_labels.contract import LabelWrite, file_key, folder_key, memory_key, session_key
from sophon.stores.sessions.contract import SessionRecord

SECRET = Taint(3, is_private=True)
PAGE = Taint(is_untrusted=True)


async def test_what_is_written_is_merged(store: Store):
    await store.data_labels.write([LabelWrite("session:s", SECRET), LabelWrite("session:s", PAGE)])
    await store.data_labels.write([LabelWrite("session:s", Taint(1))])
    assert await store.data_labels.find(["session:s", "session:t"]) == {"session:s": Taint(3, True, True)}


async def test_a_taint_can_be_replaced_and_removed(store: Store):
    key = file_key("notes.txt")
    await store.data_labels.write([LabelWrite(key, SECRET)])
    await store.data_labels.write([LabelWrite(key, PAGE, replaces=True)])
    assert await store.data_labels.find([key]) == {key: PAGE}
    await store.data_labels.write([LabelWrite(key, Taint(), replaces=True), LabelWrite("other", Taint())])
    assert await store.data_labels.find([key, "other"]) == {}
    assert await store.data_labels.find([]) == {}


async def test_a_deleted_session_takes_its_taint_along_and_leaves_those_of_files(store: Store):
    await store.sessions.append("s", [SessionRecord("message", "r", Message("user", "hi"))], owner="ada")
    await store.data_labels.write([LabelWrite(session_key("s"), SECRET), LabelWrite(file_key("a"), SECRET)])
    await store.sessions.delete("s")
    await store.sessions.append("s", [SessionRecord("message", "r", Message("user", "hi"))], owner="bob")
    assert await store.data_labels.find([session_key("s"), file_key("a")]) == {file_key("a"): SECRET}


async def test_a_fork_has_the_taint_of_its_source(store: Store):
    await store.sessions.append("s", [SessionRecord("message", "r", Message("user", "hi"))], owner="ada")
    await store.sessions.fork("s", "before")
    await store.data_labels.write([LabelWrite(session_key("s"), SECRET)])
    await store.sessions.fork("s", "after")
    keys = [session_key("before"), session_key("after")]
    assert await store.data_labels.find(keys) == {session_key("after"): SECRET}


async def test_many_keys_are_found_at_once(store: Store):
    keys = [file_key(f"{number}/\ud83d") for number in range(1200)]
    await store.data_labels.write([LabelWrite(key, PAGE) for key in keys])
    assert await store.data_labels.find(keys) == dict.fromkeys(keys, PAGE)


def test_keys_of_different_kinds_differ():
    assert len({session_key("a"), file_key("a"), folder_key("a"), memory_key("a")}) == 4
