//! What the server knows, and which path leads where.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::middleware;
use axum::routing::{get, post};
use tokio::sync::Semaphore;

use crate::guard::{Guard, guard};
use crate::runs::Runs;
use crate::studies::Studies;
use crate::work::Work;
use crate::{ServeError, about, design, events, explore, openapi, page, runs, studies};

/// What the server is started with.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    /// Studies, stores and folders to show.
    pub open: Vec<PathBuf>,
    /// Threads to compute on.
    pub threads: usize,
    /// Bytes of memory that a run may take at most.
    pub memory: f64,
}

/// Streams of events at once.
pub const STREAMS: usize = 128;

/// Downloads of whole stores at once.
const DOWNLOADS: usize = 4;

/// The server's state.
pub struct App {
    /// Threads of a computation.
    pub threads: usize,
    /// What answers a slider.
    pub quick: Work,
    /// What takes seconds.
    pub slow: Work,
    /// What waits for the disk.
    pub disk: Work,
    /// Training.
    pub runs: Arc<Runs>,
    /// What was opened.
    pub studies: Arc<Studies>,
    /// Places for those who listen.
    pub streams: Arc<Semaphore>,
    /// Places for those who take a store away.
    pub downloads: Arc<Semaphore>,
}

impl App {
    pub fn new(options: ServerOptions) -> Result<Arc<App>, ServeError> {
        let threads = options.threads.max(1);
        Ok(Arc::new(App {
            threads,
            quick: Work::new(threads, 64),
            slow: Work::new(1, 8),
            disk: Work::new(2, 64),
            // One thread is left to the slider.
            runs: Runs::start((threads - 1).max(1), options.memory).map_err(ServeError::Threads)?,
            studies: Arc::new(Studies::open(&options.open)?),
            streams: Arc::new(Semaphore::new(STREAMS)),
            downloads: Arc::new(Semaphore::new(DOWNLOADS)),
        }))
    }

    /// Ends runs and streams.
    pub fn close(&self) {
        self.runs.close();
    }

    pub fn router(app: &Arc<App>, port: u16) -> Router {
        Router::new()
            .route("/api/about", get(about::about))
            .route("/api/map", post(explore::map))
            .route("/api/predict", post(explore::predict))
            .route("/api/runs", get(runs::list).post(runs::submit))
            .route("/api/runs/{id}", get(runs::show).delete(runs::remove))
            .route("/api/runs/{id}/events", get(events::of_run))
            .route("/api/events", get(events::of_all))
            .route("/api/studies", get(studies::list))
            .route("/api/studies/{id}", get(studies::show))
            .route("/api/studies/{id}/pictures/{name}", get(studies::picture))
            .route("/api/studies/{id}/files/{*name}", get(studies::file))
            .route("/api/plan", post(design::plan))
            .route("/api/inspect", post(design::inspect))
            .route("/api/openapi.json", get(openapi::document))
            .method_not_allowed_fallback(page::wrong_method)
            .fallback(page::file)
            .with_state(Arc::clone(app))
            .layer(middleware::from_fn_with_state(Guard::new(port), guard))
    }
}
