"""The bridge as a client sees it: a process with two pipes, before a real gateway or a hostile one."""
