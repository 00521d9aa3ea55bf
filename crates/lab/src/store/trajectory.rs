//! Trajectories of training beside the results.

use rusqlite::ToSql;
use superpose_core::train::TrajectoryPoint;

use super::{Store, StoreError};
use crate::cell::Key;

/// The names of a point's numbers, as SQL wants them.
fn names() -> Vec<&'static str> {
    EMPTY.named().iter().map(|(name, _)| *name).collect()
}

/// A point of nothing, for its names.
const EMPTY: TrajectoryPoint = TrajectoryPoint {
    step: 0,
    rate: 0.0,
    loss: 0.0,
    test_loss: 0.0,
    accuracy: 0.0,
    memory_accuracy: 0.0,
    lock_rate: 0.0,
    attention_mass: 0.0,
    margin: 0.0,
    norm_m: 0.0,
    norm_w: 0.0,
    early_cosine: 0.0,
    trigger_cosine: 0.0,
    trigger_lead: 0.0,
};

impl Store {
    /// Keeps the trajectory of a cell in place of what was there.
    pub fn keep_trajectory(&mut self, key: Key, points: &[TrajectoryPoint]) -> Result<(), StoreError> {
        let path = self.path.clone();
        let failed = |error| StoreError::sqlite(&path, error);
        let columns = names();
        let places: Vec<String> = (1..=columns.len() + 2).map(|i| format!("?{i}")).collect();
        let sql = format!(
            "INSERT INTO trajectory (key, step, {}) VALUES ({})",
            columns.join(", "),
            places.join(", ")
        );
        let transaction = self.connection.transaction().map_err(failed)?;
        transaction.execute("DELETE FROM trajectory WHERE key = ?1", [key.to_string()]).map_err(failed)?;
        for point in points {
            let (key, step) = (key.to_string(), point.step as i64);
            let numbers = point.named().map(|(_, number)| number);
            let values: Vec<&dyn ToSql> =
                [&key as &dyn ToSql, &step].into_iter().chain(numbers.iter().map(|x| x as _)).collect();
            transaction.execute(&sql, &values[..]).map_err(failed)?;
        }
        transaction.commit().map_err(failed)
    }

    /// The trajectory of a cell in the order of steps; empty where none was kept.
    pub fn trajectory(&self, key: Key) -> Result<Vec<TrajectoryPoint>, StoreError> {
        let columns = names().join(", ");
        let sql = format!("SELECT step, {columns} FROM trajectory WHERE key = ?1 ORDER BY step");
        let read = || -> rusqlite::Result<Vec<TrajectoryPoint>> {
            let mut statement = self.connection.prepare(&sql)?;
            let rows = statement.query_map([key.to_string()], |row| {
                Ok(TrajectoryPoint {
                    step: row.get(0)?,
                    rate: row.get(1)?,
                    loss: row.get(2)?,
                    test_loss: row.get(3)?,
                    accuracy: row.get(4)?,
                    memory_accuracy: row.get(5)?,
                    lock_rate: row.get(6)?,
                    attention_mass: row.get(7)?,
                    margin: row.get(8)?,
                    norm_m: row.get(9)?,
                    norm_w: row.get(10)?,
                    early_cosine: row.get(11)?,
                    trigger_cosine: row.get(12)?,
                    trigger_lead: row.get(13)?,
                })
            })?;
            rows.collect()
        };
        read().map_err(|error| self.failed(error))
    }
}
