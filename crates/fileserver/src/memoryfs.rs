//! A source of files in memory, for tests with several sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use halite_crypto::{HashType, hash_hex};
use halite_proto::SaltEnv;

use crate::requested_path::RequestedPath;
use crate::source::{Content, Found};
use crate::{Changes, FileHash, Lists, Stat, UpdateError};

pub(crate) const NAMES: &[&str] = &["memoryfs", "memory"];

/// Files by environment and path.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    envs: BTreeMap<String, BTreeMap<String, Arc<[u8]>>>,
    links: Vec<(String, String)>,
}

impl Memory {
    pub(crate) fn with(mut self, env: &str, path: &str, content: &str) -> Self {
        let files = self.envs.entry(env.to_owned()).or_default();
        files.insert(path.to_owned(), content.as_bytes().into());
        self
    }

    pub(crate) fn with_link(mut self, link: &str, target: &str) -> Self {
        self.links.push((link.to_owned(), target.to_owned()));
        self
    }

    pub(crate) fn envs(&self) -> Vec<String> {
        self.envs.keys().cloned().collect()
    }

    pub(crate) fn find(&self, wanted: &RequestedPath) -> Option<Found<'_>> {
        let files = self.envs.get(wanted.saltenv.as_str())?;
        let bytes = files.get(&wanted.rel)?;
        Some(Found {
            path: PathBuf::from(format!("memory:{}", wanted.rel)),
            rel: wanted.rel.clone(),
            stat: Stat {
                mode: 0o100_644,
                ino: 0,
                dev: 0,
                nlink: 1,
                uid: 0,
                gid: 0,
                size: bytes.len() as u64,
                atime: 0,
                mtime: 0,
                ctime: 0,
            },
            backend: NAMES[0],
            content: Content::Memory(Arc::clone(bytes)),
        })
    }

    pub(crate) fn lists(&self, saltenv: &SaltEnv) -> Arc<Lists> {
        let Some(files) = self.envs.get(saltenv.as_str()) else {
            return Arc::default();
        };
        let above = |path: &String| Some(path.rsplit_once('/')?.0.to_owned());
        let dirs: BTreeSet<String> = files.keys().filter_map(above).collect();
        Arc::new(Lists {
            files: files.keys().cloned().collect(),
            dirs: dirs.into_iter().collect(),
            empty_dirs: Vec::new(),
            links: self.links.clone(),
        })
    }

    pub(crate) fn update(&self) -> Option<Result<Changes, UpdateError>> {
        let added = self.envs.values().flat_map(BTreeMap::keys).cloned();
        Some(Ok(Changes {
            added: added.collect(),
            ..Changes::default()
        }))
    }
}

pub(crate) fn hash(bytes: &[u8]) -> FileHash {
    FileHash {
        hash_type: HashType::Sha256,
        hsum: hash_hex(HashType::Sha256, bytes),
    }
}

pub(crate) fn read(bytes: &[u8], loc: u64, bytes_max: usize) -> (Vec<u8>, String) {
    let rest = usize::try_from(loc).ok().and_then(|loc| bytes.get(loc..));
    let rest = rest.unwrap_or_default();
    let data = rest[..rest.len().min(bytes_max)].to_vec();
    (data, hash(bytes).hsum)
}
