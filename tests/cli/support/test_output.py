"""A new file is written completely or not at all."""

from pathlib import Path

import pytest

from belated.cli.support.output import new_file


def test_nothing_is_left_of_one_that_fails(tmp_path: Path) -> None:
    def interrupted() -> None:
        with new_file(tmp_path / "new") as part:
            part.write_text("some of it")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_one_that_another_made_meanwhile_stays(tmp_path: Path) -> None:
    file = tmp_path / "new"

    def overtaken() -> None:
        with new_file(file) as part:
            part.write_text("ours")
            file.write_text("theirs")

    with pytest.raises(ValueError, match="already exists"):
        overtaken()
    assert file.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_that_leads_nowhere_counts_as_a_file(tmp_path: Path) -> None:
    (tmp_path / "new").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="already exists"), new_file(tmp_path / "new"):
        pass


def test_what_belongs_to_a_file_of_that_name_counts_too(tmp_path: Path) -> None:
    (tmp_path / "new-wal").touch()
    with (
        pytest.raises(ValueError, match="new-wal already exists"),
        new_file(tmp_path / "new", companions=["-wal"]),
    ):
        pass
