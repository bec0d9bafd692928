"""The case runner: small cases, written as data, held against the real door over HTTP and the real command line."""
