"""Stdio on one side, the gateway's HTTP on the other: for clients that can only start a program.

Message by message: a line is posted as it stands, and its answer is written as a line. Nothing is kept, so that the
bridge works again as soon as the gateway does.
"""

from .address import Address, parse
from .relay import Relay
from .token import VARIABLE, TokenSource

__all__ = ["VARIABLE", "Address", "Relay", "TokenSource", "parse"]
