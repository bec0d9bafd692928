-- The ledger: what happened to the vault. Rows are only ever added.
--
-- `rows` is one chain: each row's `chain` is SHA-256 over the chain before it and the canonical form of the
-- row, its changes included (ledger/chain.py). `requests`, `pendings` and `ends` are look-ups whose content
-- stands in the rows as well; `verify` compares them, and these statements with those of the file. Claims and
-- summaries have no table: the index `rows_by_source` finds them by the path in their body.
--
-- `ends_late` finds the few plans that were pending: all others end at most 16 rows later (ledger/history.py).
--
-- `blobs` are the one thing that can go: `purge` removes kept bytes by their hash, and adds a row that says so. `packed`
-- is one zstandard frame; or the byte 1, the hash of other kept bytes, and a frame with those as prefix (ledger/blobs.py).

CREATE TABLE rows (
    seq     INTEGER PRIMARY KEY,               -- 1, 2, 3 … without gaps
    kind    TEXT NOT NULL CHECK (kind IN (
                'vault', 'plan', 'end', 'external', 'baseline', 'found', 'key', 'purge', 'claim', 'retract', 'summary')),
    at      TEXT NOT NULL,                     -- UTC, RFC 3339 with milliseconds
    client  TEXT,                              -- NULL: not through the door
    events  INTEGER NOT NULL,                  -- events up to and including this row
    open    INTEGER NOT NULL,                  -- plans without an end, up to and including this row
    body    TEXT NOT NULL,                     -- canonical JSON
    chain   BLOB NOT NULL CHECK (length(chain) = 32)
) STRICT;

CREATE INDEX rows_of_baseline ON rows (seq) WHERE kind = 'baseline';
CREATE INDEX rows_of_key ON rows (seq) WHERE kind = 'key';
CREATE INDEX rows_by_time ON rows (kind, at) WHERE kind IN ('end', 'external');
CREATE INDEX rows_of_claim ON rows (seq) WHERE kind = 'claim';
CREATE INDEX rows_by_source ON rows (json_extract(body, '$.path'), kind) WHERE kind IN ('claim', 'retract', 'summary');

CREATE TABLE changes (
    seq     INTEGER NOT NULL REFERENCES rows (seq),
    n       INTEGER NOT NULL,
    path    TEXT NOT NULL,
    before  BLOB CHECK (length(before) = 32),  -- NULL: missing
    after   BLOB CHECK (length(after) = 32),
    mode    INTEGER,
    PRIMARY KEY (seq, n)
) STRICT, WITHOUT ROWID;

CREATE INDEX changes_by_path ON changes (path, seq);

CREATE TABLE ends (
    plan     INTEGER PRIMARY KEY REFERENCES rows (seq),
    seq      INTEGER NOT NULL REFERENCES rows (seq),
    at_start INTEGER NOT NULL                  -- 1: a start ended what a crash had left
) STRICT;

CREATE INDEX ends_at_start ON ends (seq) WHERE at_start = 1;
CREATE INDEX ends_late ON ends (seq) WHERE seq > plan + 16;

CREATE TABLE requests (
    client     TEXT NOT NULL,
    request_id TEXT NOT NULL,
    seq        INTEGER NOT NULL REFERENCES rows (seq),
    PRIMARY KEY (client, request_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE pendings (
    pending_id TEXT PRIMARY KEY,
    seq        INTEGER NOT NULL REFERENCES rows (seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE blobs (
    id      INTEGER PRIMARY KEY,
    hash    BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    size    INTEGER NOT NULL,
    packed  BLOB NOT NULL                      -- zstandard
) STRICT;

CREATE TRIGGER rows_stay BEFORE UPDATE ON rows BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER rows_kept BEFORE DELETE ON rows BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER changes_stay BEFORE UPDATE ON changes BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER changes_kept BEFORE DELETE ON changes BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ends_stay BEFORE UPDATE ON ends BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ends_kept BEFORE DELETE ON ends BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER requests_stay BEFORE UPDATE ON requests BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER requests_kept BEFORE DELETE ON requests BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER pendings_stay BEFORE UPDATE ON pendings BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER pendings_kept BEFORE DELETE ON pendings BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER blobs_stay BEFORE UPDATE ON blobs BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER blobs_kept BEFORE DELETE ON blobs BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
