//! What was opened on the command line: studies, stores and embedding files, as they are now.
//!
//! Only paths given to the program are opened, and of a folder only files of known names ([`folder`]): a request chooses among
//! them and cannot name others.

mod export;
mod folder;
mod opened;
mod routes;
mod source;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::watch;

use crate::ServeError;
use crate::refusal::Refusal;
pub use opened::{Brief, Opened};
pub use routes::{file, list, picture, show};

/// How often opened studies are looked at while somebody listens.
const PACE: Duration = Duration::from_secs(1);
/// Stores of one folder that are opened at most.
const STORES: usize = 20;

/// Everything that was opened.
pub struct Studies {
    list: Vec<Arc<Opened>>,
    news: watch::Sender<u64>,
}

/// A change of a study, as listeners hear of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    pub id: usize,
    pub cells: Option<opened::Cells>,
    pub revision: u64,
}

impl Studies {
    /// Opens what was given.
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
        Ok(Studies { list, news: watch::Sender::new(0) })
    }

    /// All of them.
    pub fn all(&self) -> &[Arc<Opened>] {
        &self.list
    }

    /// One of them.
    pub fn get(&self, id: usize) -> Result<Arc<Opened>, Refusal> {
        self.list.get(id).cloned().ok_or_else(|| Refusal::missing(format!("there is no study {id}")))
    }

    /// Tells whoever waits that a study has changed.
    pub fn listen(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// Where every study stands, as far as it is known.
    pub fn changes(&self) -> Vec<Change> {
        self.list.iter().map(|study| study.change()).collect()
    }

    /// Looks at the studies again and again, while somebody listens.
    pub async fn watch(studies: Arc<Studies>) {
        let mut before = Vec::new();
        loop {
            tokio::time::sleep(PACE).await;
            if studies.news.receiver_count() == 0 || studies.list.is_empty() {
                continue;
            }
            let looked = Arc::clone(&studies);
            let refresh = move || looked.list.iter().for_each(|study| study.refresh());
            let _ = tokio::task::spawn_blocking(refresh).await;
            let now = studies.changes();
            if now != before {
                before = now;
                studies.news.send_modify(|version| *version += 1);
            }
        }
    }
}

/// A folder that is no study stands for its stores, and for itself when it has other things to show or nothing yet.
fn parts(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    if !path.is_dir() || path.join("manifest.json").exists() {
        return Ok(vec![path.to_owned()]);
    }
    let mut stores = folder::files(path, "sqlite")?;
    stores.truncate(STORES);
    let embeddings = folder::files(path, "safetensors")?;
    let mut parts: Vec<PathBuf> = stores.into_iter().map(|name| path.join(name)).collect();
    if parts.is_empty() || !embeddings.is_empty() {
        parts.push(path.to_owned());
    }
    Ok(parts)
}
