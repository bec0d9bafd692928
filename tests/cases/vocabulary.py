"""Every word a case may use.

The words are closed: what stands in no table here makes a case `unknown`, so that a case never passes
because a part of it was overlooked.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys an object must have and those it may have."""

    must: frozenset[str]
    may: frozenset[str]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _keys(must: str = "", may: str = "") -> Keys:
    return Keys(_words(must), _words(may))


PARTS = _words("door ledger folder_index recover index links rerank claims summaries code backup doctor")

CASE = _keys("id given when then", "area needs source basis report must measured note")

GIVEN = _words(
    "files outside_vault empty_dirs symlinks special generated vault_is_link clients config serve env remote "
    "reranker faults start",
)
FILE = _keys("", "path name_b64 text b64 repeat noise bytes sha256 mode mtime")
OUTSIDE_FILE = _keys("path", "text b64 repeat noise bytes sha256 mode mtime")
SYMLINK = _keys("path to")
SPECIAL = _keys("path kind")
SPECIAL_KINDS = frozenset({"fifo", "socket"})
GENERATED = _keys("path times", "text repeat")
CLIENT = _keys("name", "token scopes read write")
REMOTE = _keys("", "files")

CONTENTS = frozenset({"text", "b64", "repeat", "noise", "fixture"})
REPEAT = _keys("unit times", "head tail")
NOISE = _keys("seed bytes")
FORMS = frozenset({"repeat", "fixture", "b64", "join", "json", "each"})

STEPS = {
    "tool": _keys("name args", "as cut odd note"),
    "http": _keys("method path headers", "body note"),
    "cli": _keys("args", "stdin env note"),
    "scan": _keys("", "note"),
    "outside": _keys(
        "do",
        "path to text b64 repeat noise fixture mode mtime times pause_s offset zeros sql s what recursive note",
    ),
    "server": _keys("do", "vault home cache second reranker note"),
    "fault": _keys("point kind", "times s path value outside note"),
    "heal": _keys("", "point note"),
    "parallel": _keys("", "n step steps note"),
    "seq": _keys("steps", "note"),
    "repeat": _keys("n step", "pause_s note"),
    "variants": _keys("variants steps", "fresh note"),
    "sleep": _keys("s", "note"),
}
CUT = _keys("how", "after_s")
CUTS = frozenset({"close", "cancel", "half_body", "short_body"})
BODY = _words("rpc tool args text fill chunked declared")
SERVER_DOINGS = frozenset({"start", "stop", "kill"})

OUTSIDE = {
    "write": _keys("path", "text b64 repeat noise fixture mode"),
    "append": _keys("path text", "times pause_s"),
    "patch": _keys("path offset", "zeros text"),
    "remove": _keys("path", "recursive"),
    "rename": _keys("path to"),
    "copy": _keys("path to"),
    "mkdir": _keys("path", "mode"),
    "symlink": _keys("path to"),
    "utime": _keys("path mtime"),
    "chmod": _keys("path mode"),
    "sql": _keys("path sql"),
    "lock": _keys("path s"),
    "git_init": _keys("path"),
    "remote_edit": _keys("what"),
}
REMOTE_EDITS = _words("flip_bit cut_byte drop_file swap_files extra_file rollback foreign_commit")

POINTS = _words(
    "ledger.commit ledger.settle vault.root vault.read vault.write vault.fsync vault.exchange vault.fsync_folder "
    "folder_index.apply index.write index.query reranker.load reranker.call backup.seal backup.push backup.fetch "
    "backup.open",
)
KINDS = _words("raise enospc slow exit do return")

CHECKS = {
    "ok": _keys("step"),
    "refused": _keys("step codes", "names names_any"),
    "answered": _keys("step", "codes"),
    "protocol_error": _keys("step"),
    "unknown_tool": _keys("step"),
    "lost": _keys("step"),
    "exit_nonzero": _keys("step", "names"),
    "http": _keys("step status", "header has lacks"),
    "field": _keys("step field op", "value n"),
    "top1": _keys("step path"),
    "hits_have": _keys("step", "path paths"),
    "hits_lack": _keys("step", "path paths"),
    "hits_none": _keys("step"),
    "zero_side_effects": _keys("step", "since deep"),
    "unchanged": _keys("step path", "since except"),
    "ledger_delta": _keys("step n", "since"),
    "ledger_keeps": _keys("path sha256"),
    "bytes": _keys("path", "sha256 of as_after after"),
    "matches": _keys("path regex", "after"),
    "absent": _keys("path", "after"),
    "present": _keys("path", "kind name_b64 after"),
    "mode": _keys("path mode", "after"),
    "same_tree": _keys("a b", "after"),
    "files_lack": _keys("path strings"),
    "remote_lacks": _keys("strings"),
    "reranker_saw": _keys("lacks min_calls"),
    "logs_lack": _keys("string"),
    "passed": _keys("step order"),
    "within": _keys("step s"),
    "alive": _keys("step", "path"),
    "memory": _keys("step grow_mib"),
    "same_reasons": _keys("steps"),
    "ok_count": _keys("step n"),
    "copies": _keys("step which checks", "min"),
    "each": _keys("of checks", "where where_not where_has"),
    "either": _keys("lists"),
}
COPY_KINDS = frozenset({"ok", "refused", "any"})
PRESENT_KINDS = frozenset({"file", "folder", "link"})

OPS = _words(
    "eq ne has lacks text_has text_lacks in le ge set unset empty len_eq len_le len_ge all_len_le same_set distinct "
    "count",
)
OPS_WITHOUT_VALUE = frozenset({"set", "unset", "empty", "distinct"})

CODES = _words(
    "invalid_arguments invalid_path not_found forbidden exists conflict invalid_note too_large not_text unknown_id "
    "vault_unavailable ledger_unavailable index_block script_error script_limit budget_exceeded",
)

TOOLS = _words(
    "search read list links write edit archive restore history recover claim claims retract register_summary "
    "staleness contract run_code status",
)
