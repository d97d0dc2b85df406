//! The files that the masters of a cluster share: the key that minions see, the
//! publish key, and the public key of each master.
//!
//! Salt: `cluster.pem`, `cluster.pub`, `.aes` and `peers/<id>.pub` in
//! `cluster_pki_dir`, 3007 and 3008. Invariant: if several masters start at once,
//! one makes a file, the others read it, and nobody sees a part of it.

mod look;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use halite_crypto::files::{
    FileError, MODE_KEY, MODE_SECRET, WriteOptions, create_exclusive, ensure_private_dir,
    write_atomic,
};
use halite_crypto::{HashType, PrivateKey, Secret, SymmetricKey, clean_key, hash_hex};

use crate::error::KeyStoreError;
use crate::generate::{close_private, key_path, read_private};
use crate::key_file::{Links, read_key_text};
use crate::master::{MasterKeyOptions, MasterKeys, master_id};
use crate::pki_dir::PkiDir;

/// Name of the pair that minions see.
const CLUSTER: &str = "cluster";

/// Name of the file with the publish key.
const PUBLISH_KEY: &str = ".aes";

/// Name of the directory with the masters' public keys.
const PEERS: &str = "peers";

/// How often it is looked whether another master has made a key.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The options about the keys of a cluster.
pub struct ClusterKeyOptions<'a> {
    /// The passphrase of `cluster.pem` (`cluster_key_pass`).
    pub passphrase: Option<&'a Secret<String>>,
    /// The fingerprint that `cluster.pub` must have (`cluster_pub_fingerprint`).
    pub fingerprint: Option<&'a str>,
}

/// The shared directory of a cluster (`cluster_pki_dir`).
#[derive(Debug, Clone)]
pub struct ClusterDir {
    dir: PathBuf,
}

impl ClusterDir {
    /// Opens the directory, making it with mode 0700 where it is missing.
    ///
    /// # Errors
    /// When it can neither be found nor made.
    pub fn open(dir: PathBuf) -> Result<Self, KeyStoreError> {
        ensure_private_dir(&dir, None)?;
        ensure_private_dir(&dir.join(PEERS), None)?;
        Ok(Self { dir })
    }

    /// The directory with the masters' public keys.
    pub fn peers(&self) -> PathBuf {
        self.dir.join(PEERS)
    }

    /// The keys that minions see, generated if missing. The key that signs them for
    /// minions is in `own`, the directory of the master's own keys.
    ///
    /// # Errors
    /// When a key cannot be read or made, or is not the one that was meant.
    pub fn identity(
        &self,
        own: &PkiDir,
        own_options: &MasterKeyOptions<'_>,
        options: &ClusterKeyOptions<'_>,
    ) -> Result<MasterKeys, KeyStoreError> {
        let path = self.make_key_pair(own_options.bits, options)?;
        close_private(&path)?;
        let private = read_private(&path, options.passphrase)?;
        let text = public_text(&private, &path)?;
        check_fingerprint(&path, &text, options.fingerprint)?;
        let public = key_path(&self.dir, CLUSTER, "pub")?;
        put_text(&public, &text)?;
        MasterKeys::of_cluster(private, clean_key(&text), own, own_options)
    }

    /// Generates the key pair that minions see, unless it exists; returns its file. This
    /// may take a second.
    ///
    /// # Errors
    /// When it cannot be made, or would not be the one that is meant.
    pub fn make_key_pair(
        &self,
        bits: u32,
        options: &ClusterKeyOptions<'_>,
    ) -> Result<PathBuf, KeyStoreError> {
        let path = key_path(&self.dir, CLUSTER, "pem")?;
        if path.exists() {
            return Ok(path);
        }
        if wanted(options.fingerprint).is_some() {
            // A new key would not be the one that is meant, and in its way.
            return Err(KeyStoreError::NoCluster { path });
        }
        tracing::info!(path = %path.display(), "generating the key of the cluster");
        let failed = |source| KeyStoreError::Generate {
            path: path.clone(),
            source,
        };
        let key = PrivateKey::generate(bits).map_err(failed)?;
        let pem = match options.passphrase {
            Some(passphrase) => key.to_pem_encrypted(passphrase),
            None => key.to_pem(),
        };
        let pem = pem.map_err(failed)?;
        create_exclusive(&path, WriteOptions::new(MODE_KEY), pem.expose().as_bytes())?;
        Ok(path)
    }

    /// Waits until another master has made that key pair, or `within` has passed.
    pub fn wait_for_key_pair(&self, within: Duration) {
        let begun = Instant::now();
        while !self.has_identity() && begun.elapsed() < within {
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Whether the key that minions see is here.
    pub fn has_identity(&self) -> bool {
        self.dir.join(format!("{CLUSTER}.pem")).exists()
    }

    /// Stores the key that minions see, received from another master, unless there is
    /// one.
    ///
    /// # Errors
    /// When it is no key, or cannot be written.
    pub fn put_identity(
        &self,
        pem: &Secret<String>,
        passphrase: Option<&Secret<String>>,
    ) -> Result<(), KeyStoreError> {
        let path = key_path(&self.dir, CLUSTER, "pem")?;
        let failed = |source| KeyStoreError::Key {
            path: path.clone(),
            source,
        };
        let key = PrivateKey::from_pem(pem.expose().as_bytes(), None).map_err(failed)?;
        let text = match passphrase {
            Some(passphrase) => key.to_pem_encrypted(passphrase),
            None => key.to_pem(),
        };
        let text = text.map_err(failed)?;
        create_exclusive(&path, WriteOptions::new(MODE_KEY), text.expose().as_bytes())?;
        Ok(())
    }

    /// Stores the public key of another master (PEM).
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put_peer(&self, id: &str, pem: &str) -> Result<(), KeyStoreError> {
        let path = key_path(&self.peers(), id, "pub")?;
        put_text(&path, pem)
    }

    /// Removes the public key of another master. Whether there was one.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove_peer(&self, id: &str) -> Result<bool, KeyStoreError> {
        let path = key_path(&self.peers(), id, "pub")?;
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(FileError::Remove { path, source }.into()),
        }
    }

    /// Whether the public key of another master is here.
    pub fn has_peer(&self, id: &str) -> bool {
        key_path(&self.peers(), id, "pub").is_ok_and(|path| path.exists())
    }

    /// The key of publications, made if need be.
    ///
    /// # Errors
    /// When it cannot be read or made.
    pub fn publish_key(&self) -> Result<SymmetricKey, KeyStoreError> {
        let path = self.dir.join(PUBLISH_KEY);
        if !path.exists() {
            let key = SymmetricKey::generate();
            let options = WriteOptions::new(MODE_SECRET);
            create_exclusive(&path, options, key.expose().as_bytes())?;
        }
        self.read_publish_key()
    }

    /// How long ago the key of publications was put here; `None` if that is not known.
    pub fn publish_key_age(&self) -> Option<Duration> {
        let file = fs::metadata(self.dir.join(PUBLISH_KEY)).ok()?;
        SystemTime::now().duration_since(file.modified().ok()?).ok()
    }

    /// Puts another key of publications in the place of the last.
    ///
    /// # Errors
    /// When it cannot be written; the last one then stays.
    pub fn put_publish_key(&self, key: &SymmetricKey) -> Result<(), KeyStoreError> {
        let path = self.dir.join(PUBLISH_KEY);
        let options = WriteOptions::new(MODE_SECRET);
        Ok(write_atomic(&path, options, key.expose().as_bytes())?)
    }

    /// Records the key of the master with this name (the option `id`).
    ///
    /// # Errors
    /// When another key is there under its name.
    pub fn add_peer(&self, id: &str, key: &PrivateKey) -> Result<(), KeyStoreError> {
        let path = key_path(&self.peers(), master_id(id), "pub")?;
        let text = public_text(key, &path)?;
        if create_exclusive(&path, WriteOptions::new(MODE_KEY), text.as_bytes())? {
            return Ok(());
        }
        match read_key_text(&path, Links::Followed)? {
            Some(found) if clean_key(&found) == clean_key(&text) => Ok(()),
            _ => Err(KeyStoreError::OtherPeer { path }),
        }
    }
}

fn public_text(key: &PrivateKey, path: &Path) -> Result<String, KeyStoreError> {
    let text = key.public().and_then(|key| key.to_pem());
    text.map_err(|source| KeyStoreError::Generate {
        path: path.to_owned(),
        source,
    })
}

/// Sees to it that a file holds the text of a public key.
fn put_text(path: &Path, text: &str) -> Result<(), KeyStoreError> {
    let has_it = || {
        let found = read_key_text(path, Links::Followed)?;
        Ok::<_, KeyStoreError>(found.is_some_and(|found| clean_key(&found) == clean_key(text)))
    };
    if fs::symlink_metadata(path).is_ok() && has_it()? {
        return Ok(());
    }
    // All masters write the same.
    Ok(write_atomic(
        path,
        WriteOptions::new(MODE_KEY),
        text.as_bytes(),
    )?)
}

fn wanted(fingerprint: Option<&str>) -> Option<&str> {
    fingerprint.filter(|fingerprint| !fingerprint.is_empty())
}

/// `cluster_pub_fingerprint`: the hash of the file as Salt writes it, or of the
/// same text without the line break at its end; with or without colons.
fn check_fingerprint(path: &Path, text: &str, wanted: Option<&str>) -> Result<(), KeyStoreError> {
    let Some(wanted) = self::wanted(wanted) else {
        return Ok(());
    };
    let plain = |text: &str| text.trim().replace(':', "").to_ascii_lowercase();
    let hash = |text: &str| hash_hex(HashType::Sha256, text.as_bytes());
    let forms = [hash(text), hash(text.trim_end())];
    match forms.iter().any(|form| *form == plain(wanted)) {
        true => Ok(()),
        false => Err(KeyStoreError::OtherCluster {
            path: path.to_owned(),
            found: hash(text),
        }),
    }
}

#[cfg(test)]
mod tests {
    use halite_crypto::fingerprint_text;

    use super::*;
    use crate::signing::MasterSigning;

    const PLAIN: ClusterKeyOptions<'_> = ClusterKeyOptions {
        passphrase: None,
        fingerprint: None,
    };

    fn own_options() -> MasterKeyOptions<'static> {
        MasterKeyOptions {
            id: "m1_master",
            passphrase: None,
            bits: 2048,
            signing: MasterSigning::None,
        }
    }

    fn open(dir: &tempfile::TempDir) -> (ClusterDir, PkiDir) {
        let cluster = ClusterDir::open(dir.path().join("cluster")).unwrap();
        (cluster, PkiDir::open(dir.path().join("own"), None).unwrap())
    }

    #[test]
    fn masters_that_start_at_once_have_one_key() {
        for _ in 0..5 {
            let dir = tempfile::tempdir().unwrap();
            let (cluster, own) = open(&dir);
            let start = || {
                let keys = cluster.identity(&own, &own_options(), &PLAIN).unwrap();
                let publish = cluster.publish_key().unwrap();
                (keys.public_pem().to_owned(), publish.expose().to_owned())
            };
            let all: Vec<_> = std::thread::scope(|scope| {
                let all: Vec<_> = (0..3).map(|_| scope.spawn(start)).collect();
                all.into_iter().map(|one| one.join().unwrap()).collect()
            });
            assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
            let names = fs::read_dir(dir.path().join("cluster")).unwrap().count();
            assert_eq!(names, 4);
        }
    }

    #[test]
    fn a_master_of_a_name_has_one_key() {
        let dir = tempfile::tempdir().unwrap();
        let (cluster, _) = open(&dir);
        let [key, other] = [0; 2].map(|_| PrivateKey::generate(2048).unwrap());
        cluster.add_peer("m1_master", &key).unwrap();
        cluster.add_peer("m1", &key).unwrap();
        let error = cluster.add_peer("m1", &other).unwrap_err();
        assert!(matches!(error, KeyStoreError::OtherPeer { .. }), "{error}");
        assert!(cluster.add_peer("../m1", &key).is_err());
    }

    #[test]
    fn another_fingerprint_or_passphrase_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let (cluster, own) = open(&dir);
        let meant = ClusterKeyOptions {
            fingerprint: Some("aa:bb"),
            ..PLAIN
        };
        let error = cluster.identity(&own, &own_options(), &meant).unwrap_err();
        assert!(matches!(error, KeyStoreError::NoCluster { .. }), "{error}");
        assert!(!cluster.has_identity());
        let secret = Secret::new("a passphrase".to_owned());
        let sealed = ClusterKeyOptions {
            passphrase: Some(&secret),
            fingerprint: None,
        };
        cluster.identity(&own, &own_options(), &sealed).unwrap();
        assert!(cluster.identity(&own, &own_options(), &PLAIN).is_err());
        let text = fs::read(dir.path().join("cluster/cluster.pub")).unwrap();
        let finger = fingerprint_text(&text, HashType::Sha256);
        let meant = hash_hex(HashType::Sha256, &text).to_ascii_uppercase();
        let unbroken = hash_hex(HashType::Sha256, text.trim_ascii_end());
        let other = hash_hex(HashType::Sha256, b"another key");
        for (wanted, is_right) in [
            (meant.as_str(), true),
            (finger.as_str(), true),
            (unbroken.as_str(), true),
            (other.as_str(), false),
        ] {
            let options = ClusterKeyOptions {
                fingerprint: Some(wanted),
                ..sealed
            };
            let keys = cluster.identity(&own, &own_options(), &options);
            assert_eq!(keys.is_ok(), is_right, "{wanted}");
        }
    }

    #[test]
    fn the_publish_key_is_replaced_whole() {
        let dir = tempfile::tempdir().unwrap();
        let (cluster, _) = open(&dir);
        let first = cluster.publish_key().unwrap();
        assert!(first.is_same(&cluster.publish_key().unwrap()));
        let second = SymmetricKey::generate();
        cluster.put_publish_key(&second).unwrap();
        assert!(second.is_same(&cluster.publish_key().unwrap()));
        fs::write(dir.path().join("cluster/.aes"), "rubbish").unwrap();
        assert!(cluster.publish_key().is_err());
    }
}
