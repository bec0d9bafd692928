"""Where the token of a client is kept on this machine: in a file of mode 0600 that the bridge reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from muninn import clients
from muninn.home import put
from muninn.model.errors import SettingsError
from muninn.settings import Places

FOLDER = "tokens"


@dataclass(frozen=True, slots=True)
class Token:
    """A client with the file of its token, None where it is not kept here. ``word`` is one still to be made."""

    client: str
    file: Path | None
    word: str | None = field(default=None, repr=False)


def of(places: Places, name: str, *, named: bool, file: str | None, local: bool) -> Token:
    """Where a client's token is: the file given, the sample's, or the one in the home.

    For a gateway of this home (``local``) a client that is not there yet gets one, once ``make`` is called. ``named``
    says that the person chose the client. Raises SettingsError for a name that is none, and for a file that is missing
    or open to others.
    """
    from muninn.bridge import TokenSource

    word = clients.new_token()
    clients.make(name, word)  # refuses a name that could lead out of the folder
    if file is not None:
        given = Path(file).expanduser().absolute()
        TokenSource(given).read()
        return Token(name, given)
    sample, kept = places.home.parent / "token", places.home / FOLDER / name
    if not named and places.home.name == "home" and sample.is_file():
        return Token("the sample", sample)
    if not local:
        return Token(name, None)
    known = clients.load(places.clients)
    if name not in known:
        return Token(name, kept, word)
    is_its_own = kept.exists() and clients.digest_of(TokenSource(kept).read()) == known[name].digest
    return Token(name, kept if is_its_own else None)


def make(places: Places, token: Token) -> None:
    """Make the client where it is new, with the default rights, and keep its token."""
    if token.word is None or token.file is None:
        return
    made = clients.make(token.client, token.word)
    with clients.changing(places.clients) as known:
        known |= clients.added(known, made)
        # Before the register is saved: a client whose token nobody has would be of no use.
        put(token.file, token.word + "\n")


def renew(places: Places, name: str, word: str) -> Path | None:
    """After a rotation: put the new token where the old one is kept, so that a bridge goes on. None where none is."""
    kept = places.home / FOLDER / name
    if not kept.is_file():
        return None
    put(kept, word + "\n")
    return kept


def forget(places: Places, name: str) -> None:
    """After a revocation: keep the dead token no longer."""
    (places.home / FOLDER / name).unlink(missing_ok=True)


def needed(token: Token) -> Path:
    """The file that a bridge is to read. Raises SettingsError where there is none."""
    if token.file is None:
        raise SettingsError(
            f"the bridge reads the token of {token.client} from a file, and none is kept here: give --token-file; "
            f"a new token comes from: muninn client rotate {token.client}"
        )
    return token.file
