//! Accepts masters that want to join.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use halite_cluster::join::{Asks, Gate, Heard, Link, Member, Refusal};
use halite_mesh::{Conversation, JoinLink, Joins, Turn};
use halite_proto::msgpack::unpack_modern;
use halite_transport::fleet::Origin;

use super::KeyRegisters;
use crate::cluster::joining::packed;
use crate::error::chain;

/// Answers masters that want to join.
pub(crate) struct JoinAcceptor {
    registers: Arc<KeyRegisters>,
    gate: Arc<Mutex<Gate<Origin>>>,
}

impl JoinAcceptor {
    /// One for the cluster of these registers. Making its secret ready takes a
    /// tenth of a second.
    pub(crate) fn new(registers: Arc<KeyRegisters>) -> Self {
        registers.parts.cluster.secret.proofs();
        Self {
            registers,
            gate: Arc::new(Mutex::new(Gate::new(Instant::now()))),
        }
    }
}

impl Joins for JoinAcceptor {
    fn begin(&self, from: SocketAddr, link: JoinLink) -> Box<dyn Conversation> {
        if !lock(&self.gate).admits(&Origin::of(Some(from.ip())), Instant::now()) {
            tracing::debug!(%from, "refused a join: too many have failed");
            return Box::new(Refused);
        }
        let cluster = &self.registers.parts.cluster;
        let link = Link {
            joiner_key: link.other_key,
            member_key: link.own_key,
            binding: link.binding,
        };
        let key_text = format!("{}\n", cluster.identity.public_pem().trim_end());
        let member = Member::new(
            self.registers.me.clone(),
            cluster.identity.private().clone(),
            key_text,
            cluster.secret.proofs(),
            cluster.settings.id.clone(),
            link,
        );
        Box::new(Applicant {
            from,
            member,
            registers: Arc::clone(&self.registers),
            gate: Arc::clone(&self.gate),
            is_proven: false,
        })
    }
}

/// A joining master that is refused because too many have failed. Its messages cost
/// nothing.
struct Refused;

impl Conversation for Refused {
    fn heard(&mut self, _: &[u8]) -> Turn {
        match Member::refuse(Refusal::Busy) {
            Heard::Refuse(_, value) => Turn::Last(packed(&value)),
            Heard::Say(_) | Heard::Proven(_) => Turn::End,
        }
    }
}

/// A joining master.
struct Applicant {
    from: SocketAddr,
    member: Member,
    registers: Arc<KeyRegisters>,
    gate: Arc<Mutex<Gate<Origin>>>,
    /// A joining master that knows the secret has not failed: it may ask again at once,
    /// for instance while this master does not have the cluster's keys itself yet.
    is_proven: bool,
}

impl Conversation for Applicant {
    fn heard(&mut self, message: &[u8]) -> Turn {
        // What cannot be unpacked is no message of a join either.
        let value = unpack_modern(message).unwrap_or_default();
        match self.member.heard(value) {
            Ok(Heard::Say(value)) => Turn::Say(packed(&value)),
            Ok(Heard::Refuse(refusal, value)) => self.refuse(refusal, &value),
            Ok(Heard::Proven(asks)) => {
                self.is_proven = true;
                self.take_in(&asks)
            }
            Err(error) => {
                tracing::debug!(from = %self.from, "a join failed: {}", chain(&error));
                Turn::End
            }
        }
    }
}

impl Applicant {
    fn take_in(&self, asks: &Asks) -> Turn {
        let welcome = match self.registers.admit(asks) {
            Ok(admission) => self.member.welcome(&admission.to_value()),
            Err(refusal) => return self.refused(refusal),
        };
        match welcome {
            Ok(value) => {
                tracing::info!(peer = %asks.id, from = %self.from, "added a master to the cluster");
                Turn::Last(packed(&value))
            }
            Err(error) => {
                tracing::error!(
                    peer = %asks.id,
                    "could not answer a master that joins: {}",
                    chain(&error)
                );
                self.refused(Refusal::Failed)
            }
        }
    }

    fn refused(&self, refusal: Refusal) -> Turn {
        match Member::refuse(refusal) {
            Heard::Refuse(refusal, value) => self.refuse(refusal, &value),
            Heard::Say(_) | Heard::Proven(_) => Turn::End,
        }
    }

    fn refuse(&self, refusal: Refusal, value: &halite_proto::Value) -> Turn {
        tracing::warn!(from = %self.from, "refused a join: {refusal}");
        Turn::Last(packed(value))
    }
}

impl Drop for Applicant {
    fn drop(&mut self) {
        if !self.is_proven {
            lock(&self.gate).failed(Origin::of(Some(self.from.ip())));
        }
    }
}

fn lock(gate: &Mutex<Gate<Origin>>) -> MutexGuard<'_, Gate<Origin>> {
    gate.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use halite_cluster::PeerId;
    use halite_cluster::join::{JoinError, Joiner};
    use halite_crypto::{PrivateKey, Secret, SharedSecret};

    use super::*;

    #[test]
    fn whoever_comes_while_the_gate_is_shut_is_told_so() {
        let link = Link {
            joiner_key: "ours".to_owned(),
            member_key: "theirs".to_owned(),
            binding: vec![1; 32],
        };
        let secret = SharedSecret::new(&Secret::new("a secret".to_owned()), "test");
        let (mut joiner, hello) = Joiner::begin(
            PeerId::parse("m4").unwrap(),
            PrivateKey::generate(2048).unwrap(),
            secret.unwrap(),
            "c".to_owned(),
            "10.0.0.4".to_owned(),
            None,
            link,
        );
        let Turn::Last(said) = Refused.heard(&packed(&hello)) else {
            panic!("it is not the last word");
        };
        let heard = joiner.heard(unpack_modern(&said).unwrap());
        assert!(matches!(heard, Err(JoinError::Refused(Refusal::Busy))));
    }
}
