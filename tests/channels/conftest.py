"""The package of docs/own-channel.md, installed for the tests of channels."""

from tests.channels.email.page_package import email_package as email_package
