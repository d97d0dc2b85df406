//! Every door of the request port, and who may go through it: each command,
//! sealed and in the clear, from everybody who can reach the port. The tables
//! are the rule; the tests walk all their cells over real sockets.
//!
//! Whoever is not proven gets nothing but a refusal, and leaves no event.

use halite_crypto::{Crypticle, SymmetricKey};
use halite_proto::envelope::Reply;
use halite_proto::request::{MinionRequest, Request};
use halite_proto::{Map, Refusal, Value, json};
use halite_transport::ipc::EventSubscriber;
use tokio::time::timeout;

use crate::support::{Master, Minion, SOON};

/// What comes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// It is not looked at.
    Refused,
    /// An empty answer: this is not known, or not permitted, here.
    Nothing,
    /// Nobody proved who they are.
    Unproven,
    /// Who asks is proven, and may not.
    Forbidden,
    /// An answer.
    Answered,
}
use Outcome::{Answered, Forbidden, Nothing, Refused, Unproven};

/// Commands of minions: their fields, and what becomes of them if they come
/// from an accepted minion without further rights, and from one with them.
const SEALED: &[(&str, &str, [Outcome; 2])] = &[
    (
        "_return",
        r#"{"fun": "test.ping", "fun_args": [], "jid": "20260101000000000007", "return": true, "retcode": 0, "success": true}"#,
        [Answered, Answered],
    ),
    (
        "_minion_event",
        r#"{"tag": "my/tag", "data": {}}"#,
        [Answered, Answered],
    ),
    (
        "_pillar",
        r#"{"grains": {"os": "x"}}"#,
        [Answered, Answered],
    ),
    (
        "_mine",
        r#"{"data": {"test.ping": true}}"#,
        [Answered, Answered],
    ),
    (
        "_mine_get",
        r#"{"tgt": "*", "fun": "test.ping"}"#,
        [Answered, Answered],
    ),
    (
        "_mine_delete",
        r#"{"fun": "test.ping"}"#,
        [Answered, Answered],
    ),
    ("_mine_flush", "{}", [Answered, Answered]),
    (
        "_file_hash",
        r#"{"path": "a", "saltenv": "base"}"#,
        [Answered, Answered],
    ),
    (
        "_file_hash_and_stat",
        r#"{"path": "a", "saltenv": "base"}"#,
        [Answered, Answered],
    ),
    (
        "_file_find",
        r#"{"path": "a", "saltenv": "base"}"#,
        [Answered, Answered],
    ),
    ("_file_list", r#"{"saltenv": "base"}"#, [Answered, Answered]),
    (
        "_file_list_emptydirs",
        r#"{"saltenv": "base"}"#,
        [Answered, Answered],
    ),
    ("_dir_list", r#"{"saltenv": "base"}"#, [Answered, Answered]),
    (
        "_symlink_list",
        r#"{"saltenv": "base"}"#,
        [Answered, Answered],
    ),
    ("_file_envs", "{}", [Answered, Answered]),
    (
        "_serve_file",
        r#"{"path": "a", "saltenv": "base", "loc": 0}"#,
        [Answered, Answered],
    ),
    (
        "_file_recv",
        r#"{"path": ["a"], "loc": 0, "data": "x"}"#,
        [Answered, Answered],
    ),
    ("_master_opts", "{}", [Answered, Answered]),
    ("_master_tops", r#"{"opts": {}}"#, [Nothing, Nothing]),
    (
        "_register_resources",
        r#"{"resources": {}}"#,
        [Answered, Answered],
    ),
    ("_syndic_return", r#"{"load": []}"#, [Nothing, Nothing]),
    (
        "minion_pub",
        r#"{"fun": "test.ping", "arg": [], "tgt": "*", "ret": ""}"#,
        [Nothing, Answered],
    ),
    // Nobody returns in time.
    (
        "minion_publish",
        r#"{"fun": "test.ping", "arg": [], "tgt": "*", "ret": "", "tmo": 1}"#,
        [Nothing, Nothing],
    ),
    (
        "pub_ret",
        r#"{"jid": "20260101000000000007"}"#,
        [Nothing, Nothing],
    ),
    (
        "minion_runner",
        r#"{"fun": "test.arg", "arg": []}"#,
        [Nothing, Answered],
    ),
    ("_halite_replay", "{}", [Answered, Answered]),
    (
        "_halite_whereabouts",
        r#"{"results": []}"#,
        [Answered, Answered],
    ),
    ("_halite_held", r#"{"files": []}"#, [Answered, Answered]),
    (
        "verify_minion",
        r#"{"id_": "x", "token": "x"}"#,
        [Nothing, Nothing],
    ),
    // The commands of local programs are none of a minion's.
    (
        "publish",
        r#"{"fun": "test.ping", "arg": [], "tgt": "*", "user": "root"}"#,
        [Nothing, Nothing],
    ),
    (
        "runner",
        r#"{"fun": "test.arg", "user": "root"}"#,
        [Nothing, Nothing],
    ),
    (
        "wheel",
        r#"{"fun": "key.list_all", "user": "root"}"#,
        [Nothing, Nothing],
    ),
    (
        "mk_token",
        r#"{"eauth": "pam", "username": "root"}"#,
        [Nothing, Nothing],
    ),
    ("halite.batch", "{}", [Nothing, Nothing]),
    ("_prep_auth_info", "{}", [Nothing, Nothing]),
    ("__init__", "{}", [Nothing, Nothing]),
    // The last one: it ends the minion's session.
    ("revoke_auth", "{}", [Answered, Answered]),
];

/// Commands in the clear: their fields, and what becomes of them without a
/// proof, with a wrong one, from a user who may run `test.*`, and from root.
const CLEAR: &[(&str, &str, [Outcome; 4])] = &[
    ("ping", "{}", [Answered, Answered, Answered, Answered]),
    (
        "publish",
        r#"{"fun": "test.ping", "arg": [], "tgt": "*", "tgt_type": "glob", "ret": "", "jid": ""}"#,
        [Unproven, Unproven, Answered, Answered],
    ),
    (
        "publish",
        r#"{"fun": "cmd.run", "arg": ["id"], "tgt": "*", "tgt_type": "glob", "ret": "", "jid": ""}"#,
        [Unproven, Unproven, Forbidden, Answered],
    ),
    (
        "runner",
        r#"{"fun": "test.arg", "kwarg": {}}"#,
        [Unproven, Unproven, Unproven, Answered],
    ),
    (
        "wheel",
        r#"{"fun": "key.list_all"}"#,
        [Unproven, Unproven, Unproven, Answered],
    ),
    (
        "mk_token",
        r#"{"eauth": "pam", "username": "root", "password": "x"}"#,
        [Nothing, Nothing, Nothing, Nothing],
    ),
    (
        "get_token",
        r#"{"token": "0123456789abcdef"}"#,
        [Nothing, Nothing, Nothing, Nothing],
    ),
    (
        "halite.standing",
        r#"{"minions": ["web1"]}"#,
        [Nothing, Nothing, Answered, Answered],
    ),
    // The fingerprint of the master's public key is for everybody.
    (
        "halite.compare",
        r#"{"nonce": "0123456789abcdef0123456789abcdef", "ts": 1, "sig": "x"}"#,
        [Answered, Answered, Answered, Answered],
    ),
    (
        "_prep_auth_info",
        "{}",
        [Nothing, Nothing, Nothing, Nothing],
    ),
    ("__init__", "{}", [Nothing, Nothing, Nothing, Nothing]),
    ("", "{}", [Nothing, Nothing, Nothing, Nothing]),
];

const OPTIONS: &str = "
client_acl_verify: False
publisher_acl: {fred: ['test.*']}
peer: {web1: ['test.*']}
peer_run: {web1: [test.arg]}
file_recv: True
";

fn load(cmd: &str, fields: &str) -> Map {
    let Ok(Value::Map(mut load)) = json::read(fields) else {
        panic!("{fields}");
    };
    load.insert("cmd", cmd);
    load
}

/// What an answer that is not sealed says.
fn outcome(answer: &Value) -> Outcome {
    if Refusal::from_value(answer).is_some() {
        return Refused;
    }
    match answer {
        Value::Map(map) if map.is_empty() => Nothing,
        Value::Str(text) if text.is_empty() => Nothing,
        Value::Map(map) => match map.get("error").and_then(|error| error.get("name")) {
            Some(name) if name.as_str() == Some("AuthorizationError") => Forbidden,
            Some(_) => Unproven,
            None => Answered,
        },
        _ => Answered,
    }
}

/// A command as a minion sends it, with all that proves who it is.
fn request(minion: &Minion, cmd: &str, fields: &str) -> Map {
    let command = MinionRequest::Unknown {
        cmd: Some(cmd.to_owned()),
        fields: load(cmd, fields),
    };
    Request::new(minion.meta(), command).to_map()
}

/// Sends a sealed command and says what came of it.
async fn sealed(minion: &Minion, cmd: &str, fields: &str) -> Outcome {
    let meta = minion.meta();
    let nonce = meta.nonce.clone().unwrap();
    let mut load = request(minion, cmd, fields);
    load.insert("nonce", nonce.as_str());
    let reply = minion.send(minion.envelope(&load)).await;
    match Reply::decode(&reply).unwrap() {
        Reply::Refused(_) => Refused,
        Reply::Sealed(sealed) => outcome(&minion.open(&sealed, &nonce)),
        // Sealed in its own way, as pillars are.
        Reply::Clear(answer) => outcome(&answer),
    }
}

/// Hears what is fired between two events of a minion.
struct Witness {
    minion: Minion,
    events: EventSubscriber,
}

impl Witness {
    async fn new(master: &Master) -> Self {
        Self {
            minion: Minion::signed_in_with(master, "witness", "other.pem").await,
            events: master.events().await,
        }
    }

    /// The tags of what was fired since the last call.
    async fn heard(&mut self) -> Vec<String> {
        let fields = r#"{"tag": "witness", "data": {}}"#;
        assert_eq!(
            sealed(&self.minion, "_minion_event", fields).await,
            Answered
        );
        let mut tags = Vec::new();
        loop {
            let event = timeout(SOON, self.events.next()).await.unwrap();
            match event.unwrap().unwrap().tag() {
                "witness" => return tags,
                tag => tags.push(tag.to_owned()),
            }
        }
    }
}

#[tokio::test]
async fn every_sealed_command_is_for_accepted_minions_with_their_rights() {
    let master = Master::start(OPTIONS);
    std::fs::write(master.path("srv/a"), "x").unwrap();
    std::os::unix::fs::symlink("a", master.path("srv/b")).unwrap();
    let mut wrong = Vec::new();
    for (cmd, fields, [plain, peer]) in SEALED {
        let web1 = Minion::signed_in(&master, "web1").await;
        let web2 = Minion::signed_in(&master, "web2").await;
        for (minion, expect) in [(&web2, plain), (&web1, peer)] {
            let came = sealed(minion, cmd, fields).await;
            if came != *expect {
                wrong.push(format!("{cmd} of {}: {came:?}", minion.id));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
    master.stop().await;
}

#[tokio::test]
async fn no_sealed_command_is_for_strangers_and_pending_minions() {
    let master = Master::start(OPTIONS);
    let accepted = Minion::signed_in(&master, "web1").await;
    let mut witness = Witness::new(&master).await;
    let mut pending = Minion::new(&master, "new");
    std::fs::write(master.path("pki/minions_pre/new"), pending.public_pem()).unwrap();
    // Without a session: keys that they have made themselves.
    pending.session = Some(Crypticle::new(&SymmetricKey::generate()));
    let mut stranger = Minion::new(&master, "web1");
    stranger.session = Some(Crypticle::new(&SymmetricKey::generate()));
    for (cmd, fields, _) in SEALED {
        assert_eq!(
            sealed(&pending, cmd, fields).await,
            Refused,
            "{cmd}, pending"
        );
        assert_eq!(
            sealed(&stranger, cmd, fields).await,
            Refused,
            "{cmd}, a stranger"
        );
        // The same in the clear, with all that proves nothing there.
        if CLEAR.iter().any(|(clear, ..)| clear == cmd) {
            continue;
        }
        let answer = master.ask_clear(request(&accepted, cmd, fields)).await;
        let expect = match cmd {
            &"halite.batch" => Refused,
            _ => Nothing,
        };
        assert_eq!(outcome(&answer), expect, "{cmd} in the clear: {answer:?}");
    }
    assert_eq!(witness.heard().await, [""; 0]);
    master.stop().await;
}

#[tokio::test]
async fn every_clear_command_asks_for_a_proof_first() {
    let master = Master::start(OPTIONS);
    Minion::signed_in(&master, "web1").await;
    let mut witness = Witness::new(&master).await;
    let key = |user: &str| {
        let path = master.path(&format!("cache/.{user}_key"));
        std::fs::read_to_string(path).unwrap()
    };
    let wrong = "A".repeat(76);
    let mut wrong_cells = Vec::new();
    let proofs = [None, Some(wrong), Some(key("fred")), Some(key("root"))];
    for (cmd, fields, expected) in CLEAR {
        for ((proof, user), expect) in proofs
            .iter()
            .zip(["root", "root", "fred", "root"])
            .zip(expected)
        {
            let mut load = load(cmd, fields);
            load.insert("user", user);
            if let Some(key) = proof {
                load.insert("key", key.as_str());
            }
            let answer = master.ask_clear(load).await;
            let who = format!("{cmd} {fields} of {user}, {}", proof.is_some());
            let came = outcome(&answer);
            let mut heard = witness.heard().await;
            // A runner ends after its answer.
            let runs = *cmd == "runner" && came == Answered;
            while runs && !heard.iter().any(|tag| tag.ends_with("/ret")) {
                heard = witness.heard().await;
            }
            let is_unproven = [Unproven, Nothing].contains(&came);
            if came != *expect || (is_unproven && !heard.is_empty()) {
                wrong_cells.push(format!("{who}: {answer:?}, {heard:?}"));
            }
        }
    }
    assert_eq!(wrong_cells, [""; 0]);
    master.stop().await;
}
