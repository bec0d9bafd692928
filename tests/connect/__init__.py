"""Connecting clients: files of others changed without a loss, in the form that each client documents."""
