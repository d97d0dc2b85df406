//! A program beside a master of any kind, which publishes jobs under ids of its own
//! choice.

use std::fs;

use anyhow::{Context, Result};

use crate::master::Master;
use crate::wire::msgpack::Item;
use crate::wire::zmtp::Connection;

/// What a local program publishes, with an id that it gives.
#[derive(Clone, Copy, Debug)]
pub struct LocalJob<'a> {
    /// The id.
    pub jid: &'a str,
    /// A glob.
    pub target: &'a str,
    /// The function.
    pub fun: &'a str,
    /// Its only argument.
    pub arg: &'a str,
}

/// A local program of a master.
#[derive(Debug)]
pub struct LocalProgram {
    connection: Connection,
    key: String,
}

impl LocalProgram {
    /// One of the user who runs this.
    pub fn of(master: &Master) -> Result<Self> {
        let key = fs::read_dir(master.dir().join("cache"))?
            .flatten()
            .map(|entry| entry.path())
            .find(|path| path.to_string_lossy().ends_with("_key"))
            .context("no key of a local user")?;
        Ok(Self {
            connection: master.connect()?,
            key: fs::read_to_string(key)?,
        })
    }

    /// Publishes a job, without waiting for the reply.
    pub fn send(&mut self, job: &LocalJob<'_>) -> Result<()> {
        let load = Item::map([
            ("cmd", "publish".into()),
            ("tgt", job.target.into()),
            ("fun", job.fun.into()),
            ("arg", Item::List(vec![job.arg.into()])),
            ("key", self.key.as_str().into()),
            ("tgt_type", "glob".into()),
            ("ret", "".into()),
            ("jid", job.jid.into()),
            ("kwargs", Item::map([("delimiter", ":".into())])),
            ("user", "root".into()),
        ]);
        let request = Item::map([
            ("enc", Item::from("clear")),
            ("load", load),
            ("version", Item::from(3)),
        ]);
        self.connection.send_request(&request.pack())
    }

    /// The id of the job that was sent, from the reply.
    pub fn jid(&mut self) -> Result<String> {
        let reply = self.connection.receive()?.pop().context("no reply")?;
        let reply = Item::unpack(&reply)?;
        let jid = reply.get("load").and_then(|load| load.get("jid"));
        let jid = jid.and_then(Item::text).context("not published")?;
        Ok(jid.to_owned())
    }

    /// Publishes a job; its id.
    pub fn publish(&mut self, job: &LocalJob<'_>) -> Result<String> {
        self.send(job)?;
        self.jid()
    }
}
