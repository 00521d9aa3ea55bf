//! One thing that was opened, and what it shows now.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;
use superpose_lab::store::{Store, Summary};
use superpose_lab::study::Results;
use superpose_report::{Section, sections, sweep};
use superpose_tensors::TensorFile;

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

/// When the files that make the report last changed.
type Stamp = Vec<Option<(SystemTime, u64)>>;

#[derive(Default)]
struct Now {
    store: Option<Store>,
    /// The store's file when it was last looked at.
    file: Option<Metadata>,
    cells: Option<Cells>,
    revision: u64,
    /// Of the folder's files, when `revision` was counted.
    stamp: Stamp,
    /// The revision that the sections show, and when they were made.
    shown: Option<(u64, Instant)>,
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
    now: Mutex<Now>,
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
        let opened = Opened { id, root, file, name, now: Mutex::default() };
        match opened.kind() {
            Kind::Store => {
                opened.lock().store = Some(opened.open_store()?);
            }
            Kind::Embedding => {
                TensorFile::open(path).map_err(|error| error.to_string())?;
            }
            Kind::Study | Kind::Folder => {}
        }
        opened.refresh();
        Ok(opened)
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn kind(&self) -> Kind {
        match &self.file {
            Some(file) if file.ends_with(".safetensors") => Kind::Embedding,
            Some(_) => Kind::Store,
            None if folder::open(&self.root, "manifest.json").is_ok() => Kind::Study,
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

    /// A connection of its own to the store.
    pub fn open_store(&self) -> Result<Store, String> {
        let name = self.store_name().ok_or("it has no store")?;
        folder::open(&self.root, name).map_err(|error| error.to_string())?;
        let path = self.root.join(name);
        // Where the folder cannot be written its log cannot be read: then what the file alone says must do.
        Store::open_existing(&path).or_else(|error| Store::peek(&path).map_err(|_| error.to_string()))
    }

    /// Looks whether something has changed.
    pub fn refresh(&self) {
        let stamp: Stamp = match self.kind() {
            Kind::Study => ["study.json", "manifest.json"].map(|name| self.stamp(name)).to_vec(),
            _ => Vec::new(),
        };
        let file =
            self.store_name().and_then(|name| folder::open(&self.root, name).ok()).map(|found| found.1);
        let mut now = self.lock();
        // An open connection goes on reading a file that was removed or replaced.
        if !now.file.as_ref().zip(file.as_ref()).is_some_and(|(before, after)| folder::same(before, after)) {
            now.store = None;
        }
        now.file = file;
        if now.store.is_none() && self.store_name().is_some() {
            now.store = self.open_store().ok();
        }
        let counted = now.store.as_ref().map(Store::counts);
        let cells = match counted {
            Some(Ok((done, failed))) => Some(Cells { done, failed }),
            Some(Err(_)) => {
                // Removed or replaced: opened anew next time.
                now.store = None;
                None
            }
            None => None,
        };
        let changed = match self.kind() {
            Kind::Store => cells != now.cells,
            _ => stamp != now.stamp,
        };
        now.cells = cells;
        now.stamp = stamp;
        if changed || now.revision == 0 {
            now.revision += 1;
        }
    }

    fn stamp(&self, name: &str) -> Option<(SystemTime, u64)> {
        let (_, metadata) = folder::open(&self.root, name).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    }

    pub fn change(&self) -> Change {
        let now = self.lock();
        Change { id: self.id, cells: now.cells, revision: now.revision }
    }

    /// Sections and facts as they are now.
    pub fn shown(&self) -> (Arc<Vec<Section>>, Vec<(String, String)>) {
        self.refresh();
        let mut now = self.lock();
        let fresh = now.shown.is_some_and(|(revision, made)| {
            revision == now.revision || (self.kind() == Kind::Store && made.elapsed() < PAUSE)
        });
        if !fresh {
            let revision = now.revision;
            let made = match self.kind() {
                Kind::Study => self.study().map(|sections| (sections, self.facts())),
                Kind::Store => summarise(now.store.as_ref()).map(|section| (vec![section], Vec::new())),
                Kind::Folder | Kind::Embedding => Ok((Vec::new(), Vec::new())),
            };
            match made {
                Ok((sections, facts)) => {
                    now.sections = Arc::new(sections);
                    now.facts = facts;
                    now.error = None;
                }
                Err(error) => now.error = Some(error),
            }
            now.shown = Some((revision, Instant::now()));
        }
        (Arc::clone(&now.sections), now.facts.clone())
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
            let (_, metadata) = folder::open(&self.root, &name).ok()?;
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
                let cells = cells().filter(|_| self.lock().cells.is_some());
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
        let now = self.lock();
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
            let tensors = file.tensors().map_err(|error| error.to_string())?;
            let matrix = |name: String| match tensors.shape(&name).ok()?[..] {
                [rows, columns] if rows > 0 && columns > 0 => Some(Matrix { name, rows, columns }),
                _ => None,
            };
            Ok(tensors.names().into_iter().filter_map(matrix).take(TENSORS).collect())
        };
        let listed = |file: String| {
            let bytes = folder::open(&self.root, &file).map_or(0, |(_, metadata)| metadata.len());
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
        TensorFile::open(&self.root.join(name)).map_err(|error| error.to_string())
    }
}

fn summarise(store: Option<&Store>) -> Result<Section, String> {
    let store = store.ok_or("the store cannot be read")?;
    let summary = Summary::read(store, MOST_CELLS).map_err(|error| error.to_string())?;
    Ok(sweep(&summary))
}
