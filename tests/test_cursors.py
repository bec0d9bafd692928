"""A cursor goes on where it was, only for the question it came from."""

import base64
import json

import pytest

from muninn import cursors
from muninn.model.refusal import Code, Refusal

ASKED = {"folder": "a", "depth": 1}


@pytest.mark.parametrize("position", [0, 7, "a/é.md", ""])
def test_a_cursor_gives_its_position_back(position: int | str) -> None:
    assert cursors.read("list", ASKED, cursors.make("list", ASKED, position)) == position


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "!",
        "AAAA",
        "é",
        "x" * 4000,
        base64.urlsafe_b64encode(b"[1]").decode(),
        base64.urlsafe_b64encode(b"[[[[" * 900).decode(),
        base64.urlsafe_b64encode(json.dumps([5, "0" * 16]).encode()).decode(),
        cursors.make("list", ASKED | {"depth": 2}, 3),
        cursors.make("history", ASKED, 3),
        cursors.make("list", ASKED, -1),
        cursors.make("list", ASKED, 1 << 70),
    ],
)
def test_any_other_cursor_is_refused(cursor: str) -> None:
    found = cursors.read("list", ASKED, cursor)
    assert isinstance(found, Refusal)
    assert found.code is Code.INVALID_ARGUMENTS
