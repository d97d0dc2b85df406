//! The grains cache across restarts: the options `grains_cache`
//! and `grains_cache_expiration`.
//!
//! The file is Salt's, so that either program may have written it. Invariant: only its
//! owner can read it; a file that is too old, from the future, truncated or not a map is
//! ignored.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use halite_crypto::files::{self, WriteOptions};
use halite_proto::{Map, Value, msgpack};

use crate::own;

/// The name of the file in the cache directory.
const FILE: &str = "grains.cache.p";

const MODE: u32 = 0o600;

/// A larger file counts as none.
const BYTES_MAX: u64 = 16 << 20;

/// Salt's default of `grains_cache_expiration`.
const EXPIRES: Duration = Duration::from_secs(300);

/// Which grains are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Those that were kept, if there are any.
    Kept,
    /// New ones.
    New,
}

/// Where grains are kept, and for how long.
#[derive(Clone, Debug)]
pub struct Kept {
    path: PathBuf,
    expires: Duration,
    config: Map,
}

impl Kept {
    /// The cache that the options describe, or `None` without `grains_cache`.
    pub fn from_opts(opts: &Map) -> Option<Self> {
        if !opts.get("grains_cache").is_some_and(Value::is_true) {
            return None;
        }
        let directory = opts.get("cachedir").and_then(Value::as_str)?;
        let seconds = opts.get("grains_cache_expiration").and_then(Value::as_f64);
        let expires = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let config = opts.get("grains").and_then(Value::as_map);
        Some(Self {
            path: PathBuf::from(directory).join(FILE),
            expires: expires.unwrap_or(EXPIRES),
            config: config.cloned().unwrap_or_default(),
        })
    }

    /// The grains: those that were kept, if such are wanted and not too old by
    /// `now`, else new ones, which are kept.
    pub fn grains(&self, want: Want, now: SystemTime, collect: impl FnOnce() -> Map) -> Map {
        if want == Want::Kept
            && let Some(kept) = self.read(now)
        {
            return kept;
        }
        let grains = collect();
        self.write(&grains);
        grains
    }

    fn read(&self, now: SystemTime) -> Option<Map> {
        let written = fs::metadata(&self.path).ok()?.modified().ok()?;
        let age = now.duration_since(written).ok()?;
        if age >= self.expires {
            return None;
        }
        let packed = files::read_limited(&self.path, BYTES_MAX).ok()?;
        let Ok(Value::Map(mut grains)) = msgpack::unpack_modern(&packed) else {
            tracing::warn!(path = %self.path.display(), "the cached grains cannot be read");
            return None;
        };
        // These are not of the program that has kept them.
        own::process(&mut grains);
        grains.extend(self.config.clone());
        Some(grains)
    }

    fn write(&self, grains: &Map) {
        let packed = msgpack::pack_modern(&Value::Map(grains.clone()));
        let why = match packed {
            Ok(packed) => files::write_atomic(&self.path, WriteOptions::new(MODE), &packed)
                .err()
                .map(|error| error.to_string()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(why) = why {
            tracing::warn!(path = %self.path.display(), why, "the grains were not cached");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn kept_in(directory: &std::path::Path, config: Map) -> Kept {
        let opts = Map::from([
            ("grains_cache", Value::from(true)),
            ("grains_cache_expiration", 60.into()),
            ("cachedir", directory.to_string_lossy().as_ref().into()),
            ("grains", config.into()),
        ]);
        Kept::from_opts(&opts).unwrap()
    }

    fn grains(number: i64) -> Map {
        Map::from([("number", number)])
    }

    #[test]
    fn grains_are_kept_for_a_while_and_made_anew_when_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let kept = kept_in(directory.path(), Map::new());
        let now = SystemTime::now();
        let number = |want, now, new| {
            let grains = kept.grains(want, now, || grains(new));
            grains.get("number").and_then(Value::as_i64)
        };
        assert_eq!(number(Want::Kept, now, 1), Some(1));
        // The file may carry a stamp that is a little later than `now`.
        let soon = now + Duration::from_secs(5);
        assert_eq!(number(Want::Kept, soon, 2), Some(1));
        assert_eq!(number(Want::New, soon, 3), Some(3));
        assert_eq!(number(Want::Kept, soon, 4), Some(3));
        let late = now + Duration::from_secs(70);
        assert_eq!(number(Want::Kept, late, 5), Some(5));
        let before = now - Duration::from_secs(3600);
        assert_eq!(number(Want::Kept, before, 6), Some(6));
        let file = directory.path().join(FILE);
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, MODE);
        fs::write(&file, b"\x81\xa1").unwrap();
        assert_eq!(number(Want::Kept, soon, 7), Some(7));
    }

    #[test]
    fn what_the_configuration_sets_is_of_now() {
        let directory = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        kept_in(directory.path(), Map::new()).grains(Want::New, now, || grains(1));
        let other = kept_in(directory.path(), Map::from([("role", "web")]));
        let soon = now + Duration::from_secs(5);
        let read = other.grains(Want::Kept, soon, Map::new);
        assert_eq!(read.get("role"), Some(&"web".into()));
        assert_eq!(read.get("number"), Some(&1.into()));
    }

    #[test]
    fn nothing_is_kept_unless_that_is_said() {
        let opts = Map::from([("cachedir", Value::from("/nowhere"))]);
        assert!(Kept::from_opts(&opts).is_none());
    }
}
