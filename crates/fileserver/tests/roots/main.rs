//! Requests of minions for files, over trees made here.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod answers;
mod changes;
mod kinds;
mod paths;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use halite_fileserver::{FileServer, RootsOptions};
use halite_proto::request::{Commits, FileList, FilePath, MinionRequest, ServeFile};
use halite_proto::{SaltEnv, Value};
use tempfile::TempDir;

struct Tree {
    dir: TempDir,
}

impl Tree {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    fn dir(&self, path: &str) -> &Self {
        fs::create_dir_all(self.path(path)).unwrap();
        self
    }

    fn link(&self, path: &str, target: impl AsRef<Path>) -> &Self {
        symlink(target, self.path(path)).unwrap();
        self
    }

    fn options(&self, roots: &[(&str, &[&str])]) -> RootsOptions {
        RootsOptions {
            file_roots: roots
                .iter()
                .map(|(env, roots)| {
                    let roots = roots.iter().map(|root| self.path(root)).collect();
                    ((*env).to_owned(), roots)
                })
                .collect(),
            ..RootsOptions::default()
        }
    }

    fn roots(&self, roots: &[(&str, &[&str])]) -> FileServer {
        FileServer::from_roots(self.options(roots)).unwrap()
    }

    fn base(&self) -> FileServer {
        self.roots(&[("base", &["base"])])
    }
}

fn env(name: &str) -> SaltEnv {
    SaltEnv::parse(name).unwrap()
}

fn file(path: &str) -> FilePath {
    FilePath {
        path: path.to_owned(),
        saltenv: Some(SaltEnv::base()),
        commits: Commits::default(),
    }
}

fn list(prefix: &str) -> FileList {
    FileList {
        saltenv: Some(SaltEnv::base()),
        prefix: Some(prefix.to_owned()),
        ..FileList::default()
    }
}

fn serve(path: &str, loc: u64, gzip: Option<i64>) -> ServeFile {
    ServeFile {
        file: file(path),
        loc,
        gzip,
        beyond: None,
    }
}

fn answer(files: &FileServer, request: MinionRequest) -> Value {
    files.answer(&request).unwrap().unwrap()
}

fn texts(texts: &[&str]) -> Value {
    Value::List(texts.iter().copied().map(Value::from).collect())
}
