//! How our master treats requests that no honest peer sends: each is refused as
//! real Salt refuses it, and the next good request is served.

mod envelopes;
mod floods;
mod rights;

use anyhow::{Result, ensure};
use halite_integration_tests::wire::msgpack::Item;
use halite_integration_tests::wire::stand_in::{Session, StandIn};
use halite_integration_tests::{Fleet, Kind, Master};

struct Target {
    master: Master,
    honest: StandIn,
    session: Session,
    _fleet: Fleet,
}

impl Target {
    fn start() -> Result<Self> {
        Self::with(&[])
    }

    fn with(options: &[(&str, i64)]) -> Result<Self> {
        let fleet = Fleet::new("bad")?;
        let plan = fleet
            .master("m1", Kind::Ours)
            .auto_accept()
            .file("served", "a file");
        let master = options
            .iter()
            .fold(plan, |plan, (name, value)| plan.set(name, *value))
            .start()?;
        let honest = StandIn::new("honest")?;
        let session = honest.must_sign_in(&mut master.connect()?)?;
        Ok(Self {
            master,
            honest,
            session,
            _fleet: fleet,
        })
    }

    /// A request of the honest minion is served.
    fn check_serves(&self) -> Result<()> {
        let load = [
            ("cmd", Item::from("_file_hash")),
            ("path", Item::from("served")),
            ("saltenv", Item::from("base")),
        ];
        let reply = self
            .honest
            .ask(&mut self.master.connect()?, &self.session, &load)?;
        ensure!(reply.get("hsum").is_some(), "a good request got {reply:?}");
        Ok(())
    }

    fn ask(&self, bytes: &[u8]) -> Result<Item> {
        Item::unpack(&self.master.connect()?.ask(bytes)?)
    }

    fn check_refused(&self, what: &str, request: &Item, wanted: &str) -> Result<()> {
        let reply = self.ask(&request.pack())?;
        ensure!(
            reply.text() == Some(wanted),
            "{what} got {reply:?} instead of {wanted:?}"
        );
        Ok(())
    }
}

/// The envelope of `request` with one field replaced or, with nothing, removed.
fn altered(request: &Item, field: &str, value: Option<Item>) -> Item {
    let Item::Map(entries) = request else {
        return request.clone();
    };
    let mut entries = entries.clone();
    entries.retain(|(name, _)| name.text() != Some(field));
    if let Some(value) = value {
        entries.push((Item::from(field), value));
    }
    Item::Map(entries)
}
