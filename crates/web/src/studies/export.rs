//! Streams the cells of a store while they are read, so that only a few are in memory.

use std::io::{Error, ErrorKind, Write};

use axum::body::Body;
use futures_util::stream::unfold;
use superpose_lab::store::{ExportError, Store, csv, json_lines};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{Sender, channel};

/// Bytes of a chunk.
const CHUNK: usize = 64 << 10;

/// The format of an export.
#[derive(Clone, Copy, Debug)]
pub enum Format {
    Csv,
    JsonLines,
}

struct Pipe {
    sender: Sender<std::io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
}

impl Pipe {
    /// Waits for the client to read. The connection's write timeout drops the receiver of a stalled client.
    fn send(&self, part: std::io::Result<Vec<u8>>) -> std::io::Result<()> {
        self.sender
            .blocking_send(part)
            .map_err(|_| Error::new(ErrorKind::BrokenPipe, "the client has disconnected"))
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.chunk.extend_from_slice(bytes);
        if self.chunk.len() >= CHUNK {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let chunk = std::mem::take(&mut self.chunk);
        if chunk.is_empty() { Ok(()) } else { self.send(Ok(chunk)) }
    }
}

/// The body of a download. A failure breaks the connection, so that a partial file cannot pass for a complete one.
pub fn body(store: Store, format: Format, permit: OwnedSemaphorePermit) -> Body {
    let (sender, receiver) = channel(4);
    tokio::task::spawn_blocking(move || {
        let mut pipe = Pipe { sender, chunk: Vec::with_capacity(2 * CHUNK) };
        let written = match format {
            Format::Csv => csv(&store, &mut pipe),
            Format::JsonLines => json_lines(&store, &mut pipe),
        };
        let written = written.map_err(|error| match error {
            ExportError::Io(error) => error,
            other => Error::other(other.to_string()),
        });
        let written = written.and_then(|()| pipe.flush());
        if let Err(error) = written {
            let _ = pipe.send(Err(error));
        }
        drop(permit);
    });
    Body::from_stream(unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver))))
}
