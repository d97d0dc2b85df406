use std::os::unix::fs::PermissionsExt;
use std::sync::Barrier;
use std::thread;

use super::*;

fn name(text: &str) -> QueueName {
    QueueName::parse(text).unwrap()
}

fn texts(items: &[&str]) -> Vec<String> {
    items.iter().map(|item| (*item).to_owned()).collect()
}

#[test]
fn first_in_is_first_out() {
    let dir = tempfile::tempdir().unwrap();
    let queues = Queues::new(dir.path());
    let queue = name("my-q");
    assert_eq!(queues.items(&queue).unwrap(), texts(&[]));
    assert_eq!(
        queues.insert(&queue, &texts(&["zeta"])).unwrap(),
        Inserted::All
    );
    queues.insert(&queue, &texts(&["alpha"])).unwrap();
    // As with Salt, what stands before the one that is known is in.
    let known = queues.insert(&queue, &texts(&["m1", "alpha", "m2"]));
    let why = "UNIQUE constraint failed: my-q.name".to_owned();
    assert_eq!(known.unwrap(), Inserted::Known { why });
    assert_eq!(
        queues.items(&queue).unwrap(),
        texts(&["zeta", "alpha", "m1"])
    );
    assert_eq!(queues.length(&queue).unwrap(), 3);
    assert_eq!(queues.pop(&queue, Some(1)).unwrap(), texts(&["zeta"]));
    queues.delete(&queue, &texts(&["m1", "nope"])).unwrap();
    assert_eq!(queues.pop(&queue, None).unwrap(), texts(&["alpha"]));
    assert_eq!(queues.pop(&queue, Some(7)).unwrap(), texts(&[]));
}

#[test]
fn texts_are_never_statements() {
    let dir = tempfile::tempdir().unwrap();
    let queues = Queues::new(dir.path());
    let queue = name("q");
    let odd = texts(&["it's", "'); DROP TABLE q; --", "\"", "ünï\u{0}x", ""]);
    queues.insert(&queue, &odd).unwrap();
    assert_eq!(queues.items(&queue).unwrap(), odd);
    assert_eq!(queues.pop(&queue, None).unwrap(), odd);
}

#[test]
fn names_stay_within_the_directory() {
    for bad in [
        "", ".", "..", "../x", "a/b", "a b", "q;x", "q\"", "q'", "-q", ".q", "sqlite_x", "é",
    ] {
        assert!(QueueName::parse(bad).is_err(), "{bad:?}");
    }
    assert!(QueueName::parse(&"x".repeat(NAME_BYTES_MAX + 1)).is_err());
    for good in ["q", "my-queue", "a.b", "select", "Q_1"] {
        let dir = tempfile::tempdir().unwrap();
        let queues = Queues::new(dir.path());
        queues.insert(&name(good), &texts(&["x"])).unwrap();
        assert_eq!(queues.items(&name(good)).unwrap(), texts(&["x"]), "{good}");
    }
}

#[test]
fn queues_are_listed_and_reading_makes_none() {
    let dir = tempfile::tempdir().unwrap();
    let queues = Queues::new(dir.path().join("queues"));
    assert_eq!(queues.names().unwrap(), []);
    assert_eq!(queues.length(&name("none")).unwrap(), 0);
    queues.delete(&name("none"), &texts(&["x"])).unwrap();
    assert_eq!(queues.names().unwrap(), []);
    queues.insert(&name("two"), &[]).unwrap();
    queues.insert(&name("one"), &texts(&["x"])).unwrap();
    fs::write(dir.path().join("queues/readme.txt"), "").unwrap();
    assert_eq!(queues.names().unwrap(), [name("one"), name("two")]);
    let file = fs::metadata(dir.path().join("queues/one.db")).unwrap();
    assert_eq!(file.permissions().mode() & 0o777, MODE);
}

/// Made by `salt-run queue.insert` and `queue.insert_runner` of 3006.30.
#[test]
fn files_of_salt_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let file = Connection::open(dir.path().join("rq.db")).unwrap();
    file.execute_batch(
        "CREATE TABLE rq(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
         INSERT INTO rq VALUES(2,'{''fun'': ''test.arg'', ''args'': [1], ''kwargs'': {}}');
         INSERT INTO rq VALUES(1,'minion');",
    )
    .unwrap();
    drop(file);
    let queues = Queues::new(dir.path());
    assert_eq!(
        queues.items(&name("rq")).unwrap(),
        texts(&["minion", "{'fun': 'test.arg', 'args': [1], 'kwargs': {}}"])
    );
    // What it leaves behind for a name that it cannot use.
    fs::write(dir.path().join("my-q.db"), "").unwrap();
    assert_eq!(queues.items(&name("my-q")).unwrap(), texts(&[]));
}

#[test]
fn what_is_no_file_of_sqlite_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("q.db"), "no database at all".repeat(100)).unwrap();
    let queues = Queues::new(dir.path());
    assert!(queues.items(&name("q")).is_err());
    assert!(queues.insert(&name("q"), &texts(&["x"])).is_err());
    let large = "x".repeat(ITEM_BYTES_MAX + 1);
    assert!(queues.insert(&name("new"), &[large]).is_err());
}

#[test]
fn nobody_gets_what_another_has_got() {
    const EACH: usize = 5;
    let dir = tempfile::tempdir().unwrap();
    let queues = Queues::new(dir.path());
    let queue = name("q");
    let items: Vec<String> = (0..4 * EACH).map(|n| n.to_string()).collect();
    queues.insert(&queue, &items).unwrap();
    let together = Barrier::new(4);
    let mut got: Vec<String> = thread::scope(|scope| {
        let takers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    together.wait();
                    let one = || queues.pop(&queue, Some(1)).unwrap();
                    (0..EACH).flat_map(|_| one()).collect::<Vec<_>>()
                })
            })
            .collect();
        takers
            .into_iter()
            .flat_map(|taker| taker.join().unwrap())
            .collect()
    });
    got.sort_unstable_by_key(|item| item.parse::<usize>().unwrap());
    assert_eq!(got, items);
}
