"""Plain frontmatter is read as libyaml reads it, wherever it is read without libyaml."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muninn.model import note, plain_yaml
from muninn.model.content import NotePath
from muninn.model.frontmatter import hidden
from muninn.model.yaml_events import build

_SAMPLE = Path(__file__).parents[2] / "muninn" / "sample"
_KEYS = st.sampled_from(["title", "tags", "date", "a-b", "A_1", "yes", "null", "on", "e5", "_x", "title"])
_VALUES = st.one_of(
    st.sampled_from(
        ["", "a", "a b", "2024-01-01", "12:30", "yes", "~", "null", "0x1F", "1e3", "a:b", "a: b", "a #b", "a#b", "a:",
         "a ", " a", "[a, b]", "[]", "[a,]", "[a, [b]]", "[a b, 12]", "[a:b]", '"x: y"', "'x # y'", '"a', '"a"b"',
         "'it''s'", '"\\n"', "- a", "-", "-1", "+1", ".5", "*a", "&a", "!t", "|", ">", "@x", "`x`", "%x", "? a",
         "\u00e9t\u00e9", "a\u00a0b", "a\tb", "a\u200eb", "{a: b}", "[[x]]", '"[[x]]"', "a\\b", "a, b", "a - b",
         "1_000", "0o17", "007", "1" * 101]
    ),
    st.text(max_size=12),
)  # fmt: skip
_LINES = st.one_of(
    st.builds(lambda key, gap, value: f"{key}:{gap}{value}", _KEYS, st.sampled_from([" ", " ", "  ", ""]), _VALUES),
    st.builds(lambda margin, value: f"{margin}- {value}", st.sampled_from(["", "  ", "  ", "    "]), _VALUES),
    _KEYS.map(lambda key: f"{key}:"),
    st.sampled_from(["", "# x", "...", "---", "  more", "\t", "a:\r"]),
)
_GOOD_KEYS = st.from_regex(r"[a-z][a-z0-9_-]{0,6}", fullmatch=True)
_GOOD_VALUES = st.one_of(
    st.sampled_from(
        ["a b", "2024-01-01", "12:30", "yes", "null", "0x1F", "[a, b c]", "[]", '"x: y"', "'#'", "a:b", "12"]
    ),
    st.text("abz09 :#-.,'\"[]\u00e9", min_size=1, max_size=8),
)
_GOOD_ENTRIES = st.one_of(
    st.builds("{}: {}".format, _GOOD_KEYS, _GOOD_VALUES),
    st.builds(
        lambda key, margin, items: "\n".join([f"{key}:", *(f"{margin}- {item}" for item in items)]),
        *(_GOOD_KEYS, st.sampled_from(["", "  "]), st.lists(_GOOD_VALUES, max_size=3)),
    ),
)


@given(st.one_of(st.lists(_LINES, max_size=6), st.lists(_GOOD_ENTRIES, min_size=1, max_size=5)), st.booleans())
def test_what_is_read_here_is_what_libyaml_reads(lines: list[str], ended: bool) -> None:
    text = "\n".join(lines) + ("\n" if ended else "")
    found = plain_yaml.read(text, 2)
    if found is not None:
        assert found == build(text, 2, tuple(hidden(text, 2)))


@pytest.mark.parametrize(
    "text",
    ["title: A note\ntype: note\nstatus: active\ntags: [a, b-c, 12]\ndate: 2024-01-01\n",
     'title: "A: note"\ntags:\n  - a\n  - b\naliases:\n- x\n- \'y\'\n', "owner: \u00c9ric\nempty: []\nn: 12\n"],
)  # fmt: skip
def test_common_frontmatter_needs_no_parser(text: str) -> None:
    found = plain_yaml.read(text, 2)
    assert found is not None
    assert found == build(text, 2, ())
    assert found.flaws == ()


def test_the_sample_is_read_alike() -> None:
    plain = 0
    for file in sorted(_SAMPLE.rglob("*.md")):
        text = file.read_text(encoding="utf-8")
        if text.startswith("---\n") and (end := text.find("\n---\n", 3)) > 0:
            block = text[4 : end + 1]
            found = plain_yaml.read(block, 2)
            assert found is None or found == build(block, 2, tuple(hidden(block, 2)))
            plain += found is not None
    assert plain > 20


def test_plain_frontmatter_wakes_no_parser() -> None:
    code = (
        "import sys; from muninn.model import note\n"
        "from muninn.model.content import NotePath\n"
        "parsed = note.parse(NotePath('a.md'), b'---\\ntitle: A\\n---\\ntext\\n')\n"
        "assert parsed.title == 'A'; print('yaml' in sys.modules)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
    assert note.parse(NotePath("a.md"), b"---\ntitle: 'A: b'\n---\n").title == "A: b"
