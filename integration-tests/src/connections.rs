//! From where processes are connected to an address.

use std::collections::BTreeSet;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Result;

/// The kernel's table of connections, and the state of one that stands.
const TABLE: &str = "/proc/net/tcp";
const ESTABLISHED: &str = "01";

/// The own ends of the connections that these processes have to `to`.
///
/// # Errors
/// When the kernel's table cannot be read.
pub fn connected_from(processes: &[i32], to: SocketAddr) -> Result<Vec<SocketAddr>> {
    let sockets: BTreeSet<String> = processes.iter().flat_map(|pid| sockets(*pid)).collect();
    let table = fs::read_to_string(TABLE)?;
    Ok(ends_of(&table, &sockets, to))
}

/// The sockets of a process by number. One that has just ended has none.
fn sockets(pid: i32) -> Vec<String> {
    let files = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten();
    let targets = files
        .flatten()
        .filter_map(|file| fs::read_link(file.path()).ok());
    let numbers = targets.filter_map(|target| {
        let name = target.to_string_lossy().into_owned();
        Some(name.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
    });
    numbers.collect()
}

fn ends_of(table: &str, sockets: &BTreeSet<String>, to: SocketAddr) -> Vec<SocketAddr> {
    let ends = table.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, own, remote, state, _, _, _, _, _, socket, ..] = fields.as_slice() else {
            return None;
        };
        let is_meant = *state == ESTABLISHED && sockets.contains(*socket) && end(remote)? == to;
        is_meant.then(|| end(own)).flatten()
    });
    ends.collect()
}

/// An end as the kernel writes it: an address in the machine's byte order, and a port.
fn end(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let address = u32::from_str_radix(address, 16).ok()?.to_ne_bytes();
    let port = u16::from_str_radix(port, 16).ok()?;
    Some(SocketAddr::from((Ipv4Addr::from(address), port)))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_own_end_of_a_connection_is_found_while_it_stands() {
        let own = [i32::try_from(std::process::id()).unwrap()];
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        assert!(connected_from(&own, to).unwrap().is_empty());
        let stream = TcpStream::connect(to).unwrap();
        let here = stream.local_addr().unwrap();
        assert_eq!(connected_from(&own, to).unwrap(), [here]);
        assert!(connected_from(&[], to).unwrap().is_empty());
        drop(stream);
        assert!(connected_from(&own, to).unwrap().is_empty());
    }
}
