//! What the options of `git_pillar` do.

use super::*;

#[test]
fn a_minion_chooses_no_commit() {
    let entry = Value::from("__env__ https://host/x.git");
    let opts = Map::from([
        ("git_pillar_base", "0123abc"),
        ("git_pillar_fallback", "456def0"),
    ]);
    let remote = remotes(&opts, &entry).unwrap().remove(0);
    let may_be_commit = |name: &str| kinds(&remote, name).any(|kind| kind == RefType::Sha);
    assert!(may_be_commit("0123abc"));
    assert!(may_be_commit("456def0"));
    assert!(!may_be_commit("0123456789012345678901234567890123456789"));
    assert!(kinds(&remote, "dev").eq([RefType::Branch, RefType::Tag]));
}

#[test]
fn options_that_stop_the_start_have_their_place() {
    let git = |address: &str| Value::from(Map::from([("git", Value::from(address))]));
    let entries = vec![Map::new().into(), git("main /srv/x"), git("main ext::sh")];
    let mut opts = Map::from([("ext_pillar", Value::List(entries))]);
    let found = unusable_git_remotes(&opts);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].0, found[0].1.option.as_str()), (2, "remotes"));
    opts.insert(VERIFY_CONFIG, false);
    assert!(unusable_git_remotes(&opts).is_empty());
}

#[test]
fn only_verified_options_stop_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let entry = Map::from([("git", Value::from("main ext::sh"))]);
    let mut opts = Map::from([("ext_pillar", Value::List(vec![entry.into()]))]);
    assert!(GitPillars::open(&opts, dir.path()).is_err());
    opts.insert(VERIFY_CONFIG, false);
    let opened = GitPillars::open(&opts, dir.path()).unwrap();
    assert_eq!(opened.all().count(), 0);
}

#[test]
fn locks_of_other_machines_count_unless_the_option_says_no() {
    let entry = Map::from([("git", Value::from("main /srv/x"))]);
    let mut opts = Map::from([("ext_pillar", Value::List(vec![entry.into()]))]);
    for (option, is_free) in [(None, false), (Some(true), false), (Some(false), true)] {
        let dir = tempfile::tempdir().unwrap();
        if let Some(option) = option {
            opts.insert("git_pillar_global_lock", option);
        }
        let opened = GitPillars::open(&opts, dir.path()).unwrap();
        let remote = opened.all().next().unwrap();
        let lock = dir.path().join("git_pillar/work");
        let lock = lock.join(remote.remote().dir()).join("_/update.lk");
        std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
        std::fs::write(&lock, "12\nanother-machine\n").unwrap();
        let taken = remote.repository().lock().unwrap();
        assert_eq!(taken, is_free, "{option:?}");
    }
}

/// A repository with the branches `dev`, `master` and `other` and the tag `other`, where
/// the file `x` says which of them it is of.
fn made(dir: &Path) -> Option<String> {
    if !halite_test_support::have_programs(&["git"]) {
        return None;
    }
    let git = |words: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@t"]);
        git.args(words).current_dir(dir);
        git.env("GIT_CONFIG_NOSYSTEM", "1");
        git.env("GIT_CONFIG_GLOBAL", "/dev/null");
        assert!(git.status().unwrap().success(), "{words:?}");
    };
    std::fs::create_dir_all(dir).unwrap();
    git(&["init", "-q", "-b", "master"]);
    for (number, name) in ["dev", "other", "tag", "master"].into_iter().enumerate() {
        std::fs::write(dir.join("x"), name).unwrap();
        git(&["add", "x"]);
        git(&["commit", "-q", "-m", "x"]);
        match (number, name) {
            (_, "tag") => git(&["tag", "other"]),
            (3, _) => {}
            (_, branch) => git(&["branch", branch]),
        }
    }
    Some(format!("file://{}", dir.display()))
}

/// What `x` is in the files that the one remote gives with these options.
fn text_of(options: &[(&str, Value)], entry: &str, wanted: Option<&str>) -> Option<String> {
    let dir = tempfile::tempdir().unwrap();
    let url = made(&dir.path().join("work"))?;
    let entry = Map::from([("git", Value::from(entry.replace("URL", &url)))]);
    let mut opts = Map::from([("ext_pillar", Value::List(vec![entry.into()]))]);
    for (name, value) in options {
        opts.insert(*name, value.clone());
    }
    let opened = GitPillars::open(&opts, dir.path()).unwrap();
    let remote = opened.all().next().unwrap();
    remote.update(&Arc::default()).unwrap();
    let place = opened.remotes(0).unwrap().remove(0);
    let tree = opened.tree(0, 0, wanted.unwrap_or(&place.branch)).unwrap();
    let text = tree.map(|tree| String::from_utf8(tree.read("x", 100).unwrap()).unwrap());
    Some(text.unwrap_or_else(|| "none".to_owned()))
}

#[test]
fn a_remote_without_a_branch_has_that_of_all() {
    let all = [("git_pillar_branch", Value::from("dev"))];
    for (options, entry, expected) in [
        (&[][..], "URL", "master"),
        (&all[..], "URL", "dev"),
        (&all[..], "master URL", "master"),
    ] {
        let Some(text) = text_of(options, entry, None) else {
            return;
        };
        assert_eq!(text, expected, "{entry}");
    }
}

#[test]
fn ref_types_say_what_a_name_may_be_and_what_comes_first() {
    let types = |kinds: &[&str]| {
        let kinds = kinds.iter().map(|kind| Value::from(*kind));
        [("git_pillar_ref_types", Value::List(kinds.collect()))]
    };
    for (kinds, name, expected) in [
        (&["branch"][..], "other", "other"),
        (&["tag"], "other", "tag"),
        (&["tag", "branch"], "other", "tag"),
        (&["tag"], "dev", "none"),
        (&["sha"], "dev", "none"),
    ] {
        let entry = format!("{name} URL");
        let Some(text) = text_of(&types(kinds), &entry, None) else {
            return;
        };
        assert_eq!(text, expected, "{kinds:?} {name}");
    }
}
