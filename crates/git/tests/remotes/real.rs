//! Remotes behind real servers: ssh, and http with and without TLS and passwords.
//!
//! Ssh reads `known_hosts` from the home of its user, whatever the environment
//! says, so each update runs in a process whose `ssh` uses another file.

use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use halite_test_services::{GitHttp, Sshd, Wanted};

use super::*;

/// What the child of a test is told: its cache, the address, and its options.
const CHILD: &str = "HALITE_GIT_TEST_REAL";

/// How long nobody may wait for an answer that will never be given.
const NOBODY_IS_ASKED: Duration = Duration::from_secs(30);

/// What an update says in a process of its own with this `PATH`; nothing if all
/// went well.
fn update_there(cache: &Path, url: &str, options: &[(&str, &str)], path: &str) -> String {
    let own = Command::new(std::env::current_exe().unwrap());
    update_in(own, cache, url, options, path)
}

/// The same, where another program starts that process.
fn update_in(
    mut starter: Command,
    cache: &Path,
    url: &str,
    options: &[(&str, &str)],
    path: &str,
) -> String {
    let mut told = vec![cache.display().to_string(), url.to_owned()];
    for (name, value) in options {
        told.push(format!("{name}={value}"));
    }
    let began = Instant::now();
    let output = starter
        .args(["--exact", "real::a_child_updates", "--nocapture"])
        .env(CHILD, told.join("\n"))
        .env("PATH", path)
        .output()
        .unwrap();
    assert!(began.elapsed() < NOBODY_IS_ASKED, "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    let said = said
        .split_once("<<<")
        .and_then(|(_, rest)| rest.split_once(">>>"));
    said.unwrap().0.to_owned()
}

/// The part of the tests below that runs in a process of its own.
#[test]
fn a_child_updates() {
    let Ok(told) = std::env::var(CHILD) else {
        return;
    };
    let mut lines = told.lines();
    let (cache, url) = (lines.next().unwrap(), lines.next().unwrap());
    let mut own = Map::new();
    for line in lines {
        let (name, value) = line.split_once('=').unwrap();
        let value = match value {
            "True" => Value::Bool(true),
            "False" => Value::Bool(false),
            text => text.into(),
        };
        own.insert(name, value);
    }
    let said = update(&repository(Path::new(cache), url, own)).err();
    println!(
        "<<<{}>>>",
        said.map(|error| error.to_string()).unwrap_or_default()
    );
}

/// The text of `x` that a cache has of a remote.
fn text(cache: &Path, url: &str) -> Option<String> {
    let remote = repository(cache, url, Map::from([("gitfs_insecure_auth", true)]));
    read(&commit(&remote, "base")?, "x")
}

/// A directory with an `ssh` that knows these hosts, in front of the others.
fn path_with_ssh(dir: &Path, known_hosts: &str) -> String {
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join("known_hosts"), known_hosts).unwrap();
    let ssh = halite_test_services::find_program("ssh").unwrap();
    let text = format!(
        "#!/bin/sh\nexec {} -o UserKnownHostsFile={} -o GlobalKnownHostsFile=/dev/null \"$@\"\n",
        ssh.display(),
        dir.join("known_hosts").display()
    );
    fs::write(dir.join("ssh"), text).unwrap();
    fs::set_permissions(dir.join("ssh"), fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", dir.display(), std::env::var("PATH").unwrap())
}

#[test]
fn ssh_takes_known_hosts_and_given_keys_alone() {
    let Some(tried) = Tried::new() else { return };
    let Some(sshd) = Sshd::for_test() else { return };
    tried.commit("x", "by ssh");
    let url = sshd.url(&tried.work());
    let known = path_with_ssh(&tried.dir.path().join("known"), &sshd.known_host().unwrap());
    let (plain, locked) = (
        sshd.authorised_key("plain", "").unwrap(),
        sshd.authorised_key("locked", "open sesame").unwrap(),
    );
    let stranger = sshd.unknown_key("stranger", "").unwrap();
    let mut count = 0;
    let mut fetch = |path: &str, key: &Path, passphrase: Option<&str>| {
        count += 1;
        let cache = tried.dir.path().join(format!("cache{count}"));
        let key = key.display().to_string();
        let mut options = vec![("gitfs_privkey", key.as_str())];
        options.extend(passphrase.map(|text| ("gitfs_passphrase", text)));
        let said = update_there(&cache, &url, &options, path);
        (said, text(&cache, &url))
    };
    let whole = (String::new(), Some("by ssh".to_owned()));
    assert_eq!(fetch(&known, &plain, None), whole);
    assert_eq!(fetch(&known, &locked, Some("open sesame")), whole);
    let mut refused = |path: &str, key: &Path, passphrase: Option<&str>, why: &str| {
        let (said, text) = fetch(path, key, passphrase);
        assert!(said.contains(why), "{why}: {said}");
        assert!(!said.contains("sesame"), "{said}");
        assert_eq!(text, None);
    };
    refused(&known, &locked, Some("close sesame"), "Permission denied");
    refused(&known, &locked, None, "Permission denied");
    refused(&known, &stranger, None, "Permission denied");
    let unknown = path_with_ssh(&tried.dir.path().join("unknown"), "");
    refused(&unknown, &plain, None, "Host key verification failed");
    let other = Sshd::start().unwrap().known_host().unwrap();
    let key = other.split_once(' ').unwrap().1;
    let changed = format!("[{}]:{} {key}", sshd.address.ip(), sshd.address.port());
    let changed = path_with_ssh(&tried.dir.path().join("changed"), &changed);
    refused(&changed, &plain, None, "Host key verification failed");
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o644)).unwrap();
    refused(&known, &plain, None, "Permission denied");
}

/// A repository that the server has, readable for everybody.
fn serve(tried: &Tried, http: &GitHttp) -> String {
    let bare = http.repositories().join("states.git");
    let mut clone = Command::new("git");
    clone
        .args(["clone", "-q", "--bare"])
        .arg(tried.work())
        .arg(&bare);
    assert!(clone.status().unwrap().success());
    http.url("states.git")
}

#[test]
fn a_directory_of_this_machine_with_nothing_new_is_read_without_a_git() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("x", "one");
    let url = format!("file://{}", tried.work().display());
    let path = std::env::var("PATH").unwrap();
    let fetch = |path: &str| update_there(&tried.cache(), &url, &[], path);
    assert_eq!(fetch(&path), "");
    let nowhere = tried.dir.path().join("nowhere").display().to_string();
    // As files of their own, and in one.
    for words in [&["status"][..], &["pack-refs", "--all"]] {
        tried.git(words);
        assert_eq!(fetch(&nowhere), "", "{words:?}");
    }
    tried.commit("x", "two");
    let said = fetch(&nowhere);
    assert!(said.contains("git"), "{said}");
    assert_eq!(text(&tried.cache(), &url).as_deref(), Some("one"));
    // What is unusual there needs one.
    assert_eq!(fetch(&path), "");
    tried.git(&["symbolic-ref", "refs/heads/same", "refs/heads/master"]);
    assert_eq!(fetch(&path), "");
    assert!(!fetch(&nowhere).is_empty());
    assert_eq!(fetch(&path), "");
    assert_eq!(text(&tried.cache(), &url).as_deref(), Some("two"));
}

#[test]
fn http_asks_for_passwords_and_https_for_certificates() {
    let Some(tried) = Tried::new() else { return };
    let Some(open) = GitHttp::for_test(&Wanted::default()) else {
        return;
    };
    tried.commit("x", "by http");
    let path = std::env::var("PATH").unwrap();
    let mut count = 0;
    let mut fetch = |url: &str, options: &[(&str, &str)]| {
        count += 1;
        let cache = tried.dir.path().join(format!("cache{count}"));
        let said = update_there(&cache, url, options, &path);
        (said, text(&cache, url))
    };
    let whole = (String::new(), Some("by http".to_owned()));
    assert_eq!(fetch(&serve(&tried, &open), &[]), whole);

    // Whoever asks gets it, by a certificate that nobody knows.
    let open = GitHttp::start(&Wanted::default().tls()).unwrap();
    let url = serve(&tried, &open);
    assert!(url.starts_with("https://"), "{url}");
    assert_eq!(fetch(&url, &[("gitfs_ssl_verify", "False")]), whole);
    let (said, there) = fetch(&url, &[]);
    assert!(said.contains("certificate"), "{said}");
    assert_eq!(there, None);

    let guarded = GitHttp::start(&Wanted::default().password("secret7").tls()).unwrap();
    let url = serve(&tried, &guarded);
    let login = |password| {
        [
            ("gitfs_user", "git"),
            ("gitfs_password", password),
            ("gitfs_ssl_verify", "False"),
        ]
    };
    assert_eq!(fetch(&url, &login("secret7")), whole);
    let mut refused = |options: &[(&str, &str)], why: &str| {
        let (said, text) = fetch(&url, options);
        assert!(said.contains(why), "{why}: {said}");
        assert!(!said.contains("secret"), "{said}");
        assert_eq!(text, None);
    };
    refused(&login("secret8"), "Authentication failed");
    refused(&[("gitfs_ssl_verify", "False")], "could not read Username");
    refused(&login("secret7")[..2], "certificate");
    // Where the machine trusts who has signed the certificate.
    if halite_test_support::have_root() && halite_test_support::have_programs(&["unshare"]) {
        let ca = guarded.tls.as_ref().unwrap().ca.display().to_string();
        let script = "mount --bind \"$0\" /etc/ssl/certs/ca-certificates.crt && exec \"$@\"";
        let mut within = Command::new("unshare");
        within.args(["-m", "sh", "-c", script, &ca]);
        within.arg(std::env::current_exe().unwrap());
        let cache = tried.dir.path().join("trusting");
        let said = update_in(within, &cache, &url, &login("secret7")[..2], &path);
        assert_eq!((said, text(&cache, &url)), whole);
    }
    // In the clear only where that is wanted.
    let clear = GitHttp::start(&Wanted::default().password("secret7")).unwrap();
    let url = serve(&tried, &clear);
    let mut options = login("secret7");
    options[2] = ("gitfs_insecure_auth", "True");
    assert_eq!(fetch(&url, &options), whole);
}
