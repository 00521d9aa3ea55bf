-- The store: one row of `cells` per cell, one configuration with one seed. The view `results` has a column for each
-- setting and each measure; the program makes it anew when there are more of them.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

INSERT INTO meta VALUES
    ('about', 'Results of superpose: one row per cell, a configuration with one seed'),
    ('measures', 'Of each measure: its mean, the variance of an item about it, the number of items');

CREATE TABLE cells (
    id                INTEGER PRIMARY KEY,  -- order of arrival
    key               TEXT NOT NULL UNIQUE, -- hash of configuration, seed, numerics revision and numerics
    config            TEXT NOT NULL,        -- the settings that differ from their defaults, as JSON
    outcome           TEXT,                 -- what was measured, as JSON; NULL for a cell that failed
    reason            TEXT,                 -- why it failed
    numerics_revision INTEGER NOT NULL,
    numerics          TEXT NOT NULL,        -- the arithmetic that it ran with
    version           TEXT NOT NULL,        -- of the program that ran it
    checksum          TEXT NOT NULL         -- of the stored texts of the row
) STRICT;

-- Trajectories of `superpose train`, a row per record; the key is that of the cell.
CREATE TABLE points (
    key   TEXT NOT NULL,
    step  INTEGER NOT NULL,
    point TEXT NOT NULL,                    -- the numbers of the record, as JSON
    checksum TEXT NOT NULL,
    PRIMARY KEY (key, step)
) STRICT, WITHOUT ROWID;
