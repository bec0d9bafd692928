"""What is bound to a source at exact bytes: claims, summaries, and what to look at again when the source moves on."""
