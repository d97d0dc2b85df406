//! A master with rules, and every kind of caller that can reach it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use halite_crypto::{Crypticle, SymmetricKey};
use halite_integration_tests::wire::msgpack::Item;
use halite_integration_tests::wire::stand_in::{Session, SignIn, StandIn};
use halite_integration_tests::{Fleet, KeyState, Kind, Master, SHORT};
use halite_proto::Capabilities;
use halite_proto::msgpack::pack_modern;
use serde_json::{Value, json};

use crate::doors::{A_TOKEN, ITS_JOB, LOGIN, Row};

/// The accepted minion without rights, and the one with some.
pub(crate) const ACCEPTED: &str = "web2";
pub(crate) const GRANTED: &str = "web1";
pub(crate) const PENDING: &str = "new";
const WITNESS: &str = "witness";

/// The user with few rights, who is none of this machine.
pub(crate) const LIMITED: &str = "fred";

/// How many patterns of `publisher_acl_blacklist` try every way to read a row of `a`.
const SLOW_PATTERNS: usize = 50;

/// A minion, and what it has been granted.
pub(crate) struct Peer {
    pub(crate) who: StandIn,
    pub(crate) session: Session,
}

/// Everybody, and the master.
pub(crate) struct Stage {
    pub(crate) master: Master,
    pub(crate) accepted: Peer,
    pub(crate) granted: Peer,
    pub(crate) pending: Peer,
    pub(crate) stranger: Peer,
    /// The file with root's key, and with that of the limited user.
    pub(crate) root_key: String,
    pub(crate) limited_key: String,
    /// What the granted minion has published.
    job: String,
    witness: Peer,
    heard: usize,
    _fleet: Fleet,
}

impl Peer {
    /// One that has made a session key itself.
    fn without_session(id: &str) -> Result<Self> {
        Ok(Self {
            who: StandIn::new(id)?,
            session: made_up(),
        })
    }

    fn accepted(master: &Master, id: &str) -> Result<Self> {
        let mut peer = Self::without_session(id)?;
        peer.accept(master, id)?;
        Ok(peer)
    }

    /// Has its key among the accepted ones, and signs in.
    fn accept(&mut self, master: &Master, id: &str) -> Result<()> {
        put_key(master.dir(), KeyState::Accepted, id, &self.who)?;
        self.session = self.who.must_sign_in(&mut master.connect()?)?;
        Ok(())
    }
}

/// A job that a minion publishes for all and returns to itself.
fn published(master: &Master, by: &Peer) -> Result<String> {
    let ask = |load: &[(&str, Item)]| by.who.ask(&mut master.connect()?, &by.session, load);
    let answer = ask(&[
        ("cmd", Item::from("minion_pub")),
        ("fun", Item::from("test.ping")),
        ("arg", Item::List(Vec::new())),
        ("tgt", Item::from("*")),
        ("ret", Item::from("")),
    ])?;
    let jid = answer.get("jid").and_then(Item::text);
    let jid = jid.with_context(|| format!("no job: {answer:?}"))?;
    ask(&[
        ("cmd", Item::from("_return")),
        ("jid", Item::from(jid)),
        ("fun", Item::from("test.ping")),
        ("fun_args", Item::List(Vec::new())),
        ("return", Item::from(true)),
        ("retcode", Item::from(0)),
        ("success", Item::from(true)),
    ])?;
    Ok(jid.to_owned())
}

fn made_up() -> Session {
    Session {
        session: Crypticle::new(&SymmetricKey::generate()),
        publish: Crypticle::new(&SymmetricKey::generate()),
    }
}

fn put_key(master: &Path, state: KeyState, id: &str, who: &StandIn) -> Result<()> {
    let dir = master.join("pki").join(state.dir());
    fs::create_dir_all(&dir)?;
    fs::write(dir.join(id), who.public_pem())?;
    Ok(())
}

impl Stage {
    pub(crate) fn start() -> Result<Self> {
        Self::of(Kind::Ours)
    }

    /// The same with a master of this kind.
    pub(crate) fn of(kind: Kind) -> Result<Self> {
        let fleet = Fleet::new("doors")?;
        let users = fleet.path().join("m1/users");
        let logins = json!({ "^filename": users.display().to_string(), LOGIN.0: ["test.*"] });
        let slow = (0..SLOW_PATTERNS).map(|number| format!("(a|aa)+(?=b){number}"));
        let forbidden: Vec<String> = slow.chain(["bad.*".to_owned()]).collect();
        let plan = fleet
            .master("m1", kind)
            .file("a", "a file")
            .set("keysize", 4096)
            .set("client_acl_verify", false)
            .set("publisher_acl", json!({ LIMITED: ["test.*"] }))
            .set("publisher_acl_blacklist", json!({ "modules": forbidden }))
            .set("peer", json!({ GRANTED: ["test.*"] }))
            .set("peer_run", json!({ GRANTED: ["test.arg"] }))
            .set("external_auth", json!({ "file": logins }))
            .set("file_recv", true);
        let mut master = plan.lay()?;
        let (name, password) = LOGIN;
        fs::write(&users, format!("{name}:{password}\n"))?;
        // A list without a link would be the answer to who may not ask.
        symlink("a", master.dir().join("srv/link"))?;
        master.start()?;
        let key = |owner: &str| {
            let path = master.dir().join(format!("cache/.{owner}_key"));
            fs::read_to_string(&path).with_context(|| path.display().to_string())
        };
        let user = nix::unistd::User::from_uid(nix::unistd::geteuid())?;
        let user = user.context("the user has no name")?.name;
        let (root_key, limited_key) = (key(&user)?, key(LIMITED)?);
        let pending = Peer::without_session(PENDING)?;
        put_key(master.dir(), KeyState::Pending, PENDING, &pending.who)?;
        let granted = Peer::accepted(&master, GRANTED)?;
        Ok(Self {
            accepted: Peer::accepted(&master, ACCEPTED)?,
            job: published(&master, &granted)?,
            granted,
            witness: Peer::accepted(&master, WITNESS)?,
            stranger: Peer::without_session(GRANTED)?,
            pending,
            root_key,
            limited_key,
            heard: 0,
            master,
            _fleet: fleet,
        })
    }

    /// Has both accepted minions name these capabilities at their sign-ins from now on.
    pub(crate) fn let_name(&mut self, capabilities: Capabilities) -> Result<()> {
        let extra = pack_modern(&capabilities.to_extra().into())?;
        let extra = Item::unpack(&extra)?;
        for peer in [&mut self.accepted, &mut self.granted] {
            peer.who = peer.who.clone().saying(extra.clone());
            let request = peer.who.sign_in_request().pack();
            let reply = Item::unpack(&self.master.connect()?.ask(&request)?)?;
            let grant = reply.get("load").and_then(Item::bytes).unwrap_or_default();
            let names = Item::unpack(grant)?.get("halite").is_some();
            ensure!(names, "the master does not name its own capabilities");
        }
        self.renew()
    }

    /// Both accepted minions as they were at the start, whatever they have done.
    pub(crate) fn renew(&mut self) -> Result<()> {
        self.accepted.accept(&self.master, ACCEPTED)?;
        self.granted.accept(&self.master, GRANTED)
    }

    /// A row with a job and a token that there are.
    pub(crate) fn filled(&self, row: &Row) -> Result<Row> {
        let mut fields = row.fields.replace(ITS_JOB, &self.job);
        if fields.contains(A_TOKEN) {
            fields = fields.replace(A_TOKEN, &self.token()?);
        }
        Ok(Row {
            // A test may keep what it asks for as long as it runs.
            fields: fields.leak(),
            cmd: row.cmd,
            cells: row.cells,
            cost: row.cost,
        })
    }

    /// A new token of the user with a password.
    fn token(&self) -> Result<String> {
        let load = Item::map([
            ("cmd", Item::from("mk_token")),
            ("eauth", Item::from("file")),
            ("username", Item::from(LOGIN.0)),
            ("password", Item::from(LOGIN.1)),
        ]);
        let reply = self.master.connect()?.ask(&StandIn::clear(load).pack())?;
        let reply = Item::unpack(&reply)?;
        let token = reply.get("token").and_then(Item::text);
        Ok(token
            .with_context(|| format!("no token: {reply:?}"))?
            .to_owned())
    }

    /// The tags of what was fired since the last call, apart from sign-ins.
    pub(crate) fn heard(&mut self) -> Result<Vec<String>> {
        let tag = format!("witness/{}", self.heard);
        let load = [
            ("cmd", Item::from("_minion_event")),
            ("tag", Item::from(tag.as_str())),
            ("data", Item::Map(Vec::new())),
        ];
        let mut connection = self.master.connect()?;
        self.witness
            .who
            .ask(&mut connection, &self.witness.session, &load)?;
        let log = self.master.events()?;
        log.wait_after(self.heard, &tag, SHORT, |event| event.tag == tag)?;
        let events = log.events();
        let fired = events.iter().skip(self.heard);
        let tags = fired
            .map(|event| event.tag.clone())
            .filter(|tag| !tag.starts_with("witness/") && tag != "salt/auth");
        let tags = tags.collect();
        self.heard = events.len();
        Ok(tags)
    }

    /// Everything below the directories where the master keeps keys and data.
    pub(crate) fn files(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for dir in ["pki", "cache"] {
            walk(&self.master.dir().join(dir), &mut found)?;
        }
        // What the master writes by itself, whoever asks.
        let own = ["/proc/", "/.registers", "/roots/", "/file_lists/"];
        found.retain(|path| !own.iter().any(|own| path.contains(own)));
        found.sort();
        Ok(found)
    }

    /// Bytes of all that, and of the log.
    pub(crate) fn disk_bytes(&self) -> Result<u64> {
        let mut paths = self.files()?;
        paths.push(self.master.dir().join("log").display().to_string());
        // What has gone meanwhile takes no room.
        let sizes = paths.iter().filter_map(|path| fs::metadata(path).ok());
        Ok(sizes.map(|about| about.len()).sum())
    }

    /// The processor time that the master has taken, in nanoseconds.
    pub(crate) fn cpu_ns(&mut self) -> Result<i64> {
        let pid = nix::unistd::Pid::from_raw(self.master.daemon().pid()?);
        let clock = nix::time::clock_getcpuclockid(pid)?;
        let time = nix::time::clock_gettime(clock)?;
        Ok(time.tv_sec() * 1_000_000_000 + time.tv_nsec())
    }
}

fn walk(dir: &Path, found: &mut Vec<String>) -> Result<()> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Ok(());
    };
    for entry in entries {
        let path = entry?.path();
        match path.is_dir() {
            true => walk(&path, found)?,
            false => found.push(path.display().to_string()),
        }
    }
    Ok(())
}

/// A value of the tables as it travels.
pub(crate) fn item(value: &Value) -> Item {
    match value {
        Value::Null => Item::Nil,
        Value::Bool(value) => Item::Bool(*value),
        Value::Number(number) => number.as_i64().map_or_else(
            || Item::Float(number.as_f64().unwrap_or_default()),
            |int| Item::Int(int.into()),
        ),
        Value::String(text) => Item::from(text.as_str()),
        Value::Array(list) => Item::List(list.iter().map(item).collect()),
        Value::Object(map) => Item::Map(
            map.iter()
                .map(|(key, value)| (Item::from(key.as_str()), item(value)))
                .collect(),
        ),
    }
}

/// The fields of a row.
pub(crate) fn fields(cmd: &str, json: &str) -> Result<Vec<(String, Item)>> {
    let value: Value = serde_json::from_str(json).with_context(|| json.to_owned())?;
    let map = value.as_object().context("fields that are no map")?;
    let mut fields = vec![("cmd".to_owned(), Item::from(cmd))];
    fields.extend(map.iter().map(|(name, value)| (name.clone(), item(value))));
    Ok(fields)
}

/// What a sign-in comes to.
pub(crate) fn is_session(answer: &SignIn) -> bool {
    matches!(answer, SignIn::Accepted(_))
}

/// The caller must have been let in at the start.
pub(crate) fn check_served(stage: &mut Stage) -> Result<()> {
    let load = [("cmd", Item::from("_file_envs"))];
    stage.renew()?;
    let peer = &stage.accepted;
    let answer = peer
        .who
        .ask(&mut stage.master.connect()?, &peer.session, &load)?;
    ensure!(
        answer == Item::List(vec![Item::from("base")]),
        "unexpected {answer:?}"
    );
    Ok(())
}
