//! Callers without credentials at the request port: their requests are not looked
//! at, reach nobody, and write little into the log.

use std::time::{Duration, Instant};

use halite_master::limits::SHOWN_CHARS_MAX;
use halite_proto::auth::AuthRequest;
use halite_proto::{Map, Value};

use crate::jobs::publish;
use crate::logged;
use crate::support::{Master, Minion, SOON};

/// Requests that prove nothing, one by each kind of proof.
fn unproven(load: &Map) -> [Map; 4] {
    let with_key = |key: &str| {
        let mut load = load.clone();
        load.insert("key", key);
        load
    };
    let with_proof = |proof: Map| {
        let mut load = with_key("");
        load.extend(proof.clone());
        load.insert("kwargs", proof);
        load
    };
    let login = [
        ("eauth", "file"),
        ("username", "bob"),
        ("password", "wrong"),
    ];
    [
        with_key("wrong"),
        with_key(""),
        with_proof(Map::from(login)),
        with_proof(Map::from([("token", "0123456789abcdef")])),
    ]
}

fn error_name(reply: &Value) -> Option<&str> {
    reply.get("error")?.get("name")?.as_str()
}

#[tokio::test]
async fn a_stranger_fires_no_event_of_a_job() {
    let master = Master::start("");
    Minion::signed_in(&master, "web1").await;
    let mut events = master.events().await;
    let mut job = publish(&master, "*", "glob");
    job.insert("jid", "20260101000000000001");
    let mut batch = job.clone();
    batch.insert("cmd", "halite.batch");
    batch.insert("batch", "1");
    for load in unproven(&job).into_iter().chain(unproven(&batch)) {
        let reply = master.ask_clear(load).await;
        assert_eq!(error_name(&reply), Some("AuthenticationError"));
    }
    master.ask_clear(publish(&master, "*", "glob")).await;
    loop {
        let event = tokio::time::timeout(SOON, events.next()).await.unwrap();
        let event = event.unwrap().unwrap();
        assert!(!event.tag().ends_with("/error"), "{}", event.tag());
        if event.tag().ends_with("/new") {
            break;
        }
    }
    master.stop().await;
}

/// How long the refusal of a few large requests may take. To compare their functions
/// with the list takes many times as long.
const UNREAD_WITHIN: Duration = Duration::from_secs(5);

/// Nothing of it is compared with any list: that costs a stranger less than it
/// costs the master.
#[tokio::test]
async fn the_functions_of_a_stranger_are_not_looked_at() {
    // Each tries every way to read a row of `a`.
    let patterns: Vec<String> = (0..50).map(|n| format!("'(a|aa)+(?=b){n}'")).collect();
    let master = Master::start(&format!(
        "publisher_acl_blacklist: {{modules: ['cmd.*', {}]}}",
        patterns.join(", ")
    ));
    let mut job = publish(&master, "*", "glob");
    let mut funs: Vec<Value> = vec!["a".repeat(12).into(); 2_000];
    funs.push("cmd.run".into());
    job.insert("fun", funs);
    let begun = Instant::now();
    for load in unproven(&job) {
        let reply = master.ask_clear(load).await;
        assert_eq!(error_name(&reply), Some("AuthenticationError"));
    }
    let took = begun.elapsed();
    assert!(took < UNREAD_WITHIN, "{took:?}");
    master.stop().await;
}

#[tokio::test]
async fn a_stranger_writes_little_into_the_log() {
    logged::listen();
    let master = Master::start("external_auth: {file: {^filename: /none, bob: ['.*']}}");
    let mark = "MARK-OF-A-STRANGER";
    let text = |n: usize| format!("{mark}{n}\n\x1b[2J[ERROR] {}", "x".repeat(100_000));
    for n in 0..20 {
        let mut load = publish(&master, "*", "glob");
        load.insert("user", text(n));
        load.insert("fun", text(n));
        for cmd in ["publish", "runner", "wheel", "mk_token", &text(n)] {
            load.insert("cmd", cmd);
            load.insert("key", "wrong");
            master.ask_clear(load.clone()).await;
        }
        load.insert("cmd", "runner");
        load.insert("eauth", text(n));
        load.insert("username", text(n));
        load.insert("password", "wrong");
        master.ask_clear(load.clone()).await;
    }
    // Who knows the public key of a minion, and not its private one.
    let known = Minion::signed_in(&master, "web1").await;
    let algorithms: [fn(&mut AuthRequest, String); 2] = [
        |request, text| request.enc_algo = text,
        |request, text| request.sig_algo = text,
    ];
    for choose in algorithms {
        let mut request = known.auth_request();
        choose(&mut request, text(0));
        known.send_auth(&request, 3).await;
    }
    let lines = logged::with(mark);
    assert!(!lines.is_empty() && lines.len() <= 8, "{}", lines.len());
    for line in &lines {
        assert!(!line.contains(['\n', '\x1b']), "{line:?}");
        assert!(line.len() < 4 * SHOWN_CHARS_MAX + 200, "{}", line.len());
    }
    master.stop().await;
}

/// A program that logs in for somebody, as salt-api does, runs as root: who has
/// tried is named, on one line whatever the name is.
#[tokio::test]
async fn a_wrong_password_is_logged_as_of_who_tried() {
    logged::listen();
    let master = Master::start("");
    Minion::signed_in(&master, "web1").await;
    let mut load = publish(&master, "*", "glob");
    load.insert("key", "");
    load.insert("user", "root");
    let login = [
        ("eauth", "file"),
        ("username", "mallory-of-run\nroot"),
        ("password", "wrong"),
    ];
    load.insert("kwargs", Map::from(login));
    master.ask_clear(load).await;
    let lines = logged::with("mallory-of-run");
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(!lines[0].contains('\n'), "{lines:?}");
}

/// A way to log in that has no entry is not looked for: users' Python would run
/// because a stranger has said its name.
#[tokio::test]
async fn a_way_to_log_in_without_an_entry_runs_nothing() {
    let dir = tempfile::TempDir::new().unwrap();
    let auth = dir.path().join("ext/auth");
    std::fs::create_dir_all(&auth).unwrap();
    let was_run = dir.path().join("was-run");
    let module = format!(
        "open({was_run:?}, 'w').close()\n\
         def auth(username, password):\n    return password == 'sesame'\n"
    );
    for name in ["configured", "other"] {
        std::fs::write(auth.join(format!("{name}.py")), &module).unwrap();
    }
    let options = format!(
        "extension_modules: {}\nexternal_auth: {{configured: {{bob: ['.*']}}}}\n",
        dir.path().join("ext").display()
    );
    let master = Master::start_in(dir, &options);
    let login = |way: &str| {
        Map::from([
            ("cmd", "mk_token"),
            ("eauth", way),
            ("username", "bob"),
            ("password", "sesame"),
        ])
    };
    for way in ["other", "none", "../auth/other"] {
        let answer = master.ask_clear(login(way)).await;
        assert!(answer.get("token").is_none(), "{way}: {answer:?}");
        assert!(!master.path("was-run").exists(), "{way}");
    }
    // The one that is configured does run, so that the others would have.
    let answer = master.ask_clear(login("configured")).await;
    assert!(answer.get("token").is_some(), "{answer:?}");
    assert!(master.path("was-run").exists());
    master.stop().await;
}
