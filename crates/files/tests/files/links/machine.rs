//! A directory of a user, with links of theirs into one of root's.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::PathBuf;

use halite_fake_minion::FakeMinion;
use halite_proto::{Map, Value};

use crate::common::{minion, work};

/// Who owns the directory, and what is to be theirs.
pub(crate) const OWNER: u32 = 65534;

/// A directory of a user, beside one that is root's.
pub(crate) struct Machine {
    _guard: tempfile::TempDir,
    pub(crate) work: PathBuf,
    pub(crate) minion: FakeMinion,
    pub(crate) home: PathBuf,
    pub(crate) roots: PathBuf,
    before: BTreeMap<PathBuf, (u32, u32, u32, Vec<u8>)>,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let (guard, work) = work();
        let (home, roots) = (work.join("home"), work.join("roots"));
        for directory in [&home, &roots, &roots.join("sub")] {
            fs::create_dir(directory).unwrap();
        }
        let private = fs::Permissions::from_mode(0o600);
        for name in ["file", "a.zip", "link", "sub/file"] {
            let file = roots.join(name);
            fs::write(&file, "precious\nb = 1\n").unwrap();
            fs::set_permissions(&file, private.clone()).unwrap();
        }
        fs::create_dir_all(work.join("srv/tree/d/sub")).unwrap();
        for name in ["tree/d/file", "tree/d/new", "tree/d/sub/file"] {
            fs::write(work.join("srv").join(name), "of the master\n").unwrap();
        }
        let own = home.join("own");
        fs::write(&own, "own\n").unwrap();
        for own in [&home, &own] {
            chown(own, Some(OWNER), Some(OWNER)).unwrap();
        }
        let minion = minion(&work);
        let mut machine = Self {
            _guard: guard,
            work,
            minion,
            home,
            roots,
            before: BTreeMap::new(),
        };
        machine.link("d", "../roots");
        machine.link("f", "../roots/file");
        machine.link("none", "../roots/none");
        machine.link("none.d", "../roots/none");
        machine.before = machine.look();
        machine
    }

    /// Puts a link of the user's into their directory.
    pub(crate) fn link(&self, name: &str, target: &str) -> PathBuf {
        let link = self.home.join(name);
        symlink(target, &link).unwrap();
        lchown(&link, Some(OWNER), Some(OWNER)).unwrap();
        link
    }

    fn look(&self) -> BTreeMap<PathBuf, (u32, u32, u32, Vec<u8>)> {
        let mut all = BTreeMap::new();
        let mut left = vec![self.roots.clone()];
        while let Some(path) = left.pop() {
            let data = fs::symlink_metadata(&path).unwrap();
            let content = if data.is_dir() {
                left.extend(fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
                Vec::new()
            } else {
                fs::read(&path).unwrap_or_default()
            };
            all.insert(path, (data.uid(), data.gid(), data.mode(), content));
        }
        all
    }

    pub(crate) fn is_untouched(&self) -> bool {
        self.look() == self.before
    }

    pub(crate) fn state(&self, fun: &str, args: &[(&str, Value)]) -> Result<Map, String> {
        let mut all = Map::new();
        for (name, value) in args {
            all.insert(*name, value.clone());
        }
        let ret = self.minion.run_state(fun, &all, false);
        match ret.map_err(|error| error.to_string())? {
            Value::Map(ret) => Ok(ret),
            other => panic!("{other:?}"),
        }
    }

    /// An archive with these names; those with a slash behind them are directories.
    pub(crate) fn tar(&self, entries: &[(&str, &[u8])]) -> PathBuf {
        let path = self.work.join("a.tar");
        let mut builder = tar::Builder::new(fs::File::create(&path).unwrap());
        for (name, content) in entries {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o755);
            let kind = match name.ends_with('/') {
                true => tar::EntryType::Directory,
                false => tar::EntryType::Regular,
            };
            header.set_entry_type(kind);
            builder.append_data(&mut header, name, *content).unwrap();
        }
        builder.finish().unwrap();
        path
    }

    /// The same as a zip archive, of files.
    pub(crate) fn zip(&self, names: &[&str]) -> PathBuf {
        let path = self.work.join("a-zip.zip");
        let mut zip = zip::ZipWriter::new(fs::File::create(&path).unwrap());
        for name in names {
            let options = zip::write::SimpleFileOptions::default();
            zip.start_file(*name, options).unwrap();
            zip.write_all(b"zipped\n").unwrap();
        }
        zip.finish().unwrap();
        path
    }
}
