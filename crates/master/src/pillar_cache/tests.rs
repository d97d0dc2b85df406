use std::os::unix::fs::PermissionsExt as _;

use super::*;

const KEY: &str = "the mark of a key";

fn cache(dir: &Path, backend: &str, ttl: i64) -> PillarCache {
    let opts = Map::from([
        ("pillar_cache", Value::from(true)),
        ("pillar_cache_backend", backend.into()),
        ("pillar_cache_ttl", ttl.into()),
    ]);
    PillarCache::from_opts(&opts, dir).unwrap().unwrap()
}

#[test]
fn what_is_on_disk_outlives_the_master() {
    let dir = tempfile::tempdir().unwrap();
    let pillar = Map::from([("a", 1)]);
    let one = cache(dir.path(), "disk", 60);
    one.put("web1", None, KEY, &pillar);
    one.put("web1", Some("../../dev"), KEY, &pillar);
    one.put("web2", None, KEY, &pillar);
    let next = cache(dir.path(), "disk", 60);
    assert_eq!(next.get("web1", None, KEY), Some(pillar.clone()));
    assert_eq!(
        next.get("web1", Some("../../dev"), KEY),
        Some(pillar.clone())
    );
    assert_eq!(next.get("web1", Some("dev"), KEY), None);
    next.remove("web1", None);
    next.forget("web2");
    let last = cache(dir.path(), "disk", 60);
    assert_eq!(last.get("web1", None, KEY), None);
    assert_eq!(last.get("web2", None, KEY), None);
    assert!(last.get("web1", Some("../../dev"), KEY).is_some());
    // What is too old is none.
    assert_eq!(
        cache(dir.path(), "disk", 0).get("web1", Some("../../dev"), KEY),
        None
    );
    let path = last.path(&("web1".to_owned(), Some("../../dev".to_owned())));
    let path = path.unwrap();
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    fs::write(&path, "damaged").unwrap();
    let again = cache(dir.path(), "disk", 60);
    assert_eq!(again.get("web1", Some("../../dev"), KEY), None);
}

#[test]
fn what_is_in_memory_leaves_nothing_on_disk() {
    let dir = tempfile::tempdir().unwrap();
    let one = cache(dir.path(), "memory", 60);
    one.put("web1", None, KEY, &Map::from([("a", 1)]));
    assert!(one.get("web1", None, KEY).is_some());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_minion_has_so_many_files() {
    let dir = tempfile::tempdir().unwrap();
    let one = cache(dir.path(), "disk", 60);
    for number in 0..PILLAR_FILES_MAX + 5 {
        one.put(
            "web1",
            Some(&number.to_string()),
            KEY,
            &Map::from([("a", 1)]),
        );
    }
    let files = fs::read_dir(one.minion_dir("web1").unwrap()).unwrap();
    assert_eq!(files.count(), PILLAR_FILES_MAX);
}

fn put(cache: &PillarCache, id: &str) -> PathBuf {
    cache.put(id, None, KEY, &Map::from([("secret", 1)]));
    let path = cache.path(&(id.to_owned(), None)).unwrap();
    assert!(path.exists());
    path
}

fn age(path: &Path, seconds: u64) {
    let file = fs::File::options().write(true).open(path).unwrap();
    let at = SystemTime::now() - Duration::from_secs(seconds);
    file.set_modified(at).unwrap();
}

#[test]
fn another_key_gets_none() {
    let dir = tempfile::tempdir().unwrap();
    put(&cache(dir.path(), "disk", 60), "web1");
    let next = cache(dir.path(), "disk", 60);
    assert_eq!(next.get("web1", None, "another"), None);
    assert!(next.get("web1", None, KEY).is_some());
    assert_eq!(next.get("web1", None, "another"), None);
    assert!(next.show("web1", None).is_some());
}

#[test]
fn what_is_too_old_or_of_nobody_leaves_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let cache = cache(dir.path(), "disk", 60);
    let [fresh, old, gone] = ["web1", "web2", "web3"].map(|id| put(&cache, id));
    age(&old, 61);
    let strange = dir.path().join(DIR).join("web4");
    fs::write(&strange, "left by another program").unwrap();
    cache.sweep(&["web1", "web2"].map(|id| MinionId::parse(id).unwrap()));
    assert!(fresh.exists());
    assert!(!old.exists() && !gone.exists() && !strange.exists());
    assert_eq!(cache.get("web3", None, KEY), None);
    cache.forget("web1");
    assert!(!fresh.exists());
}

#[test]
fn what_is_kept_nowhere_leaves_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let path = put(&cache(dir.path(), "disk", 60), "web1");
    cache(dir.path(), "memory", 60);
    assert!(!path.exists());
    put(&cache(dir.path(), "disk", 60), "web1");
    assert!(
        PillarCache::from_opts(&Map::new(), dir.path())
            .unwrap()
            .is_none()
    );
    assert!(!dir.path().join(DIR).exists());
}

#[test]
fn what_is_too_old_counts_for_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let cache = cache(dir.path(), "disk", 60);
    for number in 0..PILLAR_FILES_MAX {
        let env = number.to_string();
        cache.put("web1", Some(&env), KEY, &Map::from([("a", 1)]));
        age(&cache.path(&("web1".to_owned(), Some(env))).unwrap(), 61);
    }
    put(&cache, "web1");
    let files = entries(&cache.minion_dir("web1").unwrap()).count();
    assert_eq!(files, 1);
}

#[test]
fn another_backend_is_refused() {
    let opts = Map::from([("pillar_cache_backend", "redis")]);
    let refused = PillarCache::from_opts(&opts, Path::new("/nowhere"));
    assert_eq!(refused.err().as_deref(), Some("redis"));
}
