//! Copies of remotes that no option names any more.

use halite_git::{Role, remove_unused};

use super::*;

/// A cache with two copies, one of a remote that is still named.
struct Cached {
    tried: Tried,
    named: Repository,
    old: Repository,
}

impl Cached {
    fn new() -> Option<Self> {
        let tried = Tried::new()?;
        tried.commit("x", "one");
        let of = |name: &str| {
            let url = format!("file://{}", tried.work().display());
            let own = Map::from([("name", Value::from(name))]);
            let entry = Map::from([(url, Value::from(own))]);
            let remotes = Remote::all(Role::Gitfs, &Map::new(), &[entry.into()]);
            Repository::new(&tried.cache(), remotes.unwrap().remove(0), true)
        };
        let (named, old) = (of("named"), of("old"));
        update(&named).unwrap();
        update(&old).unwrap();
        Some(Self { tried, named, old })
    }

    fn path(&self, path: &str) -> PathBuf {
        self.tried.cache().join("gitfs").join(path)
    }

    /// What is removed of copies that are that old.
    fn remove(&self, unused_for: Duration) -> Vec<String> {
        let named = [self.named.remote()];
        let removed = remove_unused(&self.tried.cache(), Role::Gitfs, named, unused_for);
        let removed = removed.into_iter().map(|(dir, removed)| {
            removed.unwrap();
            dir
        });
        removed.collect()
    }
}

#[test]
fn a_copy_that_no_option_names_goes_when_nobody_uses_it() {
    let Some(cached) = Cached::new() else { return };
    // Salt's own things lie beside it.
    let of_salt = cached.path("work/old/_/.git");
    fs::create_dir_all(&of_salt).unwrap();
    for dir in ["hash", "links", "refs"] {
        fs::create_dir_all(cached.path(dir).join("base")).unwrap();
    }
    assert!(cached.remove(Duration::from_secs(3600)).is_empty());
    assert!(cached.path("old/objects.git").exists());
    assert_eq!(cached.remove(Duration::ZERO), ["old"]);
    assert!(!cached.path("old").exists());
    assert!(commit(&cached.named, "base").is_some());
    for left in ["work/old/_/.git", "hash/base", "links/base", "refs/base"] {
        assert!(cached.path(left).exists(), "{left}");
    }
    assert!(!cached.path("work/old/_/update.lk").exists());
    // Who names it again fetches it anew.
    update(&cached.old).unwrap();
    assert!(commit(&cached.old, "base").is_some());
}

#[test]
fn a_copy_stays_that_somebody_holds_or_has_tried_to_update() {
    let Some(cached) = Cached::new() else { return };
    assert!(cached.old.lock().unwrap());
    assert!(cached.remove(Duration::ZERO).is_empty(), "its lock is held");
    assert!(cached.old.unlock().unwrap());
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(1000);
    let age = |path: &str| {
        let file = fs::File::open(cached.path(path)).unwrap();
        file.set_modified(long_ago).unwrap();
    };
    let old_for = Duration::from_secs(600);
    let age_all = || {
        for entry in fs::read_dir(cached.path("old")).unwrap() {
            let name = entry.unwrap().file_name();
            age(&format!("old/{}", name.to_str().unwrap()));
        }
        age("old");
    };
    age_all();
    // A remote that is away is used all the same.
    let away = cached.tried.dir.path().join("away");
    fs::rename(cached.tried.work(), &away).unwrap();
    update(&cached.old).unwrap_err();
    assert!(cached.remove(old_for).is_empty(), "it was tried just now");
    age_all();
    // Of what it does not know nothing is removed.
    fs::write(cached.path("old/of-somebody-else"), "").unwrap();
    age_all();
    assert!(cached.remove(old_for).is_empty(), "something else is in it");
    fs::remove_file(cached.path("old/of-somebody-else")).unwrap();
    age_all();
    assert_eq!(cached.remove(old_for), ["old"]);
}
