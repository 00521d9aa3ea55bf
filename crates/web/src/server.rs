//! The server's connections: on loopback only, with limits on their number, size and time.

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutWriter;

use crate::app::{App, ServerOptions};
use crate::studies::Studies;

/// Connections at once; others wait.
const MAX_CONNECTIONS: usize = 512;
/// Time for the head of a request to arrive, also on an idle connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Time within which the client must accept some part of a response.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Size of the head of a request at most.
const MAX_HEAD_BYTES: usize = 16 << 10;
/// Time for responses to finish when the server shuts down.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// A server that cannot start.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The messages explain variants and fields.
pub enum ServeError {
    #[error("port = {port}: {error}")]
    Port { port: u16, error: std::io::Error },
    #[error("threads cannot be started: {0}")]
    Threads(std::io::Error),
    #[error("open = {path}: {why}")]
    Open { path: String, why: String },
}

/// A server that is bound to its port and not yet serving.
pub struct Server {
    runtime: tokio::runtime::Runtime,
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
}

impl Server {
    /// Binds the port; 0 is any free one.
    pub fn bind(port: u16, options: ServerOptions) -> Result<Server, ServeError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            // `Work` bounds computations; this many may wait for the disk.
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

    /// The address it is bound to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `end` is true, then cancels runs and shuts down.
    pub fn serve(self, end: &AtomicBool) {
        let Server { runtime, listener, address, app } = self;
        let router = App::router(&app, address.port());
        let end = async {
            while !end.load(Ordering::Relaxed) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        runtime.spawn(Studies::watch(Arc::clone(&app.studies)));
        runtime.block_on(accept(listener, router, end, || app.runs.close()));
        runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    }
}

/// The connection, which fails when the client accepts nothing for so long: a stalled client must not keep its permit.
fn with_write_timeout(stream: TcpStream, timeout: Duration) -> Pin<Box<TimeoutWriter<TcpStream>>> {
    let mut stream = TimeoutWriter::new(stream);
    stream.set_timeout(Some(timeout));
    Box::pin(stream)
}

async fn accept(listener: TcpListener, router: Router, end: impl Future<Output = ()>, close: impl FnOnce()) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let graceful = GracefulShutdown::new();
    let mut end = std::pin::pin!(end);
    let next = async || {
        let permit = Arc::clone(&permits).acquire_owned().await;
        (permit, listener.accept().await)
    };
    loop {
        let (permit, accepted) = tokio::select! {
            () = &mut end => break,
            next = next() => next,
        };
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors, or the client has already disconnected.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let io = TokioIo::new(with_write_timeout(stream, WRITE_TIMEOUT));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_buf_size(MAX_HEAD_BYTES)
            .serve_connection(io, TowerToHyperService::new(router.clone()));
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // Disconnected clients are no error of the server.
            let _ = connection.await;
            drop(permit);
        });
    }
    close();
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, graceful.shutdown()).await;
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::time::Instant;

    use tokio::io::AsyncWriteExt;

    use super::*;

    #[tokio::test]
    async fn stalled_client_times_out() {
        const BYTES: usize = 64 << 20;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let timeout = Duration::from_millis(300);
        for reads in [true, false] {
            let client = std::net::TcpStream::connect(address).unwrap();
            let mut stream = with_write_timeout(listener.accept().await.unwrap().0, timeout);
            let mut reading = client.try_clone().unwrap();
            let reader =
                reads.then(|| std::thread::spawn(move || std::io::copy(&mut reading, &mut std::io::sink())));
            let started = Instant::now();
            let failed = stream.write_all(&vec![0; BYTES]).await.err().map(|error| error.kind());
            assert_eq!(failed, (!reads).then_some(ErrorKind::TimedOut));
            assert!(reads || started.elapsed() >= timeout);
            drop(stream);
            if let Some(reader) = reader {
                assert_eq!(reader.join().unwrap().unwrap(), BYTES as u64);
            }
        }
    }
}
