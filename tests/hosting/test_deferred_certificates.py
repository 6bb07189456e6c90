"""Contexts made within the block trust nothing before their first use, and then what an ordinary one trusts."""

import ssl
from pathlib import Path

import certifi
import pytest

from sophon_hosting.deferred_certificates import DeferredContext, defer_certificates


@pytest.fixture(autouse=True)
def _certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", certifi.where())


def make_deferred() -> ssl.SSLContext:
    with defer_certificates():
        return ssl.create_default_context()


def test_a_context_loads_its_certificates_when_it_is_first_used() -> None:
    context, ordinary = make_deferred(), ssl.create_default_context()
    assert type(context) is DeferredContext
    assert super(DeferredContext, context).cert_store_stats()["x509_ca"] == 0

    context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="example.org")

    assert type(context) is ssl.SSLContext
    assert context.cert_store_stats() == ordinary.cert_store_stats()
    assert context.cert_store_stats()["x509_ca"] > 50
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)


def test_asking_for_the_certificates_loads_them() -> None:
    assert len(make_deferred().get_ca_certs()) == len(ssl.create_default_context().get_ca_certs())


def test_the_context_of_aiohttp_without_verification_is_deferred_too() -> None:
    with defer_certificates():
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.set_default_verify_paths()
    assert type(context) is DeferredContext
    assert context.cert_store_stats()["x509_ca"] > 50


def test_a_context_that_trusts_a_given_file_alone_still_does(tmp_path: Path) -> None:
    only = tmp_path / "one.pem"
    first = Path(certifi.where()).read_text().split("-----END CERTIFICATE-----")[0]
    only.write_text(f"{first}-----END CERTIFICATE-----\n")
    with defer_certificates():
        context = ssl.create_default_context(cafile=str(only))
    assert context.cert_store_stats()["x509_ca"] == 1


def test_contexts_made_later_and_classes_of_others_are_ordinary() -> None:
    class Theirs(ssl.SSLContext):
        pass

    with defer_certificates():
        theirs = Theirs(ssl.PROTOCOL_TLS_CLIENT)
        theirs.load_default_certs()
    assert type(theirs) is Theirs
    assert theirs.cert_store_stats()["x509_ca"] > 50
    assert type(ssl.create_default_context()) is ssl.SSLContext
    assert "set_default_verify_paths" not in vars(ssl.SSLContext)


def test_an_import_that_fails_leaves_ordinary_contexts() -> None:
    with pytest.raises(ImportError), defer_certificates():
        raise ImportError
    assert ssl.create_default_context().cert_store_stats()["x509_ca"] > 50
