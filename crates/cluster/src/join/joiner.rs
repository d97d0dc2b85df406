//! The side of the master that wants to become a member.

use halite_crypto::{
    Crypticle, EncAlgo, HashType, Opened, PrivateKey, PublicKey, SharedSecret, SymmetricKey,
    hash_hex,
};
use halite_proto::Value;
use halite_proto::msgpack::unpack_modern;

use super::messages::Message;
use super::{JoinError, Link, Side, Transcript, nonce};
use crate::encoding::{DecodeError, expected};
use crate::peer::PeerId;

/// What a joiner was given.
#[derive(Debug)]
pub struct Joined {
    /// The member that has taken it in.
    pub member: PeerId,
    /// The cluster's public key, PEM.
    pub cluster_key: String,
    /// What the member gives to those who join.
    pub given: Value,
}

/// What a joiner does next.
#[derive(Debug)]
pub enum Step {
    /// Send this.
    Say(Value),
    /// It is a member.
    Joined(Box<Joined>),
}

/// A join under way.
pub struct Joiner {
    me: PeerId,
    key: PrivateKey,
    secret: SharedSecret,
    cluster_id: String,
    address: String,
    pin: Option<String>,
    link: Link,
    nonce: Vec<u8>,
    asked: Option<Transcript>,
}

impl Joiner {
    /// Begins; the value is to be sent first. With `pin`, the SHA-256 of the text
    /// of the cluster's key in hexadecimal, no other cluster is joined.
    pub fn begin(
        me: PeerId,
        key: PrivateKey,
        secret: SharedSecret,
        cluster_id: String,
        address: String,
        pin: Option<String>,
        link: Link,
    ) -> (Self, Value) {
        let nonce = nonce();
        let hello = Message::Hello {
            cluster_id: cluster_id.clone(),
            joiner: me.clone(),
            address: address.clone(),
            nonce: nonce.clone(),
        };
        let joiner = Self {
            me,
            key,
            secret,
            cluster_id,
            address,
            pin,
            link,
            nonce,
            asked: None,
        };
        (joiner, hello.to_value())
    }

    /// Takes what the member says.
    ///
    /// # Errors
    /// When it refuses, is not of the pinned cluster, does not know the secret, or
    /// says something else.
    pub fn heard(&mut self, value: Value) -> Result<Step, JoinError> {
        match (Message::from_value(value)?, self.asked.take()) {
            (
                Message::Challenge {
                    member,
                    cluster_key,
                    nonce,
                },
                None,
            ) => self.prove(member, cluster_key, nonce),
            (Message::Welcome { proof, key, sealed }, Some(transcript)) => {
                self.enter(transcript, &proof, &key, &sealed)
            }
            (Message::Refused(refusal), _) => Err(JoinError::Refused(refusal)),
            _ => Err(expected("answer of a member").into()),
        }
    }

    fn prove(
        &mut self,
        member: PeerId,
        cluster_key: String,
        member_nonce: Vec<u8>,
    ) -> Result<Step, JoinError> {
        if let Some(pinned) = &self.pin {
            // Of the file as masters write it, or without its last line break.
            let hash = |text: &str| hash_hex(HashType::Sha256, text.as_bytes());
            let plain = cluster_key.trim_end();
            let found = hash(&format!("{plain}\n"));
            let forms = [&found, &hash(plain)];
            if !forms.iter().any(|form| form.eq_ignore_ascii_case(pinned)) {
                let pinned = pinned.clone();
                return Err(JoinError::OtherCluster { found, pinned });
            }
        }
        let seal_to = PublicKey::from_pem(&cluster_key)?;
        let transcript = Transcript {
            cluster_id: self.cluster_id.clone(),
            joiner: self.me.clone(),
            address: self.address.clone(),
            member,
            link: self.link.clone(),
            cluster_key,
            joiner_nonce: self.nonce.clone(),
            member_nonce,
        };
        let proof = transcript.prove(Side::Joiner, &self.secret);
        let sealed = seal_to.encrypt(EncAlgo::OaepSha224, &proof)?;
        self.asked = Some(transcript);
        Ok(Step::Say(Message::Proof(sealed).to_value()))
    }

    fn enter(
        &self,
        transcript: Transcript,
        proof: &[u8],
        key: &[u8],
        sealed: &[u8],
    ) -> Result<Step, JoinError> {
        if !transcript.is_proven(Side::Member, &self.secret, proof) {
            return Err(JoinError::MemberUnproven);
        }
        let key = self.key.decrypt(EncAlgo::OaepSha224, key)?;
        let given = open(key.expose(), sealed, proof)?;
        Ok(Step::Joined(Box::new(Joined {
            member: transcript.member,
            cluster_key: transcript.cluster_key,
            given,
        })))
    }
}

/// Opens what was sealed with a key, for this proof.
fn open(key: &[u8], sealed: &[u8], proof: &[u8]) -> Result<Value, DecodeError> {
    let unusable = || expected("sealed admission");
    let key = std::str::from_utf8(key).map_err(|_| unusable())?;
    let key = SymmetricKey::parse(key).map_err(|_| unusable())?;
    match Crypticle::new(&key).open(sealed, Some(proof)) {
        Ok(Opened::Payload(payload)) => unpack_modern(&payload).map_err(|_| unusable()),
        Ok(_) | Err(_) => Err(unusable()),
    }
}
