//! Compares with git's own list of the same directory.

use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use super::*;

/// A repository that the git program makes.
struct Tried(tempfile::TempDir);

impl Tried {
    fn new() -> Option<Self> {
        let have = halite_test_support::have_programs(&["git"]);
        let this = have.then(|| Self(tempfile::tempdir().unwrap()))?;
        this.git(&["init", "-q", "-b", "main"]);
        this.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
        Some(this)
    }

    fn git(&self, words: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@t"])
            .args(words)
            .current_dir(self.0.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        assert!(output.status.success(), "{words:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(".git").join(name)
    }

    fn list(&self) -> Option<String> {
        list(&self.0.path().display().to_string())
    }

    /// That what is read is what git lists.
    fn is_as_git_says(&self, what: &str) {
        let here = self.0.path().display().to_string();
        let theirs = self.git(&["ls-remote", "--refs", "--heads", "--tags", &here]);
        let mut theirs: Vec<&str> = theirs.lines().collect();
        theirs.sort_by_key(|line| line.split_once('\t').unwrap().1);
        let ours = self
            .list()
            .unwrap_or_else(|| panic!("{what}: git is asked"));
        assert_eq!(ours.lines().collect::<Vec<_>>(), theirs, "{what}");
    }
}

#[test]
fn references_are_those_that_git_lists() {
    let Some(tried) = Tried::new() else { return };
    tried.is_as_git_says("one branch");
    tried.git(&["branch", "deep/er/branch"]);
    tried.git(&["branch", "ж"]);
    tried.git(&["tag", "v1"]);
    tried.git(&["tag", "-m", "x", "v2"]);
    tried.is_as_git_says("files of their own");
    tried.git(&["pack-refs", "--all"]);
    tried.is_as_git_says("one file");
    tried.git(&["commit", "-q", "--allow-empty", "-m", "y"]);
    tried.git(&["branch", "new"]);
    tried.git(&["tag", "-d", "v1"]);
    tried.git(&["update-ref", "refs/notes/x", "main"]);
    tried.git(&["update-ref", "refs/heads/other", "main"]);
    tried.is_as_git_says("both, with one that is newer and one that is gone");
    fs::write(tried.path("refs/heads/half.lock"), "").unwrap();
    tried.is_as_git_says("one that is being written");
    tried.git(&["checkout", "-q", "--detach"]);
    tried.is_as_git_says("no branch checked out");
    let bare = tried.0.path().join("bare.git");
    tried.git(&["clone", "-q", "--bare", ".", "bare.git"]);
    let listed = list(&bare.display().to_string()).unwrap();
    assert!(listed.contains("\trefs/heads/deep/er/branch\n"), "{listed}");
}

#[test]
fn what_is_unusual_is_left_to_git() {
    let Some(tried) = Tried::new() else { return };
    let usual = tried.list();
    assert!(usual.is_some());
    let id = tried.git(&["rev-parse", "main"]);
    let config = fs::read_to_string(tried.path("config")).unwrap();
    let with = |more: &str| fs::write(tried.path("config"), format!("{config}{more}")).unwrap();
    for more in [
        "[transfer]\n\thideRefs = refs/heads/x\n",
        "[uploadpack]\n\tHIDEREFS = refs/heads/x\n",
        "[include]\n\tpath = other\n",
        "[extensions]\n\tobjectFormat = sha1\n",
        "[core]\n\trepositoryformatversion = 1\n",
    ] {
        with(more);
        assert_eq!(tried.list(), None, "{more}");
    }
    with("");
    for (name, text) in [
        ("commondir", ".."),
        ("objects/info/alternates", "/elsewhere"),
        ("refs/heads/symbolic", "ref: refs/heads/main\n"),
        ("refs/heads/empty", ""),
        ("refs/heads/short", "0123"),
        ("refs/heads/odd name", id.as_str()),
        ("refs/heads/.hidden", id.as_str()),
        ("packed-refs", "no reference"),
        ("packed-refs", "0123 refs/heads/short\n"),
    ] {
        fs::create_dir_all(tried.path(name).parent().unwrap()).unwrap();
        fs::write(tried.path(name), text).unwrap();
        assert_eq!(tried.list(), None, "{name}: {text}");
        fs::remove_file(tried.path(name)).unwrap();
    }
    // Links lead out, and pipes wait for somebody.
    let outside = tried.0.path().join("outside");
    fs::write(&outside, &id).unwrap();
    for name in ["refs/heads/link", "packed-refs", "refs/tags/deep"] {
        symlink(&outside, tried.path(name)).unwrap();
        assert_eq!(tried.list(), None, "{name}");
        fs::remove_file(tried.path(name)).unwrap();
    }
    let fifo = tried.path("packed-refs");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(tried.list(), None);
    fs::remove_file(fifo).unwrap();
    assert_eq!(tried.list(), usual);
    let at = tried.0.path().display().to_string();
    assert_eq!(list(&format!("{at}%41")), None);
    assert_eq!(list(&format!("{at}/none")), None);
}
