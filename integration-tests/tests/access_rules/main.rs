//! What users and minions may do: the answers of real Salt's master to hundreds of their
//! requests, compared with ours.
//!
//! The sets of rules are in `rules.yaml`, the examples of Salt's documentation
//! among them, and in `pam.yaml` those of users of the machine. Where the answers differ, the file has our answer and the reason. An
//! unexplained difference fails, and so does an explained one that no longer
//! exists.

mod pam;
mod peers;
mod pushed_code;
mod rules;

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master};
use serde_json::{Value, json};

use peers::Peers;
use rules::{Ask, Rules, Way, Who};

/// The secret, or the password, of every user of `external_auth`.
const SECRET: &str = "that of the front end";

/// Fewer would not be the comparison that it claims to be.
const ASKS_MIN: usize = 700;

/// The minions that both masters know, with the one grain that rules ask for.
const MINIONS: [(&str, &str); 5] = [
    ("db1", "Debian"),
    ("log1", "Debian"),
    ("mongo1", "Debian"),
    ("web1", "Debian"),
    ("web2", "RedHat"),
];

const SALT: &str = include_str!("salt.py");
const HALITE: &str = include_str!("halite.py");

/// Users of the file that the login `file` reads.
const USERS: [&str; 3] = ["mallory", "steve", "thatch"];

#[test]
fn both_masters_allow_and_refuse_the_same() -> Result<()> {
    let fleet = Fleet::new("rules")?;
    let users = fleet.path().join("users");
    fs::write(
        &users,
        USERS.map(|name| format!("{name}:{SECRET}\n")).concat(),
    )?;
    let users = users.display().to_string();
    let all = rules::read("rules.yaml", &[("USERS_FILE", &users)])?;
    compare(&fleet, &all, ASKS_MIN)
}

/// Asks both masters everything; at least so many requests.
fn compare(fleet: &Fleet, all: &[Rules], asks_min: usize) -> Result<()> {
    let theirs = ask_salt(fleet, all)?;
    let mut wrong = Vec::new();
    let mut asked = 0;
    for (number, (rules, theirs)) in all.iter().zip(&theirs).enumerate() {
        let asks = rules.asks();
        let ours = ask_ours(fleet, number, &theirs_data(fleet), rules, &asks)?;
        ensure!(theirs.len() == asks.len() && ours.len() == asks.len());
        let mut unused: BTreeSet<usize> = (0..rules.differs.len()).collect();
        for ((ask, theirs), ours) in asks.iter().zip(theirs).zip(&ours) {
            asked += 1;
            let explained = rules.explained(ask);
            let right = explained.map_or(theirs, |(_, wanted)| wanted);
            if let Some((entry, _)) = explained
                && ours != theirs
            {
                unused.remove(&entry);
            }
            if ours != right {
                let (rules, who, what) = (&rules.name, &ask.who, &ask.name);
                wrong.push(format!(
                    "{rules}: {who} asks {what}: Salt says {theirs}, ours {ours}"
                ));
            }
        }
        let widening = rules.differs.iter();
        for entry in widening.filter(|entry| entry.is_unexplained_widening()) {
            wrong.push(format!(
                "{}: `widens` belongs to what only ours allows, and to nothing else: {}",
                rules.name, entry.because
            ));
        }
        for entry in unused {
            wrong.push(format!(
                "{}: difference {entry} is none: {}",
                rules.name, rules.differs[entry].because
            ));
        }
    }
    ensure!(
        wrong.is_empty(),
        "{} of {asked}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    ensure!(asked >= asks_min, "only {asked} were asked");
    Ok(())
}

/// Where the master of real Salt keeps what it knows.
fn theirs_data(fleet: &Fleet) -> std::path::PathBuf {
    fleet.path().join("salt")
}

/// What each user may do at a master of real Salt, rules by rules.
fn ask_salt(fleet: &Fleet, all: &[Rules]) -> Result<Vec<Vec<String>>> {
    let salt = fleet
        .master("salt", Kind::Salt3008)
        .set("sharedsecret", SECRET)
        .lay()?;
    let plan: Vec<Value> = all
        .iter()
        .map(|rules| {
            let keys: serde_json::Map<String, Value> = rules
                .owners()
                .into_iter()
                .map(|owner| (owner.clone(), json!(format!("key of {owner}"))))
                .collect();
            let asks: Vec<Value> = rules
                .asks()
                .iter()
                .map(|ask| request(rules, ask, &|owner| Some(format!("key of {owner}"))))
                .collect();
            json!({ "options": rules.options, "keys": keys, "asks": asks })
        })
        .collect();
    let minions: serde_json::Map<String, Value> = MINIONS
        .iter()
        .map(|(id, os)| ((*id).to_owned(), json!({ "os": os })))
        .collect();
    accept(&salt, &fs::read_to_string(example_key())?)?;
    let plan = json!({ "minions": minions, "rules": plan });
    fs::write(salt.dir().join("plan.json"), plan.to_string())?;
    let output = salt.tools(Kind::Salt3008).python(SALT)?.ok()?;
    outcomes(&output.json()?).context("real Salt gave no lists of answers")
}

/// What each user may do at a master of ours with these rules.
fn ask_ours(
    fleet: &Fleet,
    number: usize,
    theirs: &std::path::Path,
    rules: &Rules,
    asks: &[Ask],
) -> Result<Vec<String>> {
    let mut plan = fleet
        .master(&format!("r{number}"), Kind::Ours)
        .set("sharedsecret", SECRET)
        // Users of the rules are none of this machine.
        .set("client_acl_verify", false);
    for (option, value) in &rules.options {
        plan = plan.set(option, value.clone());
    }
    let mut master = plan.lay()?;
    accept(&master, &fs::read_to_string(example_key())?)?;
    let grains = master.dir().join("cache/grains");
    fs::create_dir_all(&grains)?;
    for (id, _) in MINIONS {
        let file = format!("{id}.p");
        fs::copy(theirs.join("cache/grains").join(&file), grains.join(&file))
            .with_context(|| format!("no grains of {id} in the cache of real Salt"))?;
    }
    let mut peers = Peers::accept(&master, asks)?;
    master.start()?;
    let key = |owner: &str| {
        let file = master.dir().join(format!("cache/.{owner}_key"));
        fs::read_to_string(file).ok()
    };
    let is_minions = |ask: &&Ask| matches!(ask.who, Who::Minion { .. });
    let requests = asks.iter().filter(|ask| !is_minions(ask));
    let requests: Vec<Value> = requests.map(|ask| request(rules, ask, &key)).collect();
    let address = format!("tcp://{}", master.address().request());
    let plan = json!({ "address": address, "asks": requests });
    fs::write(master.dir().join("asks.json"), plan.to_string())?;
    let output = master.tools(Kind::Salt3008).python(HALITE)?.ok()?;
    let mut lists = outcomes(&json!([output.json()?])).context("our master gave no answers")?;
    let mut of_others = lists.remove(0).into_iter();
    let answer = |ask: &Ask| match &ask.who {
        Who::Minion { id } => peers.ask(&master, id, ask),
        _ => of_others.next().context("too few answers"),
    };
    asks.iter().map(answer).collect()
}

/// A request as a program of Salt's sends it. `key` gives the key of an owner.
fn request(rules: &Rules, ask: &Ask, key: &dyn Fn(&str) -> Option<String>) -> Value {
    let mut load = ask.load.clone();
    match &ask.who {
        Who::User { name, password } => {
            let credentials = json!({
                "eauth": rules.eauth,
                "username": name,
                "password": password.as_deref().unwrap_or(SECRET),
            });
            if ask.way == Way::Publish {
                load["user"] = json!(name);
                load["kwargs"] = credentials;
            } else if let (Some(load), Some(more)) = (load.as_object_mut(), credentials.as_object())
            {
                load.extend(more.clone());
            }
        }
        Who::Local { name, owner } => {
            load["user"] = json!(name);
            load["key"] = json!(key(owner).unwrap_or_else(|| "a key that nobody has".to_owned()));
        }
        // Its key says who it is; real Salt's handlers get the id beside it.
        Who::Minion { id } => load["id"] = json!(id),
    }
    json!({ "way": ask.way.name(), "load": load })
}

/// Accepts the keys of all minions.
fn accept(master: &Master, key: &str) -> Result<()> {
    let dir = master.dir().join("pki/minions");
    fs::create_dir_all(&dir)?;
    for (id, _) in MINIONS {
        fs::write(dir.join(id), key)?;
    }
    Ok(())
}

/// Any public key: no minion signs in.
fn example_key() -> std::path::PathBuf {
    halite_integration_tests::package_dir().join("tests/access_rules/minion.pub")
}

/// Lists of answers; whatever is no plain answer counts as a refusal, since
/// nothing was allowed, but says so.
fn outcomes(lists: &Value) -> Option<Vec<Vec<String>>> {
    let list = |list: &Value| {
        let answers = list.as_array()?.iter().map(Value::as_str);
        answers.map(|one| Some(one?.to_owned())).collect()
    };
    lists.as_array()?.iter().map(list).collect()
}
