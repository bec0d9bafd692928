"""What an agent's own hooks may put into its context: a greeting, notes that bear on a prompt, a reminder.

Everything here reads, on this machine, with the rights of one named client. What is in a note was written by somebody
else: it goes out as a quotation in a frame that it cannot leave (``frame``), and never as words of Muninn's own.
Each event has a module of its own, so that a prompt loads no more than a search needs.
"""
