//! A connection to a cluster: one to each of its servers that takes writes.
//!
//! A command goes to the server that has the slot of its key, and after it if that
//! has moved. The commands of a pipeline are answered in their order, each by its
//! server. A transaction is one for each slot, in the order in which its commands
//! first name them: what must not be seen by halves has one slot.
//!
//! The connections are those of [`Single`], so that TLS and signing in are the same
//! as with one server.

use std::collections::BTreeMap;

use redis::aio::ConnectionLike;
use redis::{
    Cmd, ErrorKind, Pipeline, RedisError, RedisFuture, RedisResult, ServerErrorKind, Value,
};
use tokio::time::{sleep, timeout};

use super::single::Single;
use super::slots::{Node, Place, SlotMap, named_node, place_of};
use crate::address::{Address, Coverage};
use crate::error::Failure;
use crate::limits::{CLUSTER_NODE_TIME, MOVING_PAUSE, REDIRECTS_MAX};

/// A connection to a cluster.
pub(super) struct Cluster {
    address: Address,
    slots: SlotMap,
    links: BTreeMap<Node, Single>,
}

/// What a server says of a command that it does not do.
enum Redirect {
    /// Its slot is on another server from now on.
    Moved { slot: u16, node: Node },
    /// Its key is on another server already.
    Ask(Node),
    /// Its keys are on both.
    TryAgain,
}

impl Cluster {
    /// Connects to each server that takes writes, which one of those that are named
    /// knows.
    pub(super) async fn connect(address: &Address) -> Result<Self, Failure> {
        let first = (address.host.clone(), address.port);
        let mut failure = None;
        for node in [first].iter().chain(&address.members) {
            let asked = timeout(CLUSTER_NODE_TIME, slots_of(address, node)).await;
            let limit = CLUSTER_NODE_TIME;
            match asked.unwrap_or(Err(Failure::Unreached { limit })) {
                Ok(slots) => return Self::connect_to_all(address, slots).await,
                Err(why) => failure = Some(why),
            }
        }
        Err(failure.unwrap_or_else(|| Failure::Refused("no server is named".to_owned())))
    }

    /// A server that is gone and not yet missed by the others is found now, and not by
    /// some commands alone.
    async fn connect_to_all(address: &Address, slots: SlotMap) -> Result<Self, Failure> {
        let mut links = BTreeMap::new();
        for node in slots.nodes() {
            let limit = CLUSTER_NODE_TIME;
            let connected = timeout(limit, link_to(address, node)).await;
            let link = connected.unwrap_or(Err(Failure::Unreached { limit }))?;
            links.insert(node.clone(), link);
        }
        Ok(Self {
            address: address.clone(),
            slots,
            links,
        })
    }

    pub(super) fn is_open(&self) -> bool {
        self.links.values().all(Single::is_open)
    }

    /// A connection to each server.
    pub(super) fn servers(&self) -> Vec<Single> {
        self.links.values().cloned().collect()
    }

    async fn link(&mut self, node: &Node) -> RedisResult<&mut Single> {
        if !self.links.contains_key(node) {
            let link = link_to(&self.address, node).await;
            let link = link.map_err(std::io::Error::other)?;
            self.links.insert(node.clone(), link);
        }
        self.links.get_mut(node).ok_or_else(no_server)
    }

    /// Sends commands to one server; an error is an answer like others.
    async fn send(&mut self, node: &Node, commands: Pipeline) -> RedisResult<Vec<Value>> {
        let link = self.link(node).await?;
        link.req_packed_commands(&commands, 0, commands.len()).await
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
        let mut node = self.slots.node(slot).cloned().ok_or_else(no_server)?;
        let mut is_asking = false;
        let mut refused = no_server();
        for _ in 0..REDIRECTS_MAX {
            let sent = wrapped(commands, is_asking, is_transaction);
            let mut answers = self.send(&node, sent).await?;
            let redirected = answers.iter().find_map(|answer| redirect(answer, &node.0));
            let Some((redirect, error)) = redirected else {
                return unwrapped(&mut answers, is_transaction);
            };
            refused = error;
            is_asking = false;
            match redirect {
                Redirect::Moved { slot, node: now } => {
                    self.slots.note_moved(slot, now.clone());
                    node = now;
                }
                Redirect::Ask(now) => {
                    is_asking = true;
                    node = now;
                }
                Redirect::TryAgain => sleep(MOVING_PAUSE).await,
            }
        }
        Err(refused)
    }

    /// A transaction for each slot.
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
            fill(&mut all, &numbers, answers);
        }
        Ok(vec![Value::Array(all)])
    }

    /// All commands of one server together.
    async fn many(&mut self, pipeline: &Pipeline) -> RedisResult<Vec<Value>> {
        let commands: Vec<&Cmd> = pipeline.cmd_iter().collect();
        let mut nodes: BTreeMap<Node, Vec<usize>> = BTreeMap::new();
        for (number, command) in commands.iter().enumerate() {
            let node = self.slots.node(slot_for(command));
            let node = node.cloned().ok_or_else(no_server)?;
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

/// The commands that are sent to one server.
fn wrapped(commands: &[&Cmd], is_asking: bool, is_transaction: bool) -> Pipeline {
    let mut sent = redis::pipe();
    if is_asking {
        sent.cmd("ASKING");
    }
    if is_transaction {
        sent.cmd("MULTI");
    }
    for command in commands {
        sent.add_command((*command).clone());
    }
    if is_transaction {
        sent.cmd("EXEC");
    }
    sent
}

/// What the commands gave, of all that was answered.
fn unwrapped(answers: &mut Vec<Value>, is_transaction: bool) -> RedisResult<Vec<Value>> {
    let last = answers.pop().ok_or_else(no_server)?;
    if !is_transaction {
        return Ok(vec![last]);
    }
    // Why it was given up says more than that it was.
    for answer in answers.drain(..) {
        answer.extract_error()?;
    }
    match last {
        Value::Array(answers) => Ok(answers),
        other => {
            other.extract_error()?;
            Err((ErrorKind::UnexpectedReturnType, "EXEC gives no list").into())
        }
    }
}

fn redirect(answer: &Value, asked: &str) -> Option<(Redirect, RedisError)> {
    let Value::ServerError(error) = answer else {
        return None;
    };
    let kind = error.kind()?;
    let error = RedisError::from(error.clone());
    let to = || {
        let (node, slot) = error.redirect_node()?;
        Some((named_node(node, asked)?, slot))
    };
    let redirect = match kind {
        ServerErrorKind::Moved => {
            let (node, slot) = to()?;
            Redirect::Moved { slot, node }
        }
        ServerErrorKind::Ask => Redirect::Ask(to()?.0),
        ServerErrorKind::TryAgain => Redirect::TryAgain,
        _ => return None,
    };
    Some((redirect, error))
}

/// A command without a key goes where the first slot is.
fn slot_for(command: &Cmd) -> u16 {
    match place_of(command) {
        Place::Slot(slot) => slot,
        Place::Anywhere | Place::Everywhere => 0,
    }
}

fn pick<'c>(commands: &[&'c Cmd], numbers: &[usize]) -> Vec<&'c Cmd> {
    let picked = numbers.iter().filter_map(|number| commands.get(*number));
    picked.copied().collect()
}

fn fill(all: &mut [Value], numbers: &[usize], answers: Vec<Value>) {
    for (number, answer) in numbers.iter().zip(answers) {
        if let Some(place) = all.get_mut(*number) {
            *place = answer;
        }
    }
}

/// Nobody has the slot: the cluster is not whole.
fn no_server() -> RedisError {
    std::io::Error::other("no server of the cluster has the slot of the key").into()
}

async fn link_to(address: &Address, (host, port): &Node) -> Result<Single, Failure> {
    let mut node = address.clone();
    (node.host, node.port) = (host.clone(), *port);
    Single::connect(&node).await
}

/// Where a server says that the slots are, if it takes the cluster to be in order.
async fn slots_of(address: &Address, node: &Node) -> Result<SlotMap, Failure> {
    let mut link = link_to(address, node).await?;
    let mut ask = redis::cmd("CLUSTER");
    let state: String = ask.arg("INFO").query_async(&mut link).await?;
    if !state.lines().any(|line| line.trim() == "cluster_state:ok") {
        return Err(Failure::broken(format!(
            "{}:{} says that the cluster is down",
            node.0, node.1
        )));
    }
    let mut ask = redis::cmd("CLUSTER");
    let answer: Value = ask.arg("SLOTS").query_async(&mut link).await?;
    let slots = SlotMap::read(&answer, &node.0)?;
    if address.cluster == Some(Coverage::Full) && !slots.is_whole() {
        return Err(Failure::broken("some slots of the cluster have no server"));
    }
    Ok(slots)
}
