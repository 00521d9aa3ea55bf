//! The server's state and its router.

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::State;
use axum::{Json, Router, middleware};
use superpose_core::backend::Device;
use tokio::sync::Semaphore;

use crate::error::ApiError;
use crate::guard::{Guard, guard};
use crate::routes::routes;
use crate::runs::Runs;
use crate::studies::Studies;
use crate::work::Work;
use crate::{ServeError, page};

/// What the server is started with.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    /// Studies, stores and folders to show.
    pub open: Vec<PathBuf>,
    /// Threads to compute on.
    pub threads: usize,
    /// Bytes of memory that a run may take at most.
    pub memory: f64,
    /// The device that runs are computed on; absent: the CPU.
    pub device: Option<Arc<dyn Device>>,
}

/// The argument of a handler that has the server's state.
pub type Shared = State<Arc<App>>;

/// What a handler responds: an object, or why there is none.
pub type Answer<T> = Result<Json<T>, ApiError>;

/// Event streams at once.
pub const MAX_STREAMS: usize = 128;

/// Downloads of whole stores at once.
const MAX_DOWNLOADS: usize = 4;

pub struct App {
    pub threads: usize,
    /// Closed forms, which follow a slider.
    pub quick: Work,
    /// Computations of some seconds.
    pub slow: Work,
    /// Reads from disk.
    pub disk: Work,
    pub runs: Arc<Runs>,
    /// What was opened with `--open`.
    pub studies: Arc<Studies>,
    pub streams: Arc<Semaphore>,
    /// Permits of downloads of whole stores.
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
            // Training leaves one thread to the closed forms.
            runs: Runs::start((threads - 1).max(1), options.memory, options.device)
                .map_err(ServeError::Threads)?,
            studies: Arc::new(Studies::open(&options.open)?),
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            downloads: Arc::new(Semaphore::new(MAX_DOWNLOADS)),
        }))
    }

    pub fn router(app: &Arc<App>, port: u16) -> Router {
        let add = |router: Router<_>, route: crate::routes::Route| router.route(route.path, route.handler);
        routes()
            .into_iter()
            .fold(Router::new(), add)
            .method_not_allowed_fallback(page::wrong_method)
            .fallback(page::file)
            .with_state(Arc::clone(app))
            .layer(middleware::from_fn_with_state(Guard(port), guard))
    }
}
