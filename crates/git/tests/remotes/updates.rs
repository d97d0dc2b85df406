use super::*;

#[test]
fn branches_tags_and_commits_are_environments() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("a/top.sls", "one");
    tried.git(&["tag", "-a", "v1", "-m", "x"]);
    let first = tried.git(&["rev-parse", "HEAD"]);
    tried.git(&["branch", "dev"]);
    tried.commit("a/top.sls", "two");
    let repository = tried.repository();
    assert!(commit(&repository, "base").is_none(), "never fetched");
    assert_eq!(update(&repository).unwrap(), Updated::Changed);
    let snapshot = repository.snapshot().unwrap().unwrap();
    assert_eq!(snapshot.envs(repository.remote()), ["base", "dev", "v1"]);
    for (env, text) in [
        ("base", "two"),
        ("dev", "one"),
        ("v1", "one"),
        (first.as_str(), "one"),
    ] {
        let commit = commit(&repository, env).unwrap();
        assert_eq!(read(&commit, "a/top.sls").as_deref(), Some(text), "{env}");
    }
    let unknown = "1".repeat(40);
    for none in ["other", &unknown, "HEAD", "master~1", &first[..39]] {
        assert!(commit(&repository, none).is_none(), "{none}");
    }
    assert_eq!(update(&repository).unwrap(), Updated::Same);
}

#[test]
fn who_began_with_a_commit_goes_on_with_it() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("x", "one");
    let repository = tried.repository();
    update(&repository).unwrap();
    let before = commit(&repository, "base").unwrap();
    tried.commit("x", "two");
    assert_eq!(update(&repository).unwrap(), Updated::Changed);
    assert_eq!(read(&before, "x").as_deref(), Some("one"));
    let after = commit(&repository, "base").unwrap();
    assert_eq!(read(&after, "x").as_deref(), Some("two"));
    // Another process sees what this one has fetched.
    let other = tried.repository();
    assert_eq!(commit(&other, "base").unwrap().id, after.id);
}

#[test]
fn forced_pushes_and_deleted_branches_are_followed() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("x", "one");
    tried.git(&["branch", "gone"]);
    tried.git(&["tag", "moved"]);
    let repository = tried.repository();
    update(&repository).unwrap();
    tried.git(&["branch", "-D", "gone"]);
    fs::write(tried.work().join("x"), "other").unwrap();
    tried.git(&["commit", "-q", "-a", "--amend", "-m", "other"]);
    tried.git(&["tag", "-f", "moved"]);
    assert_eq!(update(&repository).unwrap(), Updated::Changed);
    let snapshot = repository.snapshot().unwrap().unwrap();
    assert_eq!(snapshot.envs(repository.remote()), ["base", "moved"]);
    for env in ["base", "moved"] {
        let commit = commit(&repository, env).unwrap();
        assert_eq!(read(&commit, "x").as_deref(), Some("other"), "{env}");
    }
}

#[test]
fn a_shallow_copy_becomes_whole_and_back() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("x", "one");
    let first = tried.git(&["rev-parse", "HEAD"]);
    tried.commit("x", "two");
    let url = format!("file://{}", tried.work().display());
    let shallow = Map::from([("gitfs_depth", 1)]);
    let shallow = repository(&tried.cache(), &url, shallow);
    update(&shallow).unwrap();
    assert!(commit(&shallow, &first).is_none());
    let whole = tried.repository();
    update(&whole).unwrap();
    assert!(commit(&whole, &first).is_some());
}

#[test]
fn a_large_file_is_not_held_in_memory() {
    let Some(tried) = Tried::new() else { return };
    let text: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    tried.commit("large", &text);
    let repository = tried.repository();
    update(&repository).unwrap();
    let commit = commit(&repository, "base").unwrap();
    let file = commit.tree.find("large").unwrap().unwrap();
    let content = commit.tree.content(&file).unwrap();
    assert!(matches!(content, halite_git::Content::Copy(_)));
    assert_eq!(content.read_at(2_999_990, 100).unwrap(), text[2_999_990..]);
    assert!(content.read_at(4_000_000, 1).unwrap().is_empty());
    let mut all: Vec<u8> = Vec::new();
    let again = commit.tree.content(&file).unwrap();
    again.each_piece(&mut |piece| all.extend(piece)).unwrap();
    assert!(all == text);
}

#[test]
fn a_damaged_copy_is_fetched_anew() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("x", "one");
    let repository = tried.repository();
    update(&repository).unwrap();
    for path in packs(&tried, &repository) {
        fs::remove_file(&path).unwrap();
        fs::write(path, "damaged").unwrap();
    }
    update(&tried.repository()).unwrap();
    let commit = commit(&tried.repository(), "base").unwrap();
    assert_eq!(read(&commit, "x").as_deref(), Some("one"));
}

/// The copy of a remote.
fn copy(tried: &Tried, repository: &Repository) -> PathBuf {
    let base = tried.cache().join("gitfs").join(repository.remote().dir());
    base.join("objects.git")
}

fn packs(tried: &Tried, repository: &Repository) -> Vec<PathBuf> {
    let files = fs::read_dir(copy(tried, repository).join("objects/pack")).unwrap();
    files.map(|file| file.unwrap().path()).collect()
}

#[test]
fn a_copy_that_is_cut_off_is_fetched_anew_and_not_given_up_before() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("x", "one");
    let repository = tried.repository();
    update(&repository).unwrap();
    let head = copy(&tried, &repository).join("HEAD");
    fs::remove_file(&head).unwrap();
    fs::rename(tried.work(), tried.dir.path().join("away")).unwrap();
    update(&repository).unwrap_err();
    let before = commit(&tried.repository(), "base").unwrap();
    assert_eq!(read(&before, "x").as_deref(), Some("one"));
    fs::rename(tried.dir.path().join("away"), tried.work()).unwrap();
    update(&repository).unwrap();
    assert!(head.exists());
}

#[test]
fn damage_on_the_other_side_leaves_what_was_there() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("x", "one");
    let repository = tried.repository();
    update(&repository).unwrap();
    tried.commit("x", "two");
    let blob = tried.git(&["rev-parse", "HEAD:x"]);
    let (dir, name) = blob.split_at(2);
    let object = tried.work().join(".git/objects").join(dir).join(name);
    fs::remove_file(&object).unwrap();
    fs::write(&object, "damaged").unwrap();
    let error = update(&repository).unwrap_err();
    // The word that must not mislead us.
    assert!(error.to_string().contains("corrupt"), "{error}");
    let commit = commit(&tried.repository(), "base").unwrap();
    assert_eq!(read(&commit, "x").as_deref(), Some("one"));
}

#[test]
fn a_commit_that_is_too_large_is_left_out_and_no_damage() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("x", "one");
    let tree = tried.git(&["rev-parse", "HEAD^{tree}"]);
    let mut large = format!("tree {tree}\nauthor t <t@t> 0 +0000\ncommitter t <t@t> 0 +0000\n\n");
    large.push_str(&"x".repeat(halite_git::limits::OBJECT_BYTES_MAX));
    let words = ["hash-object", "-w", "--stdin", "-t", "commit"];
    let large = tried.git_with(&words, large.as_bytes());
    tried.git(&["update-ref", "refs/heads/large", &large]);
    let repository = tried.repository();
    assert_eq!(update(&repository).unwrap(), Updated::Changed);
    let snapshot = repository.snapshot().unwrap().unwrap();
    assert_eq!(snapshot.envs(repository.remote()), ["base"]);
    let before = packs(&tried, &repository);
    assert_eq!(update(&repository).unwrap(), Updated::Same);
    assert_eq!(packs(&tried, &repository), before, "it was fetched anew");
}

#[test]
fn a_branch_whose_commit_is_missing_is_no_missing_branch() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("x", "one");
    let repository = tried.repository();
    update(&repository).unwrap();
    for path in packs(&tried, &repository) {
        fs::remove_file(path).unwrap();
    }
    let repository = tried.repository();
    let snapshot = repository.snapshot().unwrap().unwrap();
    let error = snapshot.commit(repository.remote(), "base").unwrap_err();
    assert!(matches!(error, GitError::Object { .. }), "{error}");
    assert!(
        snapshot
            .commit(repository.remote(), "none")
            .unwrap()
            .is_none()
    );
}

#[test]
fn what_was_served_before_a_forced_push_is_kept_for_a_while() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("x", "one");
    let first = tried.git(&["rev-parse", "HEAD"]);
    let repository = tried.repository();
    update(&repository).unwrap();
    let git_dir = copy(&tried, &repository);
    let in_copy = |words: &[&str]| {
        let git = Command::new("git")
            .arg("--git-dir")
            .arg(&git_dir)
            .args(words)
            .output();
        git.unwrap().status.success()
    };
    // One that was kept long ago.
    let old = format!("refs/halite/kept/1000/{first}");
    assert!(in_copy(&["update-ref", &old, &first]));
    tried.git(&["commit", "-q", "--amend", "-m", "other"]);
    assert_eq!(update(&repository).unwrap(), Updated::Changed);
    assert!(!in_copy(&["rev-parse", "--verify", "-q", &old]));
    // What git's own rules let go, it does.
    assert!(in_copy(&["gc", "-q", "--prune=now"]));
    let before = commit(&tried.repository(), &first).unwrap();
    assert_eq!(read(&before, "x").as_deref(), Some("one"));
}

#[test]
fn who_began_with_a_commit_goes_on_with_it_and_nobody_gets_another_ones() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("x", "zero");
    let zero = tried.git(&["rev-parse", "HEAD"]);
    tried.commit("x", "one");
    let first = tried.git(&["rev-parse", "HEAD"]);
    tried.git(&["branch", "dev"]);
    let repository = tried.repository();
    update(&repository).unwrap();
    let then = |env: &str, id: &str| {
        let snapshot = tried.repository().snapshot().unwrap().unwrap();
        let commit = snapshot.commit_then(repository.remote(), env, id).unwrap();
        commit.and_then(|commit| read(&commit, "x"))
    };
    assert_eq!(then("base", &first).as_deref(), Some("one"));
    tried.commit("x", "two");
    tried.git(&["commit", "-q", "--amend", "-m", "other"]);
    update(&repository).unwrap();
    tried.commit("x", "three");
    update(&repository).unwrap();
    assert_eq!(then("base", &first).as_deref(), Some("one"));
    assert_eq!(then("dev", &first).as_deref(), Some("one"));
    assert_eq!(then("base", &zero), None, "no snapshot has named it");
    let second = tried.git(&["rev-parse", "HEAD~1"]);
    assert_eq!(then("base", &second).as_deref(), Some("two"));
    assert_eq!(then("dev", &second), None, "it was never there");
    assert_eq!(then("none", &first), None);
}

#[test]
fn lock_files_of_another_machine_stop_no_update() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("x", "one");
    tried.git(&["branch", "gone"]);
    let repository = tried.repository();
    update(&repository).unwrap();
    let git_dir = copy(&tried, &repository);
    let locks = [
        "packed-refs.lock",
        "refs/remotes/origin/master.lock",
        "shallow.lock",
    ];
    fs::create_dir_all(git_dir.join("refs/remotes/origin")).unwrap();
    for lock in locks {
        fs::write(git_dir.join(lock), "").unwrap();
    }
    tried.git(&["branch", "-D", "gone"]);
    tried.commit("x", "two");
    assert_eq!(update(&repository).unwrap(), Updated::Changed);
    assert!(locks.iter().all(|lock| !git_dir.join(lock).exists()));
}

#[test]
fn a_remote_that_fails_leaves_what_was_there() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("x", "one");
    let repository = tried.repository();
    update(&repository).unwrap();
    assert!(repository.status().failed.is_none());
    fs::rename(tried.work(), tried.dir.path().join("away")).unwrap();
    let error = update(&repository).unwrap_err();
    assert!(matches!(error, GitError::Failed { .. }), "{error}");
    let (_, why) = repository.status().failed.unwrap();
    assert!(why.starts_with("git ls-remote failed: "), "{why}");
    let commit = commit(&repository, "base").unwrap();
    assert_eq!(read(&commit, "x").as_deref(), Some("one"));
    fs::rename(tried.dir.path().join("away"), tried.work()).unwrap();
    update(&repository).unwrap();
    assert!(repository.status().failed.is_none());
}

#[test]
fn runs_go_on_where_an_environment_was_held() {
    let Some(tried) = Tried::new() else { return };
    let commits = ["one", "two", "three"].map(|text| {
        tried.commit("x", text);
        tried.git(&["rev-parse", "HEAD"])
    });
    let repository = tried.repository();
    update(&repository).unwrap();
    let then = |id: &str| {
        let snapshot = tried.repository().snapshot().unwrap().unwrap();
        let then = snapshot.commit_then(repository.remote(), "base", id);
        then.unwrap().map(|commit| read(&commit, "x").unwrap())
    };
    let held = |id: &str| repository.promote("base", Some(id)).unwrap();
    held(&commits[0]);
    held(&commits[1]);
    held(&commits[2]);
    repository.promote("base", None).unwrap();
    assert_eq!(then(&commits[0]).as_deref(), Some("one"));
    assert_eq!(then(&commits[1]).as_deref(), Some("two"));
    let error = repository.promote("invented", Some(&commits[0]));
    let error = error.unwrap_err();
    assert!(matches!(error, GitError::NoEnvironment { .. }), "{error}");
    // Also one that is there no more may be let go.
    repository.promote("invented", None).unwrap();
}

#[test]
fn what_has_nothing_new_is_asked_and_not_fetched() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("x", "one");
    let repository = tried.repository();
    update(&repository).unwrap();
    // A fetch would remove a branch that the remote does not have.
    let stale = copy(&tried, &repository).join("refs/remotes/origin/stale");
    let head = tried.git(&["rev-parse", "HEAD"]);
    fs::create_dir_all(stale.parent().unwrap()).unwrap();
    fs::write(&stale, format!("{head}\n")).unwrap();
    assert_eq!(update(&repository).unwrap(), Updated::Same);
    assert!(stale.exists(), "it was fetched");
    // Whatever is new is fetched: a tag, a branch, the same commit under another name.
    for words in [
        &["tag", "v1"][..],
        &["branch", "dev"],
        &["branch", "-m", "dev", "next"],
        &["tag", "-d", "v1"],
    ] {
        tried.git(words);
        assert_eq!(update(&repository).unwrap(), Updated::Changed, "{words:?}");
        assert!(!stale.exists(), "{words:?}");
        assert_eq!(update(&repository).unwrap(), Updated::Same, "{words:?}");
    }
    let snapshot = repository.snapshot().unwrap().unwrap();
    assert_eq!(snapshot.envs(repository.remote()), ["base", "next"]);
}

#[test]
fn what_is_held_is_kept_once_however_often_nothing_is_new() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("x", "one");
    let first = tried.git(&["rev-parse", "HEAD"]);
    let repository = tried.repository();
    update(&repository).unwrap();
    repository.promote("base", Some(&first)).unwrap();
    tried.git(&["commit", "-q", "--amend", "-m", "other"]);
    for _ in 0..4 {
        update(&repository).unwrap();
    }
    let kept = Command::new("git")
        .arg("--git-dir")
        .arg(copy(&tried, &repository))
        .args(["for-each-ref", "refs/halite/kept"])
        .output();
    let kept = String::from_utf8(kept.unwrap().stdout).unwrap();
    assert_eq!(kept.lines().count(), 1, "{kept}");
}
