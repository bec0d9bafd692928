"""What a script gets, what it must not get, and how it ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from sandbox import Engine, Limits, Returned, Stopped
from tests.sandbox.conftest import Run, ask, read

Value = Callable[..., Any]
Stop = Callable[..., Stopped]


# --- values -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("return 1 + 1", 2),
        ("return", None),
        ("", None),
        ("return {}.x", None),
        ("return () => 1", None),
        ("return NaN", None),
        ("return 2 ** 53", 2**53),
        ("return -(2 ** 31)", -(2**31)),
        ("return 1e21", 1e21),
        (r"return 'a\0b'", "a\0b"),
        (r"return '\u2028é😀'", "\u2028é😀"),
        ("let s = ''; for (let i = 0; i < 20000; i++) s += 'ab'; return s.length + s", "40000" + "ab" * 20000),
        ("return {toJSON() { return 7 }}", 7),
        ("return {get a() { return 1 }}", {"a": 1}),
        ("return JSON.parse('{\"__proto__\": 1}')", {"__proto__": 1}),
        ("// a comment at the end", None),
        ("'use strict'; return this === undefined", True),
    ],
)
def test_a_value_comes_out_as_json(value: Value, script: str, expected: Any) -> None:
    assert value(script) == expected


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (r"return '\ud800'", "lone surrogate"),
        (r"return {'\udc00': 1}", "lone surrogate"),
        ("return 10n", "BigInt"),
        ("const o = {}; o.o = o; return o", "circular"),
        ("let v = 0; for (let i = 0; i < 65; i++) v = [v]; return v", "deeper than 64"),
        ("let v = 0; for (let i = 0; i < 5000; i++) v = [v]; return v", ""),
    ],
)
def test_what_is_no_json_is_refused(stopped: Stop, script: str, said: str) -> None:
    ended = stopped(script)
    assert ended.limit in (None, "stack", "output")
    assert said in ended.message


def test_a_value_of_the_greatest_depth_passes(value: Value) -> None:
    assert value("let v = 0; for (let i = 0; i < 63; i++) v = [v]; return v")


def test_each_script_has_an_engine_of_its_own(value: Value) -> None:
    assert value("globalThis.kept = 1; Array.prototype.odd = 1; return kept") == 1
    assert value("return [typeof kept, typeof [].odd]") == ["undefined", "undefined"]


# --- calls ------------------------------------------------------------------------------------------


def test_a_call_gives_the_answer_of_the_reader(value: Value) -> None:
    assert value("return await vault.read('a.md')") == read("a.md")
    assert value("return await vault.search('x', {limit: 1})") == ask("search", {"limit": 1})


def test_calls_at_once_are_answered_in_one_go(value: Value) -> None:
    names = [f"n{i}" for i in range(50)]
    script = f"return (await Promise.all({names}.map(n => vault.read(n)))).map(a => a.path)"
    assert value(script) == names


def test_calls_go_on_where_an_answer_leads(value: Value) -> None:
    assert value("let n = 0; while (n < 20) { await vault.read('n' + n); n++ } return n") == 20


def test_a_refused_call_is_an_error_with_code_and_message(value: Value) -> None:
    script = "try { await vault.read('none') } catch (e) { return [e instanceof Error, e.code, e.message] }"
    assert value(script) == [True, "not_found", "none is not there"]


def test_a_refused_call_that_nobody_catches_ends_the_script(stopped: Stop) -> None:
    ended = stopped("const a = 1;\n\nawait vault.read('none')")
    assert ended.message == "not_found: none is not there (line 3 of the script)"
    assert (ended.limit, ended.line, ended.usage.calls) == (None, 3, 1)


@pytest.mark.parametrize(
    "call",
    [
        "vault.read('a', 1)",
        "vault.read('a', [])",
        "vault.read('a', {revision: 'x'})",
        "vault.read('a', {path: 'b'})",
        "vault.search('a', {query: 'b'})",
        "vault.list('', {folder: 'b'})",
        "vault.links('a', {__proto__: null, x: 1})",
    ],
)
def test_options_are_checked_against_a_list(value: Value, call: str) -> None:
    assert value(f"try {{ return await {call} }} catch (e) {{ return e.code }}") == "invalid_arguments"


def test_no_other_function_can_be_asked_for(value: Value) -> None:
    assert value("return Object.keys(vault).sort()") == ["links", "list", "read", "search"]
    assert value("try { vault.read = 1 } catch {} return typeof vault.read") == "function"
    assert value("'use strict'; try { vault.write = 1 } catch { return 'frozen' }") == "frozen"
    assert value("delete globalThis.vault; vault = 1; return typeof vault.read") == "function"


def test_a_call_that_nobody_waits_for_is_not_made(run: Run) -> None:
    ended = run("vault.read('a'); return 1")
    assert isinstance(ended, Returned)
    assert (ended.value, ended.citations, ended.usage.calls) == (1, (), 0)


def test_what_breaks_in_a_reader_is_raised_and_the_engine_goes_on(engine: Engine, value: Value) -> None:
    def broken(name: str, asked: dict[str, Any]) -> dict[str, Any]:
        raise KeyError(name)

    with pytest.raises(KeyError):
        engine.run("await vault.read('a')", 2, broken)
    assert value("return 1") == 1


# --- errors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "line", "said"),
    [
        ("foo.bar", 1, "ReferenceError"),
        ("\n\n  null.x", 3, "TypeError"),
        ("let x =\n\n}", 3, "SyntaxError"),
        ("const f = () => {\n  throw new RangeError('no')\n}\nf()", 2, "RangeError: no"),
        ("await vault.read('a')\nawait vault.read('b')\nthrow new Error('after')", 3, "Error: after"),
        ("throw 'text'", None, "text"),
        ("throw undefined", None, "undefined"),
        ("throw {toString() { throw 1 }}", None, ""),
        ("throw new Proxy({}, {get() { throw 1 }})", None, ""),
        ("throw null", None, "memory limit"),
        (r"throw new Error('half \ud800')", 1, "Error: half ?"),
    ],
)
def test_an_error_says_what_and_where(stopped: Stop, script: str, line: int | None, said: str) -> None:
    ended = stopped(script)
    assert (ended.limit, ended.line) == (None, line)
    assert said in ended.message
    assert "/" not in ended.message.replace("a/b", "")


def test_a_promise_that_nothing_settles_ends_the_script(stopped: Stop) -> None:
    assert "promise" in stopped("await new Promise(() => {})").message


def test_the_log_is_kept_also_of_a_script_that_fails(run: Run, stopped: Stop) -> None:
    ended = run("console.log('a', {b: 1}, [1], Symbol('s'), 1n, undefined); console.warn('w'); return 0")
    assert ended.logs == ('a {"b":1} [1] Symbol(s) 1 undefined', "w")
    assert stopped("console.log('before'); await vault.read('a'); for (;;);", timeout_s=1).logs == ("before",)
    assert stopped("console.log('before'); throw 1").logs == ("before",)


def test_a_log_is_capped_and_says_so(run: Run) -> None:
    ended = run("for (let i = 0; i < 5000; i++) console.log('x'.repeat(100)); return 0")
    assert isinstance(ended, Returned)
    assert sum(map(len, ended.logs)) <= Limits().logs
    assert [gap.call for gap in ended.gaps] == ["console.log"]


# --- limits -----------------------------------------------------------------------------------------

RUNAWAY = {
    "a loop": "for (;;);",
    "a promise": "const again = () => Promise.resolve().then(again); await again()",
    "a regular expression": r"/^(\w+ ?)*;$/.test('abcdefgh '.repeat(5) + '!')",
    "a join": "Array(9e8).join('-')",
    "a big integer": "for (;;) (11n ** 250000n).toString()",
    "a getter in the value": "return {get a() { for (;;); }}",
    "toJSON of the value": "return {toJSON() { for (;;); }}",
    "an error's message": "throw {get message() { for (;;); }}",
    "a microtask": "const f = () => queueMicrotask(f); f(); await new Promise(() => {})",
}


@pytest.mark.parametrize("kind", RUNAWAY)
def test_no_script_runs_beyond_its_time(stopped: Stop, kind: str) -> None:
    started = time.monotonic()
    ended = stopped(RUNAWAY[kind], timeout_s=1)
    assert time.monotonic() - started < 2
    assert ended.limit in ("time", "memory") or "memory limit" in ended.message, ended


@pytest.mark.parametrize(
    ("script", "limit"),
    [
        ("let s = ['ab']; for (;;) s = s.concat(s)", "memory"),
        ("const f = () => f() + 1; f()", "stack"),
        ("return 'x'.repeat(70000)", "value"),
        ("for (let i = 0; i < 201; i++) await vault.read('n')", "calls"),
        ("for (;;) { try { await vault.read('n') } catch {} }", "calls"),
        ("await vault.read('x'.repeat(300000))", "output"),
    ],
)
def test_a_limit_is_named(stopped: Stop, script: str, limit: str) -> None:
    ended = stopped(script, timeout_s=10)
    assert ended.limit == limit, ended
    assert "limit" in ended.message


def test_memory_that_ran_out_without_a_word_is_said(stopped: Stop) -> None:
    """A chain of promises takes all memory, and the engine forgets the job that it had no room for."""
    for _ in range(4):
        ended = stopped("const again = () => Promise.resolve().then(again); return await again()", timeout_s=20)
        assert "memory limit" in ended.message, ended


def test_a_script_may_go_on_after_a_budget_and_is_not_complete(run: Run) -> None:
    script = "let n = 0; try { for (;;) { await vault.read('n'); n++ } } catch (e) { return [n, e.code] }"
    ended = run(script)
    assert isinstance(ended, Returned)
    assert ended.value == [200, "budget_exceeded"]
    assert [gap.why for gap in ended.gaps] == ["budget: one script may make 200 calls"]


def test_a_gap_holds_no_more_of_a_path_than_can_be_sent(run: Run) -> None:
    """After the budget no tool looks at a path, so what stands in the record is the script's own text."""
    script = (
        "await Promise.allSettled(Array.from({length: 200}, () => vault.read('n')));"
        r"for (const odd of ['\ud800', 'x'.repeat(100000)]) try { await vault.read(odd) } catch {} return 1"
    )
    ended = run(script, 10)
    assert isinstance(ended, Returned)
    assert [gap.path for gap in ended.gaps] == ["?", "x" * 200]


def test_bytes_handed_in_are_counted(run: Run) -> None:
    def long(name: str, asked: dict[str, Any]) -> dict[str, Any]:
        return read(asked["path"]) | {"content": "x" * 1_000_000}

    script = "let n = 0; try { for (;;) { await vault.read('n' + n); n++ } } catch (e) { return [n, e.code] }"
    ended = run(script, readers=long, timeout_s=10)
    assert isinstance(ended, Returned)
    assert ended.value == [4, "budget_exceeded"]
    assert {row.path for row in ended.citations} == {"n0", "n1", "n2", "n3"}
