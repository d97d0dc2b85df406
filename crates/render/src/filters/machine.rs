//! Filters that read this machine: its files, users and network.

use std::fs::{self, File};
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use halite_crypto::{HashType, Hasher};
use halite_jinja::{Error, Result};
use halite_proto::Value;
use halite_proto::python::{str_repr, strerror};
use nix::unistd::{User, geteuid};

use super::Args;
use crate::limits::{CONNECT_SECONDS, FILES_MAX};

fn failed(path: &str, error: &io::Error) -> Error {
    let number = error.raw_os_error().unwrap_or_default();
    Error::foreign(format!(
        "[Errno {number}] {}: {}",
        strerror(number),
        str_repr(path)
    ))
}

pub(super) fn file_hashsum(args: &Args<'_>) -> Result<Value> {
    let path = args.text(0, "path")?;
    let form = args.text_or(1, "form", "sha256")?;
    let hash_type =
        HashType::parse(&form).map_err(|_| Error::foreign(format!("Invalid hash type: {form}")))?;
    let mut file = File::open(&path).map_err(|error| failed(&path, &error))?;
    let mut hasher = Hasher::new(hash_type);
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file
            .read(&mut buffer)
            .map_err(|error| failed(&path, &error))?
        {
            0 => return Ok(hasher.finish_hex().into()),
            count => hasher.update(&buffer[..count]),
        }
    }
}

/// The first bytes of a file.
fn head(args: &Args<'_>, most: u64) -> Option<Vec<u8>> {
    let value = args.value();
    let mut bytes = Vec::new();
    let file = File::open(value.as_str()?).ok()?;
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

pub(super) fn is_bin_file(args: &Args<'_>) -> Value {
    head(args, 2048)
        .is_some_and(|bytes| is_binary(&bytes))
        .into()
}

pub(super) fn is_text_file(args: &Args<'_>) -> Value {
    let most = args.size_or(1, "blocksize", 512).unwrap_or(512);
    head(args, most as u64)
        .is_some_and(|bytes| !is_binary(&bytes))
        .into()
}

/// A NUL byte, or more than 30 % of bytes that are no ASCII text.
fn is_binary(bytes: &[u8]) -> bool {
    let is_text = |byte: &u8| matches!(byte, 32..=126 | b'\n' | b'\r' | b'\t' | 8);
    let others = bytes.iter().filter(|byte| !is_text(byte)).count();
    bytes.contains(&0) || others * 10 > bytes.len() * 3
}

pub(super) fn is_empty(args: &Args<'_>) -> Value {
    let value = args.value();
    let data = value.as_str().and_then(|path| fs::metadata(path).ok());
    data.is_some_and(|data| data.len() == 0).into()
}

/// The directory and everything below it, sorted; Python's order is chance.
pub(super) fn list_files(args: &Args<'_>) -> Result<Value> {
    let top = args.text(0, "directory")?;
    let mut found = vec![top.clone()];
    let mut open = vec![PathBuf::from(&top)];
    while let Some(directory) = open.pop() {
        let Ok(entries) = fs::read_dir(&directory) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(path.clone());
            }
            found.push(path.to_string_lossy().into_owned());
            if found.len() > FILES_MAX {
                let message = format!("there are more than {FILES_MAX} files below {top}");
                return Err(Error::foreign(message));
            }
        }
    }
    found.sort();
    Ok(found
        .into_iter()
        .map(Value::from)
        .collect::<Vec<_>>()
        .into())
}

pub(super) fn get_uid(args: &Args<'_>) -> Result<Value> {
    if args.value().is_nil() {
        return Ok(geteuid().as_raw().into());
    }
    let name = args.text(0, "user")?;
    let user = User::from_name(&name).ok().flatten();
    Ok(user.map_or(Value::Nil, |user| user.uid.as_raw().into()))
}

pub(super) fn which(args: &Args<'_>) -> Value {
    let value = args.value();
    let Some(name) = value.as_str().filter(|name| !name.is_empty()) else {
        return Value::Nil;
    };
    find_program(name).map_or(Value::Nil, |path| path.to_string_lossy().as_ref().into())
}

/// Where a program is: on the search path, or where programs usually are.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    const USUAL: &[&str] = &[
        "/sbin",
        "/bin",
        "/usr/sbin",
        "/usr/bin",
        "/usr/local/sbin",
        "/usr/local/bin",
    ];
    let runs = |path: &Path| {
        fs::metadata(path)
            .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    if name.starts_with('/') {
        return Some(PathBuf::from(name)).filter(|path| runs(path));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(USUAL.iter().map(PathBuf::from))
        .map(|directory| directory.join(name))
        .find(|path| runs(path))
}

/// The address of a name, in brackets for IPv6: the first that answers, else
/// the first there is.
pub(super) fn dns_check(args: &Args<'_>) -> Result<Value> {
    let name = args.text(0, "addr")?;
    let port = args.size_or(1, "port", 0)?;
    let port = u16::try_from(port).map_err(|_| Error::foreign("port must be 0-65535."))?;
    let found = resolve(&name, port);
    let mut wanted: Vec<SocketAddr> = match args.get(3, "ipv6") {
        None => found.clone(),
        Some(six) => {
            let six = six.is_true();
            let wanted = |address: &&SocketAddr| address.is_ipv6() == six;
            found.iter().filter(wanted).copied().collect()
        }
    };
    if wanted.is_empty() && args.flag_or(3, "ipv6", false) {
        wanted = found;
    }
    let wait = Duration::from_secs(CONNECT_SECONDS);
    let answers = |address: &&SocketAddr| TcpStream::connect_timeout(address, wait).is_ok();
    let address = wanted.iter().find(answers).or_else(|| wanted.first());
    match address.map(SocketAddr::ip) {
        Some(IpAddr::V6(ip)) => Ok(format!("[{ip}]").into()),
        Some(IpAddr::V4(ip)) => Ok(ip.to_string().into()),
        None => Err(Error::foreign(format!(
            "DNS lookup or connection check of '{name}' failed."
        ))),
    }
}

fn resolve(name: &str, port: u16) -> Vec<SocketAddr> {
    let name = name.trim_start_matches('[').trim_end_matches(']');
    (name, port)
        .to_socket_addrs()
        .map(Iterator::collect)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use halite_proto::Map;

    #[test]
    fn bytes_that_are_no_text_make_a_binary_file() {
        assert!(is_binary(b"a\0b") && is_binary(&[0xff, 0xfe, b'a']));
        assert!(!is_binary(b"plain text\n") && !is_binary(b""));
    }

    #[test]
    fn addresses_need_no_name_server() {
        let args = [Value::from("127.0.0.1"), 1.into()];
        let args = Args::new("dns_check", &args, &Map::new());
        assert_eq!(dns_check(&args).unwrap(), "127.0.0.1".into());
    }

    #[test]
    fn programs_are_found() {
        assert!(find_program("sh").is_some());
        assert_eq!(find_program("no-such-program-here"), None);
    }
}
