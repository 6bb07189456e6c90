"""Chats of several people: a group has its own memory and files, and a Critical call waits for an operator."""

import asyncio
from pathlib import Path

from sophon.stores.memories.contract import MemoryEntry
from sophon_channels.contract import ChannelAttachment, ChatLocation, Person
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.features.post_turn.runner import PostTurnRunner
from tests.hosting.channels.conftest import Brain

GROUP, BOSS = ChatLocation("-20", "group"), Person("9", "Grace")


async def say(running, text: str, part: str, *, group: bool = False, **more: object) -> str:
    where = {"location": GROUP, "is_mention": True} if group else {}
    await running.channel.deliver_message(text, **where, **more)
    return await running.channel.wait_for_text(part, *([GROUP] if group else []))


async def test_a_turn_of_a_group_never_reads_what_the_sender_keeps_for_themselves(start) -> None:
    running = await start()
    await running.store.memories.write(MemoryEntry("m", "The safe opens with 1234", scope="synthetic:1"))
    assert "1234" in await say(running, "call memory.search safe", "safe")
    said = await say(running, "call memory.search safe", "Nothing that matches", group=True)
    assert "1234" not in said


async def test_what_a_group_tells_is_the_groups(start) -> None:
    running = await start()
    await say(running, "call memory.write The party is on Friday", "Remembered as", group=True)
    (entry,) = await running.store.memories.list_all()
    assert entry.scope == "synthetic:chat:-20"
    assert "Nothing that matches" in await say(running, "call memory.search party", "Nothing that matches")


async def test_a_group_that_moves_keeps_its_memory(start) -> None:
    running = await start()
    await running.switchboard._connected["synthetic"].chat_state.migrate_chat("-20", "-100")
    there = ChatLocation("-100", "group")
    await running.channel.deliver_message("call memory.write Hello", location=there, is_mention=True)
    await running.channel.wait_for_text("Remembered as", there)
    (entry,) = await running.store.memories.list_all()
    assert entry.scope == "synthetic:chat:-20"


async def test_files_of_a_group_and_of_its_members_are_apart(start, tmp_path: Path) -> None:
    running = await start(channel=SyntheticChannel(attachment_contents={"f": b"figures"}))
    files = (ChannelAttachment("f", "document", "a.txt"),)
    await say(running, "mine", "You said: mine", attachments=files)
    await say(running, "ours", "You said: ours", group=True, attachments=files)
    folders = sorted(each.relative_to(tmp_path).parts[1] for each in tmp_path.glob("principals/*/uploads"))
    assert folders == ["synthetic_3a1", "synthetic_3achat_3a-20"]


async def test_a_fact_learned_in_a_group_is_not_the_senders(start) -> None:
    class Learner(Brain):
        async def answer(self, request):  # type: ignore[no-untyped-def]
            if request.purpose != "reply" or "list what its author" in request.messages[0].content:
                return '[{"text": "They like tea.", "category": "preference"}]'
            return await super().answer(request)

    running = await start(brain=Learner(), Memory={"Learn": True})
    jobs = PostTurnRunner(running.host.services, running.host.event_bus)
    jobs.start()
    await say(running, "I like tea", "You said: I like tea", group=True)
    async with asyncio.timeout(30):
        while not (entries := await running.store.memories.list_all()):
            await asyncio.sleep(0)
    await jobs.stop()
    assert [each.scope for each in entries] == ["synthetic:chat:-20"]


async def test_who_asked_reads_that_an_operator_decides_and_can_only_reject(start) -> None:
    running = await start()
    await running.channel.deliver_message("wreck all")
    await running.channel.wait_until(lambda: any(entry.payload.get("buttons") for entry in running.channel.sent))
    prompt = running.channel.sent[-1].payload
    (reject,) = prompt["buttons"]
    assert "Waiting for an operator" in prompt["text"]
    assert reject.endswith(":reject")
    assert (await running.channel.deliver_press(reject.replace("reject", "approve"))).startswith(
        "waiting for an operator"
    )
    await running.channel.deliver_message(f"/approve {reject.split(':')[1]}")
    await running.channel.wait_for_text("waiting for an operator: you may reject")
    assert running.brain.wrecked == []


async def test_an_approver_in_the_group_decides(start) -> None:
    running = await start()
    await running.channel.deliver_message("wreck all", location=GROUP, is_mention=True)
    await running.channel.wait_until(lambda: any(entry.payload.get("buttons") for entry in running.channel.sent))
    approve, *_ = running.channel.sent[-1].payload["buttons"]
    assert "waiting for an operator" in await running.channel.deliver_press(approve, location=GROUP)
    assert "Approved by Grace" in await running.channel.deliver_press(approve, location=GROUP, person=BOSS)
    decided = await running.channel.wait_for_text("✅ Approved by Grace", GROUP)
    assert "Waiting for an operator" not in decided
    await running.channel.wait_for_text("wrecked all", GROUP)
    assert running.brain.wrecked == ["all"]
