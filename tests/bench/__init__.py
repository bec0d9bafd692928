"""Times of Muninn beside the bare operations they are made of, as ratios of one run: ``python -P -m tests.bench``."""
