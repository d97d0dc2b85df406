//! A small directory for tests: entries, binds and searches, enough of the protocol
//! for a client, and a record of the requests.

mod ber;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use ber::{ENUMERATED, INTEGER, OCTETS, SEQUENCE, SET, put, split, splits};

/// What the directory was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Bind { dn: String, password: String },
    Search { base: String, filter: String },
}

/// An entry.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    dn: &'static str,
    attributes: BTreeMap<&'static str, Vec<&'static str>>,
}

pub(crate) fn entry(dn: &'static str, attributes: &[(&'static str, &[&'static str])]) -> Entry {
    Entry {
        dn,
        attributes: attributes
            .iter()
            .map(|(name, values)| (*name, values.to_vec()))
            .collect(),
    }
}

/// How the directory behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manners {
    /// As it should.
    Good,
    /// It lets in with any password.
    Careless,
    /// It sends what is no answer, and hangs up.
    Nonsense,
    /// Its answers are of the right kind, with nothing in them.
    Hollow,
    /// It hangs up at once.
    Rude,
}

/// A directory that listens.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    pub(crate) fn start(entries: Vec<Entry>, manners: Manners) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let notes = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (entries, notes) = (entries.clone(), Arc::clone(&notes));
                thread::spawn(move || serve(stream, &entries, manners, &notes));
            }
        });
        Self { address, asked }
    }

    /// What it was asked since the last time.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

fn serve(mut stream: TcpStream, entries: &[Entry], manners: Manners, notes: &Mutex<Vec<Asked>>) {
    let mut buffer = Vec::new();
    loop {
        while let Some((_, message, rest)) = split(&buffer) {
            let Some(answer) = answer(message, entries, manners, notes) else {
                return;
            };
            let rest = rest.to_vec();
            if stream.write_all(&answer).is_err() || manners == Manners::Nonsense {
                return;
            }
            buffer = rest;
        }
        let mut piece = [0; 4096];
        match stream.read(&mut piece) {
            Ok(len @ 1..) => buffer.extend_from_slice(&piece[..len]),
            _ => return,
        }
    }
}

fn answer(
    message: &[u8],
    entries: &[Entry],
    manners: Manners,
    notes: &Mutex<Vec<Asked>>,
) -> Option<Vec<u8>> {
    let parts = splits(message);
    let (id, (tag, operation)) = (parts[0].1, parts[1]);
    let wrapped =
        |tag: u8, content: Vec<u8>| put(SEQUENCE, &[put(INTEGER, id), put(tag, &content)].concat());
    match manners {
        Manners::Nonsense => return Some(vec![0x30, 0x03, 0xff, 0xff, 0xff]),
        Manners::Rude => return None,
        Manners::Hollow => return Some(wrapped(tag + 1, Vec::new())),
        Manners::Good | Manners::Careless => {}
    }
    let operation = splits(operation);
    let text = |at: usize| String::from_utf8(operation[at].1.to_vec()).unwrap();
    match tag {
        0x60 => {
            let (dn, password) = (text(1), text(2));
            let is_right = manners == Manners::Careless
                // A bind as nobody always succeeds.
                || password.is_empty()
                || entries.iter().any(|entry| {
                    is_alike(entry.dn, &dn) && has(entry, "userPassword", &password)
                });
            notes.lock().unwrap().push(Asked::Bind { dn, password });
            Some(wrapped(0x61, result(if is_right { 0 } else { 49 })))
        }
        0x63 => {
            let (base, limit) = (text(0), operation[3].1[operation[3].1.len() - 1]);
            let (tag, filter) = operation[6];
            notes.lock().unwrap().push(Asked::Search {
                base: base.clone(),
                filter: shown(tag, filter),
            });
            let mut out = Vec::new();
            let found: Vec<&Entry> = entries
                .iter()
                .filter(|entry| entry.dn.ends_with(&base) && is_match(entry, tag, filter))
                .collect();
            if !entries.iter().any(|entry| entry.dn.ends_with(&base)) {
                return Some(wrapped(0x65, result(32)));
            }
            // Active Directory adds these.
            out.extend(wrapped(0x73, put(OCTETS, b"ldap://other.example/dc=x")));
            for entry in found.iter().take(usize::from(limit).max(1)) {
                out.extend(wrapped(0x64, described(entry)));
            }
            let is_over = limit > 0 && found.len() > usize::from(limit);
            out.extend(wrapped(0x65, result(if is_over { 4 } else { 0 })));
            Some(out)
        }
        _ => None,
    }
}

fn result(code: u8) -> Vec<u8> {
    [put(ENUMERATED, &[code]), put(OCTETS, b""), put(OCTETS, b"")].concat()
}

fn described(entry: &Entry) -> Vec<u8> {
    let attributes: Vec<u8> = entry
        .attributes
        .iter()
        .filter(|(name, _)| **name != "userPassword")
        .flat_map(|(name, values)| {
            let values: Vec<u8> = values
                .iter()
                .flat_map(|value| put(OCTETS, value.as_bytes()))
                .collect();
            put(
                SEQUENCE,
                &[put(OCTETS, name.as_bytes()), put(SET, &values)].concat(),
            )
        })
        .collect();
    [put(OCTETS, entry.dn.as_bytes()), put(SEQUENCE, &attributes)].concat()
}

/// Directories ignore case, and characters that are not seen.
fn is_alike(one: &str, other: &str) -> bool {
    let folded = |text: &str| text.replace(['\u{ad}', '\u{200b}'], "").to_lowercase();
    folded(one) == folded(other)
}

fn has(entry: &Entry, name: &str, value: &str) -> bool {
    entry
        .attributes
        .iter()
        .filter(|(known, _)| known.eq_ignore_ascii_case(name))
        .any(|(_, values)| values.contains(&value))
}

fn pair(filter: &[u8]) -> (String, String) {
    let parts = splits(filter);
    let text = |at: usize| String::from_utf8(parts[at].1.to_vec()).unwrap();
    (text(0), text(1))
}

fn is_match(entry: &Entry, tag: u8, filter: &[u8]) -> bool {
    match tag {
        0xa0 => splits(filter)
            .iter()
            .all(|(tag, part)| is_match(entry, *tag, part)),
        0xa1 => splits(filter)
            .iter()
            .any(|(tag, part)| is_match(entry, *tag, part)),
        0xa3 => {
            let (name, value) = pair(filter);
            let of_name = |known: &&str| known.eq_ignore_ascii_case(&name);
            let found = entry.attributes.iter().find(|(known, _)| of_name(known));
            found.is_some_and(|(_, values)| values.iter().any(|known| is_alike(known, &value)))
        }
        // Whatever is there, in all its forms.
        0x87 | 0xa4 => true,
        _ => false,
    }
}

/// A filter as it was understood: values are not escaped any more.
fn shown(tag: u8, filter: &[u8]) -> String {
    let all = |sign: &str| {
        let parts = splits(filter);
        let parts: String = parts.iter().map(|(tag, part)| shown(*tag, part)).collect();
        format!("({sign}{parts})")
    };
    match tag {
        0xa0 => all("&"),
        0xa1 => all("|"),
        0xa3 => {
            let (name, value) = pair(filter);
            format!("({name}={value})")
        }
        _ => format!("(? {tag:x})"),
    }
}
