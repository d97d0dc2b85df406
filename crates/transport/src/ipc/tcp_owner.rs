//! Which user's program is at the other end of a connection on the loopback
//! interface.
//!
//! A socket file has an owner and a mode; a port can be reached by everybody on the
//! machine. The kernel lists each connection with the user who opened it.
//! Invariant: an unknown user is a stranger. A socket that its program has closed
//! already is listed as root's, so only open ones count.

use std::fs;
use std::net::{IpAddr, SocketAddr};

use nix::unistd::geteuid;

const ROOT: u32 = 0;

/// How often the kernel's list is read: while others connect and close, it may leave a
/// connection out that is there.
const LOOKS: usize = 3;

/// Whether the program at `peer`, connected to `ours`, is root's or of this
/// process' user.
pub(super) fn is_ours(peer: SocketAddr, ours: SocketAddr) -> bool {
    (0..LOOKS)
        .find_map(|_| owner_of(peer, ours))
        .is_some_and(|owner| owner == ROOT || owner == geteuid().as_raw())
}

fn owner_of(peer: SocketAddr, ours: SocketAddr) -> Option<u32> {
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .into_iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .find_map(|table| owner_in(&table, peer, ours))
}

/// The user of the open socket at `peer` that is connected to `ours`.
fn owner_in(table: &str, peer: SocketAddr, ours: SocketAddr) -> Option<u32> {
    const OPEN: &str = "01";
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        // The number of the line comes first.
        let local = fields.nth(1)?;
        let remote = fields.next()?;
        let state = fields.next()?;
        // Behind it are queues, a timer and retransmits.
        let owner = fields.nth(3)?;
        let inode = fields.nth(1)?;
        let is_meant = state == OPEN
            && inode != "0"
            && address(local) == Some(plain(peer))
            && address(remote) == Some(plain(ours));
        is_meant.then(|| owner.parse().ok()).flatten()
    })
}

/// An address in the kernel's notation: words of 32 bits in hexadecimal, in
/// the machine's order of bytes.
fn address(text: &str) -> Option<(IpAddr, u16)> {
    const WORD_DIGITS: usize = 8;
    let (host, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = Vec::with_capacity(16);
    for word in host.as_bytes().chunks(WORD_DIGITS) {
        let word = u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()?;
        bytes.extend(word.to_ne_bytes());
    }
    let host = match <[u8; 4]>::try_from(bytes.as_slice()) {
        Ok(four) => IpAddr::from(four),
        Err(_) => IpAddr::from(<[u8; 16]>::try_from(bytes.as_slice()).ok()?),
    };
    Some((host.to_canonical(), port))
}

fn plain(address: SocketAddr) -> (IpAddr, u16) {
    (address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv6Addr, TcpListener, TcpStream};

    use super::*;

    const HEAD: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

    fn row(local: &str, remote: &str, state: &str, uid: u32, inode: u32) -> String {
        format!(
            "   0: {local} {remote} {state} 00000000:00000000 00:00000000 00000000  {uid}        0 {inode} 1 0 20 4 30 10 -1\n"
        )
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn only_an_open_socket_of_that_connection_has_an_owner() {
        let peer: SocketAddr = "127.0.0.1:40000".parse().unwrap();
        let ours: SocketAddr = "127.0.0.1:4513".parse().unwrap();
        let (near, far) = ("0100007F:9C40", "0100007F:11A1");
        let mapped = "0000000000000000FFFF00000100007F:9C40";
        let mapped_far = "0000000000000000FFFF00000100007F:11A1";
        for (row, owner) in [
            (row(near, far, "01", 1000, 7), Some(1000)),
            (row(mapped, mapped_far, "01", 1000, 7), Some(1000)),
            // Our own end, another connection, one that is closed.
            (row(far, near, "01", 0, 7), None),
            (row("0100007F:9C41", far, "01", 0, 7), None),
            (row(near, far, "06", 0, 0), None),
            (row(near, far, "05", 0, 0), None),
            (row(near, far, "01", 0, 0), None),
            ("nothing\n".to_owned(), None),
        ] {
            assert_eq!(
                owner_in(&format!("{HEAD}{row}"), peer, ours),
                owner,
                "{row}"
            );
        }
        let six = address("00000000000000000000000001000000:0016");
        assert_eq!(six, Some((IpAddr::from(Ipv6Addr::LOCALHOST), 22)));
    }

    #[test]
    fn this_process_is_its_own_users() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = listener.local_addr().unwrap();
        let near = TcpStream::connect(ours).unwrap();
        let (_far, peer) = listener.accept().unwrap();
        assert!(is_ours(peer, ours));
        drop(near);
        assert!(!is_ours(peer, ours));
    }
}
