//! Server-sent events: what happens to runs and studies, while it happens.
//!
//! A listener keeps the version that it has heard of, and nothing is queued for it: however slow it is, it gets the latest state and
//! takes no memory.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{Stream, unfold};
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::app::App;
use crate::body::Place;
use crate::refusal::Refusal;
use crate::studies::Change;

/// News are not told more often.
const PACE: Duration = Duration::from_millis(100);

struct Listener {
    app: Arc<App>,
    /// Only this run, if any.
    run: Option<u64>,
    news: watch::Receiver<u64>,
    /// Of studies, for those who listen to everything.
    studies: Option<watch::Receiver<u64>>,
    told: Vec<Change>,
    version: u64,
    busy: bool,
    over: bool,
    ready: VecDeque<Event>,
    _place: OwnedSemaphorePermit,
}

/// Everything that happens.
pub async fn of_all(
    State(app): State<Arc<App>>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    stream(app, None)
}

/// What happens to one run, until it has ended.
pub async fn of_run(
    State(app): State<Arc<App>>,
    Place(id): Place<u64>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    app.runs.show(id)?;
    stream(app, Some(id))
}

fn stream(
    app: Arc<App>,
    run: Option<u64>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    let place = Arc::clone(&app.streams).try_acquire_owned();
    let place = place.map_err(|_| Refusal::busy("too many listen already"))?;
    let listener = Listener {
        run,
        news: app.runs.listen(),
        studies: run.is_none().then(|| app.studies.listen()),
        told: Vec::new(),
        version: 0,
        busy: false,
        over: false,
        ready: VecDeque::new(),
        app,
        _place: place,
    };
    let events = unfold(listener, |mut listener| async move {
        let event = listener.next().await?;
        Some((Ok(event), listener))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))))
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
            if self.over {
                return None;
            }
            if !std::mem::take(&mut first) {
                tokio::time::sleep(PACE).await;
                // While a run goes on its progress is news, which nobody announces.
                if !self.busy {
                    self.wait().await?;
                }
            }
            self.hear();
        }
    }

    /// Waits until something is new; nothing where nothing can be any more.
    async fn wait(&mut self) -> Option<()> {
        let changed = match &mut self.studies {
            None => self.news.changed().await,
            Some(studies) => tokio::select! {
                changed = self.news.changed() => changed,
                changed = studies.changed() => changed,
            },
        };
        changed.ok()
    }

    /// Takes what is new.
    fn hear(&mut self) {
        self.news.mark_unchanged();
        if let Some(studies) = &mut self.studies {
            studies.mark_unchanged();
            let changes = self.app.studies.changes();
            for change in changes.iter().filter(|change| !self.told.contains(change)) {
                self.ready.extend(event("study", change));
            }
            self.told = changes;
        }
        let news = self.app.runs.since(self.version);
        let first = self.version == 0;
        self.version = news.version;
        self.busy = news.busy;
        self.over = news.closed;
        let concerns = |id: u64| self.run.is_none_or(|run| run == id);
        for view in news.runs.iter().filter(|view| concerns(view.id)) {
            let end = self.run.is_some() && view.state.ended();
            self.over |= end;
            self.ready.extend(event(if end { "end" } else { "run" }, view));
        }
        for &id in news.removed.iter().filter(|&&id| !first && concerns(id)) {
            self.over |= self.run.is_some();
            self.ready.extend(event("removed", &serde_json::json!({ "id": id })));
        }
        // One that was removed before it was first heard of.
        self.over |= first && self.run.is_some_and(|run| news.removed.contains(&run));
    }
}
