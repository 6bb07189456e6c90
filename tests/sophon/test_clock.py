from sophon.clock import SystemClock


def test_no_id_can_be_guessed_from_another() -> None:
    clock = SystemClock()
    ids = [clock.new_id() for _ in range(200)]
    assert all(len(each) == 20 and int(each, 16) >= 0 for each in ids)
    assert len({each[:8] for each in ids}) == len({each[-8:] for each in ids}) == 200
