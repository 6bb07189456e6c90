"""The client for programs: every operation by one method, and the errors of the host by their codes."""

import re
import sys

import pytest

from sophon.errors import InputError
from sophon_hosting.client_api.operation_reply import File
from sophon_hosting.features.attachments.operations import download_attachment, upload_attachment
from sophon_hosting.features.schedules.operations import add_schedule, change_schedule, get_schedule, list_schedules
from sophon_hosting.operations.client import AsyncClient, HostError
from sophon_hosting.operations.current_user import get_current_user
from tests.hosting.http.conftest import Api
from tests.hosting.large_texts.test_example_clients import EXAMPLES, run_client


async def test_fields_travel_in_path_query_and_body(api: Api) -> None:
    async with AsyncClient(api.url, "token-of-ada") as ada, AsyncClient(api.url, "token-of-olga") as olga:
        assert (await ada.call(get_current_user))["user"] == "ada"
        made = await ada.call(add_schedule, text="read the news", cron="0 8 * * *", title=None)
        assert (await ada.call(get_schedule, schedule_id=made["schedule_id"]))["text"] == "read the news"
        assert (await olga.call(list_schedules))["items"] == []
        assert [each["user"] for each in (await olga.call(list_schedules, everything=True))["items"]] == ["ada"]


async def test_a_file_goes_there_and_back(api: Api) -> None:
    async with AsyncClient(api.url, "token-of-ada") as ada:
        sent = await ada.call(upload_attachment, name="a b.txt", file=b"remember the milk")
        file = await ada.call(download_attachment, attachment_id=sent["attachment"]["id"])
        assert isinstance(file, File)
        assert (file.content, file.media_type, file.name) == (b"remember the milk", "text/plain", "a b.txt")


async def test_what_is_refused_is_an_error_with_the_code_of_the_host(api: Api) -> None:
    async with AsyncClient(api.url, "token-of-bob") as bob, AsyncClient(api.url, "wrong") as nobody:
        with pytest.raises(InputError, match="texxt: there is no such field"):  # nothing is sent
            await bob.call(add_schedule, texxt="read the news")
        with pytest.raises(HostError, match="there is no schedule 'sch_/x'") as refused:
            await bob.call(get_schedule, schedule_id="sch_/x")
        assert refused.value.code == "not_found"
        with pytest.raises(HostError) as refused:
            await nobody.call(list_schedules)
        assert refused.value.code == "unauthorized"


@pytest.mark.parametrize("schedule_id", [".", ".."])
async def test_an_id_of_dots_names_no_other_path(api: Api, schedule_id: str) -> None:
    async with AsyncClient(api.url, "token-of-ada") as ada:
        with pytest.raises(HostError, match=re.escape(f"there is no schedule '{schedule_id}'")):
            await ada.call(get_schedule, schedule_id=schedule_id)
        with pytest.raises(InputError, match="schedule_id: it must not be empty"):
            await ada.call(get_schedule, schedule_id="")


async def test_where_no_host_answers_the_error_says_so() -> None:
    async with AsyncClient("http://127.0.0.1:1") as client:  # no program listens on a port of the system
        with pytest.raises(HostError, match="no host answers") as failed:
            await client.call(list_schedules)
        assert failed.value.code == "no_host"


async def test_the_example_of_the_documentation_makes_a_schedule_and_says_in_one_line_what_is_refused(api: Api) -> None:
    program = (sys.executable, str(EXAMPLES / "schedules.py"), api.url)
    assert (await run_client(*program, "token-of-ada", "read the news")).endswith(" read the news\n")
    async with AsyncClient(api.url, "token-of-ada") as ada:
        [made] = (await ada.call(list_schedules))["items"]
        await ada.call(change_schedule, schedule_id=made["schedule_id"], state="paused")
    lines = (await run_client(*program, "token-of-ada", "read the mail")).splitlines()
    assert "paused read the news" in lines
    assert (await run_client(*program, "wrong", "read the news", code=1)).startswith("unauthorized: ")
