//! Streams the cells of a store while they are read, so that only a few are in memory.

use std::io::{BufWriter, Error, ErrorKind, Write};

use axum::body::Body;
use futures_util::stream::unfold;
use superpose_lab::store::{ExportError, Store};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{Sender, channel};

/// Bytes of a chunk.
const CHUNK: usize = 64 << 10;

/// Writes the cells of a store in some format.
pub type Export = fn(&Store, &mut dyn Write) -> Result<(), ExportError>;

struct Pipe(Sender<std::io::Result<Vec<u8>>>);

impl Pipe {
    /// Waits for the client to read. The connection's write timeout drops the receiver of a stalled client.
    fn send(&self, part: std::io::Result<Vec<u8>>) -> std::io::Result<()> {
        let disconnected = |_| Error::new(ErrorKind::BrokenPipe, "the client has disconnected");
        self.0.blocking_send(part).map_err(disconnected)
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.send(Ok(bytes.to_vec())).map(|()| bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The body of a download. A failure breaks the connection, so that a partial file cannot pass for a complete one.
pub fn body(store: Store, export: Export, permit: OwnedSemaphorePermit) -> Body {
    let (sender, receiver) = channel(4);
    tokio::task::spawn_blocking(move || {
        let mut out = BufWriter::with_capacity(CHUNK, Pipe(sender));
        let written = export(&store, &mut out).and_then(|()| Ok(out.flush()?));
        // Not dropped, which would send what is left in the buffer after a failure.
        let (pipe, _) = out.into_parts();
        let _ = match written {
            Ok(()) => Ok(()),
            Err(ExportError::Io(error)) => pipe.send(Err(error)),
            Err(error) => pipe.send(Err(Error::other(error.to_string()))),
        };
        drop(permit);
    });
    Body::from_stream(unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver))))
}
