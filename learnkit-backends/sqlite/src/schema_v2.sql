-- Schema 2: the journals of runs that have not finished. The lease stands in columns because it is compared and
-- swapped; bodies are readable JSON. Storing a run deletes its journal.
CREATE TABLE open_runs (
    row INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    until INTEGER NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (tenant, id)
) STRICT;

CREATE TABLE open_steps (
    run INTEGER NOT NULL,
    number INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;
