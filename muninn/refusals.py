"""The refusals that several tools share, each worded once: what was expected, what was found, and the next step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from muninn.model.content import Basis, ContentHash, NotePath
from muninn.model.errors import LedgerUnavailableError, VaultUnavailableError, reason
from muninn.model.refusal import Code, Refusal
from muninn.model.rights import Rights

T = TypeVar("T")


def guarded(work: Callable[[], T]) -> T | Refusal:
    """Run a piece of work; what broke outside becomes the refusal that says so. A bug is left to rise."""
    try:
        return work()
    except VaultUnavailableError as error:
        return Refusal(Code.VAULT_UNAVAILABLE, f"vault unavailable: {error}; try again when it is there")
    except LedgerUnavailableError as error:
        return Refusal(Code.LEDGER_UNAVAILABLE, f"ledger unavailable: {error}; reads go on")
    except OSError as error:
        return Refusal(Code.VAULT_UNAVAILABLE, f"a file of the vault cannot be read now ({reason(error)}); try again")


def forbidden(path: NotePath) -> Refusal:
    """The refusal for a path outside the client's rights: the same whether the path exists or not."""
    return Refusal(Code.FORBIDDEN, f"this client may not write {path}; ask the owner for a wider --write glob or scope")


def not_found(path: NotePath) -> Refusal:
    """The refusal for a path that is not there, or that the client may not see: the same for both."""
    return Refusal(Code.NOT_FOUND, f"{path} is not there; search or list for it, or see history for what was archived")


def no_file(path: NotePath, what: str) -> Refusal:
    """The refusal for reading what is no regular file, or too large a one."""
    message = f"{path} cannot be read: there is {what_is_there(what)}, not a regular file"
    return Refusal(Code.TOO_LARGE if what.startswith("larger") else Code.INVALID_PATH, message)


def what_is_there(what: str) -> str:
    """A ``Blocked.what`` with its article."""
    return what if what.startswith(("a ", "larger")) else f"a {what}"


def twin_fault(path: NotePath, twin: str, rights: Rights) -> Refusal:
    """The refusal for a name that only case or Unicode form tells apart from an existing one."""
    named = f": {twin}" if rights.sees(twin) else ""
    message = (
        f"{path} differs only in case or Unicode form from what is there already{named}; use the existing spelling"
    )
    return Refusal(Code.EXISTS, message, {"path": path} | ({"existing": twin} if named else {}))


def exists(path: NotePath, current: ContentHash, wanted: Basis | None) -> Refusal:
    """The refusal for something that is there where nothing was expected."""
    message = f"{path} exists with the hash {current}; expected was missing: read it, and write with its hash"
    return Refusal(Code.EXISTS, message, _in_place({"path": path, "current_hash": current}, current == wanted))


def conflict(path: NotePath, expected: Basis, current: Basis, wanted: Basis | None) -> Refusal:
    """The refusal for a file that is not the one the client read."""
    message = f"{path} is not what was read: expected {expected}, found {current}; read it again and redo the change"
    details = {"path": path, "expected_hash": str(expected), "current_hash": str(current)}
    return Refusal(Code.CONFLICT, message, _in_place(details, current == wanted))


def _in_place(details: Mapping[str, object], in_place: bool) -> Mapping[str, object]:
    return {**details, "already_in_place": True} if in_place else details


def used_before(request_id: str) -> Refusal:
    """The refusal for a request id that belongs to a call with other arguments, or of another tool."""
    message = f"request_id {request_id!r} was used for another call; take a new one for each new call"
    return Refusal(Code.INVALID_ARGUMENTS, message)


def not_a_note(path: NotePath) -> Refusal:
    """The refusal for a writing tool that is pointed at an attachment or a temporary file."""
    return Refusal(Code.INVALID_PATH, f"{path} is no note (a regular file ending in .md); only notes are written")


def elsewhere(path: NotePath) -> Refusal:
    """The refusal for a cloud placeholder."""
    message = f"{path} is a cloud placeholder: the file is not here now; try again when it has come down"
    return Refusal(Code.VAULT_UNAVAILABLE, message)
