"""The tools about claims and summaries: their rows of the table, and a handler of a few lines each."""

from __future__ import annotations

from typing import Final

from muninn import arguments as args
from muninn import reading
from muninn.bound import claims, echoes, summaries
from muninn.bound.claims import ClaimDraft
from muninn.bound.summaries import SummaryDraft
from muninn.model.bound import Claimed, ClaimsAnswer, Registered, StalenessAnswer
from muninn.model.content import NotePath
from muninn.model.refusal import Code, Refusal
from muninn.tool import Call, Tool


def _claim(call: Call, a: args.ClaimArguments) -> Claimed | Refusal:
    path = reading.parse_path(a.path)
    if isinstance(path, Refusal):
        return path
    draft = ClaimDraft(a.statement, path, a.revision, a.start_line, a.end_line)
    return claims.claim(call.door, call.rights, draft, dry_run=a.dry_run, request=CLAIM.request(a))


def _claims(call: Call, a: args.ClaimsArguments) -> ClaimsAnswer | Refusal:
    if a.path is not None and a.query is not None:
        return Refusal(Code.INVALID_ARGUMENTS, "arguments of claims: give `path` or `query`, not both")
    if a.query is not None:
        return echoes.matching(call.door, call.rights, a.query, a.cursor)
    path = _path_or_none(a.path)
    if isinstance(path, Refusal):
        return path
    if path is None:
        return claims.everywhere(call.door, call.rights, a.cursor)
    return claims.of_path(call.door, call.rights, path, a.cursor)


def _retract(call: Call, a: args.RetractArguments) -> Claimed | Refusal:
    request = RETRACT.request(a)
    ended = claims.retract(call.door, call.rights, a.claim_id, a.reason, dry_run=a.dry_run, request=request)
    if isinstance(ended, Refusal):
        return ended
    found, answer = ended
    if found is None:
        return answer
    return Claimed(answer.claim_id, answer.state, echoes.of_claim(call.door, call.rights, found))


def _register_summary(call: Call, a: args.RegisterSummaryArguments) -> Registered | Refusal:
    path = reading.parse_path(a.path)
    if isinstance(path, Refusal):
        return path
    draft = SummaryDraft(path, a.hash, tuple((source.path, source.hash) for source in a.sources))
    return summaries.register(call.door, call.rights, draft, dry_run=a.dry_run, request=REGISTER_SUMMARY.request(a))


def _staleness(call: Call, a: args.StalenessArguments) -> StalenessAnswer | Refusal:
    path = _path_or_none(a.path)
    if isinstance(path, Refusal):
        return path
    return summaries.staleness(call.door, call.rights, path, detail=a.detail, cursor=a.cursor)


def _path_or_none(text: str | None) -> NotePath | Refusal | None:
    return None if text is None else reading.parse_path(text)


CLAIM: Final = Tool(
    "claim",
    "write",
    "Claim something of a source",
    "Bind one statement to the note that bears it out, at the revision you read. Use it for a fact that you or others "
    "will act on later: a port, a date, a decision. It is told as long as the source has exactly these bytes, and "
    "abstains afterwards, so nobody acts on what the source no longer says. `revision` is the `hash` of your read and "
    "must be what is there now; on `conflict` read again and claim what it says now. Point to the lines if you can. "
    "A claim says what a source says; that the source is right, it does not say.",
    args.ClaimArguments,
    Claimed,
    _claim,
    writes=True,
)
CLAIMS: Final = Tool(
    "claims",
    "read",
    "Claims that hold",
    "Statements that were claimed, each with its source: of one source (`path`), by plain words (`query`), or all, "
    "newest first. `held`: the source has exactly the bytes that were claimed of. `abstaining`: it has not; id, path "
    "and why (changed, missing, archived, unreadable), without the statement. Read such a source again, then claim "
    "anew and retract the old one. A query matches held statements only; search does not find claims.",
    args.ClaimsArguments,
    ClaimsAnswer,
    _claims,
)
RETRACT: Final = Tool(
    "retract",
    "write",
    "Retract a claim",
    "End a claim, held or abstaining, whoever made it. It stays in the ledger with your reason and is told to nobody "
    "any more. A warning `possible_duplicate` names notes that carry nearly the same sentence: look whether it still "
    "holds there.",
    args.RetractArguments,
    Claimed,
    _retract,
    writes=True,
)
REGISTER_SUMMARY: Final = Tool(
    "register_summary",
    "write",
    "Register a summary",
    "After you wrote a note that sums up others: register it with its own hash and every note it was made from, each "
    "with the hash you read. All are read again and compared; one that differs refuses the whole, and every fault is "
    "named. From then on `staleness` says when a source is not what it was. At most 128 sources and 16 MiB: summarise "
    "parts of a larger field first, then those summaries. Register anew whenever you change the summary; the newest "
    "registration counts.",
    args.RegisterSummaryArguments,
    Registered,
    _register_summary,
    writes=True,
)
STALENESS: Final = Tool(
    "staleness",
    "read",
    "Whether summaries are current",
    "Whether a registered summary (`path`), or each of them by path, still has the sources it was made from, those of "
    "its sources included. `current`: all hold the bytes that were registered. `stale`: one does not; `because` says "
    "which. `unknown`: the summary itself changed, it stands on a cycle, a source cannot be read now, or the budget "
    "of 128 sources and 16 MiB ended (`exhausted`); treat it as not current. `detail` adds the changed lines of each "
    "source, the sentences of the summary that share words with them, and the claims that abstain: a worklist. "
    "Current means that the sources are unchanged, not that they are right about the world.",
    args.StalenessArguments,
    StalenessAnswer,
    _staleness,
)

CLAIM_TOOLS: Final = (CLAIM, CLAIMS, RETRACT, REGISTER_SUMMARY, STALENESS)
