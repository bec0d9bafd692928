"""The tool table: name, scope, schemas, and a handler of a few lines each.

A handler takes a ``Call`` and checked arguments and gives an answer or a Refusal; it never speaks MCP.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from muninn import arguments as args
from muninn import cursors, outcomes, reading, refusals, scripting, searching, standing, writing
from muninn.answers import to_json
from muninn.bound import echoes, freshness
from muninn.claim_tools import CLAIM_TOOLS
from muninn.model.answer import (
    ContractAnswer,
    HistoryAnswer,
    Links,
    Listing,
    PlanRow,
    ReadAnswer,
    Recovered,
    RunAnswer,
    Status,
    Written,
)
from muninn.model.change import Pending, Receipt
from muninn.model.content import Basis, NotePath, basis
from muninn.model.draft import (
    Append,
    ArchiveDraft,
    Draft,
    Edit,
    EditDraft,
    Kept,
    Replace,
    RestoreDraft,
    Section,
    SetFields,
    WriteDraft,
)
from muninn.model.hits import Found
from muninn.model.refusal import Code, Refusal
from muninn.tool import Call, Tool


def run(tool: Tool, call: Call, arguments: Any) -> Any:
    """Check rights and arguments and run one tool. Gives its answer or a Refusal; what breaks is raised."""
    lacking = tool.lacks(call.rights.scopes)
    if lacking is not None:
        message = f"this client lacks the scope {lacking} that {tool.name} needs; ask the owner for it"
        return Refusal(Code.FORBIDDEN, message)
    checked = args.checked(tool.name, tool.adapter, arguments)
    if isinstance(checked, Refusal):
        return checked
    if tool.scope is not None:
        # A vault that is not there is said in every answer, also in those that would not need to look.
        with call.door.vault.opened():
            pass
    return tool.run(call, checked)


# --- reading ---------------------------------------------------------------------------------------


def _search(call: Call, a: args.SearchArguments) -> Found | Refusal:
    asked = searching.Asked(
        a.query, a.limit, a.folder, a.type, a.status, tuple(a.tags or ()), a.since, a.until, a.explain
    )
    door = call.door
    found = searching.search(door.index, door.vault.look, door.vault.walk, call.rights, asked, door.models)
    if isinstance(found, Refusal):
        return found
    door.searches.note(call.rights.client)
    return freshness.warned(door, call.rights, found, [(hit.path, hit.source_hash) for hit in found.hits])


def _read(call: Call, a: args.ReadArguments) -> ReadAnswer | Refusal:
    path = reading.parse_path(a.path)
    if isinstance(path, Refusal):
        return path
    lines = reading.Range(a.start_line or 1, a.end_line)
    answer = reading.read(call.door, call.rights, path, lines, a.revision)
    if isinstance(answer, Refusal) or not answer.current:
        return answer
    return freshness.warned(call.door, call.rights, answer, [(path, answer.hash or answer.source_hash or "")])


def _list(call: Call, a: args.ListArguments) -> Listing | Refusal:
    folder = reading.parse_path(a.folder.removesuffix("/")) if a.folder else ""
    if isinstance(folder, Refusal):
        return folder
    return reading.listing(call.door, call.rights, folder, a.depth, a.hashes, a.cursor)


def _links(call: Call, a: args.LinksArguments) -> Links | Refusal:
    path = reading.parse_path(a.path)
    if isinstance(path, Refusal):
        return path
    position = cursors.read_number("links", {"path": path}, a.cursor) if a.cursor is not None else 0
    if isinstance(position, Refusal):
        return position
    return standing.links(call.door, call.rights, path, position)


def _history(call: Call, a: args.HistoryArguments) -> HistoryAnswer | Refusal:
    path = reading.parse_path(a.path)
    return path if isinstance(path, Refusal) else reading.history(call.door, call.rights, path, a.cursor)


def _run_code(call: Call, a: args.RunCodeArguments) -> RunAnswer | Refusal:
    def ask(name: str, arguments: dict[str, Any]) -> dict[str, Any] | Refusal:
        # The very tools of this client, with its rights: a script can do nothing that its client could not.
        answer = refusals.guarded(lambda: run(BY_NAME[name], call, arguments))
        return answer if isinstance(answer, Refusal) else to_json(answer)

    answer = scripting.run(call.door.scripts, a.script, a.timeout_s, ask)
    if isinstance(answer, Refusal):
        return answer
    return freshness.warned(call.door, call.rights, answer, [(cited.path, cited.hash) for cited in answer.citations])


def _contract(call: Call, _: args.NoArguments) -> ContractAnswer:
    return standing.contract(call.door)


def _status(call: Call, _: args.NoArguments) -> Status:
    return standing.status(call.door, call.rights)


# --- writing ---------------------------------------------------------------------------------------


def _write(call: Call, a: args.WriteArguments) -> Written | Refusal:
    return _on_note(call, a, lambda path, expected: WriteDraft(path, a.path, a.content.encode(), expected))


def _edit(call: Call, a: args.EditArguments) -> Written | Refusal:
    return _on_note(call, a, lambda path, expected: EditDraft(path, tuple(map(_edit_value, a.edits)), expected))


def _edit_value(edit: Any) -> Edit:
    match edit:
        case args.ReplaceEdit():
            return Replace(edit.replace, edit.with_)
        case args.AppendEdit():
            return Append(edit.append)
        case args.SectionEdit():
            return Section(edit.section, edit.text, edit.mode)
        case _:
            return SetFields(edit.frontmatter)


def _archive(call: Call, a: args.ArchiveArguments) -> Written | Refusal:
    return _on_note(call, a, lambda path, expected: ArchiveDraft(path, expected, a.reason, a.note))


def _on_note(call: Call, a: Any, draft: Callable[[NotePath, Basis], Draft]) -> Written | Refusal:
    """The path and the expected hash of a call, then the draft made from them."""
    path, expected = reading.parse_path(a.path), _basis(a.expected_hash)
    if isinstance(path, Refusal):
        return path
    if isinstance(expected, Refusal):
        return expected
    return _submit(call, draft(path, expected), a)


def _restore(call: Call, a: args.RestoreArguments) -> Written | Refusal:
    path = reading.parse_path(a.path)
    if isinstance(path, Refusal):
        return path
    if not call.rights.changes(path):
        return refusals.forbidden(path)
    kept = reading.kept_revision(call.door, path, a.revision)
    if isinstance(kept, Refusal):
        return kept
    return _submit(call, RestoreDraft(path, Kept(kept[0], kept[1], kept[2])), a)


def _submit(call: Call, draft: Draft, a: Any) -> Written | Refusal:
    """Dry run or commit, and the outcome as an answer: the one ``match`` of the way down."""
    if a.dry_run:
        verdict = writing.judge(call.door, call.rights, draft)
        return verdict if isinstance(verdict, Refusal) else outcomes.planned(call.door, call.rights, verdict, "dry_run")
    outcome = writing.commit(call.door, call.rights, draft, _tool_of(a).request(a))
    match outcome:
        case Refusal():
            return outcome
        case Receipt(plan, event):
            answer = outcomes.planned(call.door, call.rights, plan, "committed", event)
            echoed = echoes.of_source(call.door, call.rights, plan.path, plan.before) if plan.changes else ()
            return replace(answer, warnings=(*answer.warnings, *echoed))
        case Pending(plan, pending_id):
            return outcomes.planned(call.door, call.rights, plan, "pending", None, pending_id)
        case writing.Replayed(entry):
            return outcomes.replayed(call.door, call.rights, entry)


def _tool_of(a: Any) -> Tool:
    """The tool whose arguments these are."""
    return next(tool for tool in TOOLS if tool.takes is type(a))


def _basis(text: str) -> Basis | Refusal:
    found = basis(text)
    if found is None:
        message = (
            f"`expected_hash` must be the hash of a read (64 lower-case hex digits) or missing, found {text[:80]!r}"
        )
        return Refusal(Code.INVALID_ARGUMENTS, message)
    return found


def _recover(call: Call, a: args.RecoverArguments) -> Recovered | Refusal:
    if a.pending_id is None:
        return Recovered(None, None, (), standing.plans(call.door, call.rights))
    entry = writing.recover(call.door, call.rights.client, a.pending_id)
    if isinstance(entry, Refusal):
        return entry
    row: PlanRow = standing.plan_row(entry, call.rights)
    return Recovered(row.pending_id, row.state, row.landed)


_SAFE = (
    "Judged before anything is touched; dry_run=true shows the verdict. Old bytes are kept: see history and restore."
)

TOOLS: Final = (
    Tool(
        "search",
        "read",
        "Search the notes",
        "Find notes by plain words. Search before you write: the answer may be there already. Retired notes "
        "(superseded, archived, retracted) are left out unless `status` names them. Each hit carries a snippet with "
        "its lines and `source_hash`; read the note for the `hash` that a write needs. `confidence` low or none "
        "means that the vault probably does not hold the answer.",
        args.SearchArguments,
        Found,
        _search,
    ),
    Tool(
        "read",
        "read",
        "Read a note",
        "Read a file, or a range of its lines, with the SHA-256 of its exact bytes. `hash` comes only with the whole "
        "file; a cut answer has `hash: null`, says `next_line`, and its pieces share one `source_hash`. "
        "`revision` reads kept bytes of this path, also after it was archived.",
        args.ReadArguments,
        ReadAnswer,
        _read,
    ),
    Tool(
        "list",
        "read",
        "List a folder",
        "List notes, attachments and folders, sorted by path, 100 rows a page. `depth` looks into subfolders; "
        "`hashes` adds each file's `source_hash`.",
        args.ListArguments,
        Listing,
        _list,
    ),
    Tool(
        "links",
        "read",
        "Links of a note",
        "Wikilinks and Markdown links of a note (`outgoing`), links without a target (`broken`), and the notes that "
        "link to it (`backlinks`).",
        args.LinksArguments,
        Links,
        _links,
    ),
    Tool(
        "history",
        "read",
        "History of a path",
        "Who changed a path, when and how, newest first, also after it was archived. An event id, or a hash marked as "
        "kept, is a `revision` for read and restore.",
        args.HistoryArguments,
        HistoryAnswer,
        _history,
    ),
    Tool(
        "write",
        "write",
        "Write a whole note",
        "Create a note (`expected_hash: missing`) or replace one (the `hash` of your read). The text lands byte for "
        "byte. It must meet the contract: frontmatter with title, type, status, two to five kebab-case tags and a "
        "date; call `contract` for the rules. The folder's page follows by itself. " + _SAFE,
        args.WriteArguments,
        Written,
        _write,
        writes=True,
    ),
    Tool(
        "edit",
        "write",
        "Edit parts of a note",
        "Change parts of a note and leave every other byte alone: {replace, with} for a text that stands exactly "
        "once, {append}, {section, text, mode} under a heading, {frontmatter: {key: value or null}}. All edits or "
        "none. Answers with a diff. " + _SAFE,
        args.EditArguments,
        Written,
        _edit,
        writes=True,
    ),
    Tool(
        "archive",
        "archive",
        "Archive a note",
        "Take one note out of the vault; its bytes are kept first and `restore` brings them back. There is no "
        "delete. One path and its hash, never a pattern. " + _SAFE,
        args.ArchiveArguments,
        Written,
        _archive,
        writes=True,
    ),
    Tool(
        "restore",
        "archive",
        "Restore an archived note",
        "Bring a kept revision back to its original path, only where nothing is. To bring old bytes back over a live "
        "note, read the revision and write it.",
        args.RestoreArguments,
        Written,
        _restore,
        writes=True,
    ),
    Tool(
        "recover",
        "write",
        "Finish a pending write",
        "Go on with a write that answered `pending`; without an id, list your plans that are pending or that a start "
        "has settled. A plan whose files changed meanwhile is `superseded`: nothing is rebased, `landed` says what is "
        "in place.",
        args.RecoverArguments,
        Recovered,
        _recover,
        writes=True,
    ),
    *CLAIM_TOOLS,
    Tool("run_code", "code", "Run a script", scripting.SAYS, args.RunCodeArguments, RunAnswer, _run_code),
    Tool(
        "contract",
        None,
        "The vault's contract",
        "The rules that every new note must meet, each with an example it accepts and one it rejects, the limits, and "
        "the version.",
        args.NoArguments,
        ContractAnswer,
        _contract,
    ),
    Tool(
        "status",
        None,
        "State of the door",
        "Whether vault, index and ledger are well, your rights, and your pending plans.",
        args.NoArguments,
        Status,
        _status,
    ),
)

BY_NAME: Final = {tool.name: tool for tool in TOOLS}
