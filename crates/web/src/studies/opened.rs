//! One thing that was opened, and what it shows now.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;
use superpose_lab::store::{Store, Summary};
use superpose_lab::study::Results;
use superpose_report::{Section, sections, stored_runs};
use superpose_tensors::TensorFile;

use super::source::{Source, log_name};
use super::{Change, folder};

/// Outcomes that are summarised at most.
const MOST_CELLS: usize = 300_000;
/// A store that grows is not summarised more often.
const PAUSE: Duration = Duration::from_secs(2);
/// Tensors of a file that are listed.
const TENSORS: usize = 200;
/// Embedding files of a folder that are listed.
const EMBEDDINGS: usize = 50;

/// What was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The folder of a study.
    Study,
    /// A store.
    Store,
    /// A folder with embedding files, or one that is empty yet.
    Folder,
    /// An embedding file.
    Embedding,
}

/// Cells of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cells {
    pub done: usize,
    pub failed: usize,
}

/// A file to download.
#[derive(Clone, Debug, Serialize)]
pub struct Download {
    pub name: String,
    /// Absent when it is made while it is sent.
    pub bytes: Option<u64>,
}

/// A file with embeddings.
#[derive(Clone, Debug, Serialize)]
pub struct Embeddings {
    pub file: String,
    pub bytes: u64,
    pub tensors: Vec<Matrix>,
    pub error: Option<String>,
}

/// A matrix in it.
#[derive(Clone, Debug, Serialize)]
pub struct Matrix {
    pub name: String,
    pub rows: usize,
    pub columns: usize,
}

/// What a list says of a study.
#[derive(Clone, Debug, Serialize)]
pub struct Brief {
    pub id: usize,
    pub name: String,
    pub kind: Kind,
    pub cells: Option<Cells>,
    pub revision: u64,
    pub files: Vec<Download>,
    pub embeddings: Vec<Embeddings>,
    /// What is wrong with it, if something is.
    pub error: Option<String>,
}

/// When files last changed, how long they were, and which they were.
type Stamp = Vec<Option<(SystemTime, u64, folder::Identity)>>;

/// What the last look at the files found.
#[derive(Default)]
struct Look {
    /// Of the files that make a study's report.
    report: Stamp,
    /// Of the store and its log, when its cells were counted.
    store: Stamp,
    /// How often the store was another file.
    replaced: u64,
}

/// What is known. It is locked for as long as it takes to copy, since every listener asks.
#[derive(Default)]
struct Now {
    cells: Option<Cells>,
    revision: u64,
    sections: Arc<Vec<Section>>,
    facts: Vec<(String, String)>,
    error: Option<String>,
}

/// Something that was opened.
pub struct Opened {
    id: usize,
    /// The folder, and the file in it if it is a file that was opened.
    root: PathBuf,
    file: Option<String>,
    name: String,
    source: Source,
    now: Mutex<Now>,
    /// Locked while files are looked at.
    look: Mutex<Look>,
    /// The revision that the sections show, and when they were made. Locked while they are.
    shown: Mutex<Option<(u64, Instant)>>,
}

/// What is wrong at bottom; which file it is, is known.
fn reason(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), reason)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Opened {
    /// Opens a folder, a store or an embedding file; the path is whole and has no links.
    pub fn open(id: usize, path: &Path) -> Result<Opened, String> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let (root, file) = match (path.is_dir(), path.parent()) {
            (true, _) => (path.to_owned(), None),
            (false, Some(parent)) => (parent.to_owned(), Some(name.clone())),
            (false, None) => return Err("it is neither a file nor a folder".into()),
        };
        let opened = Opened {
            id,
            root,
            file,
            name,
            source: Source::default(),
            now: Mutex::default(),
            look: Mutex::default(),
            shown: Mutex::default(),
        };
        match opened.kind() {
            Kind::Store => {
                opened.open_store()?;
            }
            Kind::Embedding => {
                TensorFile::open(path).map_err(|error| reason(&error))?;
            }
            Kind::Study | Kind::Folder => {}
        }
        opened.refresh();
        Ok(opened)
    }

    pub fn kind(&self) -> Kind {
        match &self.file {
            Some(file) if file.ends_with(".safetensors") => Kind::Embedding,
            Some(_) => Kind::Store,
            None if folder::look(&self.root, "manifest.json").is_ok() => Kind::Study,
            None => Kind::Folder,
        }
    }

    /// The store's file, if there may be one.
    fn store_name(&self) -> Option<&str> {
        match (&self.file, self.kind()) {
            (Some(file), Kind::Store) => Some(file),
            (None, Kind::Study) => Some("store.sqlite"),
            _ => None,
        }
    }

    /// A connection to the store as it is now.
    pub fn open_store(&self) -> Result<Store, String> {
        self.source.open(&self.root, self.store_name().ok_or("it has no store")?)
    }

    /// Looks whether something has changed.
    pub fn refresh(&self) {
        let mut look = lock(&self.look);
        let report: Stamp = match self.kind() {
            Kind::Study => ["study.json", "manifest.json"].map(|name| self.stamp(name)).to_vec(),
            _ => Vec::new(),
        };
        let store: Stamp = match self.store_name() {
            Some(name) => [self.stamp(name), self.stamp(&log_name(name))].to_vec(),
            None => Vec::new(),
        };
        let mut cells = lock(&self.now).cells;
        let before = cells;
        if store != look.store {
            // Unless it can be counted it is looked at again.
            look.store.clear();
            cells = self.open_store().ok().and_then(|open| open.counts().ok()).map(|(done, failed)| {
                look.store = store;
                Cells { done, failed }
            });
        }
        let replaced = self.source.replaced();
        let changed = match self.kind() {
            Kind::Store => cells != before || replaced != look.replaced,
            _ => report != look.report,
        };
        (look.report, look.replaced) = (report, replaced);
        let mut now = lock(&self.now);
        now.cells = cells;
        if changed || now.revision == 0 {
            now.revision += 1;
        }
    }

    fn stamp(&self, name: &str) -> Option<(SystemTime, u64, folder::Identity)> {
        let metadata = folder::look(&self.root, name).ok()?;
        Some((metadata.modified().ok()?, metadata.len(), folder::identity(&metadata)))
    }

    pub fn change(&self) -> Change {
        let now = lock(&self.now);
        Change { id: self.id, cells: now.cells, revision: now.revision }
    }

    /// Sections and facts as they are now.
    pub fn shown(&self) -> (Arc<Vec<Section>>, Vec<(String, String)>) {
        self.refresh();
        self.show();
        let now = lock(&self.now);
        (Arc::clone(&now.sections), now.facts.clone())
    }

    /// Makes what is shown, unless it is there.
    fn show(&self) {
        let mut shown = match self.shown.try_lock() {
            Ok(shown) => shown,
            // Somebody makes it already. What there was before must do meanwhile; the first time there is nothing.
            Err(TryLockError::WouldBlock) if !lock(&self.now).sections.is_empty() => return,
            Err(TryLockError::WouldBlock) => lock(&self.shown),
            // Whoever panicked over it holds nothing any more; the error holds the lock.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        };
        let revision = lock(&self.now).revision;
        let fresh = shown.is_some_and(|(made_of, made)| {
            // A failure may pass, also where nothing changes any more.
            (made_of == revision && lock(&self.now).error.is_none())
                || (self.kind() == Kind::Store && made.elapsed() < PAUSE)
        });
        if fresh {
            return;
        }
        let made = match self.kind() {
            Kind::Study => self.study().map(|sections| (sections, self.facts())),
            Kind::Store => self.summary().map(|section| (vec![section], Vec::new())),
            Kind::Folder | Kind::Embedding => Ok((Vec::new(), Vec::new())),
        };
        *shown = Some((revision, Instant::now()));
        let mut now = lock(&self.now);
        match made {
            Ok((sections, facts)) => {
                now.sections = Arc::new(sections);
                now.facts = facts;
                now.error = None;
            }
            Err(error) => now.error = Some(error),
        }
    }

    fn summary(&self) -> Result<Section, String> {
        let store = self.open_store().map_err(|error| format!("the store cannot be read: {error}"))?;
        let summary = Summary::read(&store, MOST_CELLS).map_err(|error| error.to_string())?;
        Ok(stored_runs(&summary))
    }

    /// The sections of a study; those of one that has no results yet are none.
    fn study(&self) -> Result<Vec<Section>, String> {
        if self.stamp("study.json").is_none() {
            return Ok(Vec::new());
        }
        let bytes = folder::read(&self.root, "study.json").map_err(|error| error.to_string())?;
        let results: Result<Results, _> = serde_json::from_slice(&bytes);
        let results = results.map_err(|_| "study.json is not of this version of superpose")?;
        Ok(sections(&results))
    }

    /// How the study was made, from its manifest.
    fn facts(&self) -> Vec<(String, String)> {
        let bytes = folder::read(&self.root, "manifest.json").unwrap_or_default();
        let manifest: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let text = |value: &serde_json::Value| match value {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let entries = manifest.as_object().into_iter().flatten();
        entries
            .flat_map(|(name, value)| match value.as_object() {
                None => vec![(name.replace('_', " "), text(value))],
                Some(inner) => inner.iter().map(|(part, x)| (format!("{name}, {part}"), text(x))).collect(),
            })
            .collect()
    }

    /// Files that may be downloaded. Their names follow from what is known of a study, not from a request.
    pub fn files(&self) -> Vec<Download> {
        let there = |name: String| {
            let metadata = folder::look(&self.root, &name).ok()?;
            Some(Download { name, bytes: Some(metadata.len()) })
        };
        let made = |name: &str| Download { name: name.into(), bytes: None };
        let cells = || ["cells.csv", "cells.jsonl"].map(made).into_iter();
        match self.kind() {
            Kind::Folder | Kind::Embedding => Vec::new(),
            Kind::Store => cells().chain([made("runs.csv"), made("runs.svg")]).collect(),
            Kind::Study => {
                let (sections, _) = self.shown();
                let mut names: Vec<String> =
                    ["report.html", "study.json", "manifest.json"].map(Into::into).to_vec();
                for section in sections.iter() {
                    for picture in &section.pictures {
                        names.extend(["svg", "png"].map(|end| format!("figures/{}.{end}", picture.name)));
                    }
                    names.extend(section.tables.iter().map(|table| format!("tables/{}.csv", table.name)));
                }
                let cells = cells().filter(|_| lock(&self.now).cells.is_some());
                names.into_iter().filter_map(there).chain(cells).collect()
            }
        }
    }

    /// A file to download, by a name that [`Opened::files`] has.
    pub fn read(&self, name: &str) -> std::io::Result<Vec<u8>> {
        folder::read(&self.root, name)
    }

    pub fn brief(&self) -> Brief {
        self.refresh();
        let files = self.files();
        let embeddings = self.embeddings();
        let now = lock(&self.now);
        Brief {
            id: self.id,
            name: self.name.clone(),
            kind: self.kind(),
            cells: now.cells,
            revision: now.revision,
            files,
            embeddings,
            error: now.error.clone(),
        }
    }

    /// Names of embedding files.
    fn embedding_names(&self) -> Vec<String> {
        match (&self.file, self.kind()) {
            (Some(file), Kind::Embedding) => vec![file.clone()],
            (None, _) => {
                let mut names = folder::files(&self.root, "safetensors").unwrap_or_default();
                names.truncate(EMBEDDINGS);
                names
            }
            _ => Vec::new(),
        }
    }

    fn embeddings(&self) -> Vec<Embeddings> {
        let matrices = |name: &str| -> Result<Vec<Matrix>, String> {
            let file = self.tensors(name)?;
            let tensors = file.tensors().map_err(|error| reason(&error))?;
            let matrix = |name: String| match tensors.shape(&name).ok()?[..] {
                [rows, columns] if rows > 0 && columns > 0 => Some(Matrix { name, rows, columns }),
                _ => None,
            };
            Ok(tensors.names().into_iter().filter_map(matrix).take(TENSORS).collect())
        };
        let listed = |file: String| {
            let bytes = folder::look(&self.root, &file).map_or(0, |metadata| metadata.len());
            let (tensors, error) = match matrices(&file) {
                Ok(tensors) => (tensors, None),
                Err(error) => (Vec::new(), Some(error)),
            };
            Embeddings { file, bytes, tensors, error }
        };
        self.embedding_names().into_iter().map(listed).collect()
    }

    /// An embedding file, by a name that is listed.
    pub fn tensors(&self, name: &str) -> Result<TensorFile, String> {
        if !self.embedding_names().iter().any(|known| known == name) {
            return Err(format!("file = {name}: must be one of the embedding files of study {}", self.id));
        }
        folder::open(&self.root, name).map_err(|error| error.to_string())?;
        TensorFile::open(&self.root.join(name)).map_err(|error| reason(&error))
    }
}
