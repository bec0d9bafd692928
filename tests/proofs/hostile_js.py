"""Hostile scripts by kind, each with how it must end. Our own; grown by attacking our own sandbox."""
# ruff: noqa: E501 - a script is best read on one line

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Gives:
    """The script must return exactly this value."""

    value: Any


@dataclass(frozen=True, slots=True)
class Fails:
    """The script must be refused as its own error, whose message holds this text."""

    said: str = ""


@dataclass(frozen=True, slots=True)
class RunsOut:
    """The script must be stopped by one of these limits."""

    limits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ends:
    """The script may come to any end, in time and without harm."""


Due = Gives | Fails | RunsOut | Ends


@dataclass(frozen=True, slots=True)
class Attack:
    """``cites`` are the paths and lines that the answer must cite, no more and no less; a refusal cites nothing."""

    kind: str
    script: str
    due: Due
    cites: tuple[tuple[str, int, int], ...] = ()
    complete: bool = True


def _all(kind: str, due: Due, *scripts: str) -> tuple[Attack, ...]:
    return tuple(Attack(kind, script, due) for script in scripts)


_TIME: Final = RunsOut(("time",))
_SPENT: Final = RunsOut(("memory", "time", "engine", "stack"))
_STACK: Final = RunsOut(("stack", "memory", "engine"))

CPU: Final = _all(
    "cpu",
    _TIME,
    "for (;;);",
    "while (true) { try { null.x } catch {} }",
    "for (;;) (11n ** 250000n).toString()",
    "return Array(9e8).join('-')",
    "const a = []; a.length = 4294967295; return a.indexOf(1)",
    "label: for (;;) { switch (1) { default: continue label } }",
    "for (const x of (function* () { for (;;) yield 1 })());",
    "return [1].some(function again() { for (;;) try { [1].some(again) } catch {} })",
    "const m = new Map(); for (let i = 0; ; i = (i + 1) % 1000) { m.set(i, i); m.delete(i) }",
    "for (;;) new Date().toString()",
    "for (;;) try { new Function('return ' + Math.random())() } catch {}",
    "for (;;) JSON.parse(JSON.stringify({a: [1, 2, {b: 'x'}]}))",
    "const u = new Uint8Array(1e6); for (;;) u.sort()",
    "do { var x = 'y'.padEnd(1000).split('').reverse().join('') } while (x)",
    "try { for (;;); } finally { for (;;); }",
    "const p = new Proxy({}, {has: () => true}); with (p) { for (;;) {} }",
    "return 'a'.repeat(30000).normalize('NFKD').localeCompare('b') && (() => { for (;;); })()",
)

MEMORY: Final = _all(
    "memory",
    _SPENT,
    "let s = ['ab']; for (;;) s = s.concat(s)",
    "const a = []; for (;;) a.push('x'.repeat(1e6) + a.length)",
    "return 'x'.repeat(2 ** 28).split('').sort().join('')",
    "const a = []; for (;;) a.push(new ArrayBuffer(1e6))",
    "const a = []; for (;;) a.push(new Uint8Array(new SharedArrayBuffer(1e7)).fill(1))",
    "return new Uint8Array(2 ** 30).fill(7).length",
    "const o = {}; for (let i = 0; ; i++) o['k' + i] = i",
    "const m = new Map(); for (let i = 0; ; i++) m.set({}, {m})",
    "const fs = []; for (;;) fs.push(new Function('a', 'return a + ' + fs.length))",
    "const a = []; for (;;) a.push(Symbol('x'.repeat(1000)))",
    "const a = []; for (;;) { try { a.push('x'.repeat(1e6)) } catch (e) { a.push(e) } }",
    "class A extends Array {}; const a = new A(); for (;;) a.push(a.slice())",
    "return Array.from({length: 1e9}, (_, i) => i)",
    "const a = []; for (;;) a.push(/(a|b)+/[Symbol.split]('ab'.repeat(5000)))",
    "return [...(function* () { for (;;) yield {} })()]",
) + _all(
    "memory",
    Ends(),
    "let s = 'x'; for (;;) s += s",
    "let n = 2n; for (;;) n *= n",
    "return new Uint8Array(2 ** 31).length",
    "try { 'x'.repeat(2 ** 29) } catch {} try { Array(2 ** 32 - 1).fill(0) } catch {} return 1",
)

STACK: Final = (
    *_all(
        "stack",
        _STACK,
        "const f = () => f() + 1; return f()",
        "function f() { return f() } return f()",
        "const o = {get x() { return this.x }}; return o.x",
        "const o = {toString() { return '' + this }}; return '' + o",
        "const p = new Proxy({}, {get: (t, k, r) => r[k]}); return p.x",
        "class A { constructor() { new A() } } new A()",
        "return JSON.parse('['.repeat(50000) + ']'.repeat(50000))",
        "const a = []; a[0] = a; return a.flat(Infinity)",
        "const f = () => [1].map(f); return f()",
        "return eval('('.repeat(100000) + '1' + ')'.repeat(100000))",
        "const f = async () => { await f() }; await f()",
        "const s = {[Symbol.toPrimitive]() { return +this }}; return +s",
    ),
    Attack("stack", "const f = n => { try { return f(n + 1) } catch { return n > 50 } }; return f(0)", Gives(True)),
    Attack("stack", "let v = 0; for (let i = 0; i < 100000; i++) v = [v]; return v", Ends()),
)

REGEXP: Final = (
    *_all(
        "regexp",
        _SPENT,
        r"return /^(\w+ ?)*;$/.test('abcdefgh '.repeat(5) + '!')",
        r"return /^(a+)+$/.test('a'.repeat(40) + 'b')",
        r"return /(x+x+)+y/.test('x'.repeat(60))",
        r"return 'x'.repeat(50000).replace(/(x*)*y/g, '')",
        r"return /^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(60))",
        r"return /(?:(?:a*)*)*b/.test('a'.repeat(40))",
        r"return /(a?){60}a{60}/.test('a'.repeat(59))",
        r"for (;;) /(?<=a.*?)b/.exec('a'.repeat(2000))",
    ),
    *_all(
        "regexp",
        Ends(),
        r"return /(){0,}?z/.exec('q')",
        r"return new RegExp('(' .repeat(50000) + ')'.repeat(50000)).source.length",
        r"return new RegExp('a{1000}'.repeat(1000)).test('a')",
        r"return new RegExp('[' + Array.from({length: 60000}, (_, i) => '\\u' + (i + 4096).toString(16)).join('') + ']')",
        r"return /\u{110000}/.test('x')",
        r"return 'x'.matchAll(/(?=x)/g).next().value.index",
    ),
)

PROMISES: Final = (
    *_all(
        "promises",
        RunsOut(("time", "memory")),
        "const f = () => queueMicrotask(f); f(); await new Promise(() => {})",
        "for (;;) await null",
        "await {then(a) { for (;;); }}",
        "await {then(a) { a({then: this.then}) }, x: 1}",
        "for await (const x of (async function* () { for (;;) yield 1 })());",
        "const f = () => { queueMicrotask(f); queueMicrotask(f) }; f(); await new Promise(() => {})",
    ),
    Attack("promises", "const a = () => Promise.resolve().then(a); return await a()", Ends()),
    Attack("promises", "await new Promise(() => {})", Fails("promise")),
    Attack("promises", "await Promise.race([])", Fails("promise")),
    Attack("promises", "Promise.reject(1); return 2", Gives(2)),
    Attack("promises", "queueMicrotask(() => { throw null }); await 0; return 3", Gives(3)),
    Attack("promises", "const a = () => queueMicrotask(a); a(); return 4", Gives(4)),
    Attack("promises", "Promise.prototype.then = () => { throw 1 }; return (await vault.read('a.md')).path", Ends(),
           (("a.md", 1, 8),)),
    Attack("promises", "Promise = null; return (await vault.read('a.md')).path", Gives("a.md"), (("a.md", 1, 8),)),
    Attack("promises", "globalThis.Promise = class { constructor(f) { f(() => {}, () => {}) } };"
           " return (await vault.read('a.md')).path", Gives("a.md"), (("a.md", 1, 8),)),
    Attack("promises", "Object.prototype.then = function (a) { a('stolen') }; return await vault.read('a.md')", Ends(),
           (("a.md", 1, 8),)),
    Attack("promises", "try { return await vault.read('none.md') } finally { throw new Error('last') }", Fails("last")),
    Attack("promises", "vault.read('a.md'); vault.search('x'); return 5", Gives(5)),
    Attack("promises", "await Promise.all(Array.from({length: 100000}, () => vault.read('none.md')))",
           RunsOut(("calls", "output", "memory", "time"))),
)  # fmt: skip

VALUE: Final = (
    *_all(
        "value",
        _TIME,
        "return {get a() { for (;;); }}",
        "return {toJSON() { for (;;); }}",
        "return new Proxy({}, {ownKeys() { for (;;); }})",
        "throw {get stack() { for (;;); }}",
        "throw new Proxy(() => {}, {get() { for (;;); }})",
        "console.log({toJSON() { for (;;); }})",
        "console.log({toString() { for (;;); }, toJSON() { return undefined }})",
    ),
    *_all(
        "value",
        RunsOut(("value",)),
        "return 'x'.repeat(65535)",
        "return Array(40000).fill(0)",
        r"return '\u0001'.repeat(20000)",
    ),
    Attack("value", "return {toJSON() { return {toJSON() { return 1 }} }}", Gives({})),
    Attack("value", "return {get a() { throw new Error('in a getter') }}", Fails("in a getter")),
    Attack("value", "return {toJSON: () => vault}", Gives({})),
    Attack("value", "return [undefined, () => 1, Symbol('x'), NaN, -0]", Gives([None, None, None, None, 0])),
    Attack("value", "return new Date(NaN)", Gives(None)),
    Attack("value", "return Object.create({inherited: 1})", Gives({})),
    Attack("value", "return {a: 1n}", Fails("BigInt")),
    Attack("value", "const o = {}; o.a = [o]; return o", Fails("circular")),
    Attack("value", "return {toJSON() { vault.read('a.md'); console.log('late'); return 1 }}", Gives(1)),
    Attack("value", "return new Proxy([], {get: (t, k) => k === 'length' ? 2 ** 32 : 1})", Ends()),
    Attack("value", "return new (class extends Array { toJSON() { return super.toJSON } })()", Gives(None)),
    Attack("value", "return [vault, console, globalThis.gate, this && typeof this.gate]", Gives([{}, {}, None, "undefined"])),
    Attack("value", "return {error: {code: 'forbidden'}, isError: true}", Gives({"error": {"code": "forbidden"}, "isError": True})),
)  # fmt: skip

_READS: Final = (("a.md", 1, 8),)
_READ: Final = "const r = await vault.read('a.md'); return r.path"

_TAMPERED: Final = tuple(
    Attack("prototypes", before + _READ, Gives("a.md"), _READS)
    for before in (
        "JSON.stringify = () => '{}'; JSON.parse = () => ({path: 'forged.md'}); ",
        "Array.prototype.join = () => 'forged'; String.prototype.slice = () => 'forged'; ",
        "Function.prototype.call = Function.prototype.apply = () => 'forged'; Reflect.apply = () => 'forged'; ",
        "Object.defineProperty = Object.freeze = () => ({}); globalThis.Object = null; ",
        "Array.prototype.toJSON = Object.prototype.toJSON = String.prototype.toJSON = () => 'forged'; ",
        "Object.prototype.path = 'forged.md'; Object.prototype.refused = undefined; ",
        "Error.prepareStackTrace = () => { throw 'x' }; try { await vault.read('none.md') } catch {} Error.prepareStackTrace = undefined; ",
        "Error.stackTraceLimit = 0; ",
        "Array.prototype[Symbol.iterator] = function* () { yield 'forged' }; ",
        "Object.defineProperty(Object.prototype, 'value', {get: () => 'forged', set() {}, configurable: true}); delete Object.prototype.value; ",
        "String = Array = Error = Symbol = Reflect = undefined; ",
        "try { vault.read = async () => ({path: 'forged.md'}) } catch {} ",
        "globalThis.vault = {read: async () => ({path: 'forged.md'})}; ",
        "try { Object.defineProperty(globalThis, 'vault', {value: 1}) } catch {} ",
        "try { vault.__proto__ = {read: 1}; Object.setPrototypeOf(vault, {}) } catch {} ",
    )
)
PROTOTYPES: Final = (
    *_TAMPERED,
    Attack("prototypes", "Object.defineProperty(Array.prototype, '0', {set() { throw 'set' }, get() { return 'forged' }}); " + _READ, Ends(), _READS),
    Attack("prototypes", "Object.defineProperty(Object.prototype, 'refused', {get: () => ({code: 'x', message: 'y'})}); " + _READ, Ends(), _READS),
    Attack("prototypes", "Error.prepareStackTrace = (e, f) => { globalThis.got = f.map(x => x.getFunction?.()); return '' };"
           " await vault.read('a.md'); return typeof got?.[0]?.('drain')", Ends(), _READS),
)  # fmt: skip

AUTHORITY: Final = (
    Attack("authority", "return typeof require + typeof process + typeof fetch + typeof std + typeof os + typeof scriptArgs",
           Gives("undefined" * 6)),
    Attack("authority", "return [typeof XMLHttpRequest, typeof WebAssembly, typeof Worker, typeof setTimeout, typeof print]",
           Gives(["undefined"] * 5)),
    Attack("authority", "return await import('/etc/passwd')", Fails("load module")),
    Attack("authority", "return await import('std')", Fails("load module")),
    Attack("authority", "return await import('os')", Fails("load module")),
    Attack("authority", "return await import('data:text/javascript,1')", Fails("load module")),
    Attack("authority", "return eval('import.meta')", Fails()),
    Attack("authority", "return (0, eval)('typeof gate + typeof waiting + typeof outbox + typeof parse')",
           Gives("undefined" * 4)),
    Attack("authority", "return arguments.callee.caller?.toString() ?? null", Ends()),
    Attack("authority", "return vault.read.constructor('return typeof outbox')()", Gives("undefined")),
    Attack("authority", "return Object.getOwnPropertyNames(globalThis).filter(n => /read|load|exec|open|file/i.test(n))",
           Gives([])),
    Attack("authority", "return console.log.constructor('return typeof logs')()", Gives("undefined")),
    Attack("authority", "try { return Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1e9) } catch (e) { return 'no' }",
           Ends()),
    Attack("authority", "}); globalThis.hit = 1; (async function () { return typeof gate", Ends()),
    Attack("authority", "*/ return 1 /*", Fails("SyntaxError")),
    Attack("authority", "return typeof vault.write + typeof vault.archive + typeof vault.history + typeof vault.run_code",
           Gives("undefined" * 4)),
    Attack("authority", "globalThis.kept = 'kept'; return kept", Gives("kept")),
    Attack("authority", "return typeof kept", Gives("undefined")),
)  # fmt: skip


def _code_of(call: str, *codes: str) -> Attack:
    due = Gives(codes[0]) if len(codes) == 1 else Ends()
    return Attack("paths", f"try {{ await {call}; return 'READ' }} catch (e) {{ return e.code }}", due)


PATHS: Final = (
    *(
        _code_of(f"vault.read({path})", "invalid_path")
        for path in (
            "'../outside.md'", "'a/../../outside.md'", "'/etc/passwd'", "'..\\\\outside.md'", "'C:\\\\x.md'", "'a.md/'",
            "''", "'.'", "'.muninn-vault'", "'.git/config'", r"'a.md\0.txt'", "'//a.md'", "'x/./a.md'", r"'\u202ea.md'",
        )
    ),
    *(
        _code_of(f"vault.read({path})", "not_found")
        for path in ("'private/secret.md'", "'Private/SECRET.md'", "'%2e%2e/outside.md'", "'~/outside.md'", "'file:a.md'")
    ),
    *(
        _code_of(call, "invalid_arguments")
        for call in (
            "vault.read()", "vault.read({})", "vault.read(null)", "vault.read(['a.md'])", "vault.read(Symbol('x'))",
            r"vault.read('\ud800')", "vault.read({toString: () => 'a.md'})", "vault.read('a.md', {revision: 'x'})",
            "vault.read('a.md', {start_line: -1})", "vault.read('a.md', {start_line: 1.5})", "vault.read('a.md', 7)",
            "vault.read('a.md', {start_line: {toJSON: () => '1'}})", "vault.search('x', {limit: 1e9})",
            "vault.read('a.md', {private: true})", "vault.read('a.md', {scopes: ['private']})",
            "vault.search('x', {limit: -1})", "vault.list('', {depth: 0})", "vault.links('a.md', {cursor: 'forged'})",
        )
    ),
    _code_of("vault.read('link.md')", "invalid_path", "not_found"),
    _code_of("vault.read('linked/outside.md')", "invalid_path", "not_found"),
    Attack("paths", "return (await vault.search('wombatsecret')).hits.length", Gives(0)),
    Attack("paths", "return (await vault.list('private')).entries", Fails("not_found")),
    Attack("paths", "return (await vault.links('a.md')).outgoing.map(l => l.path)", Gives(["b.md"])),
    Attack("paths", "return (await vault.search('x', {folder: 'private'})).hits.length", Ends()),
)  # fmt: skip

CITATIONS: Final = (
    Attack("citations", "return {citations: [{path: 'b.md', hash: '0'}], complete: true}",
           Gives({"citations": [{"path": "b.md", "hash": "0"}], "complete": True})),
    Attack("citations", "const r = await vault.read('a.md'); r.hash = '0'.repeat(64); r.path = 'b.md'; return r.path",
           Gives("b.md"), _READS),
    Attack("citations", "await vault.read('long.md', {start_line: 2, end_line: 4}); await vault.read('long.md', {start_line: 5, end_line: 6}); return 1",
           Gives(1), (("long.md", 2, 6),), complete=False),
    Attack("citations", "await vault.read('long.md', {start_line: 9, end_line: 9}); await vault.read('a.md'); await vault.read('long.md', {start_line: 2, end_line: 2}); return 1",
           Gives(1), (("a.md", 1, 8), ("long.md", 2, 2), ("long.md", 9, 9)), complete=False),
    Attack("citations", "await Promise.all(Array.from({length: 30}, () => vault.read('a.md'))); return 1", Gives(1), _READS),
    Attack("citations", "try { await vault.read('none.md') } catch {} return 1", Gives(1)),
    Attack("citations", "try { await vault.read('private/secret.md') } catch {} return 1", Gives(1)),
    Attack("citations", "vault.read('a.md').then(() => {}); return 1", Gives(1)),
    Attack("citations", "const p = vault.read('a.md'); await vault.read('b.md'); return 1", Gives(1),
           (("a.md", 1, 8), ("b.md", 1, 8))),
    Attack("citations", "await vault.list(''); await vault.links('a.md'); return 1", Gives(1)),
    Attack("citations", "const {read} = vault; await read('a.md'); return 1", Gives(1), _READS),
    Attack("citations", "await vault.read.call(null, 'a.md'); return [].concat(await 1)[0]", Gives(1), _READS),
    Attack("citations", "await vault.read('a.md'); await Promise.allSettled(Array.from({length: 250}, () => vault.read('none.md'))); return 1",
           Gives(1), _READS, complete=False),
    Attack("citations", "const h = (await vault.search('numbat', {limit: 1})).hits; return h.length", Gives(1),
           (("numbat.md", 8, 8),)),
    Attack("citations", "await vault.read('a.md', {start_line: 1, end_line: 8}); return 'whole'", Gives("whole"), _READS),
)  # fmt: skip

FLOODS: Final = (
    *_all(
        "floods",
        Ends(),
        "for (let i = 0; i < 1e5; i++) console.log('x'.repeat(100)); return 1",
        "console.log('x'.repeat(1e7)); return 1",
        "for (let i = 0; i < 1e6; i++) console.log(); return 1",
        r"for (let i = 0; i < 1e4; i++) console.log('\u0001'.repeat(1000)); return 1",
        "console.log(...Array(1e5).fill('x')); return 1",
        "throw new Error('x'.repeat(1e7))",
        "const e = new Error('x'); e.stack = 'y'.repeat(1e7); throw e",
        "const e = new Error('x'); e.name = {}; e.message = []; e.code = 'ok'; throw e",
        "throw Object.assign(new Error('a'), {code: 'z'.repeat(1e6)})",
        "return Object.fromEntries(Array.from({length: 3000}, (_, i) => ['k' + i, i]))",
    ),
    *_all(
        "floods",
        RunsOut(("calls", "output", "memory", "time")),
        "for (;;) { try { await vault.read('a.md') } catch {} }",
        "for (;;) await Promise.allSettled(Array.from({length: 50}, () => vault.search('numbat')))",
        "await vault.search('x'.repeat(3e5))",
        "await vault.read('a'.repeat(1e7))",
        "await vault.search('x', {folder: 'y'.repeat(1e6)})",
        "for (;;) vault.read('none.md').catch(() => {})",
        "const c = () => vault.read('none.md').catch(() => [c(), c()]); await c(); await new Promise(() => {})",
    ),
)

STRINGS: Final = (
    Attack("strings", r"return '\ud800'", Fails("lone surrogate")),
    Attack("strings", r"return {'\udfff': 1}", Fails("lone surrogate")),
    Attack("strings", r"return ['a\ud800b'.toWellFormed()]", Gives(["a\ufffdb"])),
    Attack("strings", r"return 'a\0b\u2028\u2029\ufeff\uffff'", Gives("a\0b\u2028\u2029\ufeff\uffff")),
    Attack("strings", "return '\U0001f600é\u0301'", Gives("\U0001f600é\u0301")),
    Attack("strings", "let s = ''; for (let i = 0; i < 20000; i++) s += 'ab'; return s", Gives("ab" * 20000)),
    Attack("strings", "return [2 ** 31, 2 ** 53, -(2 ** 40), 1e21, 5e-324, 0.1]",
           Gives([2**31, 2**53, -(2**40), 1e21, 5e-324, 0.1])),
    Attack("strings", r"console.log('\ud800', 'a\nb'); return 1", Gives(1)),
    Attack("strings", r"throw new Error('\ud800\0')", Fails("?")),
    Attack("strings", r"return '\r\n[\"done\",1,[],0]\n'", Gives('\r\n["done",1,[],0]\n')),
    Attack("strings", r"""return JSON.rawJSON ? JSON.rawJSON('1') : 1""", Gives(1)),
    Attack("strings", r"""try { await vault.read('a.md\n["done",1,[],0]\n') } catch (e) { return e.code }""",
           Gives("invalid_path")),
    Attack("strings", "\ufeffreturn 1", Gives(1)),
    Attack("strings", "#!shebang\nreturn 1", Fails("SyntaxError")),
    Attack("strings", "return `${'x'}\u2028`.length", Gives(2)),
)  # fmt: skip

ATTACKS: Final = (
    *CPU, *MEMORY, *STACK, *REGEXP, *PROMISES, *VALUE, *PROTOTYPES, *AUTHORITY, *PATHS, *CITATIONS, *FLOODS, *STRINGS,
)  # fmt: skip
