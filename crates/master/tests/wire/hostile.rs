//! What others got wrong, tried on purpose: lies about oneself, guessed
//! passwords, and questions that only cost.

use std::fs;

use halite_proto::clear::PublishReply;
use halite_proto::request::MinionRequest;
use halite_proto::{Map, Value};

use crate::jobs::publish;
use crate::support::{Master, Minion};

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guessed_passwords_hold_up_nobody_and_large_pings_are_not_told_back() {
    let dir = tempfile::TempDir::new().unwrap();
    let passwords = dir.path().join("passwords");
    fs::write(&passwords, "bob:right\n").unwrap();
    let options = format!(
        "external_auth: {{file: {{^filename: {}, bob: ['.*']}}}}\n",
        passwords.display()
    );
    let master = Master::start_in(dir, &options);
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
