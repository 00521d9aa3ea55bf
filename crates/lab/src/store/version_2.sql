-- Version 2 of the store: models that are trained after the early phase. The columns are empty for those that are not.

ALTER TABLE results ADD COLUMN rank INTEGER;             -- dimensions that low-rank embeddings span
ALTER TABLE results ADD COLUMN clusters INTEGER;         -- centres of clustered embeddings
ALTER TABLE results ADD COLUMN spread REAL;              -- part of a clustered row that is its own
ALTER TABLE results ADD COLUMN steps INTEGER;            -- steps of training after, or instead of, the early phase
ALTER TABLE results ADD COLUMN optimiser TEXT;           -- sgd, adam, adamw or muon
ALTER TABLE results ADD COLUMN rate REAL;                -- learning rate
ALTER TABLE results ADD COLUMN schedule TEXT;            -- constant or cosine
ALTER TABLE results ADD COLUMN batch INTEGER;            -- none: all samples
ALTER TABLE results ADD COLUMN momentum REAL;            -- of SGD and Muon
ALTER TABLE results ADD COLUMN weight_decay REAL;        -- the share of the weights that a step of rate 1 takes off
ALTER TABLE results ADD COLUMN every INTEGER;            -- steps between two records of the trajectory
ALTER TABLE results ADD COLUMN early_stopping INTEGER;   -- records without a better loss on the test samples after which training ends
ALTER TABLE results ADD COLUMN warm_start INTEGER;       -- 1: begins where the three steps of the early phase end
ALTER TABLE results ADD COLUMN heads INTEGER;            -- attention heads
ALTER TABLE results ADD COLUMN positions TEXT;           -- positional encoding
ALTER TABLE results ADD COLUMN factored INTEGER;         -- 1: W is a product of a key and a query matrix
ALTER TABLE results ADD COLUMN train_embeddings INTEGER; -- 1: the embeddings are trained
ALTER TABLE results ADD COLUMN train_first_layer INTEGER;-- 1: the first layer of the MLP is trained

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
