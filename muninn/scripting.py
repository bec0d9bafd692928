"""Scripts over the vault: the sandbox gets the readers of one client, the answer gets the gateway's own citations."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

from muninn.model.answer import Cited, LeftOut, RunAnswer
from muninn.model.refusal import Code, Refusal
from sandbox import Ask, Engine, NoEngineError, Returned, Stopped

SAYS: Final = """\
Run read-only JavaScript beside the vault, for questions that need many reads: one call in place of dozens. The script \
is the body of an async function in a fresh engine; `return` gives `value` (JSON, up to 64 KiB). There is no network, \
file, import, timer or state from an earlier run. Four functions, each a promise of the answer object of the tool of \
that name, with your own rights:

vault.search(query, {limit, folder, type, status, tags, since, until})
vault.read(path, {start_line, end_line})
vault.list(folder, {depth, hashes, cursor})
vault.links(path, {cursor})

A refused call is an Error with `code` and `message`; catch it or the script ends with it. console.log is returned as \
`logs`. Example, which decisions link to a runbook:

const {entries} = await vault.list('decisions', {depth: 5});
const notes = entries.filter(e => e.kind === 'note');
const found = await Promise.all(notes.map(async e => {
  const {outgoing} = await vault.links(e.path);
  return outgoing.some(l => l.path?.startsWith('runbooks/')) ? e.title : null;
}));
return found.filter(Boolean);

Cite from `citations`, not from `value`: the gateway records there which lines of which revision the script was \
shown. `complete: false` means that something was cut, paged, degraded or over budget; `truncation` says what: then \
do not say "none" or "all". Limits: 200 calls, 4 MiB read, 40 MiB memory, `timeout_s` seconds. A script reads for \
you, but you have not read: read a note yourself before you write it."""


def run(engine: Engine, script: str, timeout_s: float, ask: Ask) -> RunAnswer | Refusal:
    """Run a script with what ``ask`` lets it see; the refusal says what ended it, with its line and its log."""
    try:
        ended = engine.run(script, timeout_s, ask)
    except NoEngineError:
        # Why is in the log; it names places of this machine.
        message = "no process for the script could be started, the limit of this machine; try again, or tell the owner"
        return Refusal(Code.SCRIPT_LIMIT, message, {"limit": "engine"})
    match ended:
        case Returned():
            return RunAnswer(
                ended.value,
                ended.logs,
                tuple(Cited(row.path, row.hash, row.start_line, row.end_line) for row in ended.citations),
                not ended.gaps,
                tuple(LeftOut(gap.call, gap.path, gap.why) for gap in ended.gaps),
                asdict(ended.usage),
            )
        case Stopped():
            code = Code.SCRIPT_ERROR if ended.limit is None else Code.SCRIPT_LIMIT
            details = {"limit": ended.limit, "line": ended.line, "logs": ended.logs, "usage": asdict(ended.usage)}
            return Refusal(code, ended.message, {name: value for name, value in details.items() if value is not None})


def fences(engine: Engine) -> str:
    """What stands around a script on this machine, for the person who asks; known once one has run."""
    held = engine.fences
    return "not started yet" if held is None else ", ".join(("a process of its own", *held))
