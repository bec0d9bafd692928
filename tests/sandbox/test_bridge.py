"""Lines of a child are understood whole or not at all; calls become arguments of a reader or a refusal."""

from __future__ import annotations

import re
from typing import Any

import pytest

from muninn import scripting
from muninn.model.refusal import Code, Refusal
from muninn.tool import Tool
from muninn.tools import TOOLS
from sandbox import bridge
from sandbox.bridge import Broken, Call, Calls, Done, Failed, Logged, Over, Spent, Stuck


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'["calls",[["read","a",{"x":1}]],["l"],2]', Calls((Call("read", ("a", {"x": 1})),), Logged(("l",), 2))),
        (b'["done",{"a":[1]},[],0]', Done({"a": [1]}, Logged())),
        (b'["over",70000,[],0]', Over(70000, Logged())),
        (b'["failed","E","m","c","s",["l"],0]', Failed("E", "m", "c", "s", Logged(("l",)))),
        (b'["stuck",[],0]', Stuck(Logged())),
        (b'["spent","memory"]', Spent("memory")),
    ],
)
def test_a_line_of_ours_is_understood(line: bytes, expected: bridge.Said) -> None:
    assert bridge.parse(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b'["done",1,[],0,0]',
        b'["done",1,[1],0]',
        b'["done",1,[],"0"]',
        b'["done",Infinity,[],0]',
        b'["calls",[],[],0]',
        b'["calls",[[]],[],0]',
        b'["calls",[["read",1,2,3]],[],0]',
        b'["calls",[[1]],[],0]',
        b'["calls",["read"],[],0]',
        b'["failed",1,"m","c","s",[],0]',
        b'["spent","patience"]',
        b'["citations",[]]',
        b'["done",1,[],0]["done",2,[],0]',
        b"\xff",
        '["stuck",[],0]'.encode("utf-16"),
        b"[" * 200_000,
        b'["done",' + b"1" * 5000 + b",[],0]",
    ],
)
def test_every_other_line_is_broken(line: bytes) -> None:
    assert bridge.parse(line) == Broken()


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (Call("read", ("a",)), {"path": "a"}),
        (Call("read", ("a", {"start_line": 2})), {"path": "a", "start_line": 2}),
        (Call("read", ()), {}),
        (Call("list", (None, {"depth": 2})), {"folder": None, "depth": 2}),
        (Call("list", ("", None)), {"folder": ""}),
        (Call("search", ({"x": 1}, {"limit": "x"})), {"query": {"x": 1}, "limit": "x"}),
    ],
)
def test_a_call_becomes_arguments_that_the_tool_checks(call: Call, expected: dict[str, Any]) -> None:
    assert bridge.arguments(call) == expected


@pytest.mark.parametrize("name", ["write", "archive", "run_code", "history", "__init__", "", "read\n"])
def test_only_four_functions_can_be_called(name: str) -> None:
    refusal = bridge.arguments(Call(name, ("a",)))
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.INVALID_ARGUMENTS


def test_what_goes_to_a_child_is_ascii_on_one_line() -> None:
    for line in (
        bridge.answered({"a": "\ud800 \u2028 é \n"}),
        bridge.refused(Refusal(Code.NOT_FOUND, "é\n")),
        bridge.order("é\n\ud800", 1, 2),
    ):
        assert line.isascii()
        assert line.count(b"\n") == 1


@pytest.mark.parametrize("text", ["1e400", "-1e400", "9" * 400, '[{"a": [1e999]}]', '"\\ud800"', '{"\\ud800": 1}'])
def test_a_value_that_no_reader_of_json_takes_has_a_flaw(text: str) -> None:
    said = bridge.parse(f'["done",{text},[],0]'.encode())
    assert isinstance(said, Done)
    assert bridge.flaw(said.value) is not None


def test_ordinary_values_have_none() -> None:
    assert bridge.flaw([1, -1.5e308, 2**1000, True, None, {"é": ["😀", {}]}]) is None


def test_half_characters_become_the_replacement() -> None:
    assert bridge.text_of("a\ud800b") == "a?b"
    assert bridge.text_of("é😀") == "é😀"


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool.name in bridge._FIRST], ids=lambda tool: tool.name)
def test_a_script_may_give_what_the_tool_takes(tool: Tool) -> None:
    taken = set(tool.input_schema["properties"]) - {"revision"}  # a script reads what is there now
    assert {bridge._FIRST[tool.name], *bridge._OPTIONS[tool.name]} == taken
    shown = scripting.SAYS.partition(f"vault.{tool.name}(")[2].partition(")")[0]
    named = re.findall(r"\w+", shown)
    assert named == [bridge._FIRST[tool.name], *(name for name in bridge._OPTIONS[tool.name] if name != "explain")]
