-- Version 2 of the store: models that are trained after the early phase. The columns are empty for those that are not.

ALTER TABLE results ADD COLUMN rank INTEGER;             -- dimensions that low-rank embeddings span
ALTER TABLE results ADD COLUMN clusters INTEGER;         -- centres of clustered embeddings
ALTER TABLE results ADD COLUMN spread REAL;              -- part of a clustered row that is its own
ALTER TABLE results ADD COLUMN steps INTEGER;
ALTER TABLE results ADD COLUMN optimiser TEXT;
ALTER TABLE results ADD COLUMN rate REAL;
ALTER TABLE results ADD COLUMN schedule TEXT;
ALTER TABLE results ADD COLUMN batch INTEGER;            -- none: all samples
ALTER TABLE results ADD COLUMN momentum REAL;
ALTER TABLE results ADD COLUMN weight_decay REAL;
ALTER TABLE results ADD COLUMN every INTEGER;
ALTER TABLE results ADD COLUMN early_stopping INTEGER;
ALTER TABLE results ADD COLUMN warm_start INTEGER;
ALTER TABLE results ADD COLUMN heads INTEGER;
ALTER TABLE results ADD COLUMN positions TEXT;
ALTER TABLE results ADD COLUMN factored INTEGER;
ALTER TABLE results ADD COLUMN train_embeddings INTEGER;
ALTER TABLE results ADD COLUMN train_first_layer INTEGER;

-- Trajectories of `superpose train`, a row per record; its key is that of the result.
CREATE TABLE trajectory (
    key             TEXT NOT NULL,
    step            INTEGER NOT NULL,
    rate            REAL NOT NULL,
    loss            REAL NOT NULL,     -- over the samples of the next step
    test_loss       REAL NOT NULL,
    accuracy        REAL NOT NULL,
    memory_accuracy REAL NOT NULL,
    lock_rate       REAL NOT NULL,
    attention_mass  REAL NOT NULL,
    margin          REAL NOT NULL,
    norm_m          REAL NOT NULL,
    norm_w          REAL NOT NULL,
    early_cosine    REAL NOT NULL,     -- of W z_eos with what step 2 of the early phase finds
    trigger_cosine  REAL NOT NULL,     -- of W z_eos with the trigger
    trigger_lead    REAL NOT NULL,     -- score of the trigger over the spread of the tokens' scores
    PRIMARY KEY (key, step)
) STRICT, WITHOUT ROWID;
