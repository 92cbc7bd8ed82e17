-- Schema 1. The body is the record or run as readable JSON; the other columns repeat what filters need.
-- Times are nanoseconds since 1970 UTC, clamped to 64 bits.
CREATE TABLE records (
    row INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    kind TEXT NOT NULL,
    scope TEXT NOT NULL,
    agent TEXT NOT NULL,
    status TEXT NOT NULL,
    confidence REAL NOT NULL,
    expires INTEGER,
    task_key TEXT,
    canonical TEXT,
    body TEXT NOT NULL,
    UNIQUE (tenant, id)
) STRICT;
CREATE INDEX records_by_task ON records (tenant, task_key, id);

-- The columns hold terms that are made already, joined by spaces; every other character is part of a term.
-- The table keeps its own copy because deletes must find the old terms to wipe them.
CREATE VIRTUAL TABLE records_fts USING fts5 (
    title, tools, body,
    tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'"
);
-- Deleted terms leave the index at once instead of at a later merge.
INSERT INTO records_fts (records_fts, rank) VALUES ('secure-delete', 1);

CREATE TABLE runs (
    row INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    agent TEXT NOT NULL,
    task_key TEXT NOT NULL,
    finished INTEGER NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (tenant, id)
) STRICT;
CREATE INDEX runs_by_time ON runs (tenant, finished, id);
CREATE INDEX runs_by_task ON runs (tenant, task_key, finished, id);
