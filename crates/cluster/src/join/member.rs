//! The side of a member that another master asks to join.

use halite_crypto::{Crypticle, EncAlgo, PrivateKey, PublicKey, SharedSecret, SymmetricKey};
use halite_proto::Value;
use halite_proto::msgpack::pack_modern;

use super::messages::{Message, Refusal};
use super::{JoinError, Link, Side, Transcript, nonce};
use crate::encoding::expected;
use crate::peer::PeerId;

/// A master that has proven that it may join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asks {
    /// Its name.
    pub id: PeerId,
    /// Its public key, PEM.
    pub key: String,
    /// Where it is reached.
    pub address: String,
}

/// What a member does next.
#[derive(Debug)]
pub enum Heard {
    /// Send this.
    Say(Value),
    /// Send this and end the link.
    Refuse(Refusal, Value),
    /// Take this master in and call [`Member::welcome`], or [`Member::refuse`].
    Proven(Asks),
}

/// A join under way, as a member sees it.
pub struct Member {
    me: PeerId,
    cluster_key: PrivateKey,
    cluster_key_text: String,
    secret: Option<SharedSecret>,
    cluster_id: String,
    link: Link,
    asked: Option<Transcript>,
}

impl Member {
    /// A member that listens to a joiner. `cluster_key` is the pair of the
    /// cluster, `cluster_key_text` its public half as minions see it.
    pub fn new(
        me: PeerId,
        cluster_key: PrivateKey,
        cluster_key_text: String,
        secret: Option<SharedSecret>,
        cluster_id: String,
        link: Link,
    ) -> Self {
        Self {
            me,
            cluster_key,
            cluster_key_text,
            secret,
            cluster_id,
            link,
            asked: None,
        }
    }

    /// Takes what the joiner says. Until it has said its proof, that costs
    /// nothing; the proof costs one use of the cluster's key.
    ///
    /// # Errors
    /// When it says something that does not belong there.
    pub fn heard(&mut self, value: Value) -> Result<Heard, JoinError> {
        match (Message::from_value(value)?, &self.asked) {
            (
                Message::Hello {
                    cluster_id,
                    joiner,
                    address,
                    nonce,
                },
                None,
            ) => Ok(self.ask(&cluster_id, joiner, address, nonce)),
            (Message::Proof(sealed), Some(_)) => Ok(self.judge(&sealed)),
            (Message::Refused(Refusal::OtherVersion), _) => Ok(Self::refuse(Refusal::OtherVersion)),
            _ => Err(expected("question of a joiner").into()),
        }
    }

    /// The last message: what the joiner is given, with this side's own proof.
    ///
    /// # Errors
    /// When the joiner's key cannot be used.
    pub fn welcome(&self, given: &Value) -> Result<Value, JoinError> {
        let (Some(transcript), Some(secret)) = (&self.asked, &self.secret) else {
            return Err(expected("proof of a joiner").into());
        };
        let proof = transcript.prove(Side::Member, secret);
        let key = SymmetricKey::generate();
        let joiner = PublicKey::from_pem(&self.link.joiner_key)?;
        let payload = pack_modern(given).map_err(|_| expected("admission that can be packed"))?;
        let welcome = Message::Welcome {
            proof: proof.to_vec(),
            key: joiner.encrypt(EncAlgo::OaepSha224, key.expose().as_bytes())?,
            sealed: Crypticle::new(&key).seal(&payload, Some(&proof)),
        };
        Ok(welcome.to_value())
    }

    /// Refuses.
    pub fn refuse(refusal: Refusal) -> Heard {
        Heard::Refuse(refusal, Message::Refused(refusal).to_value())
    }

    fn ask(
        &mut self,
        cluster_id: &str,
        joiner: PeerId,
        address: String,
        joiner_nonce: Vec<u8>,
    ) -> Heard {
        if self.secret.is_none() {
            return Self::refuse(Refusal::NoSecret);
        }
        if cluster_id != self.cluster_id {
            return Self::refuse(Refusal::OtherCluster);
        }
        let member_nonce = nonce();
        self.asked = Some(Transcript {
            cluster_id: self.cluster_id.clone(),
            joiner,
            address,
            member: self.me.clone(),
            link: self.link.clone(),
            cluster_key: self.cluster_key_text.clone(),
            joiner_nonce,
            member_nonce: member_nonce.clone(),
        });
        let challenge = Message::Challenge {
            member: self.me.clone(),
            cluster_key: self.cluster_key_text.clone(),
            nonce: member_nonce,
        };
        Heard::Say(challenge.to_value())
    }

    fn judge(&mut self, sealed: &[u8]) -> Heard {
        let (Some(transcript), Some(secret)) = (&self.asked, &self.secret) else {
            return Self::refuse(Refusal::Failed);
        };
        let proof = self.cluster_key.decrypt(EncAlgo::OaepSha224, sealed);
        let is_proven =
            proof.is_ok_and(|proof| transcript.is_proven(Side::Joiner, secret, proof.expose()));
        if !is_proven {
            // One proof for each link.
            self.asked = None;
            return Self::refuse(Refusal::WrongSecret);
        }
        Heard::Proven(Asks {
            id: transcript.joiner.clone(),
            key: transcript.link.joiner_key.clone(),
            address: transcript.address.clone(),
        })
    }
}
