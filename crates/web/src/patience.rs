//! A connection whose other end must take what it is sent: one that takes nothing for so long has gone, and leaves its place
//! to others.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// A stream that fails when nothing can be written to it for a while.
pub struct Patient {
    stream: TcpStream,
    patience: Duration,
    /// Since the other end takes nothing.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    pub fn new(stream: TcpStream, patience: Duration) -> Patient {
        Patient { stream, patience, waiting: None }
    }

    fn bounded<T>(&mut self, context: &mut Context<'_>, polled: Poll<Result<T>>) -> Poll<Result<T>> {
        if polled.is_ready() {
            self.waiting = None;
            return polled;
        }
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(self.patience)));
        waiting.as_mut().poll(context).map(|()| Err(Error::new(ErrorKind::TimedOut, "nobody reads")))
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.bounded(context, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.bounded(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Instant;

    use super::*;

    /// Writes until it fails or so much has been written.
    async fn written(stream: &mut Patient, most: usize) -> (usize, Option<ErrorKind>) {
        let bytes = vec![0; 1 << 16];
        let mut sum = 0;
        while sum < most {
            match poll_fn(|context| Pin::new(&mut *stream).poll_write(context, &bytes)).await {
                Ok(count) => sum += count,
                Err(error) => return (sum, Some(error.kind())),
            }
        }
        (sum, None)
    }

    #[test]
    fn who_reads_is_waited_for_and_who_does_not_is_not() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let patience = Duration::from_millis(300);
            let most = 64 << 20;
            for reads in [true, false] {
                let client = std::net::TcpStream::connect(address).unwrap();
                let mut stream = Patient::new(listener.accept().await.unwrap().0, patience);
                // It is kept either way, and closed at the end of the turn.
                let mut kept = client.try_clone().unwrap();
                let read = move || std::io::copy(&mut kept, &mut std::io::sink());
                let reader = reads.then(|| std::thread::spawn(read));
                let started = Instant::now();
                let (sum, failed) = written(&mut stream, most).await;
                match reads {
                    true => assert_eq!((sum >= most, failed), (true, None)),
                    false => assert_eq!(failed, Some(ErrorKind::TimedOut)),
                }
                assert!(reads || (started.elapsed() >= patience && sum < most));
                drop(stream);
                if let Some(reader) = reader {
                    reader.join().unwrap().unwrap();
                }
                drop(client);
            }
        });
    }
}
