"""Preferences in a turn: in the prompt, as the model that is asked, and nowhere in the conversation."""

from sophon import ModelRequest, Services
from sophon.errors import StoreUnavailable
from sophon.preferences import Preferences
from sophon.testing import FunctionModel, VirtualClock
from sophon_hosting.host_chain import build_configured_chain

GERMAN = Preferences(language="de", notes="I am blind")
ASKED: list[tuple[str, str]] = []


def model(name: str) -> FunctionModel:
    async def answer(request: ModelRequest) -> str:
        ASKED.append((name, request.messages[0].content if request.messages[0].role == "system" else ""))
        return "hello"

    return FunctionModel(answer, name=name)


async def ask(preferences: Preferences, *, instructions: str | None = None, **options: object) -> tuple[str, str]:
    ASKED.clear()
    settings = options.pop("settings", {})
    services = Services(
        models=[model("one"), model("two")], clock=VirtualClock(), settings=settings, instructions=instructions
    )
    await services.store.preferences.put("ada", preferences)
    turn = {"principal": "ada", "session_id": "s", **options}
    await build_configured_chain(services).run(services.turn("hi", **turn))
    assert [each.role for each in await services.history("s")] == ["user", "assistant"]
    return ASKED[0]


async def test_the_prompt_has_the_preferences_of_the_person() -> None:
    _, prompt = await ask(GERMAN, instructions="Be kind.")
    assert prompt.startswith("Be kind.\n\n<preferences>")
    assert "language unless asked otherwise: de." in prompt
    assert "I am blind" in prompt


async def test_another_person_and_a_group_have_none_of_them() -> None:
    assert (await ask(GERMAN, principal="bob"))[1] == ""
    assert (await ask(GERMAN, group=True, data_owner="telegram:chat:-1"))[1] == ""


async def test_switched_off_nothing_is_read() -> None:
    assert (await ask(GERMAN, settings={"Preferences": {"Enabled": False}}))[1] == ""


async def test_the_preferred_model_is_asked_unless_the_message_names_one() -> None:
    assert (await ask(Preferences(model="two")))[0] == "two"
    assert (await ask(Preferences(model="two"), model="one"))[0] == "one"
    assert (await ask(Preferences(model="gone")))[0] == "one"


async def test_a_store_that_fails_costs_the_turn_its_preferences_only() -> None:
    ASKED.clear()
    services = Services(models=model("one"), clock=VirtualClock())

    async def fail(person: str) -> Preferences:
        raise StoreUnavailable("memory://", "busy", "away")

    services.store.preferences.get = fail  # type: ignore[method-assign]
    response = await build_configured_chain(services).run(services.turn("hi", principal="ada"))
    assert (response.text, ASKED) == ("hello", [("one", "")])


async def test_the_preferred_model_of_who_may_not_choose_one_any_more_is_not_asked() -> None:
    settings = {"Permissions": {"Users": {"ada": {"Level": "ZeroTrust"}}}}
    assert (await ask(Preferences(model="two"), settings=settings))[0] == "one"
