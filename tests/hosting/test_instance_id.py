"""Instance ids: equal for the same store, different for any other, and without credentials."""

from pathlib import Path

from sophon_hosting.instance_id import compute_instance_id

SQLITE = "sqlite:///data/sophon.db"


def test_a_store_has_one_id_whatever_way_leads_to_it(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "here")
    own = compute_instance_id(SQLITE, tmp_path / "here")
    assert compute_instance_id(SQLITE, tmp_path / "link") == own
    assert compute_instance_id(f"sqlite:///{tmp_path}/here/data/sophon.db", tmp_path) == own
    server = compute_instance_id("postgresql://ada:one@db/sophon", tmp_path)
    assert compute_instance_id("postgresql://bob:two@db/sophon?connect_timeout=3", Path("/")) == server


def test_another_project_has_another_id(tmp_path: Path) -> None:
    urls = [SQLITE, "memory://", "postgresql://db/sophon", "postgresql://db/other", "postgresql://db:5433/sophon"]
    ids = {compute_instance_id(url, tmp_path / folder) for url in urls for folder in ("one", "two")}
    assert len(ids) == 2 + 2 + 3
