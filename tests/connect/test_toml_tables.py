"""A table is put into somebody else's TOML, and every other byte stays."""

from __future__ import annotations

import tomllib

import pytest

from muninn.connect import toml_tables
from muninn.connect.errors import ConfigError

ENTRY = {"url": "u", "bearer_token_env_var": "T"}
PATH = ("mcp_servers", "muninn")
LINES = '[mcp_servers.muninn]\nurl = "u"\nbearer_token_env_var = "T"\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", LINES),
        ("# mine\nmodel = 'x'", "# mine\nmodel = 'x'\n\n" + LINES),
        ("[mcp_servers.b]\nurl = 'b'\n", "[mcp_servers.b]\nurl = 'b'\n\n" + LINES),
        ("[mcp_servers.muninn]\nurl = 'old'\n\n# next\n[z]\na = 1\n", LINES + "\n# next\n[z]\na = 1\n"),
        ('a = 1\n[ mcp_servers . "muninn" ]\n[mcp_servers.muninn.env]\nX = "1"\n[z]\n', "a = 1\n" + LINES + "[z]\n"),
        ("a = 1\r\n", "a = 1\r\n\r\n" + LINES.replace("\n", "\r\n")),
    ],
)
def test_what_is_put_in_and_what_stays(before: str, after: str) -> None:
    assert toml_tables.put(before, PATH, ENTRY) == after
    assert toml_tables.put(after, PATH, ENTRY) == after


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a = \n", "at line 1"),
        ("mcp_servers = { b = { url = 'x' } }\n", "in a form that cannot be exchanged safely"),
        ("[mcp_servers]\nmuninn = { url = 'x' }\n", "in a form that cannot be exchanged safely"),
        ("[mcp_servers.muninn]\nurl = 'x' # mine\n", "holds comments, which would be lost"),
        ("[mcp_servers.muninn]\n[z]\n[mcp_servers.muninn.env]\nA = 1\n", "in a form that cannot be exchanged safely"),
        ("mcp_servers = 1\n", "in a form that cannot be exchanged safely"),
        ('x = """\n[mcp_servers.muninn]\n[y]\n"""\n', "in a form that cannot be exchanged safely"),
        ('x = """\n[mcp_servers.muninn]\n"""\n', "in a form that cannot be exchanged safely"),
    ],
)
def test_what_cannot_be_changed_without_a_loss_is_refused(text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        toml_tables.put(text, PATH, ENTRY)


def test_every_kind_of_value_is_written_as_it_was() -> None:
    entry = {"a": [1, "x"], "b": {"c.d": True, "e": {}}, "f": 1.5, "g": 'quote " and é'}
    assert tomllib.loads(toml_tables.put("", PATH, entry)) == {"mcp_servers": {"muninn": entry}}
