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
        (&first[..9], "one"),
    ] {
        let commit = commit(&repository, env).unwrap();
        assert_eq!(read(&commit, "a/top.sls").as_deref(), Some(text), "{env}");
    }
    for none in ["other", "abcdef0123", "HEAD", "master~1", &first[..3]] {
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
    let packs = tried.cache().join("gitfs").join(repository.remote().dir());
    for file in fs::read_dir(packs.join("objects.git/objects/pack")).unwrap() {
        let path = file.unwrap().path();
        fs::remove_file(&path).unwrap();
        fs::write(path, "damaged").unwrap();
    }
    update(&tried.repository()).unwrap();
    let commit = commit(&tried.repository(), "base").unwrap();
    assert_eq!(read(&commit, "x").as_deref(), Some("one"));
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
    assert!(why.starts_with("git fetch failed: "), "{why}");
    let commit = commit(&repository, "base").unwrap();
    assert_eq!(read(&commit, "x").as_deref(), Some("one"));
    fs::rename(tried.dir.path().join("away"), tried.work()).unwrap();
    update(&repository).unwrap();
    assert!(repository.status().failed.is_none());
}
