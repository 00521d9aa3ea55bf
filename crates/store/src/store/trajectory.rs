//! Trajectories of training beside the results.

use superpose_core::train::TrajectoryPoint;

use super::{Store, StoreError};
use crate::cell::Key;

impl Store {
    /// Keeps the trajectory of a cell in place of the one that was there.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn keep_trajectory(&mut self, key: Key, points: &[TrajectoryPoint]) -> Result<(), StoreError> {
        let failed = |error| StoreError::sqlite(&self.path, error);
        let transaction = self.connection.transaction().map_err(failed)?;
        transaction.execute("DELETE FROM points WHERE key = ?1", [key.to_string()]).map_err(failed)?;
        for point in points {
            let text = serde_json::to_string(point).expect("a point is plain numbers");
            let row = (key.to_string(), point.step, text);
            transaction.execute("INSERT INTO points VALUES (?1, ?2, ?3)", row).map_err(failed)?;
        }
        transaction.commit().map_err(failed)
    }

    /// The trajectory of a cell in the order of steps; empty where none was kept.
    ///
    /// # Errors
    /// The store cannot be read, or a point in it is damaged.
    pub fn trajectory(&self, key: Key) -> Result<Vec<TrajectoryPoint>, StoreError> {
        let sql = "SELECT point FROM points WHERE key = ?1 ORDER BY step";
        let read = || -> rusqlite::Result<Vec<String>> {
            self.connection.prepare(sql)?.query_map([key.to_string()], |row| row.get(0))?.collect()
        };
        let texts = read().map_err(|error| self.failed(error))?;
        let point = |text: &String| {
            serde_json::from_str(text).map_err(|error| self.damaged(format!("trajectory: {error}")))
        };
        texts.iter().map(point).collect()
    }
}
