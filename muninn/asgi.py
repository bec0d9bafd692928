"""What an ASGI app is made of, as the gate, the marks and the console see it: plain shapes, and no framework.

From the ASGI specification, https://asgi.readthedocs.io/en/latest/specs/main.html.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
