//! Server-sent events: changes of runs and studies.
//!
//! A listener remembers the version it has last sent, and no events are queued for it: a slow client gets the latest state, and its
//! memory does not grow.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::app::{App, Shared};
use crate::error::ApiError;
use crate::extract::PathParams;
use crate::studies::Change;

/// Time between two updates of a listener at least.
const MIN_INTERVAL: Duration = Duration::from_millis(100);

struct Listener {
    app: Arc<App>,
    /// The one run to report, or all.
    run: Option<u64>,
    runs: watch::Receiver<u64>,
    /// Changes of studies, unless only one run is reported.
    studies: Option<watch::Receiver<u64>>,
    /// The states of studies that were sent last.
    sent: Vec<Change>,
    /// The version of the runs that was sent last.
    version: u64,
    /// Whether a run is in progress.
    busy: bool,
    /// Whether the stream ends after the events that are ready.
    ended: bool,
    ready: VecDeque<Event>,
    _permit: OwnedSemaphorePermit,
}

/// Changes of all runs and studies.
pub async fn of_all(app: Shared) -> Result<Response, ApiError> {
    stream(app.0, None)
}

/// Changes of one run until it has ended.
pub async fn of_run(app: Shared, PathParams(id): PathParams<u64>) -> Result<Response, ApiError> {
    app.runs.show(id)?;
    stream(app.0, Some(id))
}

fn stream(app: Arc<App>, run: Option<u64>) -> Result<Response, ApiError> {
    let permit = Arc::clone(&app.streams).try_acquire_owned();
    let permit = permit.map_err(|_| ApiError::busy("too many clients listen already"))?;
    let listener = Listener {
        run,
        runs: app.runs.versions.subscribe(),
        studies: run.is_none().then(|| app.studies.versions.subscribe()),
        sent: Vec::new(),
        version: 0,
        busy: false,
        ended: false,
        ready: VecDeque::new(),
        app,
        _permit: permit,
    };
    let events = unfold(listener, |mut listener| async move {
        let event = listener.next().await?;
        Some((Ok::<_, Infallible>(event), listener))
    });
    let keep_alive = KeepAlive::new().interval(Duration::from_secs(15));
    Ok(Sse::new(events).keep_alive(keep_alive).into_response())
}

fn event(name: &str, data: &impl Serialize) -> Option<Event> {
    Event::default().event(name).json_data(data).ok()
}

impl Listener {
    async fn next(&mut self) -> Option<Event> {
        let mut first = self.version == 0;
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.ended {
                return None;
            }
            if !std::mem::take(&mut first) {
                tokio::time::sleep(MIN_INTERVAL).await;
                // The progress of a run is not announced: while there is one, poll.
                if !self.busy {
                    self.wait().await?;
                }
            }
            self.update();
        }
    }

    /// Waits for a change; `None` when there can be no more.
    async fn wait(&mut self) -> Option<()> {
        let changed = match &mut self.studies {
            None => self.runs.changed().await,
            Some(studies) => tokio::select! {
                changed = self.runs.changed() => changed,
                changed = studies.changed() => changed,
            },
        };
        changed.ok()
    }

    /// Makes events of what has changed.
    fn update(&mut self) {
        self.runs.mark_unchanged();
        if let Some(studies) = &mut self.studies {
            studies.mark_unchanged();
            let changes = self.app.studies.changes();
            for change in changes.iter().filter(|change| !self.sent.contains(change)) {
                self.ready.extend(event("study", change));
            }
            self.sent = changes;
        }
        let news = self.app.runs.since(self.version);
        let first = self.version == 0;
        self.version = news.version;
        self.busy = news.busy;
        self.ended = news.closed;
        let concerns = |id: u64| self.run.is_none_or(|run| run == id);
        for view in news.runs.iter().filter(|view| concerns(view.id)) {
            let end = self.run.is_some() && view.state.ended();
            self.ended |= end;
            self.ready.extend(event(if end { "end" } else { "run" }, view));
        }
        for &id in news.removed.iter().filter(|&&id| !first && concerns(id)) {
            self.ended |= self.run.is_some();
            self.ready.extend(event("removed", &serde_json::json!({ "id": id })));
        }
        // A run that was removed before the first event.
        self.ended |= first && self.run.is_some_and(|run| news.removed.contains(&run));
    }
}
