"""The pages of operators: set-up of a model, settings, users and tokens, audit, log and routing, each in use."""

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from sophon import Services
from sophon.settings.loader import load_with_layers
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.store.factory import host_store_from_url
from tests.hosting.features.settings.conftest import KEY, TOKENS, USERS, Provider, provider
from tests.web.driving import turn, write
from tests.web.test_looks import PHONE, findings

__all__ = ["provider"]

PAGES = ("setup", "settings", "access", "routing", "audit", "logs")
PICTURES = os.environ.get("SOPHON_PICTURES")
"""Folder for pictures of each page, for people who look at them."""


@pytest.fixture
async def folder_host(tmp_path: Path) -> AsyncIterator[Callable[..., Any]]:
    """Starts a host from the settings in a folder, as `sophon serve` does."""
    level = logging.getLogger().level
    logging.getLogger().setLevel(logging.INFO)
    async with AsyncExitStack() as stack:

        async def begin(**sections: Any) -> HostServer:
            values = {"Store": {"Url": "memory://"}, "AgentExecution": {"Titles": False}, **sections}
            (tmp_path / "appsettings.json").write_text(json.dumps({"Sophon": values}))
            variables = {**TOKENS, "OLLAMA_HOST": "127.0.0.1:1"}
            loaded = load_with_layers(folder=tmp_path, environment=variables)
            services = Services.from_settings(
                loaded.settings, environment=variables, folder=tmp_path, make_store=host_store_from_url
            )
            site = HostServer(services, variables, loaded=loaded)
            address = bind_address("127.0.0.1", 0)
            await site.start(address)
            stack.push_async_callback(site.shutdown, 0)
            site.url = address.url  # type: ignore[attr-defined] # where the tests find it
            return site

        yield begin
    logging.getLogger().setLevel(level)


async def show(page: Page, site: Any, name: str) -> None:
    """Open one of the pages by its address."""
    await page.goto(f"{site.url}/#/{name}")
    await expect(page.locator(".operator-nav a[aria-current=page]")).to_be_visible()


async def picture(page: Page, name: str) -> None:
    """Take a picture, if somebody wants to look at it."""
    if PICTURES:
        await asyncio.to_thread(Path(PICTURES).mkdir, parents=True, exist_ok=True)
        await page.screenshot(path=Path(PICTURES, f"{name}.png"))


async def test_a_key_is_tried_and_the_chosen_model_answers(folder_host, look, provider: Provider) -> None:
    site = await folder_host()
    page = await look(site.url)
    await page.get_by_role("link", name="Set up a model").click()
    await page.get_by_label("Provider").select_option("openai_compatible")
    await page.get_by_label("Address of the server").fill(provider.url)
    await page.locator("input[type=password]").fill("sk-wrong-key-0123456789")
    await page.get_by_role("button", name="Try the key").click()
    await expect(page.get_by_role("alert")).to_contain_text("does not accept this key")
    look.expected.add(400)
    await page.locator("input[type=password]").fill(KEY)
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("The provider accepts the key.")).to_be_visible()
    assert await findings(page) == []
    await picture(page, "setup-models")
    await page.get_by_role("radio", name="my-own").check()
    await page.get_by_role("button", name="Use this model").click()
    await expect(page.get_by_text("In use: openai_compatible/my-own")).to_be_visible()
    assert await page.locator("input[type=password]").input_value() == ""
    assert KEY not in await page.content()
    await page.goto(f"{site.url}/#/")
    await write(page, "hello")
    await expect(turn(page)).to_contain_text("my-own says OK")
    await show(page, site, "audit")
    await page.get_by_text("provider openai_compatible").click()
    await expect(page.locator(".audit-entry pre")).to_contain_text('"model": "my-own"')
    await page.get_by_role("button", name="Verify the chain").click()
    await expect(page.get_by_text("The chain is intact: 1 entry.")).to_be_visible()
    await picture(page, "audit")
    await show(page, site, "setup")
    await page.get_by_role("button", name="Remove openai_compatible and its key").click()
    await expect(page.get_by_text("Now the offline model answers")).to_be_visible()


async def test_a_key_reaches_no_other_provider_and_no_other_server(folder_host, look, provider: Provider) -> None:
    site = await folder_host()
    page = await look(site.url)
    await show(page, site, "setup")
    key, url = page.locator("input[type=password]"), page.get_by_label("Address of the server")
    await page.get_by_label("Provider").select_option("anthropic")
    await key.fill(KEY)
    await page.get_by_label("Provider").select_option("openai_compatible")
    await expect(key).to_have_value("")
    await url.fill("http://127.0.0.1:1/v1")
    await key.fill(KEY)
    await url.fill("http://127.0.0.1:1/other")
    await expect(key).to_have_value(KEY)
    await url.fill(provider.url)
    await expect(key).to_have_value("")
    await page.get_by_label("Provider").select_option("ollama")
    await expect(url).to_have_value("")


async def test_a_setting_is_changed_found_and_taken_back(folder_host, look) -> None:
    site = await folder_host(Planning={"Mode": "Never"})
    page = await look(site.url)
    await show(page, site, "settings")
    await page.get_by_role("button", name="Change ToolFilter.Top").click()
    await expect(page.get_by_label("New value")).to_be_focused()
    await page.get_by_label("New value").fill("many")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("alert")).to_contain_text("ToolFilter.Top")
    look.expected.add(400)
    await page.get_by_label("New value").fill("3")
    await page.keyboard.press("Enter")
    row = page.locator(".setting").filter(has_text="ToolFilter.Top")
    await expect(row).to_contain_text("changed here")
    assert site.services.settings.tool_filter.top == 3
    await page.get_by_role("button", name="Change Planning.Mode").click()
    await page.get_by_label("New value").select_option("Always")
    assert await findings(page) == []
    await picture(page, "settings-change")
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Take back: ToolFilter.Top").click()
    await expect(row).to_contain_text("default")
    await page.get_by_label("Only those that are set").check()
    await expect(page.locator(".setting").filter(has_text="Planning.Mode")).to_contain_text("appsettings.json")
    await page.get_by_role("searchbox", name="Search", exact=True).fill("nothing like this")
    await expect(page.get_by_text("No setting fits.")).to_be_visible()


async def test_a_constant_of_the_chain_says_so(folder_host, look) -> None:
    site = await folder_host(Chain={"Name": "clawdesk"})
    page = await look(site.url)
    await show(page, site, "settings")
    row = page.locator(".setting").filter(has_text="AgentExecution.MaxToolIterations").first
    await expect(row).to_contain_text("10")
    await expect(row).to_contain_text("default of the chain clawdesk")


async def sign_in(page: Page, token: str) -> None:
    await page.get_by_label("Token").fill(token)
    await page.keyboard.press("Enter")


async def test_a_token_is_made_shown_once_and_revoked(folder_host, look) -> None:
    site = await folder_host(Hub={"Users": USERS})
    page = await look(site.url)
    await sign_in(page, TOKENS["OLGA"])
    look.expected.add(401)
    await expect(page.get_by_role("heading", name="What would you like to do?")).to_be_visible()
    await show(page, site, "access")
    await expect(page.get_by_text("No tokens.")).to_be_visible()
    await page.get_by_label("What it is for").fill("script")
    await page.get_by_role("checkbox", name="Chat").check()
    await expect(page.get_by_role("checkbox", name="Operator")).to_have_count(0)
    await page.get_by_role("button", name="Make a token").click()
    shown = page.locator(".new-secret")
    await expect(shown).to_be_visible()
    secret = await shown.locator("code").inner_text()
    assert await findings(page) == []
    await picture(page, "access")
    await page.reload()
    await expect(page.get_by_text("script")).to_be_visible()
    assert secret not in await page.content()
    await page.get_by_role("button", name="Revoke: script").click()
    await expect(page.get_by_text("revoked")).to_be_visible()


async def test_who_is_no_operator_sees_none_of_it(folder_host, look) -> None:
    site = await folder_host(Hub={"Users": USERS})
    page = await look(site.url)
    await sign_in(page, TOKENS["ADA"])
    look.expected.add(401)
    await expect(page.get_by_role("heading", name="What would you like to do?")).to_be_visible()
    await expect(page.get_by_role("link", name="Set up a model")).to_have_count(0)
    for name in PAGES:
        await page.goto(f"{site.url}/#/{name}")
        await expect(page.get_by_text("Only an operator may do this.")).to_be_visible()
    assert await findings(page) == []


async def test_lines_come_as_they_are_written_until_paused(folder_host, look) -> None:
    site = await folder_host()
    page = await look(site.url)
    await show(page, site, "logs")
    logging.getLogger("sophon").info("the tea is ready")
    await expect(page.locator(".log li").filter(has_text="the tea is ready")).to_be_visible()
    logging.getLogger("sophon").warning("the token=abcdefgh12345678 leaked")
    await expect(page.locator(".log li.warning")).to_contain_text("REDACTED")
    await page.get_by_label("Level and above").select_option("Warning")
    await expect(page.locator(".log li").filter(has_text="tea")).to_have_count(0)
    await expect(page.locator(".log li.warning").first).to_be_visible()
    assert await findings(page) == []
    await picture(page, "logs")
    await page.get_by_role("button", name="Pause").click()
    logging.getLogger("sophon").warning("while it is paused")
    await page.get_by_role("button", name="Go on").click()
    await expect(page.locator(".log li").filter(has_text="while it is paused")).to_have_count(1)


async def test_routing_says_which_model_it_would_be_and_why(folder_host, look) -> None:
    site = await folder_host()
    page = await look(site.url)
    await show(page, site, "routing")
    await expect(page.get_by_text("Nothing was learned yet.")).to_be_visible()
    await page.locator(".trial").get_by_label("Message").fill("Write a function that sorts a list")
    await page.get_by_role("button", name="Explain").click()
    await expect(page.locator(".trial pre")).to_contain_text("models      offline")
    assert await findings(page) == []
    await picture(page, "routing")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [{}, PHONE], ids=["desktop", "phone"])
async def test_axe_finds_nothing_and_nothing_stands_out_at_the_side(
    folder_host, look, scheme: str, size: dict[str, Any]
) -> None:
    site = await folder_host()
    page = await look(site.url, color_scheme=scheme, locale="de-DE", **size)
    for colours in ("none", "active"):
        await page.emulate_media(forced_colors=colours)
        for name in PAGES:
            await show(page, site, name)
            await expect(page.get_by_role("heading", level=2)).to_be_visible()
            await page.wait_for_load_state("networkidle") if name != "logs" else None
            assert await findings(page) == [], name
            width = "() => document.documentElement.scrollWidth - innerWidth"
            assert await page.evaluate(width) <= 0, name
            if colours == "none":
                await picture(page, f"{name}-{scheme}-{'phone' if size else 'desktop'}")


async def test_on_a_phone_each_target_has_44_pixels(folder_host, look) -> None:
    site = await folder_host()
    page = await look(site.url, **PHONE)
    small = """() => [...document.querySelectorAll('.info-page :is(button, select, .operator-nav a, summary)')]
        .map(each => [each.textContent, each.getBoundingClientRect()])
        .filter(([, box]) => box.width > 0 && (box.height < 43.5 || box.width < 43.5)).map(([text]) => text)"""
    for name in PAGES:
        await show(page, site, name)
        await expect(page.get_by_role("heading", level=2)).to_be_visible()
        assert await page.evaluate(small) == [], name
