//! The thread that starts servers.
//!
//! A server gets a signal when its parent dies. To the kernel the parent is the
//! thread that started it, and the thread of a test ends before the servers that
//! several tests share: so one thread starts all of them, and never ends.

use std::io;
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

type Order = (Command, Sender<io::Result<Child>>);

static ORDERS: OnceLock<Mutex<Sender<Order>>> = OnceLock::new();

/// Starts a program that lives as long as this process at most.
pub(crate) fn spawn(command: Command) -> io::Result<Child> {
    let orders = ORDERS.get_or_init(|| {
        let (sender, receiver) = channel::<Order>();
        thread::spawn(move || {
            for (mut command, answer) in receiver {
                let _ = answer.send(command.spawn());
            }
        });
        Mutex::new(sender)
    });
    let (answer, answered) = channel();
    let sent = {
        let orders = orders.lock().unwrap_or_else(PoisonError::into_inner);
        orders.send((command, answer))
    };
    let gone = || io::Error::other("the thread that starts servers is gone");
    sent.map_err(|_| gone())?;
    answered.recv().map_err(|_| gone())?
}
