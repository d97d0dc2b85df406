//! Records in files of its own which batches this master drives.
//!
//! The list in the store says which jobs run. After the store was restored to an
//! earlier state, that list is outdated, and finished jobs would run again. Batches
//! that are not recorded here are not continued.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use halite_crypto::files::{
    FileError, MODE_SECRET, WriteOptions, ensure_private_dir, write_atomic,
};
use halite_proto::Jid;

/// Below the master's own cache directory.
const DIR: &str = "batches";

/// The notes, one empty file for each job.
pub(super) struct Driven {
    dir: PathBuf,
}

impl Driven {
    pub(super) fn below(own_cachedir: PathBuf) -> Self {
        Self {
            dir: own_cachedir.join(DIR),
        }
    }

    /// This master drives it from now on.
    pub(super) fn record(&self, jid: &Jid) -> Result<(), FileError> {
        ensure_private_dir(&self.dir, None)?;
        write_atomic(
            &self.dir.join(jid.as_str()),
            WriteOptions::new(MODE_SECRET),
            b"",
        )
    }

    /// It is over.
    pub(super) fn forget(&self, jid: &Jid) {
        match fs::remove_file(self.dir.join(jid.as_str())) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                tracing::warn!(%jid, "could not forget a batch that is over: {error}");
            }
            _ => {}
        }
    }

    /// Whether it was noted. One of which that cannot be seen was not.
    pub(super) fn has(&self, jid: &Jid) -> bool {
        self.dir.join(jid.as_str()).is_file()
    }

    /// Forgets those that do not run.
    pub(super) fn retain(&self, runs: impl Fn(&Jid) -> bool) -> io::Result<()> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        for entry in entries {
            let name = entry?.file_name();
            let jid = name.to_str().and_then(|name| Jid::parse(name).ok());
            if let Some(jid) = jid.filter(|jid| !runs(jid)) {
                self.forget(&jid);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_outlives_the_master_until_it_is_over() {
        let dir = tempfile::tempdir().unwrap();
        let [one, two] =
            ["20261120222423196046", "20261120222423196047"].map(|jid| Jid::parse(jid).unwrap());
        let driven = || Driven::below(dir.path().to_owned());
        driven().retain(|_| false).unwrap();
        assert!(!driven().has(&one));
        driven().record(&one).unwrap();
        driven().record(&one).unwrap();
        driven().record(&two).unwrap();
        assert!(driven().has(&one));
        driven().forget(&one);
        driven().forget(&one);
        assert!(!driven().has(&one) && driven().has(&two));
        driven().record(&one).unwrap();
        driven().retain(|jid| *jid == one).unwrap();
        assert!(driven().has(&one) && !driven().has(&two));
    }
}
