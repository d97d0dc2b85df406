//! The run of a state tree: from ordered chunks to results.
//!
//! [`Run`] is a state machine without effects: [`Run::next`] returns the next
//! effect to perform, [`Run::answer`] takes its result, and between the two nothing
//! happens. Inside, the run is an async function that is suspended at its [`port`]
//! while an effect is open.
//!
//! Invariant: nothing here reads a clock, a file or the network, nor calls a
//! function.

mod after_result;
mod beacons;
mod beside;
mod bind;
mod call;
mod conditions;
mod effect;
mod listen;
mod machine;
mod options;
mod port;
mod react;
mod record;
mod result;
mod retry;
mod serve;
mod slots;
mod verdict;

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use halite_proto::{Map, Value};

use crate::low::Low;

pub use beside::{Attempts, BESIDE_MAX};
pub use bind::verify;
pub use effect::{
    Effect, Fault, Gate, Moment, Patience, Position, Renew, Reply, Returned, StateCall, Step,
};
pub use options::{Functions, Parameters, RunOptions};
pub use record::milliseconds;
pub use result::{Handlers, is_success};
pub use retry::Retry;

use machine::Machine;
use port::Port;

/// A run.
pub struct Run {
    port: Port,
    story: Pin<Box<dyn Future<Output = Map>>>,
    open: bool,
    done: bool,
}

impl Run {
    /// A run of these chunks, to its end: all turns, then what listens, then
    /// beacons.
    pub fn new(low: Low, options: RunOptions, functions: Rc<dyn Functions>) -> Self {
        let Low {
            chunks,
            order,
            graph,
            disabled,
            ..
        } = low;
        Self::start(
            options,
            functions,
            move |port, options, functions| async move {
                let mut machine = Machine::new(port, functions, options, chunks, graph);
                machine.number = u64::try_from(disabled.len()).unwrap_or_default();
                machine.carry_out(&order).await;
                let mut results = disabled;
                if machine.ended {
                    // What ends a run early ends it without the disabled ones.
                    results = Map::new();
                }
                machine.listen(&order).await;
                machine.beacons(&order).await;
                results.extend(
                    machine
                        .results
                        .into_iter()
                        .map(|(tag, record)| (tag, Value::Map(record))),
                );
                results
            },
        )
    }

    /// A run of the chunks with this id alone, and of what they depend on
    /// (`state.sls_id`).
    pub fn of_id(low: Low, id: &str, options: RunOptions, functions: Rc<dyn Functions>) -> Self {
        let mut low = low;
        let chunks = std::mem::take(&mut low.chunks);
        low.order
            .retain(|turn| chunks.get(turn.chunk).is_some_and(|chunk| chunk.id() == id));
        low.chunks = chunks;
        low.disabled = Map::new();
        Self::start(
            options,
            functions,
            move |port, options, functions| async move {
                let mut machine = Machine::new(port, functions, options, low.chunks, low.graph);
                machine.carry_out(&low.order).await;
                machine
                    .results
                    .into_iter()
                    .map(|(tag, record)| (tag, Value::Map(record)))
                    .collect()
            },
        )
    }

    fn start<F: Future<Output = Map> + 'static>(
        options: RunOptions,
        functions: Rc<dyn Functions>,
        story: impl FnOnce(Port, RunOptions, Rc<dyn Functions>) -> F,
    ) -> Self {
        let port = Port::default();
        Self {
            story: Box::pin(story(port.clone(), options, functions)),
            port,
            open: false,
            done: false,
        }
    }

    /// Goes on until something is needed of the world, or to the end. The
    /// results are given once.
    pub fn next(&mut self, now: Moment) -> Step {
        if self.open || self.done {
            return Step::Waiting;
        }
        self.port.set_now(now);
        let mut context = Context::from_waker(Waker::noop());
        match self.story.as_mut().poll(&mut context) {
            Poll::Ready(results) => {
                self.done = true;
                Step::Done(results)
            }
            Poll::Pending => match self.port.take_asked() {
                Some(effect) => {
                    self.open = true;
                    Step::Do(effect)
                }
                None => Step::Waiting,
            },
        }
    }

    /// Tells what came of the effect.
    pub fn answer(&mut self, reply: Reply) {
        self.open = false;
        self.port.put_reply(reply);
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run")
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
