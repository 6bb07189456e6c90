import gzip
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.errors import ProviderUnavailable
from sophon.models.providers.content_decoding import STEP_BYTES, ContentDecoder
from tests.tables import table


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "nothing": ("", bytes),
    "identity": ("identity", bytes),
    "gzip": ("gzip", gzip.compress),
    "two members": ("x-gzip", lambda data: gzip.compress(data[:7]) + gzip.compress(data[7:])),
    "padding": ("gzip", lambda data: gzip.compress(data) + b"\0" * 9),
    "zlib": ("Deflate", zlib.compress),
    "raw deflate": ("deflate", raw_deflate),
}


@given(st.binary(max_size=300), st.integers(1, 50), st.sampled_from(sorted(PACKERS)))
def test_what_was_packed_comes_out_whole_wherever_the_network_cut_it(data: bytes, size: int, kind: str) -> None:
    encoding, pack = PACKERS[kind]
    decoder, packed = ContentDecoder(encoding), pack(data)
    pieces = [piece for start in range(0, len(packed), size) for piece in decoder.decode(packed[start : start + size])]
    assert b"".join(pieces) == data


@table("kind", ["identity", "gzip", "zlib"])
def test_no_step_is_larger_than_the_limit(kind: str) -> None:
    encoding, pack = PACKERS[kind]
    steps = [len(piece) for piece in ContentDecoder(encoding).decode(pack(bytes(1_000_000)))]
    assert max(steps) <= STEP_BYTES
    assert sum(steps) == 1_000_000


@table("encoding", ["br", "zstd", "gzip, gzip", "x" * 1000])
def test_another_encoding_is_refused(encoding: str) -> None:
    with pytest.raises(ProviderUnavailable, match="content encoding"):
        ContentDecoder(encoding)


@table("encoding", ["gzip", "deflate"])
def test_what_is_not_in_the_encoding_is_an_error_of_the_provider(encoding: str) -> None:
    with pytest.raises(ProviderUnavailable, match="is not valid"):
        list(ContentDecoder(encoding).decode(b"not packed at all"))
