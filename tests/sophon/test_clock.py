import os

import pytest

from sophon.clock import SystemClock


def test_no_id_can_be_guessed_from_another() -> None:
    clock = SystemClock()
    ids = [clock.new_id() for _ in range(200)]
    assert all(len(each) == 20 and int(each, 16) >= 0 for each in ids)
    assert len({each[:8] for each in ids}) == len({each[-8:] for each in ids}) == 200


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_draws_ids_of_its_own() -> None:
    clock = SystemClock()
    clock.new_id()  # from now on there are spare ones
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, clock.new_id().encode())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = os.read(reader, 20).decode()
    os.close(reader)
    os.close(writer)
    assert len(theirs) == 20
    assert theirs not in {clock.new_id() for _ in range(100)}
