-- Version 1 of the store. One row of results per cell: one configuration, one seed.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

INSERT INTO meta VALUES
    ('about', 'Results of superpose: one row per cell, a configuration with one seed'),
    ('measures', 'Of each measure: its mean, the variance of an item about it, the number of items');

CREATE TABLE results (
    id                INTEGER PRIMARY KEY,  -- order of arrival
    key               TEXT NOT NULL UNIQUE, -- hash of configuration, seed and numerics revision
    status            TEXT NOT NULL CHECK (status IN ('done', 'failed')),
    reason            TEXT,                 -- why it failed

    vocab             INTEGER NOT NULL,     -- V
    dim               INTEGER NOT NULL,     -- d
    length            INTEGER NOT NULL,     -- L
    samples           INTEGER NOT NULL,     -- N
    width             INTEGER,              -- m; none: attention only
    activation        TEXT NOT NULL,
    embedding         TEXT NOT NULL,
    output_embedding  TEXT,
    "trigger"         TEXT NOT NULL,
    labels            TEXT NOT NULL,
    zipf              REAL,
    noise_vocab       INTEGER,
    regime            TEXT NOT NULL,
    eta               REAL NOT NULL,
    gamma             REAL,
    eta2              REAL,
    lead              REAL NOT NULL,
    precision         TEXT NOT NULL,
    test_samples      INTEGER NOT NULL,
    seed              INTEGER NOT NULL,

    accuracy                  REAL,    -- recall: fresh sequences, trained attention
    accuracy_variance         REAL,
    accuracy_items            INTEGER,
    memory_accuracy           REAL,    -- recall with the attention placed on the informative position
    memory_accuracy_variance  REAL,
    memory_accuracy_items     INTEGER,
    one_step_accuracy         REAL,    -- reading the first gradient alone
    one_step_accuracy_variance REAL,
    one_step_accuracy_items   INTEGER,
    lock_rate                 REAL,    -- how often the largest attention weight is on the informative position
    lock_rate_variance        REAL,
    lock_rate_items           INTEGER,
    attention_mass            REAL,    -- attention weight on the informative position
    attention_mass_variance   REAL,
    attention_mass_items      INTEGER,
    margin                    REAL,    -- right label's logit minus the largest other
    margin_variance           REAL,
    margin_items              INTEGER,
    trigger_sign      INTEGER,              -- sign of what step 2 gave the trigger
    noise             TEXT,                 -- noise budget as JSON, where asked for
    seconds           REAL,

    config            TEXT NOT NULL,        -- the full configuration as JSON
    numerics_revision INTEGER NOT NULL,
    version           TEXT NOT NULL         -- of the program that ran it
) STRICT;
