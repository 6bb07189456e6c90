"""`sophon channels add telegram` and `whatsapp`: ask for what a channel needs, try it, and save it."""

import asyncio
import os
import secrets
from collections.abc import Sequence
from typing import Annotated, Any, Final

import typer

from sophon.clock import SystemClock
from sophon.errors import InputError
from sophon.security.redaction.text_redaction import redact
from sophon.settings import Secret
from sophon_channels.contract import SelfTestResult
from sophon_channels.telegram.settings import TelegramSettings
from sophon_channels.whatsapp.settings import WhatsAppSettings
from sophon_hosting.cli.bootstrap import load_cli_settings
from sophon_hosting.cli.common_options import command_group
from sophon_hosting.cli.console.output import write_lines
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.operation_commands import Row, show_command
from sophon_hosting.features.channels.operations import attach_channel
from sophon_hosting.features.channels.setup_dialogue import (
    REFERENCE,
    Answers,
    check_ids,
    check_public_url,
    describe,
    resolve_reference,
    save_channel,
)

PublicUrlOption = Annotated[
    str | None, typer.Option("--public-url", metavar="URL", help="https URL at which the platform reaches this host.")
]
IdsOption = Annotated[
    str | None,
    typer.Option("--approvers", metavar="ID,...", help="Ids of people who may write and decide; '' for none."),
]
ApiBaseOption = Annotated[str | None, typer.Option("--api-base", metavar="URL", help="Another API server.")]


def _secret_option(name: str, what: str) -> Any:
    return typer.Option(name, metavar="SECRET", help=f"{what}: {REFERENCE}.")


NEXT: Final = (
    "Next:",
    "  sophon doctor            check the channel, and all else",
    "  sophon serve             run the host (one that runs uses the channel after its next start)",
)
PAIRING: Final = "  sophon pairing approve CODE    let people in who write and get a code"

app = command_group("Add Telegram or WhatsApp, or start a detached channel again.")
add = typer.Typer(rich_markup_mode=None, add_completion=False)
app.add_typer(add, name="add", help="Add a channel: telegram or whatsapp.")


def attached_lines(row: Row) -> Sequence[str]:
    """Return what became of a channel that is to be started again."""
    if row["attached"]:
        return [f"{row['name']} is started again"]
    return [f"{row['name']} waits for no start in the process that was asked; the others of its group were told"]


show_command(app, attach_channel, attached_lines, name="attach")


@add.command()
def telegram(
    ctx: typer.Context,
    token: Annotated[str | None, _secret_option("--token", "Bot token from @BotFather")] = None,
    approvers: IdsOption = None,
    public_url: PublicUrlOption = None,
    api_base: ApiBaseOption = None,
) -> None:
    """Add a Telegram bot. What is not given as an option is asked for, or read from the pipe line by line.

    The token is tried with Telegram and kept in a private file (keys/, mode 600), and the settings file is written.
    With --public-url Telegram delivers to the host, else the host polls.
    """
    options: GlobalOptions = ctx.obj
    check_public_url(options, public_url)
    answers = Answers()
    base: dict[str, Any] = {} if api_base is None else {"ApiBase": api_base}
    value, results = answers.ask_secret(
        "Bot token, from @BotFather (it is not shown): ", token, lambda text: asyncio.run(_try_token(text, base))
    )
    write_lines(describe(results))
    ids = answers.ask("Your Telegram id, digits (empty: by pairing): ", approvers, check_ids)
    saved, hidden = {**base, **_rights(ids)}, {"Token": value}
    if public_url is not None:
        saved["Mode"], hidden["WebhookSecret"] = "Webhook", secrets.token_urlsafe(32)
    file = save_channel(options, "Telegram", saved, hidden, public_url)
    write_lines([f"Telegram was added to {file}.", *NEXT, *(() if ids else (PAIRING,))])


@add.command()
def whatsapp(
    ctx: typer.Context,
    phone_number_id: Annotated[
        str | None, typer.Option("--phone-number-id", metavar="ID", help="Id of the number at Meta, digits only.")
    ] = None,
    token: Annotated[str | None, _secret_option("--token", "Access token")] = None,
    app_secret: Annotated[str | None, _secret_option("--app-secret", "App secret")] = None,
    verify_token: Annotated[
        str | None, _secret_option("--verify-token", "Token of your choice; made by the program if you give none")
    ] = None,
    approvers: IdsOption = None,
    public_url: PublicUrlOption = None,
    api_base: ApiBaseOption = None,
) -> None:
    """Add a WhatsApp number. What is not given as an option is asked for, or read from the pipe line by line.

    Number, token and app secret are tried with Meta; secrets are kept in private files (keys/, mode 600), and the
    settings file is written.
    """
    options: GlobalOptions = ctx.obj
    check_public_url(options, public_url)
    answers = Answers()
    base: dict[str, Any] = {} if api_base is None else {"ApiBase": api_base}
    number = answers.ask("Phone number id, from API Setup (not the phone number): ", phone_number_id, _check_number)
    access, results = answers.ask_secret(
        "Access token (it is not shown): ", token, lambda text: asyncio.run(_try_access(number, text, base))
    )
    write_lines(describe(results))
    secret = answers.ask_secret(
        "App secret, from App settings, Basic (it is not shown): ",
        app_secret,
        lambda text: asyncio.run(_try_app_secret(number, access, text, base)),
    )
    word = _check_word(resolve_reference(verify_token)) if verify_token else secrets.token_urlsafe(24)
    ids = answers.ask("Your WhatsApp number, digits with country code (empty: by pairing): ", approvers, check_ids)
    hidden = {"AccessToken": access, "AppSecret": secret, "VerifyToken": word}
    saved = {"PhoneNumberId": number, **base, **_rights(ids)}
    file = save_channel(options, "WhatsApp", saved, hidden, public_url)
    url = public_url or load_cli_settings(options).public_url
    lines = [f"WhatsApp was added to {file}.", *NEXT, *(() if ids else (PAIRING,))]
    write_lines([*lines, *_describe_webhook(url)])


def _describe_webhook(url: str | None) -> Sequence[str]:
    if url is not None:
        return (
            f"At its start the host has Meta deliver to {url.rstrip('/')}/webhooks/whatsapp.",
            "  In the app dashboard, under WhatsApp, Configuration, subscribe to the field messages once.",
        )
    return (
        "Meta has to reach the host: in the app dashboard, under WhatsApp, Configuration, enter",
        "  https://YOUR.HOST/webhooks/whatsapp and the verify token in keys/whatsapp_verifytoken,",
        "  and subscribe to the field messages; or set PublicUrl, and the host registers the address itself.",
    )


def _rights(ids: Sequence[str]) -> dict[str, Any]:
    return {"AllowFrom": [*ids], "Approvers": [*ids]} if ids else {}


async def _try_token(token: str, base: dict[str, Any]) -> tuple[str, list[SelfTestResult]]:
    from sophon_channels.telegram.channel import TelegramChannel  # lazy: a command about another platform

    settings = TelegramSettings.model_validate({"Token": Secret(token), **base})
    results = await TelegramChannel(settings, os.environ, SystemClock()).run_self_test()
    _raise_refusal(results, token)
    return token, results


def _check_number(text: str) -> str:
    if not (text.isascii() and text.isdigit()):
        raise InputError(f"{text!r} is no phone number id: that is the number's id at Meta, digits only")
    return text


def _check_word(text: str) -> str:
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise InputError("a verify token has letters, digits and signs, without blanks")
    return text


async def _try_access(number: str, token: str, base: dict[str, Any]) -> tuple[str, list[SelfTestResult]]:
    from sophon_channels.whatsapp.channel import WhatsAppChannel  # lazy, as above

    values = {"PhoneNumberId": number, "AccessToken": Secret(token), **base}
    hidden = {"AppSecret": Secret("not known yet"), "VerifyToken": Secret("not known yet")}
    settings = WhatsAppSettings.model_validate({**values, **hidden})
    results = await WhatsAppChannel(settings, os.environ, SystemClock()).run_self_test()
    _raise_refusal(results, token)
    return token, results


async def _try_app_secret(number: str, token: str, secret: str, base: dict[str, Any]) -> str:
    from sophon_channels.whatsapp.api.client import WhatsAppClient  # lazy, as above
    from sophon_channels.whatsapp.api.errors import WhatsAppApiError

    if not secret:
        raise InputError("the app secret is empty; without it anyone could send messages as anyone")
    client = WhatsAppClient(number, token, base.get("ApiBase"), SystemClock())
    try:
        await client.check_app_secret(secret)
    except WhatsAppApiError as error:
        raise InputError(redact(f"Meta does not accept this app secret for the token: {error}")) from None
    finally:
        await client.close()
    return secret


def _raise_refusal(results: Sequence[SelfTestResult], secret: str) -> None:
    """Raise InputError if the first check, that of the secret itself, has failed; never with the secret."""
    first = results[0]
    if not first.ok:
        text = f"{first.summary}{f'; {first.fix}' if first.fix else ''}"
        raise InputError(redact(text.replace(secret, "***") if secret else text))
