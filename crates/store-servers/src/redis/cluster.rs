//! A connection to a cluster: one to each of its servers that takes writes.
//!
//! A command goes to the server that has the slot of its key, and is sent again if
//! the slot has moved. The commands of a pipeline are answered in their order, each
//! by its server. A transaction becomes one for each slot, in the order in which
//! its commands first name them: data that must never be seen half written has one
//! slot.
//!
//! The connections are those of [`Single`], so that TLS and signing in are the same
//! as with one server.

use std::collections::BTreeMap;

use redis::aio::ConnectionLike;
use redis::{Cmd, Pipeline, RedisError, RedisFuture, RedisResult, Value};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::answers::{
    Redirect, fill, first_error, pick, redirect, says_down, unserved, unwrapped, wrapped,
};
use super::single::Single;
use super::slots::{Node, Place, SlotMap, place_of};
use crate::address::{Address, Coverage};
use crate::error::{Failure, with_causes};
use crate::limits::{ABSENT_PAUSE, CLUSTER_NODES_MAX, MOVING_PAUSE, REDIRECTS_MAX};
use crate::members::Members;

/// A connection to a cluster.
pub(super) struct Cluster {
    address: Address,
    slots: SlotMap,
    links: BTreeMap<Node, Single>,
    /// Servers that are done without until a time: they could not be connected to, and
    /// not all slots need one.
    absent: BTreeMap<Node, Instant>,
}

impl Cluster {
    /// Connects to each server that takes writes, which one of those that are named
    /// knows.
    pub(super) async fn connect(address: &Address, members: &Members) -> Result<Self, Failure> {
        let question = async |member: Address| {
            let node = (member.host.clone(), member.port);
            let mut link = Single::connect(&member).await?;
            slots_of(&mut link, &node, member.cluster).await
        };
        let mut cluster = Self {
            address: address.clone(),
            slots: members.ask(address, question).await?,
            links: BTreeMap::new(),
            absent: BTreeMap::new(),
        };
        cluster.connect_to_all().await?;
        Ok(cluster)
    }

    /// A server that is gone and not yet missed by the others is found now, and not by
    /// some commands alone. Where not all slots need a server, one that is there will do.
    async fn connect_to_all(&mut self) -> Result<(), Failure> {
        let nodes = self.slots.nodes().into_iter().cloned();
        let nodes: Vec<Node> = nodes
            .filter(|node| !self.links.contains_key(node) && !self.is_absent(node))
            .collect();
        let mut connecting = JoinSet::new();
        for node in nodes {
            let address = self.address.clone();
            connecting.spawn_local(async move {
                let linked = link_to(&address, &node).await;
                (node, linked)
            });
        }
        let mut failure = Failure::broken("no server of the cluster is known");
        while let Some(joined) = connecting.join_next().await {
            let (node, linked) = joined.map_err(Failure::broken)?;
            match linked {
                Ok(link) => drop(self.links.insert(node, link)),
                Err(why) if self.is_partial() => {
                    self.do_without(node);
                    failure = why;
                }
                Err(why) => return Err(why),
            }
        }
        match self.links.is_empty() {
            true => Err(failure),
            false => Ok(()),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.links.values().all(Single::is_open)
    }

    /// A connection to each server that has keys now, and whether these are all.
    pub(super) async fn servers(&mut self) -> Result<(Vec<Single>, bool), Failure> {
        let known = self.links.iter().next();
        let (node, mut link) = known
            .map(|(node, link)| (node.clone(), link.clone()))
            .ok_or_else(no_server)?;
        self.slots = slots_of(&mut link, &node, self.address.cluster).await?;
        let nodes: Vec<Node> = self.slots.nodes().into_iter().cloned().collect();
        self.links.retain(|node, _| nodes.contains(node));
        self.connect_to_all().await?;
        let is_complete = self.slots.is_whole() && self.links.len() == nodes.len();
        Ok((self.links.values().cloned().collect(), is_complete))
    }

    fn is_partial(&self) -> bool {
        self.address.cluster == Some(Coverage::Partial)
    }

    fn is_absent(&self, node: &Node) -> bool {
        let until = self.absent.get(node);
        until.is_some_and(|until| Instant::now() < *until)
    }

    fn do_without(&mut self, node: Node) {
        let now = Instant::now();
        self.absent.retain(|_, until| now < *until);
        self.absent.insert(node, now + ABSENT_PAUSE);
    }

    /// The server that is asked for a slot. Where its own is missing another one is, which
    /// may know of a new one.
    fn node_of(&self, slot: u16) -> RedisResult<Node> {
        let own = self.slots.node(slot).filter(|node| !self.is_absent(node));
        let any = || self.links.keys().next();
        own.or_else(any).cloned().ok_or_else(no_server)
    }

    async fn link(&mut self, node: &Node) -> RedisResult<&mut Single> {
        if !self.links.contains_key(node) {
            if self.is_absent(node) {
                return Err(no_server());
            }
            if self.links.len() >= CLUSTER_NODES_MAX {
                return Err(std::io::Error::other("the cluster has too many servers").into());
            }
            match link_to(&self.address, node).await {
                Ok(link) => drop(self.links.insert(node.clone(), link)),
                Err(why) if self.is_partial() => {
                    self.do_without(node.clone());
                    return Err(unserved(with_causes(&why)));
                }
                Err(why) => return Err(std::io::Error::other(why).into()),
            }
        }
        self.links.get_mut(node).ok_or_else(no_server)
    }

    /// Sends commands to one server; an error is an answer like others.
    async fn send(&mut self, node: &Node, commands: Pipeline) -> RedisResult<Vec<Value>> {
        let is_partial = self.is_partial();
        let link = self.link(node).await?;
        let answers = link
            .req_packed_commands(&commands, 0, commands.len())
            .await?;
        match says_down(&answers).filter(|_| is_partial) {
            Some(down) => Err(unserved(down)),
            None => Ok(answers),
        }
    }

    async fn one(&mut self, command: &Cmd) -> RedisResult<Value> {
        match place_of(command) {
            Place::Slot(slot) => {
                let mut answers = self.at_slot(slot, &[command], false).await?;
                answers.pop().ok_or_else(no_server)
            }
            Place::Anywhere => {
                let link = self.links.values_mut().next().ok_or_else(no_server)?;
                link.req_packed_command(command).await
            }
            Place::Everywhere => {
                let mut answer = Err(no_server());
                for link in self.links.values_mut() {
                    answer = link.req_packed_command(command).await;
                    if answer.is_err() {
                        break;
                    }
                }
                answer
            }
        }
    }

    /// One command, or a transaction, of one slot: where that is, and where it has
    /// gone. A server that redirects has done none of it.
    async fn at_slot(
        &mut self,
        slot: u16,
        commands: &[&Cmd],
        is_transaction: bool,
    ) -> RedisResult<Vec<Value>> {
        let mut node = self.node_of(slot)?;
        let mut is_asking = false;
        let mut refused = no_server();
        for _ in 0..REDIRECTS_MAX {
            let sent = wrapped(commands, is_asking, is_transaction);
            let mut answers = self.send(&node, sent).await?;
            let redirected = answers.iter().find_map(|answer| redirect(answer, &node.0));
            let Some((redirect, error)) = redirected else {
                return unwrapped(&mut answers, is_transaction);
            };
            refused = unserved(error);
            match redirect {
                Redirect::Moved { slot, node: now } => {
                    is_asking = false;
                    self.slots.note_moved(slot, now.clone());
                    node = now;
                }
                Redirect::Ask(now) => {
                    is_asking = true;
                    node = now;
                }
                // To the same server, as before.
                Redirect::TryAgain => sleep(MOVING_PAUSE).await,
            }
        }
        Err(refused)
    }

    /// A transaction for each slot. None follows one that was refused, or in which
    /// something was.
    async fn transactions(&mut self, pipeline: &Pipeline) -> RedisResult<Vec<Value>> {
        let commands: Vec<&Cmd> = pipeline.cmd_iter().collect();
        let mut slots: Vec<(u16, Vec<usize>)> = Vec::new();
        for (number, command) in commands.iter().enumerate() {
            let slot = slot_for(command);
            match slots.iter_mut().find(|(known, _)| *known == slot) {
                Some((_, numbers)) => numbers.push(number),
                None => slots.push((slot, vec![number])),
            }
        }
        let mut all = vec![Value::Nil; commands.len()];
        for (slot, numbers) in slots {
            let picked: Vec<&Cmd> = pick(&commands, &numbers);
            let is_transaction = picked.len() > 1;
            let answers = self.at_slot(slot, &picked, is_transaction).await?;
            if let Some(refused) = first_error(&answers) {
                return Err(refused);
            }
            fill(&mut all, &numbers, answers);
        }
        Ok(vec![Value::Array(all)])
    }

    /// All commands of one server together.
    async fn many(&mut self, pipeline: &Pipeline) -> RedisResult<Vec<Value>> {
        let commands: Vec<&Cmd> = pipeline.cmd_iter().collect();
        let mut nodes: BTreeMap<Node, Vec<usize>> = BTreeMap::new();
        for (number, command) in commands.iter().enumerate() {
            let node = self.node_of(slot_for(command))?;
            nodes.entry(node).or_default().push(number);
        }
        let mut all = vec![Value::Nil; commands.len()];
        for (node, numbers) in nodes {
            let sent = wrapped(&pick(&commands, &numbers), false, false);
            let mut answers = self.send(&node, sent).await?;
            for (answer, number) in answers.iter_mut().zip(&numbers) {
                if redirect(answer, &node.0).is_some()
                    && let Some(command) = commands.get(*number)
                {
                    *answer = self.one(command).await?;
                }
            }
            fill(&mut all, &numbers, answers);
        }
        Ok(all)
    }
}

impl ConnectionLike for Cluster {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move { self.one(command).await?.extract_error() })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        commands: &'a Pipeline,
        _offset: usize,
        _count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move {
            match commands.is_transaction() {
                true => self.transactions(commands).await,
                false => self.many(commands).await,
            }
        })
    }

    /// A cluster has one database.
    fn get_db(&self) -> i64 {
        0
    }
}

/// A command without a key goes where the first slot is.
fn slot_for(command: &Cmd) -> u16 {
    match place_of(command) {
        Place::Slot(slot) => slot,
        Place::Anywhere | Place::Everywhere => 0,
    }
}

fn no_server() -> RedisError {
    unserved("no server that can be reached has the slot of the key")
}

/// One that does not answer must not take the time in which others would.
async fn link_to(address: &Address, (host, port): &Node) -> Result<Single, Failure> {
    let mut node = address.clone();
    (node.host, node.port) = (host.clone(), *port);
    let limit = address.connect_limit / 2;
    let connected = timeout(limit, Single::connect(&node)).await;
    connected.unwrap_or(Err(Failure::Unreached { limit }))
}

/// Where a server says that the slots are, if it takes the cluster to be in order.
async fn slots_of(
    link: &mut Single,
    node: &Node,
    coverage: Option<Coverage>,
) -> Result<SlotMap, Failure> {
    let mut ask = redis::cmd("CLUSTER");
    let state: String = ask.arg("INFO").query_async(link).await?;
    if !state.lines().any(|line| line.trim() == "cluster_state:ok") {
        let (host, port) = node;
        let why = format!("{host}:{port} says that the cluster is down");
        return Err(Failure::broken(why));
    }
    let mut ask = redis::cmd("CLUSTER");
    let answer: Value = ask.arg("SLOTS").query_async(link).await?;
    let slots = SlotMap::read(&answer, &node.0)?;
    if coverage == Some(Coverage::Full) && !slots.is_whole() {
        return Err(Failure::broken("some slots of the cluster have no server"));
    }
    Ok(slots)
}
