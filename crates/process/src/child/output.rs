//! The output of a command, read while it runs.

use std::io::{self, PipeReader, Read};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use crate::limits::OUTPUT_BYTES_MAX;

/// What a stream has given.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) bytes: Vec<u8>,
    /// There was more than is kept.
    pub(super) cut: bool,
}

/// Reads each stream on a thread of its own. What is kept of each, and where the
/// end of each is told.
pub(super) fn collect(streams: Vec<PipeReader>) -> (Vec<Arc<Mutex<Kept>>>, Receiver<()>) {
    let (send, ended) = mpsc::channel();
    let kept = streams
        .into_iter()
        .map(|stream| {
            let kept = Arc::new(Mutex::new(Kept::default()));
            let (into, send) = (Arc::clone(&kept), send.clone());
            thread::spawn(move || read_all(stream, &into, &send));
            kept
        })
        .collect();
    (kept, ended)
}

fn read_all(mut stream: PipeReader, into: &Mutex<Kept>, ended: &Sender<()>) {
    let mut buffer = vec![0; 16 << 10];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                let mut kept = into.lock().unwrap_or_else(PoisonError::into_inner);
                let room = OUTPUT_BYTES_MAX.saturating_sub(kept.bytes.len());
                kept.bytes.extend_from_slice(&buffer[..count.min(room)]);
                kept.cut |= count > room;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    let _ = ended.send(());
}

/// Waits until `count` streams are closed; `false` when time ran out.
pub(super) fn wait_closed(ended: &Receiver<()>, count: usize, deadline: Option<Instant>) -> bool {
    (0..count).all(|_| match deadline {
        None => ended.recv().is_ok(),
        Some(deadline) => ended
            .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            .is_ok(),
    })
}
