"""The web console: pages for the person, rendered here and behind a session of their own.

Nothing of it is imported but by ``muninn serve``, and what it shows it asks of the same functions as the tools, with
the rights of the client that logged in.
"""

from .console import Console, console

__all__ = ["Console", "console"]
