"""What a plan does to the folder's page: the second change of the same plan, or a warning why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from muninn import refusals
from muninn.contract import Contract
from muninn.model import page
from muninn.model.change import Change
from muninn.model.content import MISSING, BadPath, ContentHash, NotePath
from muninn.model.draft import View
from muninn.model.note import Note
from muninn.model.refusal import Code, Refusal, Warn
from muninn.model.sight import Absent, Blocked, Elsewhere, File


@dataclass(frozen=True, slots=True)
class PageEffect:
    """The page's change with its bytes, or none; and what the client should know of it."""

    change: Change | None = None
    contents: Mapping[ContentHash, bytes] = field(default_factory=dict)
    warnings: tuple[Warn, ...] = ()


def page_of(path: NotePath, contract: Contract) -> NotePath | None:
    """The page that lists a note. None where pages are off, for the page itself, and where the page is less private."""
    if contract.folder_page is None or contract.is_page(path.name):
        return None
    found = NotePath.parse(f"{path.folder}/{contract.folder_page}" if path.folder else contract.folder_page)
    if isinstance(found, BadPath) or (contract.private.cover(path) and not contract.private.cover(found)):
        return None
    return found


def effect(path: NotePath, after: Note | None, view: View, contract: Contract, today: str) -> PageEffect | Refusal:
    """What happens to the page when ``path`` becomes ``after`` (None: it is archived)."""
    target = page_of(path, contract)
    if target is None:
        return PageEffect()
    match view.page:
        case None | Absent(_, None):
            return PageEffect() if after is None else _made(target, after, view, today)
        case Absent() | Blocked():
            return PageEffect(warnings=(_left_alone(target),))
        case Elsewhere():
            return refusals.elsewhere(target)
        case File() as found:
            return _changed(found, target, path, after)


def block_fault(before: bytes | None, after: bytes) -> Refusal | None:
    """The refusal for a client's write that changes the managed block of a page, None where it does not."""
    old, new = _block(before), _block(after)
    if old == new or (old is None and not (new or "").strip()):
        return None
    message = (
        f"the lines between {page.BEGIN} and {page.END} are Muninn's: they follow the notes by themselves. "
        "Leave them as they are and write around them"
    )
    return Refusal(Code.INDEX_BLOCK, message)


def _made(target: NotePath, after: Note, view: View, today: str) -> PageEffect:
    content = page.new_page(target.folder, (*view.siblings, after), today).encode()
    digest = ContentHash.of(content)
    return PageEffect(Change(target, MISSING, digest), {digest: content})


def _changed(found: File, target: NotePath, path: NotePath, after: Note | None) -> PageEffect:
    try:
        text = found.content.decode()
    except UnicodeDecodeError:
        return PageEffect(warnings=(_left_alone(target),))
    new = page.without_note(text, path) if after is None else page.with_note(text, after)
    if new is None:
        return PageEffect(warnings=(_left_alone(target),))
    if new == text:
        return PageEffect()
    content = new.encode()
    digest = ContentHash.of(content)
    change = Change(target, found.hash, digest, found.mode)
    return PageEffect(change, {found.hash: found.content, digest: content})


def _block(content: bytes | None) -> str | None:
    try:
        return None if content is None else page.marked_text(content.decode())
    except UnicodeDecodeError:
        return None


def _left_alone(target: NotePath) -> Warn:
    message = f"the page {target} has not exactly one pair of markers ({page.BEGIN} … {page.END}) and was left alone"
    return Warn("no_index_block", message, (target,))
