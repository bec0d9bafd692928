"""A member is put into somebody else's JSON, and every other byte stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muninn.connect import jsonc
from muninn.connect.errors import ConfigError

ENTRY = {"url": "u", "args": ["a"]}
PATH = ("servers", "muninn")


def laid_out(indent: str, unit: str = "  ") -> str:
    """The entry with its name, a line each."""
    lines = ['"muninn": {', f'{unit}"url": "u",', f'{unit}"args": [', f'{unit}{unit}"a"', f"{unit}]", "}"]
    return "\n".join(indent + line for line in lines)


IN_LINE = '"servers": {"muninn": {"url": "u", "args": ["a"]}}'
COMMENTED = '{ // all of them\n  "servers": {\n    "b": {}, // mine, {not} "this"\n    /* and more */\n'
LAST = '{\n  "servers": {\n    "b": {}COMMA // last\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "servers": {\n' + laid_out("    ") + "\n  }\n}"),
        ('{"x": 1}', '{"x": 1, ' + IN_LINE + "}"),
        ('{"x": 1,}', '{"x": 1, ' + IN_LINE + "}"),
        ('{"x": 1, // why\n}', '{"x": 1, // why\n  "servers": {\n' + laid_out("    ") + "\n  }\n}"),
        (
            '{\n\t"servers": {\n\t\t"b": {}\n\t},\n\t"z": 1\n}\n',
            '{\n\t"servers": {\n\t\t"b": {},\n' + laid_out("\t\t", "\t") + '\n\t},\n\t"z": 1\n}\n',
        ),
        (COMMENTED + "  }\n}", COMMENTED + laid_out("    ") + "\n  }\n}"),
        (
            (LAST.replace("COMMA", "") + "  }\n}").replace("\n", "\r\n"),
            (LAST.replace("COMMA", ",") + laid_out("    ") + "\n  }\n}").replace("\n", "\r\n"),
        ),
        ('{"servers": {"muninn": {"old": 1}, "b": 2}}', "{" + IN_LINE[:-1] + ', "b": 2}}'),
    ],
)
def test_what_is_put_in_and_what_stays(before: str, after: str) -> None:
    assert jsonc.put(before, PATH, ENTRY) == after
    assert jsonc.put(after, PATH, ENTRY) == after


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', "line 3: expected a comma or }"),
        ('{\n  "a": \n}', "line 3: expected a value"),
        ("{\n  a: 1\n}", 'line 2: expected a name in "'),
        ('{\n  "a" 1\n}', "line 2: expected a colon"),
        ('{"a": 1, "a": 2}', "expected the name 'a' once"),
        ('{"a": tru}', "expected a value"),
        ('{"a": "\\q"}', "expected a value"),
        ('{"a": 1}}', "expected the end of the file"),
        ('{"a": 1', "expected a comma or }"),
        ("[1]", "the file is no object"),
        ('{\n"servers": []}', "line 2: servers is no object"),
        ('{"a": ' + "[" * 200 + "]" * 200 + "}", "at most 100 levels"),
        ('{"servers": {"muninn": {\n "url": "x" // mine\n}}}', "holds comments, which would be lost"),
        ("", "expected a value"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        jsonc.put(text, PATH, ENTRY)
    assert says in str(caught.value)


def test_an_item_is_added_to_an_array() -> None:
    assert jsonc.append('{"inputs": []}', ("inputs",), 1) == '{"inputs": [\n  1\n]}'
    assert jsonc.append('{"inputs": [1]}', ("inputs",), 2) == '{"inputs": [1, 2]}'
    lines = '{\n  "inputs": [\n    1\n  ]\n}'
    assert jsonc.append(lines, ("inputs",), 2) == '{\n  "inputs": [\n    1,\n    2\n  ]\n}'
    assert jsonc.append('{"a": 1}', ("inputs",), 2) == '{"a": 1, "inputs": [2]}'
    with pytest.raises(ConfigError, match="inputs is no array"):
        jsonc.append('{"inputs": 1}', ("inputs",), 2)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=3), _VALUES, max_size=4), st.sampled_from([None, 2, "\t"]), st.booleans())
def test_any_file_of_json_keeps_all_it_said(found: dict[str, Any], indent: Any, ascii_only: bool) -> None:
    found.pop("servers", None)
    for servers in (None, {"b": 1}, {"b": 1, "muninn": 2}):
        whole = found if servers is None else found | {"servers": servers}
        text = json.dumps(whole, indent=indent, ensure_ascii=ascii_only)
        assert jsonc.parse(text) == whole
        changed = json.loads(jsonc.put(text, PATH, ENTRY))
        assert changed == found | {"servers": (servers or {}) | {"muninn": ENTRY}}


@given(st.text(alphabet='{}[]",:/* \n\\a1', max_size=30))
def test_no_text_breaks_the_scan(text: str) -> None:
    try:
        changed = jsonc.put(text, PATH, ENTRY)
    except ConfigError:
        return
    assert jsonc.parse(changed)["servers"]["muninn"] == ENTRY
