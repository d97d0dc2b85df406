//! Sends requests of jobs: to one master after the other until one answers, and
//! several at the same time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use halite_call::{Ahead, ContextError};
use halite_proto::{Map, Value};
use halite_transport::fleet::RequestError;
use tokio::sync::oneshot;
use tracing::debug;

use crate::context::{context_error, stopping};
use crate::core::sign_in::chain;
use crate::limits::LINK_GONE_AFTER;
use crate::link::channel::{Channel, ChannelError, Patience};
use crate::link::failover::while_linked;
use crate::minion::{Master, Minion};

/// What a job has learnt about the master that it asks first.
#[derive(Debug, Default)]
pub(crate) struct FirstMaster {
    /// Its link was down: no request waits for that again before it is back.
    pub(crate) gone: AtomicBool,
    /// It did not answer in time: requests that others can answer go to them first.
    pub(crate) silent: AtomicBool,
}

impl FirstMaster {
    /// Whether others are asked before it.
    fn is_passed_over(&self) -> bool {
        self.silent.load(Ordering::Relaxed) || self.gone.load(Ordering::Relaxed)
    }
}

/// The masters a request may go to.
#[derive(Clone)]
pub(crate) struct Line {
    minion: Arc<Minion>,
    /// Best first.
    order: Vec<usize>,
    /// Whether masters that have become ready since may be asked too.
    any: bool,
    first: Arc<FirstMaster>,
}

impl Line {
    pub(crate) fn new(
        minion: Arc<Minion>,
        order: Vec<usize>,
        any: bool,
        first: Arc<FirstMaster>,
    ) -> Self {
        Self {
            minion,
            order,
            any,
            first,
        }
    }

    /// Asks one master after the other until one answers; nobody waits for a
    /// master whose link is down while there is another.
    pub(crate) async fn ask<T, F>(
        self,
        mut once: impl FnMut(Channel) -> F,
    ) -> Result<T, ContextError>
    where
        F: Future<Output = Result<T, ChannelError>>,
    {
        let mut last = ContextError::NoMaster;
        let masters = &self.minion.masters;
        let mut asked: Vec<usize> = Vec::with_capacity(masters.len());
        while let Some(index) = self.next(&asked) {
            let at = asked.len();
            asked.push(index);
            let Some(master) = masters.get(index) else {
                continue;
            };
            let others = self.others(&asked);
            let others = others.filter_map(|other| masters.get(other));
            let others = others.map(|other| other.phase.clone()).collect();
            let answer = once(master.channel.clone());
            let linked = while_linked(master.phase.clone(), others, LINK_GONE_AFTER, answer);
            match linked.await {
                Ok(answer) => return Ok(answer),
                Err(error) => {
                    debug!(master = master.name, "request failed: {}", chain(&error));
                    if at == 0 {
                        let is_silent = matches!(
                            error,
                            ChannelError::Request(
                                RequestError::NoAnswer { .. } | RequestError::NotConnected { .. }
                            )
                        );
                        self.first.silent.fetch_or(is_silent, Ordering::Relaxed);
                        let is_gone = !Master::is_ready(master);
                        self.first.gone.fetch_or(is_gone, Ordering::Relaxed);
                    }
                    last = context_error(error);
                }
            }
        }
        Err(last)
    }

    /// Puts the first behind all others, those that have become ready since
    /// included.
    fn pass_over(&mut self) {
        let Some(first) = self.order.first().copied() else {
            return;
        };
        if self.any {
            let ready = self.minion.live_besides(first);
            let new = ready
                .into_iter()
                .filter(|index| !self.order.contains(index));
            let new: Vec<usize> = new.collect();
            self.order.extend(new);
        }
        self.order.retain(|index| *index != first);
        self.order.push(first);
    }

    /// The next master to ask: the next in the line, otherwise one that has become ready
    /// since the line was made.
    fn next(&self, asked: &[usize]) -> Option<usize> {
        let mut line = self.order.iter().copied();
        line.find(|index| !asked.contains(index)).or_else(|| {
            let is_ready = |index: &usize| {
                let master = self.minion.masters.get(*index);
                master.is_some_and(Master::is_ready)
            };
            self.others(asked).find(is_ready)
        })
    }

    /// The masters that may be asked after those.
    fn others<'l>(&'l self, asked: &'l [usize]) -> impl Iterator<Item = usize> + 'l {
        let is_meant = |index: &usize| self.any || self.order.contains(index);
        (0..self.minion.masters.len())
            .filter(is_meant)
            .filter(|index| !asked.contains(index))
    }
}

/// A request, and what a Halite master is asked instead.
pub(crate) struct Wish {
    load: Map,
    beyond: Option<Map>,
    patience: Patience,
}

impl Wish {
    pub(crate) fn new(load: Map, beyond: Option<Map>, patience: Patience) -> Self {
        Self {
            load,
            beyond,
            patience,
        }
    }

    /// Whether any master may answer it.
    pub(crate) fn reads(&self) -> bool {
        is_about_files(&self.load)
    }

    /// Asks what the master understands.
    pub(crate) fn send_to(
        &self,
        channel: Channel,
    ) -> impl Future<Output = Result<Value, ChannelError>> + Send + use<> {
        let load = match &self.beyond {
            Some(beyond) if channel.capabilities().pieces => beyond.clone(),
            _ => self.load.clone(),
        };
        let patience = self.patience;
        async move { channel.request(load, patience).await }
    }
}

/// Requests to the same masters that do not wait for each other.
pub(crate) struct InLine {
    line: Line,
    /// Whether the first master was known to be silent or lost when the order was made.
    was_passed_over: bool,
    asked: VecDeque<oneshot::Receiver<Result<Value, ContextError>>>,
}

impl InLine {
    pub(crate) fn new(line: Line) -> Self {
        Self {
            was_passed_over: line.first.is_passed_over(),
            line,
            asked: VecDeque::new(),
        }
    }
}

impl Ahead for InLine {
    fn ask(&mut self, load: Map, beyond: Option<Map>) {
        if !self.was_passed_over && self.line.first.is_passed_over() {
            // Found out while earlier ones were waited for.
            self.line.pass_over();
            self.was_passed_over = true;
        }
        let wish = Wish::new(load, beyond, self.line.minion.patience);
        let line = self.line.clone();
        let (mut told, answer) = oneshot::channel();
        self.line.minion.runtime.spawn(async move {
            let asked = line.ask(|channel| wish.send_to(channel));
            let answer = tokio::select! {
                answer = asked => answer,
                () = told.closed() => return,
            };
            // Whoever waited may be gone.
            let _ = told.send(answer);
        });
        self.asked.push_back(answer);
    }

    fn answer(&mut self) -> Option<Result<Value, ContextError>> {
        let answer = self.asked.pop_front()?;
        Some(answer.blocking_recv().unwrap_or_else(|_| Err(stopping())))
    }
}

/// Whether a request asks for files that the minion may have itself.
pub(crate) fn is_about_files(load: &Map) -> bool {
    const FILES: &[&str] = &[
        "_dir_list",
        "_file_envs",
        "_file_find",
        "_file_hash",
        "_file_hash_and_stat",
        "_file_list",
        "_file_list_emptydirs",
        "_serve_file",
        "_symlink_list",
    ];
    let command = load.get("cmd").and_then(Value::as_str);
    command.is_some_and(|command| FILES.contains(&command))
}
