//! The channel between the run and its driver: the run asks for an effect and is
//! suspended until the driver answers.
//!
//! Invariant: one effect is open at a time; a run that is polled without an
//! answer stays where it is.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::Poll;

use halite_proto::{Map, Value};

use super::effect::{Effect, Fault, Gate, Moment, Patience, Reply, Returned, StateCall};

/// One end of the meeting point; both sides hold one.
#[derive(Clone, Default)]
pub(super) struct Port(Rc<Slots>);

#[derive(Default)]
struct Slots {
    asked: RefCell<Option<Effect>>,
    reply: RefCell<Option<Reply>>,
    now: Cell<Moment>,
}

impl Port {
    // The side of the world.

    pub(super) fn take_asked(&self) -> Option<Effect> {
        self.0.asked.borrow_mut().take()
    }

    pub(super) fn put_reply(&self, reply: Reply) {
        *self.0.reply.borrow_mut() = Some(reply);
    }

    pub(super) fn set_now(&self, now: Moment) {
        self.0.now.set(now);
    }

    // The side of the run.

    pub(super) fn now(&self) -> Moment {
        self.0.now.get()
    }

    fn ask(&self, effect: Effect) -> impl Future<Output = Reply> {
        let slots = Rc::clone(&self.0);
        let mut effect = Some(effect);
        poll_fn(move |_| {
            if let Some(effect) = effect.take() {
                *slots.asked.borrow_mut() = Some(effect);
                return Poll::Pending;
            }
            match slots.reply.borrow_mut().take() {
                Some(reply) => Poll::Ready(reply),
                None => Poll::Pending,
            }
        })
    }

    pub(super) async fn call(&self, call: StateCall) -> Result<Value, String> {
        state_reply(self.ask(Effect::Call(Box::new(call))).await)
    }

    pub(super) async fn start(&self, call: StateCall) {
        self.ask(Effect::Start(Box::new(call))).await;
    }

    pub(super) async fn collect(
        &self,
        tags: Vec<String>,
        patience: Patience,
    ) -> Vec<(String, Map)> {
        match self.ask(Effect::Collect { tags, patience }).await {
            Reply::Collected(results) => results,
            _ => Vec::new(),
        }
    }

    pub(super) async fn serve(
        &self,
        fun: String,
        args: Vec<Value>,
        low: Map,
    ) -> Result<Value, String> {
        state_reply(self.ask(Effect::Serve { fun, args, low }).await)
    }

    pub(super) async fn salt(
        &self,
        fun: &str,
        args: Vec<Value>,
        kwargs: Map,
    ) -> Result<Returned, Fault> {
        let fun = fun.to_owned();
        match self.ask(Effect::Salt { fun, args, kwargs }).await {
            Reply::Salt(answer) => answer,
            other => Err(Fault {
                command: false,
                trace: misfit(&other),
            }),
        }
    }

    pub(super) async fn exists(&self, path: &str) -> bool {
        self.ask(Effect::Exists(path.to_owned())).await == Reply::Yes(true)
    }

    pub(super) async fn matches(&self, expression: &str) -> bool {
        self.ask(Effect::Matches(expression.to_owned())).await == Reply::Yes(true)
    }

    pub(super) async fn sleep(&self, seconds: u64, splay: u64) -> u64 {
        match self.ask(Effect::Sleep { seconds, splay }).await {
            Reply::Waited(seconds) => seconds,
            _ => seconds,
        }
    }

    pub(super) async fn tell(&self, effect: Effect) {
        self.ask(effect).await;
    }

    pub(super) async fn may_go_on(&self, id: &str) -> bool {
        self.ask(Effect::Gate(id.to_owned())).await != Reply::Gate(Gate::Killed)
    }
}

fn state_reply(reply: Reply) -> Result<Value, String> {
    match reply {
        Reply::State(answer) => answer,
        other => Err(misfit(&other)),
    }
}

fn misfit(reply: &Reply) -> String {
    format!("the answer is of another kind than the question: {reply:?}")
}
