"""Registration of a number's webhook with Meta: set it where it differs, try again while that fails, and check it."""

import logging
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from sophon.clock import Clock
from sophon_channels.backoff import backoff_delay
from sophon_channels.contract import SelfTestResult
from sophon_channels.json_fields import JsonObject, get_object, get_text
from sophon_channels.whatsapp.api.client import WhatsAppClient
from sophon_channels.whatsapp.api.errors import WhatsAppApiError
from sophon_channels.whatsapp.webhook import WEBHOOK_PATH

log = logging.getLogger("sophon")


class WebhookRegistration:
    """Registers `url` as the webhook of one number (Graph API, `webhook_configuration`), which goes before that of the
    app. Meta verifies the URL before it takes it, with a request that the host answers.

    `problem` is why it is not registered, "" once it is; `on_change` is called after each change of it.
    """

    def __init__(self, client: WhatsAppClient, clock: Clock, url: str, verify_token: str) -> None:
        self._client, self._clock, self._url, self._verify_token = client, clock, url, verify_token
        self.problem = ""

    async def run(self, on_change: Callable[[], None]) -> None:
        """Register the URL; return once Meta has it, or has refused the token."""
        failures = 0
        while True:
            try:
                if find_number_webhook(await self._client.get_phone_number()) != self._url:
                    await self._client.set_webhook(self._url, self._verify_token)
                    log.info("WhatsApp: the webhook of the number is %s now", self._url)
            except WhatsAppApiError as error:
                failures += 1
                self._note(f"the webhook could not be registered at {self._url}: {error}", on_change)
                if error.is_credential_error:  # the channel reports it
                    return
                await self._clock.sleep(backoff_delay(failures).total_seconds())
            else:
                self._note("", on_change)
                return

    def _note(self, problem: str, on_change: Callable[[], None]) -> None:
        if problem and problem != self.problem:
            log.warning("WhatsApp: %s", problem)
        self.problem = problem
        on_change()


def find_number_webhook(info: JsonObject) -> str:
    """Return the webhook of the number itself in its data, "" if it has none and the app's is used."""
    return get_text(get_object(info, "webhook_configuration"), "phone_number")


def check_webhook(info: JsonObject, url: str | None, path: str = WEBHOOK_PATH) -> Iterator[SelfTestResult]:
    """Check the webhook in a number's data; `url` is what it should be, None if only Meta knows."""
    configuration = get_object(info, "webhook_configuration")
    names = ("phone_number", "whatsapp_business_account", "application")
    used = next((found for each in names if (found := get_text(configuration, each))), "")
    if url is not None and urlsplit(url).scheme != "https":
        yield SelfTestResult(False, "PublicUrl is not https, and Meta delivers to https only", "correct PublicUrl")
    elif url is not None and used != url:
        where = f"at {urlsplit(used).hostname}" if used else "not set"
        yield SelfTestResult(False, f"the webhook is {where}", f"it should be {url}: start the host, which sets it")
    elif used and urlsplit(used).path != path and url is None:
        yield SelfTestResult(False, f"the path of the webhook is not {path}", "correct it at Meta, or the proxy")
    elif used:
        yield SelfTestResult(True, f"the webhook is at {urlsplit(used).hostname}")
