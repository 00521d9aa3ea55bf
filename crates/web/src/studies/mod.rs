//! Studies, stores and embedding files that were opened on the command line.
//!
//! Only paths given to the program are opened, and of a folder only files with known names ([`folder`]): a request chooses one
//! of them and cannot name any other path.

mod export;
mod folder;
mod opened;
mod routes;
mod source;
mod view;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::watch;

use crate::ServeError;
use crate::error::ApiError;
pub use opened::Opened;
pub use routes::{PictureQuery, file, list, picture, show};
pub use view::{StudyDetail, StudyList};

/// Time between two refreshes while there are listeners.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);
/// Stores of one folder that are opened at most.
const MAX_STORES: usize = 20;

pub struct Studies {
    pub list: Vec<Arc<Opened>>,
    /// Notifies listeners of a change.
    pub versions: watch::Sender<u64>,
}

/// The state of a study that event streams report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    pub id: usize,
    pub cells: Option<view::CellCounts>,
    pub revision: u64,
}

impl Studies {
    pub fn open(paths: &[PathBuf]) -> Result<Studies, ServeError> {
        let mut list = Vec::new();
        for path in paths {
            let failed = |why: String| ServeError::Open { path: path.display().to_string(), why };
            let whole = path.canonicalize().map_err(|error| failed(error.to_string()))?;
            for path in parts(&whole).map_err(|error| failed(error.to_string()))? {
                let opened = Opened::open(list.len(), &path).map_err(failed)?;
                list.push(Arc::new(opened));
            }
        }
        Ok(Studies { list, versions: watch::Sender::new(0) })
    }

    pub fn get(&self, id: usize) -> Result<Arc<Opened>, ApiError> {
        self.list.get(id).cloned().ok_or_else(|| ApiError::not_found(format!("there is no study {id}")))
    }

    /// The state of every study at the last refresh.
    pub fn changes(&self) -> Vec<Change> {
        self.list.iter().map(|study| study.change()).collect()
    }

    /// Refreshes the studies at intervals while there are listeners.
    pub async fn watch(studies: Arc<Studies>) {
        let mut before = Vec::new();
        loop {
            tokio::time::sleep(REFRESH_INTERVAL).await;
            if studies.versions.receiver_count() == 0 || studies.list.is_empty() {
                continue;
            }
            let refreshed = Arc::clone(&studies);
            let refresh = move || refreshed.list.iter().for_each(|study| study.refresh());
            let _ = tokio::task::spawn_blocking(refresh).await;
            let now = studies.changes();
            if now != before {
                before = now;
                studies.versions.send_modify(|version| *version += 1);
            }
        }
    }
}

/// What a path stands for: itself, or the stores of a folder that is no study. Such a folder is also opened itself when it has
/// embedding files or no stores.
fn parts(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    if !path.is_dir() || path.join("manifest.json").exists() {
        return Ok(vec![path.to_owned()]);
    }
    let mut stores = folder::files(path, "sqlite")?;
    stores.truncate(MAX_STORES);
    let embeddings = folder::files(path, "safetensors")?;
    let mut parts: Vec<PathBuf> = stores.into_iter().map(|name| path.join(name)).collect();
    if parts.is_empty() || !embeddings.is_empty() {
        parts.push(path.to_owned());
    }
    Ok(parts)
}
