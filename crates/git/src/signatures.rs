//! Which commits and tags are signed by the keys that `verify_signatures` names.
//!
//! The git program checks them, with `gpg` or `ssh-keygen`, on a keyring that is
//! made for this and holds only the named keys.
//!
//! Invariant: a commit without a proven signature of one of them does not count as
//! signed, whatever goes wrong; and a snapshot says which keys it was checked with,
//! so that one of other keys is not served.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use halite_crypto::files::{WriteOptions, ensure_private_dir, read_limited, write_atomic};
use halite_crypto::{HashType, hash_hex};

use crate::GitError;
use crate::limits::SIGNER_BYTES_MAX;
use crate::objects::{Id, Objects};
use crate::program::{bare_git, in_bare_surroundings, local};
use crate::snapshot::TAGS;
use crate::watch::Watch;

const PGP: &[u8] = b"-----BEGIN PGP PUBLIC KEY BLOCK-----";

/// The kinds of keys of ssh that sign.
const SSH: [&str; 4] = ["ssh-", "ecdsa-", "sk-ssh-", "sk-ecdsa-"];

/// What git says of a commit whose signature is good and from a trusted key.
const GOOD: &str = "G";

/// How far gpg trusts the keys of the keyring.
const ULTIMATE: u8 = 6;

/// The object whose signature counts for a branch or tag: a tag that is served in
/// the name that it has, else the commit. A signed tag says nothing of another
/// name.
///
/// # Errors
/// When an object is missing or damaged.
pub(crate) fn judged_for(objects: &Objects, name: &str, id: Id) -> Result<Id, GitError> {
    let own = objects.tag_name(id)?;
    if own.is_some() && own.as_deref() == name.strip_prefix(TAGS) {
        return Ok(id);
    }
    Ok(objects.commit(id)?.map_or(id, |(commit, _)| commit))
}

/// The keys that may sign.
pub(crate) struct Signers {
    /// Each as OpenPGP exports it.
    pgp: Vec<Vec<u8>>,
    /// A line of a key of ssh each.
    ssh: Vec<String>,
}

/// A keyring with those keys alone, below the directory of the remote.
pub(crate) struct Keyring {
    dir: PathBuf,
}

impl Signers {
    /// Reads the files of public keys: of OpenPGP with its head and foot lines,
    /// or of ssh, one in a line.
    ///
    /// # Errors
    /// When one cannot be read or holds something else.
    pub(crate) fn read(files: &[PathBuf]) -> Result<Self, GitError> {
        let mut this = Self {
            pgp: Vec::new(),
            ssh: Vec::new(),
        };
        for file in files {
            let bytes = read_limited(file, SIGNER_BYTES_MAX)?;
            if bytes.trim_ascii_start().starts_with(PGP) {
                this.pgp.push(bytes);
                continue;
            }
            let text = String::from_utf8(bytes).unwrap_or_default();
            let lines = text.lines().map(str::trim);
            let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
            let keys: Vec<String> = lines.map(str::to_owned).collect();
            let is_key = |line: &String| SSH.iter().any(|kind| line.starts_with(kind));
            if keys.is_empty() || !keys.iter().all(is_key) {
                return Err(GitError::Signers { file: file.clone() });
            }
            this.ssh.extend(keys);
        }
        Ok(this)
    }

    /// What changes when the keys do.
    pub(crate) fn mark(&self) -> String {
        let mut all = self.ssh.join("\n").into_bytes();
        for key in &self.pgp {
            all.push(0);
            all.extend(key);
        }
        hash_hex(HashType::Sha256, &all)
    }

    /// Makes the keyring in `dir`, anew.
    pub(crate) fn keyring(&self, dir: &Path, watch: &Arc<Watch>) -> Result<Keyring, GitError> {
        let disk = || GitError::disk("making a keyring");
        match fs::remove_dir_all(dir) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(disk()(error));
            }
            _ => ensure_private_dir(dir, None)?,
        }
        let write = |name: &str, text: &str| {
            write_atomic(&dir.join(name), WriteOptions::new(0o600), text.as_bytes())
        };
        write("gpg.conf", "no-auto-key-retrieve\n")?;
        let mut allowed = String::new();
        for key in &self.ssh {
            let _ = writeln!(allowed, "* namespaces=\"git\" {key}");
        }
        write("allowed_signers", &allowed)?;
        if !self.pgp.is_empty() {
            self.import(dir, watch)?;
        }
        write("config", &self.config(dir))?;
        Ok(Keyring {
            dir: dir.to_owned(),
        })
    }

    /// What git judges with. A signature of a kind of which no key is named
    /// starts no program: who pushes chooses the kind.
    fn config(&self, dir: &Path) -> String {
        let mut config = format!(
            "[gpg]\n\tminTrustLevel = fully\n[gpg \"ssh\"]\n\tallowedSignersFile = \"{}\"\n",
            dir.join("allowed_signers").display()
        );
        let kinds = [
            ("x509", true),
            ("openpgp", self.pgp.is_empty()),
            ("ssh", self.ssh.is_empty()),
        ];
        for (kind, _) in kinds.into_iter().filter(|(_, is_refused)| *is_refused) {
            let _ = writeln!(config, "[gpg \"{kind}\"]\n\tprogram = false");
        }
        config
    }

    /// Has gpg take the keys, and trust them: git tells a good signature of
    /// somebody else by that.
    fn import(&self, dir: &Path, watch: &Arc<Watch>) -> Result<(), GitError> {
        let gpg = |words: &[&str], input: Option<String>| {
            let mut gpg = in_bare_surroundings("gpg", dir);
            gpg.args(["--batch", "--quiet", "--no-autostart", "--homedir"])
                .arg(dir)
                .args(words);
            local(gpg, input, "import of a public key", watch)
        };
        for key in &self.pgp {
            let key = String::from_utf8_lossy(key).into_owned();
            gpg(&["--import"], Some(key))?;
        }
        let listed = gpg(&["--with-colons", "--fingerprint", "--list-keys"], None)?;
        let listed = String::from_utf8_lossy(&listed);
        let mut trust = String::new();
        let mut is_primary = false;
        for line in listed.lines() {
            let fields: Vec<&str> = line.split(':').collect();
            match (fields.first(), fields.get(9)) {
                (Some(&"pub"), _) => is_primary = true,
                (Some(&"fpr"), Some(fingerprint)) if is_primary => {
                    is_primary = false;
                    let _ = writeln!(trust, "{fingerprint}:{ULTIMATE}:");
                }
                _ => {}
            }
        }
        gpg(&["--import-ownertrust"], Some(trust)).map(drop)
    }
}

impl Keyring {
    /// Which of these ids are signed: commits, and tags that are signed or of
    /// signed commits.
    pub(crate) fn signed(
        &self,
        git_dir: &Path,
        ids: &BTreeSet<Id>,
        watch: &Arc<Watch>,
    ) -> Result<BTreeSet<Id>, GitError> {
        let objects = Objects::open_locked(git_dir)?;
        let mut commits = Vec::new();
        for id in ids {
            if let Some((commit, _)) = objects.commit(*id)? {
                commits.push((*id, commit));
            }
        }
        let good =
            self.signed_commits(git_dir, commits.iter().map(|(_, commit)| *commit), watch)?;
        let mut signed = BTreeSet::new();
        for (id, commit) in commits {
            let is_signed =
                good.contains(&commit) || id != commit && self.is_signed_tag(git_dir, id, watch)?;
            if is_signed {
                signed.insert(id);
            }
        }
        Ok(signed)
    }

    fn signed_commits(
        &self,
        git_dir: &Path,
        commits: impl Iterator<Item = Id>,
        watch: &Arc<Watch>,
    ) -> Result<BTreeSet<Id>, GitError> {
        let mut input = String::new();
        for commit in commits {
            let _ = writeln!(input, "{commit}");
        }
        if input.is_empty() {
            return Ok(BTreeSet::new());
        }
        let words = ["log", "--no-walk=unsorted", "--stdin", "--format=%H %G?"];
        let said = local(self.git(git_dir, &words), Some(input), "log", watch)?;
        let said = String::from_utf8_lossy(&said);
        let lines = said.lines().filter_map(|line| line.split_once(' '));
        let good = lines.filter(|(_, grade)| *grade == GOOD);
        Ok(good.filter_map(|(id, _)| Id::parse(id)).collect())
    }

    fn is_signed_tag(&self, git_dir: &Path, id: Id, watch: &Arc<Watch>) -> Result<bool, GitError> {
        let id = id.to_string();
        match local(
            self.git(git_dir, &["verify-tag", &id]),
            None,
            "verify-tag",
            watch,
        ) {
            Ok(_) => Ok(true),
            Err(GitError::Failed { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn git(&self, git_dir: &Path, words: &[&str]) -> Command {
        let mut git = bare_git(&self.dir);
        git.env("GIT_CONFIG_GLOBAL", self.dir.join("config"))
            .env("GNUPGHOME", &self.dir)
            .env("GIT_DIR", ".")
            .current_dir(git_dir)
            .args(words);
        git
    }
}
