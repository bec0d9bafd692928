"""Long proofs: what the door promises, held against crashes, races and hostile input; each has a short form."""
