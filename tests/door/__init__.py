"""The door as clients meet it: a real gateway process, spoken to over HTTP."""
