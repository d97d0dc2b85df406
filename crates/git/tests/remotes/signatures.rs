use super::*;

/// Somebody who signs, with files of their own below `dir`.
struct Signer {
    dir: PathBuf,
    format: &'static str,
    key: String,
    public: PathBuf,
}

fn done(program: &mut Command) -> Vec<u8> {
    let output = program.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{program:?}: {output:?}");
    output.stdout
}

impl Signer {
    fn of_ssh(dir: &Path) -> Self {
        fs::create_dir_all(dir).unwrap();
        let key = dir.join("key");
        let mut keygen = Command::new("ssh-keygen");
        done(
            keygen
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(&key),
        );
        Self {
            dir: dir.to_owned(),
            format: "ssh",
            public: dir.join("key.pub"),
            key: key.display().to_string(),
        }
    }

    fn of_pgp(dir: &Path) -> Self {
        halite_crypto::files::ensure_private_dir(dir, None).unwrap();
        let gpg = |words: &[&str]| {
            let mut gpg = Command::new("gpg");
            gpg.args(["--batch", "--quiet", "--homedir"]).arg(dir);
            done(gpg.args(words))
        };
        let who = "Signer <signer@example.org>";
        let words = [
            "--passphrase",
            "",
            "--quick-gen-key",
            who,
            "ed25519",
            "sign",
        ];
        gpg(&words);
        let public = dir.join("public.asc");
        fs::write(&public, gpg(&["--armor", "--export"])).unwrap();
        Self {
            dir: dir.to_owned(),
            format: "openpgp",
            public,
            key: "signer@example.org".to_owned(),
        }
    }

    /// What git needs to sign in this name.
    fn words<'w>(&self, words: &[&'w str]) -> Vec<std::borrow::Cow<'w, str>> {
        let program = self.dir.join("gpg");
        let text = format!(
            "#!/bin/sh\nexec gpg --homedir '{}' \"$@\"\n",
            self.dir.display()
        );
        fs::write(&program, text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(&program, mode).unwrap();
        let options = [
            format!("gpg.format={}", self.format),
            format!("gpg.openpgp.program={}", program.display()),
            format!("user.signingkey={}", self.key),
        ];
        let options = options.into_iter().flat_map(|it| ["-c".into(), it.into()]);
        options
            .chain(words.iter().map(|word| (*word).into()))
            .collect()
    }
}

impl Drop for Signer {
    fn drop(&mut self) {
        let mut stop = Command::new("gpgconf");
        stop.arg("--homedir").arg(&self.dir).args(["--kill", "all"]);
        stop.status().ok();
    }
}

/// What is signed by one of the named keys is served; what is not leaves all as
/// it was.
fn only_signed_commits_count(signer: &Signer, other: &Signer, tried: &Tried) {
    let sign = |signer: &Signer, words: &[&str]| sign(tried, signer, words);
    let write = |text: &str| {
        fs::write(tried.work().join("x"), text).unwrap();
        tried.git(&["add", "-A"]);
    };
    let repository_of = |signed: bool| {
        let mut own = Map::new();
        if signed {
            let file = signer.public.display().to_string();
            own.insert("gitfs_verify_signatures", Value::List(vec![file.into()]));
        }
        let url = format!("file://{}", tried.work().display());
        repository(&tried.cache(), &url, own)
    };
    tried.commit("x", "unsigned");
    update(&repository_of(false)).unwrap();
    let signed = repository_of(true);
    let of_base = |text: &str| Some(text.to_owned());
    assert_eq!(text(&signed, "base"), None, "nobody has checked it");
    assert_eq!(update(&signed).unwrap(), Updated::Changed);
    assert_eq!(text(&signed, "base"), None);

    write("signed");
    sign(signer, &["commit", "-q", "-S", "-m", "x"]);
    let first = tried.git(&["rev-parse", "HEAD"]);
    update(&signed).unwrap();
    assert_eq!(text(&signed, "base"), of_base("signed"));
    assert_eq!(text(&signed, &first), of_base("signed"));
    assert_eq!(text(&signed, &tried.git(&["rev-parse", "HEAD~1"])), None);

    // By somebody else, in place of what was signed.
    write("forged");
    sign(other, &["commit", "-q", "-S", "--amend", "-m", "x"]);
    sign(other, &["tag", "-s", "-m", "x", "v1"]);
    update(&signed).unwrap();
    assert_eq!(text(&signed, "base"), of_base("signed"), "it stays");
    assert_eq!(text(&signed, "v1"), None);
    // Nobody names it there any more.
    let git_dir = tried
        .cache()
        .join("gitfs")
        .join(signed.remote().dir())
        .join("objects.git");
    let mut gc = Command::new("git");
    done(
        gc.arg("--git-dir")
            .arg(&git_dir)
            .args(["gc", "-q", "--prune=now"]),
    );
    update(&signed).unwrap();
    assert_eq!(text(&repository_of(true), "base"), of_base("signed"));

    // A signed tag of a commit that is not.
    tried.commit("x", "tagged");
    sign(signer, &["tag", "-s", "-m", "x", "v2"]);
    tried.git(&["tag", "v3"]);
    update(&signed).unwrap();
    assert_eq!(text(&signed, "v2"), of_base("tagged"));
    assert_eq!(text(&signed, "v3"), None);
    assert_eq!(text(&signed, "base"), of_base("signed"));
}

#[test]
fn only_what_keys_of_ssh_have_signed_is_served() {
    let have = halite_test_support::have_programs(&["git", "ssh-keygen"]);
    let Some(tried) = Tried::new().filter(|_| have) else {
        return;
    };
    let signer = Signer::of_ssh(&tried.dir.path().join("a"));
    let other = Signer::of_ssh(&tried.dir.path().join("b"));
    only_signed_commits_count(&signer, &other, &tried);
}

#[test]
fn only_what_keys_of_openpgp_have_signed_is_served() {
    let have = halite_test_support::have_programs(&["git", "gpg", "gpgconf"]);
    let Some(tried) = Tried::new().filter(|_| have) else {
        return;
    };
    let signer = Signer::of_pgp(&tried.dir.path().join("a"));
    let other = Signer::of_pgp(&tried.dir.path().join("b"));
    only_signed_commits_count(&signer, &other, &tried);
}

#[test]
fn a_file_that_is_no_public_key_is_named() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("x", "one");
    let file = tried.dir.path().join("key");
    fs::write(&file, "-----BEGIN OPENSSH PRIVATE KEY-----\n").unwrap();
    let own = Map::from([("gitfs_verify_signatures", file.display().to_string())]);
    let url = format!("file://{}", tried.work().display());
    let error = update(&repository(&tried.cache(), &url, own)).unwrap_err();
    let said = error.to_string();
    assert!(said.starts_with(&file.display().to_string()), "{said}");
}

/// A repository of which only what `signer` has signed is served.
fn checked_repository(tried: &Tried, signer: &Signer) -> Repository {
    let file = signer.public.display().to_string();
    let own = Map::from([("gitfs_verify_signatures", file)]);
    let url = format!("file://{}", tried.work().display());
    repository(&tried.cache(), &url, own)
}

fn signed_commit(tried: &Tried, signer: &Signer, text: &str) -> String {
    fs::write(tried.work().join("x"), text).unwrap();
    tried.git(&["add", "-A"]);
    sign(tried, signer, &["commit", "-q", "-S", "-m", "x"]);
    tried.git(&["rev-parse", "HEAD"])
}

fn sign(tried: &Tried, signer: &Signer, words: &[&str]) {
    let words = signer.words(words);
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    tried.git(&words);
}

fn text(repository: &Repository, env: &str) -> Option<String> {
    read(&commit(repository, env)?, "x")
}

/// A tag may have a name that begins as references do.
#[test]
fn a_tag_with_a_strange_name_brings_nothing_unsigned() {
    let have = halite_test_support::have_programs(&["git", "ssh-keygen"]);
    let Some(tried) = Tried::new().filter(|_| have) else {
        return;
    };
    let signer = Signer::of_ssh(&tried.dir.path().join("a"));
    signed_commit(&tried, &signer, "signed");
    sign(&tried, &signer, &["tag", "-s", "-m", "x", "v1"]);
    tried.git(&["checkout", "-q", "-b", "aside"]);
    tried.commit("x", "forged");
    let forged = tried.git(&["rev-parse", "HEAD"]);
    tried.git(&["checkout", "-q", "master"]);
    tried.git(&["branch", "-q", "-D", "aside"]);
    tried.git(&["tag", "refs/tags/v1", &forged]);
    let repository = checked_repository(&tried, &signer);
    update(&repository).unwrap();
    assert_eq!(text(&repository, &forged), None, "by its id");
    assert_eq!(text(&repository, "v1").as_deref(), Some("signed"));
    tried.git(&["reset", "-q", "--hard", &forged]);
    update(&repository).unwrap();
    assert_eq!(text(&repository, "base").as_deref(), Some("signed"));
}

/// Also what somebody has chosen to hold counts only if it is signed.
#[test]
fn an_environment_is_not_held_at_what_nobody_has_signed() {
    let have = halite_test_support::have_programs(&["git", "ssh-keygen"]);
    let Some(tried) = Tried::new().filter(|_| have) else {
        return;
    };
    let signer = Signer::of_ssh(&tried.dir.path().join("a"));
    tried.commit("x", "unsigned");
    let unsigned = tried.git(&["rev-parse", "HEAD"]);
    let unchecked = tried.repository();
    update(&unchecked).unwrap();
    unchecked.promote("base", Some(&unsigned)).unwrap();
    let signed = signed_commit(&tried, &signer, "signed");
    let checked = checked_repository(&tried, &signer);
    update(&checked).unwrap();
    let snapshot = checked.snapshot().unwrap().unwrap();
    let error = snapshot.commit(checked.remote(), "base").unwrap_err();
    assert!(error.to_string().contains("verify_signatures"), "{error}");
    let then = snapshot.commit_then(checked.remote(), "base", &unsigned);
    assert!(then.is_err());
    // Held at a signed one, it stays there.
    checked.promote("base", Some(&signed)).unwrap();
    assert_eq!(text(&checked, "base").as_deref(), Some("signed"));
    signed_commit(&tried, &signer, "next");
    update(&checked).unwrap();
    assert_eq!(text(&checked, "base").as_deref(), Some("signed"));
    // Also at what a signed tag has named that is gone.
    tried.commit("x", "tagged");
    sign(&tried, &signer, &["tag", "-s", "-m", "x", "v1"]);
    update(&checked).unwrap();
    checked.promote("base", Some("v1")).unwrap();
    tried.git(&["tag", "-d", "v1"]);
    for _ in 0..2 {
        update(&checked).unwrap();
        assert_eq!(text(&checked, "base").as_deref(), Some("tagged"));
    }
}

#[test]
fn a_signed_tag_counts_in_its_own_name() {
    let have = halite_test_support::have_programs(&["git", "ssh-keygen"]);
    let Some(tried) = Tried::new().filter(|_| have) else {
        return;
    };
    let signer = Signer::of_ssh(&tried.dir.path().join("a"));
    signed_commit(&tried, &signer, "signed");
    tried.git(&["tag", "light"]);
    tried.commit("x", "tagged");
    sign(&tried, &signer, &["tag", "-s", "-m", "x", "v1"]);
    let checked = checked_repository(&tried, &signer);
    update(&checked).unwrap();
    tried.git(&["tag", "v2", "v1"]);
    update(&checked).unwrap();
    assert_eq!(text(&checked, "v1").as_deref(), Some("tagged"));
    assert_eq!(text(&checked, "v2"), None);
    assert_eq!(text(&checked, "light").as_deref(), Some("signed"));
}

#[test]
fn what_is_refused_is_not_judged_at_each_update() {
    let have = halite_test_support::have_programs(&["git", "ssh-keygen"]);
    let Some(tried) = Tried::new().filter(|_| have) else {
        return;
    };
    let signer = Signer::of_ssh(&tried.dir.path().join("a"));
    tried.commit("x", "unsigned");
    tried.git(&["tag", "-m", "x", "v1"]);
    let checked = checked_repository(&tried, &signer);
    update(&checked).unwrap();
    let dir = tried.cache().join("gitfs").join(checked.remote().dir());
    let keyring = dir.join("run/keyring");
    fs::remove_dir_all(&keyring).unwrap();
    update(&checked).unwrap();
    assert!(!keyring.exists(), "it was made for what is known");
    assert_eq!(text(&checked, "base"), None);
    signed_commit(&tried, &signer, "signed");
    update(&checked).unwrap();
    assert_eq!(text(&checked, "base").as_deref(), Some("signed"));
    assert_eq!(text(&checked, "v1"), None);
}

/// No key of X.509 can be named, and gpgsm takes whatever certificate it is shown.
#[test]
fn a_signature_of_another_kind_starts_no_program() {
    let have = halite_test_support::have_programs(&["git", "ssh-keygen", "gpgsm"]);
    let Some(tried) = Tried::new().filter(|_| have) else {
        return;
    };
    let signer = Signer::of_ssh(&tried.dir.path().join("a"));
    tried.commit("x", "forged");
    let commit = tried.git(&["cat-file", "commit", "HEAD"]);
    let (head, message) = commit.split_once("\n\n").unwrap();
    let signature = "-----BEGIN SIGNED MESSAGE-----\n MIIB\n -----END SIGNED MESSAGE-----";
    let forged = format!("{head}\ngpgsig {signature}\n\n{message}\n");
    let words = ["hash-object", "-t", "commit", "-w", "--stdin"];
    let forged = tried.git_with(&words, forged.as_bytes());
    tried.git(&["update-ref", "refs/heads/master", &forged]);
    let repository = checked_repository(&tried, &signer);
    update(&repository).unwrap();
    assert_eq!(text(&repository, "base"), None);
    let dir = tried.cache().join("gitfs").join(repository.remote().dir());
    let files = fs::read_dir(dir.join("run/keyring")).unwrap();
    let files = files.map(|file| file.unwrap().file_name());
    let files: std::collections::BTreeSet<_> = files.collect();
    assert_eq!(
        files,
        ["allowed_signers", "config", "gpg.conf"]
            .map(Into::into)
            .into()
    );
}
