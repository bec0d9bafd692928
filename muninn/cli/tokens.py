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
    says that the person chose the client. Raises SettingsError for a name that is none, for a file that is missing or
    open to others, and where the gateway's home is not there: from another folder a relative one would be made anew,
    with a token that the gateway does not know.
    """
    from muninn.bridge import TokenSource

    word = clients.new_token()
    clients.make(name, word)  # refuses a name that could lead out of the folder
    if file is not None:
        given = Path(file).expanduser().absolute()
        TokenSource(given).read()
        return Token(name, given)
    sample, kept = _sample(places), places.home / FOLDER / name
    if not named and sample is not None:
        return Token("the sample", sample)
    if not local:
        return Token(name, None)
    if not places.home.is_dir():
        raise SettingsError(
            f"no gateway was served from {places.home} yet, it is not there: name the home of yours with --home (`make "
            "serve` and `muninn start` print it), or start one first"
        )
    known = clients.load(places.clients)
    if name not in known:
        return Token(name, kept, word)
    is_its_own = kept.exists() and clients.digest_of(TokenSource(kept).read()) == known[name].digest
    return Token(name, kept if is_its_own else None)


def _sample(places: Places) -> Path | None:
    """Where ``muninn start --sample`` keeps its token, None where this is no home of a sample."""
    file = places.home.parent / "token"
    return file if places.home.name == "home" and file.is_file() else None


def make(places: Places, token: Token) -> None:
    """Make the client where it is new, with the default rights, and keep its token."""
    if token.word is None or token.file is None:
        return
    made = clients.make(token.client, token.word)
    with clients.changing(places.clients) as known:
        known |= clients.added(known, made)
        # Before the register is saved: a client whose token nobody has would be of no use.
        put(token.file, token.word + "\n")


def renew(places: Places, name: str, word: str, old: str) -> list[Path]:
    """After a rotation: put the new token where the one with the digest ``old`` is kept, so that a bridge goes on.

    That is the home, and the file of the sample where it holds just that token. Gives where it was put.
    """
    kept, sample = places.home / FOLDER / name, _sample(places)
    files = [kept] if kept.is_file() else []
    if sample is not None and clients.digest_of(sample.read_text(encoding="utf-8").strip()) == old:
        files.append(sample)
    for file in files:
        put(file, word + "\n")
    return files


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
