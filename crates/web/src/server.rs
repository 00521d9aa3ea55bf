//! The connections: on loopback alone, so many at once, each with so much time to say what it wants.

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::app::{App, ServerOptions};
use crate::patience::Patient;
use crate::studies::Studies;

/// Connections at once; others wait.
const CONNECTIONS: usize = 512;
/// Time for the head of a request, and of an idle connection.
const HEAD: Duration = Duration::from_secs(30);
/// Time in which the other end must take something of an answer.
const TAKEN: Duration = Duration::from_secs(30);
/// Largest head of a request.
const HEAD_BYTES: usize = 16 << 10;
/// Time for answers to end when the server does.
const FAREWELL: Duration = Duration::from_secs(2);

/// A server that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The port cannot be had.
    #[error("port = {port}: {error}")]
    Port {
        /// The port.
        port: u16,
        /// What the system said.
        error: std::io::Error,
    },
    /// Threads cannot be started.
    #[error("threads cannot be started: {0}")]
    Threads(std::io::Error),
    /// Something to open cannot be opened.
    #[error("open = {path}: {why}")]
    Open {
        /// What was to be opened.
        path: String,
        /// Why it cannot be.
        why: String,
    },
}

/// A server that has its port and has not begun.
pub struct Server {
    runtime: tokio::runtime::Runtime,
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
}

impl Server {
    /// Takes the port; 0 is any free one.
    pub fn bind(port: u16, options: ServerOptions) -> Result<Server, ServeError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            // Work is bounded elsewhere; this is for what waits on the disk.
            .max_blocking_threads(64)
            .enable_all()
            .build()
            .map_err(ServeError::Threads)?;
        let taken = |error| ServeError::Port { port, error };
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, port))).map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        let app = App::new(options)?;
        Ok(Server { runtime, listener, address, app })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `end` is true. Runs that go on are cancelled.
    pub fn serve(self, end: &AtomicBool) {
        let Server { runtime, listener, address, app } = self;
        let router = App::router(&app, address.port());
        let end = async {
            while !end.load(Ordering::Relaxed) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        runtime.spawn(Studies::watch(Arc::clone(&app.studies)));
        runtime.block_on(accept(listener, router, end, || app.close()));
        runtime.shutdown_timeout(FAREWELL);
    }
}

async fn accept(listener: TcpListener, router: Router, end: impl Future<Output = ()>, close: impl FnOnce()) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let graceful = GracefulShutdown::new();
    let mut end = std::pin::pin!(end);
    let next = async || {
        let place = Arc::clone(&places).acquire_owned().await;
        (place, listener.accept().await)
    };
    loop {
        let (place, accepted) = tokio::select! {
            () = &mut end => break,
            next = next() => next,
        };
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors, or the caller has gone already.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_buf_size(HEAD_BYTES)
            .serve_connection(
                TokioIo::new(Patient::new(stream, TAKEN)),
                TowerToHyperService::new(router.clone()),
            );
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // A client that breaks off is no news.
            let _ = connection.await;
            drop(place);
        });
    }
    close();
    let _ = tokio::time::timeout(FAREWELL, graceful.shutdown()).await;
}
