from sophon.models.offline import OfflineModel


async def test_the_page_says_what_runs_and_how_to_talk_with_it(serve) -> None:
    api = await serve(users=False)
    answer = await (await api.open(None)).get("/")
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    for word in ("function", "SessionEvents", f"{api.url}/socket.io/", f"{api.url}/api/", f"--url {api.url}", "docs"):
        assert word in answer.text
    assert "no token is needed" in answer.text


async def test_strangers_are_told_neither_models_nor_chain(api) -> None:
    text = (await (await api.open(None)).get("/")).text
    assert "SessionEvents" not in text
    assert "function" not in text
    assert "Authorization: Bearer" in text


async def test_a_host_that_only_rehearses_says_so(serve) -> None:
    api = await serve(users=False, models=OfflineModel())
    assert "without a key or a network" in (await (await api.open(None)).get("/")).text


async def test_nothing_on_the_page_needs_more_than_its_policy_allows(serve) -> None:
    answer = await (await (await serve(users=False)).open(None)).get("/")
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for part in ("<script", "<style", "style=", "<img", "<link", "<form", "onclick="):
        assert part not in answer.text


async def test_what_a_client_sends_as_name_of_the_host_is_no_markup(serve) -> None:
    api = await serve(users=False)
    answer = await api.raw(b'GET / HTTP/1.1\r\nHost: localhost:1"><b>\r\nConnection: close\r\n\r\n')
    assert b"<b>" not in answer


async def test_a_host_without_the_built_page_says_what_to_do(serve) -> None:
    text = (await (await (await serve(users=False)).open(None)).get("/")).text
    assert "because it was not built" in text
    assert "make page" in text
