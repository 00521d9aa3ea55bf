//! One study, store, folder or embedding file that was opened, and its present contents.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant, SystemTime};

use superpose_lab::inspect;
use superpose_lab::store::{Store, Summary};
use superpose_report::{Section, sections, stored_runs};
use superpose_study::Results;
use superpose_tensors::TensorFile;

use super::source::{Source, log_name};
use super::view::{CellCounts, Download, EmbeddingFile, Kind, Matrix, StudySummary};
use super::{Change, folder};

/// Cells of a store that are summarised at most.
const MAX_CELLS: usize = 300_000;
/// Time between two summaries of a store at least.
const MIN_SUMMARY_INTERVAL: Duration = Duration::from_secs(2);
/// Matrices of a file that are listed at most, the largest ones.
const MAX_TENSORS: usize = 200;
/// Embedding files of a folder that are listed at most.
const MAX_EMBEDDING_FILES: usize = 50;

/// Modification times, sizes and identities of files.
type Stamps = Vec<Option<(SystemTime, u64, folder::Identity)>>;

/// The state of the files at the last refresh.
#[derive(Default)]
struct Refreshed {
    /// The files of a study's report.
    report: Stamps,
    /// The store and its log, when its cells were counted.
    store: Stamps,
    /// How often the store was replaced by another file.
    replaced: u64,
}

/// The present contents. Locked only while they are copied, because every event stream reads them.
#[derive(Default)]
struct Contents {
    cells: Option<CellCounts>,
    revision: u64,
    sections: Arc<Vec<Section>>,
    facts: Vec<(String, String)>,
    error: Option<String>,
}

#[derive(Default)]
pub struct Opened {
    id: usize,
    /// The folder, and the file in it when a file was opened.
    root: PathBuf,
    file: Option<String>,
    name: String,
    source: Source,
    contents: Mutex<Contents>,
    /// Locked during a refresh.
    refreshed: Mutex<Refreshed>,
    /// The revision that the sections are of, and when they were made. Locked while they are made.
    shown: Mutex<Option<(u64, Instant)>>,
}

/// The innermost error message; the caller adds the file name.
fn reason(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), reason)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Opened {
    /// Opens a folder, a store or an embedding file. The path is canonical.
    pub fn open(id: usize, path: &Path) -> Result<Opened, String> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let (root, file) = match (path.is_dir(), path.parent()) {
            (true, _) => (path.to_owned(), None),
            (false, Some(parent)) => (parent.to_owned(), Some(name.clone())),
            (false, None) => return Err("it is neither a file nor a folder".into()),
        };
        let opened = Opened { id, root, file, name, ..Opened::default() };
        match opened.kind() {
            Kind::Store => drop(opened.open_store()?),
            Kind::Embedding => drop(TensorFile::open(path).map_err(|error| reason(&error))?),
            Kind::Study | Kind::Folder => {}
        }
        opened.refresh();
        Ok(opened)
    }

    pub fn kind(&self) -> Kind {
        match &self.file {
            Some(file) if file.ends_with(".safetensors") => Kind::Embedding,
            Some(_) => Kind::Store,
            None if folder::metadata(&self.root, "manifest.json").is_ok() => Kind::Study,
            None => Kind::Folder,
        }
    }

    fn store_name(&self) -> Option<&str> {
        match (&self.file, self.kind()) {
            (Some(file), Kind::Store) => Some(file),
            (None, Kind::Study) => Some("store.sqlite"),
            _ => None,
        }
    }

    pub fn open_store(&self) -> Result<Store, String> {
        self.source.open(&self.root, self.store_name().ok_or("it has no store")?)
    }

    /// Looks for changed files: counts cells, and raises the revision when the sections have changed.
    pub fn refresh(&self) {
        let mut before = lock(&self.refreshed);
        let report: Stamps = match self.kind() {
            Kind::Study => vec![self.stamp("study.json"), self.stamp("manifest.json")],
            _ => Vec::new(),
        };
        let stamps = |name: &str| vec![self.stamp(name), self.stamp(&log_name(name))];
        let store: Stamps = self.store_name().map(stamps).unwrap_or_default();
        let counted = lock(&self.contents).cells;
        let mut cells = counted;
        if store != before.store {
            // Unless counting succeeds, the next refresh counts again.
            before.store.clear();
            cells = self.open_store().ok().and_then(|open| open.counts().ok()).map(|(done, failed)| {
                before.store = store;
                CellCounts { done, failed }
            });
        }
        let replaced = self.source.replaced();
        let changed = match self.kind() {
            Kind::Store => cells != counted || replaced != before.replaced,
            _ => report != before.report,
        };
        (before.report, before.replaced) = (report, replaced);
        let mut contents = lock(&self.contents);
        contents.cells = cells;
        if changed || contents.revision == 0 {
            contents.revision += 1;
        }
    }

    fn stamp(&self, name: &str) -> Option<(SystemTime, u64, folder::Identity)> {
        let metadata = folder::metadata(&self.root, name).ok()?;
        Some((metadata.modified().ok()?, metadata.len(), folder::identity(&metadata)))
    }

    pub fn change(&self) -> Change {
        let contents = lock(&self.contents);
        Change { id: self.id, cells: contents.cells, revision: contents.revision }
    }

    pub fn shown(&self) -> (Arc<Vec<Section>>, Vec<(String, String)>) {
        self.refresh();
        self.show();
        let contents = lock(&self.contents);
        (Arc::clone(&contents.sections), contents.facts.clone())
    }

    /// Makes the sections and facts, unless they are up to date.
    fn show(&self) {
        let mut shown = match self.shown.try_lock() {
            Ok(shown) => shown,
            // Another request makes them. Meanwhile the previous ones serve, except the first time, when there are none.
            Err(TryLockError::WouldBlock) if !lock(&self.contents).sections.is_empty() => return,
            Err(TryLockError::WouldBlock) => lock(&self.shown),
            // The thread that panicked has released the lock, and the error holds it now.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        };
        let revision = lock(&self.contents).revision;
        let fresh = shown.is_some_and(|(shown_revision, made)| {
            // Retried after a failure, which may have been temporary.
            (shown_revision == revision && lock(&self.contents).error.is_none())
                || (self.kind() == Kind::Store && made.elapsed() < MIN_SUMMARY_INTERVAL)
        });
        if fresh {
            return;
        }
        let made = match self.kind() {
            Kind::Study => self.study().map(|sections| (sections, self.facts())),
            Kind::Store => self.store_summary().map(|section| (vec![section], Vec::new())),
            Kind::Folder | Kind::Embedding => Ok((Vec::new(), Vec::new())),
        };
        *shown = Some((revision, Instant::now()));
        let mut contents = lock(&self.contents);
        match made {
            Ok((sections, facts)) => {
                contents.sections = Arc::new(sections);
                contents.facts = facts;
                contents.error = None;
            }
            Err(error) => contents.error = Some(error),
        }
    }

    fn store_summary(&self) -> Result<Section, String> {
        let store = self.open_store().map_err(|error| format!("the store cannot be read: {error}"))?;
        let summary = Summary::read(&store, MAX_CELLS).map_err(|error| error.to_string())?;
        Ok(stored_runs(&summary))
    }

    /// The sections of a study; none before it has results.
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
        let facts = |(name, value): (&String, &serde_json::Value)| match value.as_object() {
            None => vec![(name.replace('_', " "), text(value))],
            Some(inner) => inner.iter().map(|(part, x)| (format!("{name}, {part}"), text(x))).collect(),
        };
        manifest.as_object().into_iter().flatten().flat_map(facts).collect()
    }

    /// Files that may be downloaded. Their names come from the contents of the study, never from a request.
    pub fn files(&self) -> Vec<Download> {
        let existing = |name: String| {
            let metadata = folder::metadata(&self.root, &name).ok()?;
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
                let cells = cells().filter(|_| lock(&self.contents).cells.is_some());
                names.into_iter().filter_map(existing).chain(cells).collect()
            }
        }
    }

    /// The contents of a file that [`Opened::files`] lists.
    pub fn read(&self, name: &str) -> std::io::Result<Vec<u8>> {
        folder::read(&self.root, name)
    }

    /// The entry in the list of studies.
    pub fn summary(&self) -> StudySummary {
        self.refresh();
        let (files, embeddings) = (self.files(), self.embeddings());
        let contents = lock(&self.contents);
        StudySummary {
            id: self.id,
            name: self.name.clone(),
            kind: self.kind(),
            cells: contents.cells,
            revision: contents.revision,
            files,
            embeddings,
            error: contents.error.clone(),
        }
    }

    fn embedding_names(&self) -> Vec<String> {
        match (&self.file, self.kind()) {
            (Some(file), Kind::Embedding) => vec![file.clone()],
            (None, _) => {
                let mut names = folder::files(&self.root, "safetensors").unwrap_or_default();
                names.truncate(MAX_EMBEDDING_FILES);
                names
            }
            _ => Vec::new(),
        }
    }

    fn embeddings(&self) -> Vec<EmbeddingFile> {
        let matrices = |name: &str| -> Result<Vec<Matrix>, String> {
            let file = self.tensors(name)?;
            let tensors = file.tensors();
            let matrix = |name: String| match tensors.shape(&name).ok()?[..] {
                [rows, columns] if rows > 0 && columns > 0 => {
                    Some(Matrix { name, rows, columns, seconds: inspect::seconds(rows, columns) })
                }
                _ => None,
            };
            let mut matrices: Vec<Matrix> = tensors.names().into_iter().filter_map(matrix).collect();
            matrices.sort_by_key(|matrix| Reverse(matrix.rows.saturating_mul(matrix.columns)));
            matrices.truncate(MAX_TENSORS);
            Ok(matrices)
        };
        let listed = |file: String| {
            let bytes = folder::metadata(&self.root, &file).map_or(0, |metadata| metadata.len());
            let found = matrices(&file);
            let error = found.as_ref().err().cloned();
            EmbeddingFile { file, bytes, tensors: found.unwrap_or_default(), error }
        };
        self.embedding_names().into_iter().map(listed).collect()
    }

    /// An embedding file that is listed.
    pub fn tensors(&self, name: &str) -> Result<TensorFile, String> {
        if !self.embedding_names().iter().any(|known| known == name) {
            return Err(format!("file = {name}: must be one of the embedding files of study {}", self.id));
        }
        folder::open(&self.root, name).map_err(|error| error.to_string())?;
        TensorFile::open(&self.root.join(name)).map_err(|error| format!("{name}: {}", reason(&error)))
    }
}
