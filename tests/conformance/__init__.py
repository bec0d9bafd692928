"""The official MCP conformance suite and inspector, run against a real gateway: ``python -P -m tests.conformance``."""
