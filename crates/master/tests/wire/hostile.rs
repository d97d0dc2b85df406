//! Known vulnerabilities of others, tried on purpose: false claims about oneself,
//! guessed passwords, and expensive requests.

use std::fs;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use halite_crypto::EncAlgo;
use halite_master::limits::{LOGIN_PASSWORD_BYTES_MAX, SLOW_ANSWER_MIN, STANDING_STRANGERS_MAX};
use halite_proto::auth::AuthRequest;
use halite_proto::clear::{Credentials, PublishReply, StandingReply, StandingRequest};
use halite_proto::request::MinionRequest;
use halite_proto::{Map, Value};

use crate::jobs::publish;
use crate::support::{Master, Minion, master_key, wait_event};

fn error_name(reply: &Value) -> Option<&str> {
    reply.get("error")?.get("name")?.as_str()
}

/// The list forbids a user, not a word: who leaves the name out, or says
/// another one, is still who the proof says.
#[tokio::test]
async fn a_forbidden_user_gains_nothing_by_another_name() {
    let dir = tempfile::TempDir::new().unwrap();
    let passwords = dir.path().join("passwords");
    fs::write(&passwords, "evil:sesame\n").unwrap();
    let master = Master::start_in(
        dir,
        &format!(
            "client_acl_verify: False\n\
             publisher_acl: {{evil: ['.*'], fred: ['.*']}}\n\
             publisher_acl_blacklist: {{users: [evil]}}\n\
             external_auth: {{file: {{^filename: {}, evil: ['.*']}}}}\n",
            passwords.display()
        ),
    );
    Minion::signed_in(&master, "web1").await;
    let with_key = |owner: &str, user: Option<&str>| {
        let mut load = publish(&master, "*", "glob");
        let key = fs::read_to_string(master.path(&format!("cache/.{owner}_key"))).unwrap();
        load.insert("key", key);
        match user {
            Some(user) => drop(load.insert("user", user)),
            None => drop(load.remove("user")),
        }
        load
    };
    for user in [Some("evil"), None] {
        let reply = master.ask_clear(with_key("evil", user)).await;
        assert_eq!(error_name(&reply), Some("AuthorizationError"), "{user:?}");
    }
    let reply = master.ask_clear(with_key("fred", None)).await;
    let reply = PublishReply::from_value(reply).unwrap();
    assert!(matches!(reply, PublishReply::Accepted { .. }), "{reply:?}");
    let mut load = publish(&master, "*", "glob");
    load.remove("key");
    load.insert("user", "fred");
    let login = Map::from([
        ("eauth", "file"),
        ("username", "evil"),
        ("password", "sesame"),
    ]);
    load.insert("kwargs", login);
    let reply = master.ask_clear(load).await;
    assert_eq!(error_name(&reply), Some("AuthorizationError"));
    master.stop().await;
}

/// A list of functions is no right to have files written by a returner, to run
/// them through something else, or to take over somebody's job.
#[tokio::test]
async fn a_listed_user_gains_nothing_beside_the_function() {
    let master = Master::start("client_acl_verify: False\npublisher_acl: {fred: ['test.*']}\n");
    Minion::signed_in(&master, "web1").await;
    let job = |owner: &str, more: &[(&str, Value)], jid: &str| {
        let mut load = publish(&master, "*", "glob");
        let key = fs::read_to_string(master.path(&format!("cache/.{owner}_key"))).unwrap();
        load.insert("key", key);
        load.insert("user", owner);
        load.insert("jid", jid);
        let kwargs: Map = more
            .iter()
            .map(|(name, value)| (Value::from(*name), value.clone()))
            .collect();
        load.insert("kwargs", kwargs);
        load
    };
    let accepted = |reply: Value| match PublishReply::from_value(reply).unwrap() {
        PublishReply::Accepted { jid, .. } => jid,
        other => panic!("not accepted: {other:?}"),
    };
    let file = Value::from(Map::from([("filename", "/etc/cron.d/evil")]));
    let docker = Value::from(vec![Value::from("docker")]);
    let beside = [
        ("ret_config", "evil".into()),
        ("ret_kwargs", file.clone()),
        ("module_executors", docker),
        ("executor_opts", file.clone()),
    ];
    for more in &beside {
        let more = std::slice::from_ref(more);
        let reply = master.ask_clear(job("fred", more, "")).await;
        assert_eq!(error_name(&reply), Some("AuthorizationError"), "{more:?}");
        accepted(master.ask_clear(job("root", more, "")).await);
    }
    let of_root = accepted(master.ask_clear(job("root", &[], "")).await);
    let reply = master.ask_clear(job("fred", &[], of_root.as_str())).await;
    assert_eq!(error_name(&reply), Some("AuthorizationError"));
    let chosen = "20260101000000000001";
    let own = accepted(master.ask_clear(job("fred", &[], chosen)).await);
    assert_eq!(own.as_str(), chosen);
    master.stop().await;
}

/// A master that lets bob in, with the password `right`.
fn master_of_bob() -> Master {
    let dir = tempfile::TempDir::new().unwrap();
    let passwords = dir.path().join("passwords");
    fs::write(&passwords, "bob:right\n").unwrap();
    let options = format!(
        "external_auth: {{file: {{^filename: {}, bob: ['.*']}}}}\n",
        passwords.display()
    );
    Master::start_in(dir, &options)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guessed_passwords_hold_up_nobody_and_large_pings_are_not_told_back() {
    let master = master_of_bob();
    let minion = Minion::signed_in(&master, "web1").await;
    let login = |password: &str| {
        Map::from([
            ("cmd", Value::from("mk_token")),
            ("eauth", "file".into()),
            ("username", "bob".into()),
            ("password", password.into()),
        ])
    };
    let guess = || master.ask_clear(login("wrong"));
    let others = async {
        let envs = minion.ask(MinionRequest::FileEnvs).await;
        assert_eq!(envs, Value::List(vec!["base".into()]));
        let token = master.ask_clear(login("right")).await;
        assert!(token.get("token").is_some(), "{token:?}");
    };
    let (first, second, third, ()) = tokio::join!(guess(), guess(), guess(), others);
    for guess in [first, second, third] {
        assert_eq!(guess.as_str(), Some(""));
    }
    let ping = |bytes: usize| {
        Map::from([
            ("cmd", Value::from("ping")),
            ("x", "y".repeat(bytes).into()),
        ])
    };
    assert_eq!(master.ask_clear(ping(10)).await, ping(10).into());
    assert_eq!(master.ask_clear(ping(100_000)).await, Map::new().into());
    // The same question without any proof at all.
    let nobody = Map::from([
        ("cmd", Value::from("halite.compare")),
        ("nonce", "0123456789abcdef0123456789abcdef".into()),
        ("ts", i64::MIN.into()),
        ("sig", Value::Bytes(vec![0; 4])),
    ]);
    let answer = master.ask_clear(nobody).await;
    assert!(
        answer
            .get("sealed")
            .is_none_or(|sealed| *sealed == Value::Nil)
    );
    master.stop().await;
}

/// Of an account that no entry means nobody is asked, so that no stranger tries
/// its passwords by way of this master, or has it locked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_asked_about_accounts_that_no_entry_means() {
    let directory = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = directory.local_addr().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for _hung_up in directory.incoming() {
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    let dir = tempfile::TempDir::new().unwrap();
    let passwords = dir.path().join("passwords");
    fs::write(&passwords, "root:toor\ncyd:right\n").unwrap();
    let options = format!(
        "external_auth:\n  ldap: {{bob: ['.*']}}\n  \
         file: {{^filename: {}, bob: ['.*'], cyd: []}}\n\
         auth.ldap.uri: ldap://{address}\nauth.ldap.basedn: dc=x\n\
         auth.ldap.binddn: 'uid={{{{ username }}}},dc=x'\n",
        passwords.display()
    );
    let master = Master::start_in(dir, &options);
    let login = |eauth: &str, name: &str, password: &str| {
        Map::from([
            ("cmd", "mk_token"),
            ("eauth", eauth),
            ("username", name),
            ("password", password),
        ])
    };
    let begun = Instant::now();
    let refused = master.ask_clear(login("ldap", "root", "x")).await;
    assert_eq!(refused.as_str(), Some(""));
    assert!(begun.elapsed() >= SLOW_ANSWER_MIN);
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    master.ask_clear(login("ldap", "bob", "x")).await;
    assert!(asked.load(Ordering::SeqCst) > 0);
    // A right password of who may do nothing is not told from a wrong one.
    for (name, password) in [("root", "toor"), ("cyd", "right")] {
        let answer = master.ask_clear(login("file", name, password)).await;
        assert_eq!(answer.as_str(), Some(""), "{name}");
    }
    let long = "x".repeat(LOGIN_PASSWORD_BYTES_MAX + 1);
    asked.store(0, Ordering::SeqCst);
    master.ask_clear(login("ldap", "bob", &long)).await;
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    master.stop().await;
}

/// Whoever asks how minions are, with a token or a password that is wrong, is
/// held up like one who logs in: else it would be the place to guess at.
#[tokio::test]
async fn questions_with_a_wrong_proof_take_their_time() {
    let master = master_of_bob();
    let question = |proof: &[(&str, &str)]| {
        let mut load = Map::from([
            ("cmd", Value::from("halite.standing")),
            ("minions", Value::from(vec![Value::from("web1")])),
        ]);
        for (name, value) in proof {
            load.insert(*name, *value);
        }
        load
    };
    let login = |password| {
        [
            ("eauth", "file"),
            ("username", "bob"),
            ("password", password),
        ]
    };
    let right = master.ask_clear(question(&login("right"))).await;
    assert!(right.get("minions").is_some(), "{right:?}");
    for proof in [&login("wrong")[..], &[("token", "0123456789abcdef")]] {
        let begun = Instant::now();
        let answer = master.ask_clear(question(proof)).await;
        assert_eq!(answer, Map::new().into());
        assert!(begun.elapsed() >= SLOW_ANSWER_MIN, "{proof:?}");
    }
    master.stop().await;
}

/// What two masters tell each other is sealed for the key they share. A minion
/// has the master open tokens at each sign-in; that of another it is not given.
#[tokio::test]
async fn a_sign_in_opens_nothing_that_masters_have_sealed() {
    let master = Master::start("");
    let minion = Minion::signed_in(&master, "web1").await;
    let token = |plain: &[u8]| master_key().encrypt(EncAlgo::OaepSha1, plain).unwrap();
    for (plain, is_given) in [
        (&b"a token of its own"[..], true),
        (b"halite.compare:a key", false),
    ] {
        let mut minion = Minion::new(&master, "web1");
        let request = AuthRequest {
            token: Some(token(plain)),
            ..minion.auth_request()
        };
        minion.sign_in_with(request).await;
        assert_eq!(minion.grant.unwrap().token.is_some(), is_given);
    }
    drop(minion);
    master.stop().await;
}

/// By whichever door: who has a job is who published it.
#[tokio::test]
async fn nobody_takes_over_a_job_in_any_door() {
    let dir = tempfile::TempDir::new().unwrap();
    let passwords = dir.path().join("passwords");
    fs::write(&passwords, "bob:right\n").unwrap();
    let options = format!(
        "external_auth: {{file: {{^filename: {}, bob: ['test.*', '@runner', '@wheel']}}}}\n",
        passwords.display()
    );
    let master = Master::start_in(dir, &options);
    Minion::signed_in(&master, "web1").await;
    let reply = master.ask_clear(publish(&master, "*", "glob")).await;
    let PublishReply::Accepted { jid, .. } = PublishReply::from_value(reply).unwrap() else {
        panic!("root may publish");
    };
    let mut events = master.events().await;
    let login = Map::from([
        ("eauth", "file"),
        ("username", "bob"),
        ("password", "right"),
    ]);
    let low = |cmd: &str, fun: &str, kwarg: Map| {
        let mut load = login.clone();
        load.insert("cmd", cmd);
        load.insert("fun", fun);
        load.insert("jid", jid.as_str());
        load.insert("kwarg", kwarg);
        load
    };
    let mut job = publish(&master, "*", "glob");
    job.insert("key", "");
    job.insert("jid", jid.as_str());
    job.insert("kwargs", login.clone());
    let mut batch = job.clone();
    batch.insert("cmd", "halite.batch");
    batch.insert("batch", "1");
    for load in [job, batch] {
        let reply = master.ask_clear(load).await;
        assert_eq!(error_name(&reply), Some("AuthorizationError"));
        // Nor does it fail in the eyes of who waits for it.
        wait_event(&mut events, "salt/job/error").await;
    }
    let reply = master
        .ask_clear(low("runner", "test.arg", Map::new()))
        .await;
    assert_eq!(error_name(&reply), Some("SaltInvocationError"));
    let execute = Map::from([
        ("tgt", Value::from("web1")),
        ("fun", "test.ping".into()),
        ("jid", jid.as_str().into()),
    ]);
    let mut load = low("runner", "salt.execute", execute);
    load.remove("jid");
    let reply = master.ask_clear(load).await;
    let tag = reply.get("tag").and_then(Value::as_str).unwrap();
    let told = wait_event(&mut events, &format!("{tag}/ret")).await;
    assert_eq!(told.get("success"), Some(&false.into()), "{told:?}");
    let reply = master
        .ask_clear(low("wheel", "key.list_all", Map::new()))
        .await;
    let tag = reply.get("tag").and_then(Value::as_str).unwrap();
    assert!(!tag.ends_with(jid.as_str()), "{tag}");
    let load = master.store().jobs.load(&jid).unwrap().unwrap();
    assert_eq!(load.get("user"), Some(&"root".into()));
    let mut own = low("runner", "test.arg", Map::new());
    own.insert("jid", "20260101000000000001");
    let reply = master.ask_clear(own).await;
    assert_eq!(reply.get("jid"), Some(&"20260101000000000001".into()));
    master.stop().await;
}

/// What a rule says of arguments holds for the positions at which the minion
/// takes them.
#[tokio::test]
async fn arguments_are_judged_as_the_minion_takes_them() {
    let master = Master::start(
        "client_acl_verify: False\n\
         publisher_acl:\n  fred: [{'*': [{test.arg: {args: ['a', 'b']}}]}]\n",
    );
    Minion::signed_in(&master, "web1").await;
    let marked = |mark: Value| Value::from(Map::from([("__kwarg__", mark), ("x", 1.into())]));
    let texts =
        |texts: &[&str]| -> Vec<Value> { texts.iter().map(|text| (*text).into()).collect() };
    for (arg, is_permitted) in [
        (texts(&["a", "b"]), true),
        (texts(&["a", "b", "x=1"]), true),
        (texts(&["x=1", "a", "b"]), true),
        (texts(&["a=1", "b", "zzz"]), false),
        (texts(&["a", "b=1", "zzz"]), false),
        (vec![marked(true.into()), "a".into(), "b".into()], true),
        (vec!["a".into(), "b".into(), marked(1.into())], false),
        (texts(&["a", "b", "x=1", "x=2"]), false),
    ] {
        let mut load = publish(&master, "web1", "glob");
        let key = fs::read_to_string(master.path("cache/.fred_key")).unwrap();
        load.insert("key", key);
        load.insert("user", "fred");
        load.insert("fun", "test.arg");
        load.insert("arg", arg.clone());
        let reply = PublishReply::from_value(master.ask_clear(load).await).unwrap();
        let is_accepted = matches!(reply, PublishReply::Accepted { .. });
        assert_eq!(is_accepted, is_permitted, "{arg:?}");
    }
    master.stop().await;
}

/// What a minion is doing is told to who commands it: a question about all of
/// a fleet is work, and tells who is there.
#[tokio::test]
async fn a_user_may_ask_about_the_minions_of_their_own_jobs() {
    let master = master_of_bob();
    for id in ["web1", "db1"] {
        Minion::signed_in(&master, id).await;
    }
    let bob = || Credentials {
        eauth: Some("file".to_owned()),
        username: Some("bob".to_owned()),
        password: Some("right".to_owned()),
        ..Credentials::default()
    };
    let mut load = publish(&master, "web1", "glob");
    load.remove("key");
    let login = [
        ("eauth", "file"),
        ("username", "bob"),
        ("password", "right"),
    ];
    load.insert("kwargs", Value::from(Map::from(login)));
    let reply = PublishReply::from_value(master.ask_clear(load).await).unwrap();
    let PublishReply::Accepted { jid, .. } = reply else {
        panic!("bob may publish: {reply:?}");
    };
    let others = (0..100_000).map(|number| format!("stranger-{number}"));
    let known = ["db1", "web1"].map(str::to_owned);
    let minions: Vec<String> = known.into_iter().chain(others).collect();
    for (about, told) in [(None, &[][..]), (Some(jid), &["web1"])] {
        let request = StandingRequest {
            credentials: bob(),
            user: None,
            minions: minions.clone(),
            jids: Vec::new(),
            about,
        };
        let reply = master.ask_clear(request.to_map()).await;
        let reply = StandingReply::from_value(reply).unwrap().unwrap();
        let ids: Vec<&str> = reply.minions.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(ids, told);
    }
    // Who may do everything may ask about all that there are, and some more.
    let request = StandingRequest {
        credentials: Credentials {
            key: Some(master.root_key()),
            ..Credentials::default()
        },
        user: Some("root".to_owned()),
        minions,
        jids: Vec::new(),
        about: None,
    };
    let reply = master.ask_clear(request.to_map()).await;
    let reply = StandingReply::from_value(reply).unwrap().unwrap();
    assert_eq!(reply.minions.len(), 2 + STANDING_STRANGERS_MAX);
    master.stop().await;
}
