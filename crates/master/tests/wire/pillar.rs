//! Pillars that the master compiles: many at once, cached, and on demand.

use std::fs;

use halite_crypto::{Crypticle, EncAlgo, Opened, SymmetricKey};
use halite_proto::pillar::{PillarAnswer, PillarData, SignedPillar};
use halite_proto::request::{MinionRequest, PillarRequest};
use halite_proto::{Map, Value};

use crate::jobs::publish;
use crate::support::{Master, Minion};

fn open(minion: &Minion, reply: &[u8]) -> Map {
    let PillarAnswer::Private(reply) = PillarAnswer::decode(reply).unwrap() else {
        panic!("not a pillar");
    };
    let key = minion.key.decrypt(EncAlgo::OaepSha1, &reply.key).unwrap();
    let key = SymmetricKey::parse(std::str::from_utf8(key.expose()).unwrap()).unwrap();
    let Ok(Opened::Payload(signed)) = Crypticle::new(&key).open(&reply.pillar, None) else {
        panic!("the pillar does not open");
    };
    let signed = SignedPillar::decode(&signed).unwrap();
    PillarData::decode(&signed.data).unwrap().pillar
}

fn envelope(minion: &Minion, request: PillarRequest) -> Vec<u8> {
    minion.envelope(&minion.load(MinionRequest::Pillar(Box::new(request))))
}

async fn pillar(minion: &Minion, request: PillarRequest) -> Map {
    let reply = minion.send(envelope(minion, request)).await;
    open(minion, &reply)
}

fn request() -> PillarRequest {
    PillarRequest::new(Map::from([("role", "web")]))
}

/// A master with a pillar of one file, and more options.
fn with_pillar(sls: &str, more: &str) -> Master {
    let dir = tempfile::TempDir::new().unwrap();
    let root = dir.path().join("pillar");
    fs::create_dir_all(&root).unwrap();
    fs::write(root.join("top.sls"), "base: {'*': [one]}\n").unwrap();
    fs::write(root.join("one.sls"), sls).unwrap();
    let options = format!("pillar_roots: {{base: ['{}']}}\n{more}", root.display());
    Master::start_in(dir, &options)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_pillars_hold_up_nothing() {
    let gate = tempfile::tempdir().unwrap();
    let open_gate = gate.path().join("open");
    let master = with_pillar(
        "role: {{ grains['role'] }}\nid: {{ salt['grains.get']('id', opts['id']) }}\n",
        &format!(
            "ext_pillar: [cmd_yaml: 'while [ ! -e {} ]; do sleep 0.02; done; echo ext: %s']",
            open_gate.display()
        ),
    );
    fs::write(master.path("srv/hello"), "hello\n").unwrap();
    let minion = Minion::signed_in(&master, "web1").await;
    let asked: Vec<_> = (0..100)
        .map(|_| {
            let (client, bytes) = (master.client(), envelope(&minion, request()));
            tokio::spawn(async move {
                let patience = std::time::Duration::from_secs(60);
                client.request(bytes, patience).await.unwrap()
            })
        })
        .collect();
    // Answered while all of them wait: nothing here opens the gate.
    let envs = minion.ask(MinionRequest::FileEnvs).await;
    assert_eq!(envs, Value::List(vec!["base".into()]));
    assert!(asked.iter().all(|answer| !answer.is_finished()));
    fs::write(open_gate, "").unwrap();
    let wanted = Map::from([("role", "web"), ("id", "web1"), ("ext", "web1")]);
    for answer in asked {
        assert_eq!(open(&minion, &answer.await.unwrap()), wanted);
    }
    master.stop().await;
}

#[tokio::test]
async fn a_cached_pillar_is_given_until_it_is_cleaned() {
    let master = with_pillar("a: 1\nm: {x: 1}\n", "pillar_cache: true");
    let minion = Minion::signed_in(&master, "web1").await;
    let old = Map::from([("a", Value::from(1)), ("m", Map::from([("x", 1)]).into())]);
    assert_eq!(pillar(&minion, request()).await, old);
    fs::write(master.path("pillar/one.sls"), "a: 2\n").unwrap();
    assert_eq!(pillar(&minion, request()).await, old);
    let laid_over = PillarRequest {
        pillar_override: Map::from([("m", Map::from([("y", 2)]))]),
        ..request()
    };
    let laid_over = pillar(&minion, laid_over).await;
    assert_eq!(
        laid_over.get("m").and_then(Value::as_map),
        Some(&Map::from([("x", 1), ("y", 2)]))
    );
    let clean = PillarRequest {
        clean_cache: Some(true),
        ..request()
    };
    assert_eq!(pillar(&minion, clean).await, Map::from([("a", 2)]));
    master.stop().await;
}

#[tokio::test]
async fn pillars_may_run_runners_but_not_for_ever() {
    let master = with_pillar(
        "grains: {{ salt['saltutil.runner']('cache.grains', tgt='web1') | json }}\n\
         text: {{ salt.saltutil.runner('test.arg', ['a'], kwarg={'b': 1})['args'] | json }}\n",
        "",
    );
    let minion = Minion::signed_in(&master, "web1").await;
    pillar(&minion, request()).await;
    let second = pillar(&minion, request()).await;
    let web1 = Map::from([("web1", Map::from([("role", "web"), ("id", "web1")]))]);
    assert_eq!(second.get("grains"), Some(&web1.into()));
    assert_eq!(second.get("text"), Some(&Value::List(vec!["a".into()])));

    let round = "again: {{ salt['saltutil.runner']('pillar.show_pillar', ['web1']) | json }}\n";
    fs::write(master.path("pillar/one.sls"), round).unwrap();
    let ended = pillar(&minion, request()).await;
    let text = format!("{ended:?}");
    assert!(text.contains("_errors"), "{text}");
    master.stop().await;
}

#[tokio::test]
async fn external_pillars_on_demand_are_those_that_are_allowed() {
    let master = with_pillar("a: 1\n", "on_demand_ext_pillar: [cmd_json]");
    let minion = Minion::signed_in(&master, "web1").await;
    let asking = |name: &str, command: &str| PillarRequest {
        ext: Some(Map::from([(name, command)]).into()),
        ..request()
    };
    let allowed = pillar(&minion, asking("cmd_json", r#"echo '{"e": 5}'"#)).await;
    assert_eq!(allowed, Map::from([("a", 1), ("e", 5)]));
    let refused = pillar(&minion, asking("cmd_yaml", "echo e: 5")).await;
    assert_eq!(refused, Map::from([("a", 1)]));
    master.stop().await;
}

/// Many pillars ask the grains who the minion is.
#[tokio::test]
async fn a_minion_gets_its_own_pillar_whatever_its_grains_say() {
    let master = with_pillar("told: {{ grains['id'] }}\n", "");
    let minion = Minion::signed_in(&master, "web1").await;
    let lie = PillarRequest::new(Map::from([("id", "db1")]));
    let pillar = pillar(&minion, lie).await;
    assert_eq!(pillar.get("told"), Some(&"web1".into()));
    master.stop().await;
}

/// A minion may ask for its pillar with values of its own, and gets it so; what
/// targets and rights are matched against is what the master makes of it.
#[tokio::test]
async fn a_minion_does_not_choose_the_pillar_that_targets_match() {
    let more = "on_demand_ext_pillar: [cmd_json]";
    let master = with_pillar("role: web\n", more);
    let minion = Minion::signed_in(&master, "web1").await;
    assert_eq!(
        pillar(&minion, request()).await,
        Map::from([("role", "web")])
    );
    let overridden = PillarRequest {
        pillar_override: Map::from([("role", "db")]),
        ..request()
    };
    let own = pillar(&minion, overridden).await;
    assert_eq!(own, Map::from([("role", "db")]));
    let asked = Map::from([("cmd_json", r#"echo '{"role": "db"}'"#)]);
    let on_demand = PillarRequest {
        ext: Some(asked.into()),
        ..request()
    };
    let own = pillar(&minion, on_demand).await;
    assert_eq!(own, Map::from([("role", "db")]));
    for (tgt, is_matched) in [("role:db", false), ("role:web", true)] {
        assert_eq!(matches(&master, tgt).await, is_matched, "{tgt}");
    }
    master.stop().await;
}

/// Whether a target on pillar means web1.
async fn matches(master: &Master, tgt: &str) -> bool {
    let reply = master.ask_clear(publish(master, tgt, "pillar")).await;
    let minions = reply.get("load").and_then(|load| load.get("minions"));
    let minions = minions.and_then(Value::as_list).unwrap_or_default();
    minions.contains(&"web1".into())
}

/// What a minion says of itself becomes a part of the pillar that it gets, and
/// of no pillar that is kept: neither for targets nor by `pillar_cache`.
#[tokio::test]
async fn what_a_minion_says_of_itself_is_in_no_pillar_that_is_kept() {
    for more in ["", "pillar_cache: true\n"] {
        let more = format!("{more}ext_pillar: [extra_minion_data_in_pillar: '*']");
        let master = with_pillar("site: one\n", &more);
        let minion = Minion::signed_in(&master, "web1").await;
        let of_itself = PillarRequest {
            extra_minion_data: Map::from([("role", "db"), ("site", "two")]),
            ..request()
        };
        let wanted = Map::from([("site", "two"), ("role", "db")]);
        assert_eq!(pillar(&minion, of_itself).await, wanted);
        for (tgt, is_matched) in [("role:db", false), ("site:two", false), ("site:one", true)] {
            assert_eq!(matches(&master, tgt).await, is_matched, "{more}: {tgt}");
        }
        let plain = pillar(&minion, request()).await;
        assert_eq!(plain, Map::from([("site", "one")]), "{more}");
        master.stop().await;
    }
}

/// The environment of a minion's states is the minion's choice, so that the
/// pillar of one is kept beside its main one, as with Salt.
#[tokio::test]
async fn the_environment_of_states_does_not_choose_the_pillar_that_targets_match() {
    for more in ["", "pillar_cache: true\n"] {
        let dir = tempfile::TempDir::new().unwrap();
        let root = |env: &str| dir.path().join(env).display().to_string();
        for env in ["base", "dev"] {
            fs::create_dir_all(root(env)).unwrap();
            let top = format!("{env}: {{'*': [one]}}\n");
            fs::write(dir.path().join(env).join("top.sls"), top).unwrap();
            let one = format!("of_{env}: yes\n");
            fs::write(dir.path().join(env).join("one.sls"), one).unwrap();
        }
        let options = format!(
            "{more}pillarenv_from_saltenv: true\npillar_roots: {{base: ['{}'], dev: ['{}']}}",
            root("base"),
            root("dev")
        );
        let master = Master::start_in(dir, &options);
        let minion = Minion::signed_in(&master, "web1").await;
        let of = |env: &str| PillarRequest {
            saltenv: Some(env.to_owned()),
            ..request()
        };
        let plain = pillar(&minion, request()).await;
        assert_eq!(plain, Map::from([("of_base", true), ("of_dev", true)]));
        let dev = pillar(&minion, of("dev")).await;
        assert_eq!(dev, Map::from([("of_dev", true)]), "{more}");
        for tgt in ["of_base:True", "of_dev:True"] {
            assert!(matches(&master, tgt).await, "{more}: {tgt}");
        }
        assert_eq!(pillar(&minion, request()).await, plain, "{more}");
        master.stop().await;
    }
}

/// What a minion sends is never decrypted for it: neither its overrides, nor what
/// an external pillar gives that it asks for.
#[tokio::test]
async fn the_master_decrypts_its_own_pillar_only() {
    let sls = "cipher: '{{ \"{{\" }} 40 + 2 {{ \"}}\" }}'\nmap: {own: '{{ \"{{\" }} 1 + 1 {{ \"}}\" }}'}\n";
    let more = "on_demand_ext_pillar: [cmd_json]\n\
                ext_pillar: [extra_minion_data_in_pillar: '*']\n\
                decrypt_pillar: [{'cipher': 'jinja'}, {'other': 'jinja'}, {'map': 'jinja'}]\n\
                decrypt_pillar_renderers: [jinja]\n";
    let master = with_pillar(sls, more);
    let minion = Minion::signed_in(&master, "web1").await;
    let plain = pillar(&minion, request()).await;
    let theirs = "{{ 6 * 7 }}";
    let overridden = PillarRequest {
        pillar_override: Map::from([
            ("other", Value::from(theirs)),
            ("map", Map::from([("theirs", theirs)]).into()),
        ]),
        ..request()
    };
    let own = pillar(&minion, overridden).await;
    assert_eq!(plain.get("cipher"), own.get("cipher"));
    assert_eq!(own.get("other"), Some(&theirs.into()), "an oracle");
    let map = own.get("map").unwrap();
    assert_eq!(map.get("theirs"), Some(&theirs.into()), "an oracle");
    assert_eq!(
        map.get("own"),
        plain.get("map").and_then(|map| map.get("own"))
    );
    let asked = Map::from([("cmd_json", r#"echo '{"other": "{{ 6 * 7 }}"}'"#)]);
    let on_demand = PillarRequest {
        ext: Some(asked.into()),
        ..request()
    };
    let own = pillar(&minion, on_demand).await;
    assert_eq!(own.get("other"), Some(&theirs.into()), "an oracle");
    let of_itself = PillarRequest {
        extra_minion_data: Map::from([("other", theirs)]),
        ..request()
    };
    let own = pillar(&minion, of_itself).await;
    assert_eq!(own.get("other"), Some(&theirs.into()), "an oracle");
    let cipher = plain.get("cipher");
    assert_ne!(
        cipher,
        Some(&"{{ 40 + 2 }}".into()),
        "not decrypted: {plain:?}"
    );
    master.stop().await;
}
