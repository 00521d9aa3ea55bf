//! Trajectories of training beside the results.

use rusqlite::Row;
use superpose_core::train::TrajectoryPoint;

use super::{Store, StoreError};
use crate::cell::{Key, fingerprint};

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
            let checksum = fingerprint([&*key.to_string(), &point.step.to_string(), &text]);
            let row = (key.to_string(), point.step, text, checksum);
            transaction.execute("INSERT INTO points VALUES (?1, ?2, ?3, ?4)", row).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
        self.check_file()
    }

    /// The trajectory of a cell in the order of steps; empty where none was kept.
    ///
    /// # Errors
    /// The store cannot be read, or a point in it is damaged.
    pub fn trajectory(&self, key: Key) -> Result<Vec<TrajectoryPoint>, StoreError> {
        let sql = "SELECT step, point, checksum FROM points WHERE key = ?1 ORDER BY step";
        let key = key.to_string();
        let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let read = || -> rusqlite::Result<Vec<(i64, String, String)>> {
            self.connection.prepare(sql)?.query_map([&key], row)?.collect()
        };
        let point = |(step, text, sum): &(i64, String, String)| {
            if fingerprint([&*key, &step.to_string(), text]) != *sum {
                return Err(self.damaged(format!("step {step} of cell {key}: its checksum does not fit")));
            }
            serde_json::from_str(text).map_err(|error| self.damaged(format!("trajectory: {error}")))
        };
        read().map_err(|error| self.failed(error))?.iter().map(point).collect()
    }
}
