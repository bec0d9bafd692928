"""The values of Muninn. This package imports the standard library and the YAML reader, and none of our own."""
