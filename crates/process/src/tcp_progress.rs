//! The progress of a TCP connection that a library owns.
//!
//! Invariant: the answer is only ever compared with an earlier one. If the number
//! now belongs to another connection, the cost is a wrong guess, no more.

use std::os::fd::RawFd;

use crate::sys;

/// Where the kernel has `tcpi_bytes_acked` and behind it `tcpi_bytes_received`
/// (Linux 4.1).
const ACKNOWLEDGED_AT: usize = 120;

/// Bytes that the peer of this connection has acknowledged, and those that came
/// from it. `None` where the kernel does not say.
pub fn bytes_moved(descriptor: RawFd) -> Option<u64> {
    let (info, length) = sys::tcp_info(descriptor)?;
    let number = |at: usize| {
        let bytes = info.get(..length)?.get(at..at + 8)?;
        Some(u64::from_ne_bytes(bytes.try_into().ok()?))
    };
    let (acknowledged, received) = (number(ACKNOWLEDGED_AT)?, number(ACKNOWLEDGED_AT + 8)?);
    Some(acknowledged.saturating_add(received))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn both_directions_of_a_connection_are_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        let before = bytes_moved(near.as_raw_fd()).unwrap();
        near.write_all(&[1; 1000]).unwrap();
        far.read_exact(&mut [0; 1000]).unwrap();
        far.write_all(&[2; 500]).unwrap();
        near.read_exact(&mut [0; 500]).unwrap();
        let moved = bytes_moved(near.as_raw_fd()).unwrap() - before;
        assert_eq!(moved, 1500);
    }

    #[test]
    fn what_is_no_such_connection_says_nothing() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(bytes_moved(file.as_raw_fd()), None);
        assert_eq!(bytes_moved(-1), None);
    }
}
