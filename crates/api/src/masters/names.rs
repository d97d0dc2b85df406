//! Resolves the names of other machines.
//!
//! A look-up can hang for half a minute. Invariant: there is one at a time for a
//! name, on a thread of its own, and a caller with an earlier valid address does
//! not wait for it.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::time::timeout;

use crate::limits::{OTHER_NAME_GOOD_FOR, OTHER_NAME_WITHIN};

/// The addresses of one name.
#[derive(Debug)]
pub(super) struct Names {
    host: String,
    port: u16,
    known: Arc<watch::Sender<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    addresses: Vec<SocketAddr>,
    /// When they were found.
    at: Option<Instant>,
    is_looking: bool,
    /// Why the last look-up has found nothing.
    why: Option<String>,
}

impl Known {
    fn is_fresh(&self, within: Duration) -> bool {
        self.at.is_some_and(|at| at.elapsed() < within)
    }
}

impl Names {
    /// The addresses of a name or an address.
    pub(super) fn new(host: &str, port: u16) -> Self {
        Self {
            host: host.to_owned(),
            port,
            known: Arc::new(watch::Sender::new(Known::default())),
        }
    }

    /// The addresses: found now, or those that were good last.
    pub(super) async fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        if let Ok(ip) = self.host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::from((ip, self.port))]);
        }
        let mut news = self.known.subscribe();
        let has_old = {
            let known = news.borrow();
            if known.is_fresh(OTHER_NAME_GOOD_FOR) {
                return Ok(known.addresses.clone());
            }
            !known.addresses.is_empty()
        };
        self.look();
        let ended = news.wait_for(|known| !known.is_looking);
        if has_old {
            // A look-up that takes longer is for who comes later.
            timeout(OTHER_NAME_WITHIN, ended).await.ok();
        } else {
            ended.await.map_err(io::Error::other)?;
        }
        let known = self.known.borrow();
        match (&known.why, known.addresses.is_empty()) {
            (_, false) => Ok(known.addresses.clone()),
            (Some(why), true) => Err(io::Error::other(why.clone())),
            (None, true) => Err(io::Error::other("the name resolves to no address")),
        }
    }

    /// Resolves the name, unless that is being done.
    fn look(&self) {
        let is_first = self.known.send_if_modified(|known| {
            let is_first = !known.is_looking;
            known.is_looking = true;
            is_first
        });
        if !is_first {
            return;
        }
        let (host, port, known) = (self.host.clone(), self.port, Arc::clone(&self.known));
        let looking = thread::Builder::new()
            .name("look-up".to_owned())
            .spawn(move || {
                let found = (host.as_str(), port).to_socket_addrs();
                known.send_modify(|known| known.ended(found.map(Iterator::collect)));
            });
        if let Err(error) = looking {
            self.known.send_modify(|known| known.ended(Err(error)));
        }
    }
}

impl Known {
    fn ended(&mut self, found: io::Result<Vec<SocketAddr>>) {
        self.is_looking = false;
        match found {
            Ok(addresses) if !addresses.is_empty() => {
                self.addresses = addresses;
                self.at = Some(Instant::now());
                self.why = None;
            }
            Ok(_) => self.why = None,
            Err(error) => self.why = Some(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_that_is_not_found_any_more_leads_where_it_led() {
        let names = Names::new("localhost", 80);
        let first = names.addresses().await.unwrap();
        assert!(
            first
                .iter()
                .all(|at| at.ip().is_loopback() && at.port() == 80)
        );
        names.known.send_modify(|known| {
            known.at = None;
            known.ended(Err(io::Error::other("no server of names")));
            // A look-up that hangs.
            known.is_looking = true;
        });
        assert_eq!(names.addresses().await.unwrap(), first);
    }

    #[tokio::test]
    async fn an_address_is_not_looked_up() {
        let names = Names::new("127.0.0.7", 81);
        assert_eq!(
            names.addresses().await.unwrap(),
            [SocketAddr::from(([127, 0, 0, 7], 81))]
        );
        assert!(names.known.borrow().at.is_none());
    }
}
