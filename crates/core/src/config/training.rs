//! The settings of wider models and of training beyond the early phase.

use super::{ConfigError, Embedding, MOST, Positions, Settings, real, whole};

/// The rate when none is given.
pub(super) const USUAL_RATE: f64 = 0.01;

/// Part of a clustered row that is its own, when none is given.
const USUAL_SPREAD: f64 = 0.5;

/// What needs steps to mean anything.
pub(super) const NEED_STEPS: [&str; 14] = [
    "optimiser",
    "rate",
    "schedule",
    "batch",
    "momentum",
    "weight_decay",
    "every",
    "early_stopping",
    "warm_start",
    "heads",
    "positions",
    "factored",
    "train_embeddings",
    "train_first_layer",
];

pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

pub(super) fn is_false(value: &bool) -> bool {
    !value
}

pub(super) fn is_one(value: &usize) -> bool {
    *value == 1
}

pub(super) fn is_usual_rate(value: &f64) -> bool {
    *value == USUAL_RATE
}

impl Settings {
    /// Refuses training: for what has the three steps of the early phase alone.
    pub fn three_steps_only(&self) -> Result<(), ConfigError> {
        match self.steps {
            0 => Ok(()),
            steps => {
                let allowed = "this has the three steps of the early phase; superpose train goes on";
                Err(ConfigError::value("steps", steps, allowed))
            }
        }
    }

    /// Part of a clustered row that is its own.
    pub fn row_spread(&self) -> f64 {
        self.spread.unwrap_or(USUAL_SPREAD)
    }

    /// Samples in a step.
    pub fn batch_size(&self) -> usize {
        self.batch.map_or(self.samples, |batch| batch.min(self.samples))
    }

    /// Steps between two records of the trajectory.
    pub fn record_every(&self) -> usize {
        self.every.unwrap_or(self.steps / 50).max(1)
    }

    /// Rows of a head's key and query matrices, when `W` is their product.
    pub fn key_dim(&self) -> usize {
        (self.dim / self.heads).max(1)
    }

    pub(super) fn check_training_ranges(&self) -> Result<(), ConfigError> {
        whole("steps", self.steps, 0, MOST)?;
        whole("heads", self.heads, 1, 1024)?;
        for (name, value) in [
            ("rank", self.rank),
            ("clusters", self.clusters),
            ("batch", self.batch),
            ("every", self.every),
            ("early_stopping", self.early_stopping),
        ] {
            if let Some(value) = value {
                whole(name, value, 1, MOST)?;
            }
        }
        if let Some(spread) = self.spread {
            real("spread", spread, (0.0..=1.0).contains(&spread), "from 0 to 1")?;
        }
        real("rate", self.rate, self.rate > 0.0 && self.rate <= 1e20, "above 0, at most 1e20")?;
        if let Some(momentum) = self.momentum {
            real("momentum", momentum, (0.0..1.0).contains(&momentum), "at least 0 and below 1")?;
        }
        let decay = self.weight_decay;
        real("weight_decay", decay, (0.0..=1e6).contains(&decay), "from 0 to 1e6")
    }

    /// What an embedding needs is there, and only there.
    pub(super) fn check_embedding(&self) -> Result<(), ConfigError> {
        let kind = self.embedding;
        for (parameter, value, owner, needed) in [
            ("rank", self.rank.map(|x| x.to_string()), Embedding::LowRank, true),
            ("clusters", self.clusters.map(|x| x.to_string()), Embedding::Clustered, true),
            ("spread", self.spread.map(|x| x.to_string()), Embedding::Clustered, false),
        ] {
            let allowed = match (&value, kind == owner) {
                (None, true) if needed => format!("needed with embedding = {owner}"),
                (Some(_), false) => format!("only with embedding = {owner}"),
                _ => continue,
            };
            return Err(ConfigError::Value {
                parameter,
                value: value.unwrap_or_else(|| "(none)".into()),
                allowed,
            });
        }
        // More would not be more: rows of full rank, a centre for every row.
        if let Some(rank) = self.rank.filter(|&rank| rank > self.dim) {
            return Err(ConfigError::value("rank", rank, format!("must be at most dim = {}", self.dim)));
        }
        let rows = self.token_count();
        if let Some(clusters) = self.clusters.filter(|&clusters| clusters > rows) {
            return Err(ConfigError::value(
                "clusters",
                clusters,
                format!("must be at most the {rows} tokens"),
            ));
        }
        Ok(())
    }

    /// Settings of training that go together. Without steps they mean nothing and are put back, so that the same run has
    /// the same name.
    pub(super) fn checked_training(mut self) -> Result<Settings, ConfigError> {
        if self.steps == 0 {
            let plain = [
                ("heads", self.heads.to_string(), self.heads == 1),
                ("positions", self.positions.to_string(), self.positions == Positions::None),
            ];
            if let Some((parameter, value, _)) = plain.into_iter().find(|(_, _, plain)| !plain) {
                let allowed = "needs steps of at least 1: the three-step phase has one head and no positions";
                return Err(ConfigError::Value { parameter, value, allowed: allowed.into() });
            }
            let usual = Settings::default();
            self.optimiser = usual.optimiser;
            self.rate = usual.rate;
            self.schedule = usual.schedule;
            self.batch = None;
            self.momentum = None;
            self.weight_decay = usual.weight_decay;
            self.every = None;
            self.early_stopping = None;
            self.warm_start = false;
            self.factored = false;
            self.train_embeddings = false;
            self.train_first_layer = false;
            return Ok(self);
        }
        if self.train_first_layer && self.width.is_none() {
            return Err(ConfigError::Value {
                parameter: "train_first_layer",
                value: "true".into(),
                allowed: "needs width: only the attention-MLP model has a first layer".into(),
            });
        }
        if let Some(momentum) = self.momentum.filter(|_| self.optimiser.momentum_is_fixed()) {
            return Err(ConfigError::Value {
                parameter: "momentum",
                value: momentum.to_string(),
                allowed: format!("only with optimiser = sgd or muon, and it is {}", self.optimiser),
            });
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Optimiser;

    #[test]
    fn without_steps_the_settings_of_training_are_put_back() {
        let idle = Settings {
            rate: 3.0,
            warm_start: true,
            factored: true,
            batch: Some(4),
            optimiser: Optimiser::Muon,
            ..Settings::default()
        };
        assert_eq!(*idle.check().unwrap(), Settings::default());
    }

    #[test]
    fn what_does_not_go_together_is_named() {
        let trained = Settings { steps: 10, ..Settings::default() };
        for (settings, name) in [
            (Settings { heads: 2, ..Settings::default() }, "heads = 2"),
            (Settings { positions: Positions::Rotary, ..Settings::default() }, "positions = rotary"),
            (Settings { train_first_layer: true, ..trained.clone() }, "train_first_layer = true"),
            (Settings { momentum: Some(0.5), ..trained.clone() }, "momentum = 0.5"),
            (Settings { rank: Some(3), ..trained.clone() }, "rank = 3"),
            (Settings { embedding: Embedding::Clustered, ..trained.clone() }, "clusters = (none)"),
            (Settings { rate: 0.0, ..trained.clone() }, "rate = 0"),
            (Settings { rate: f64::NAN, ..trained }, "rate = NaN"),
        ] {
            let message = settings.check().unwrap_err().to_string();
            assert!(message.starts_with(name), "{message}");
        }
    }
}
