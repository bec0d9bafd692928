"""Whether an installation is well: a round trip in a scratch vault, and a look at every part of the live one.

Nothing is imported here, so that ``installed`` still runs where a part of the code was overwritten.
"""
