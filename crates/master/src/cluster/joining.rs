//! How this master joins a cluster without shared files, before it does anything
//! else.
//!
//! Invariant: `cluster.pem` is written last. A master that dies before that joins
//! again.

use std::future::Future;
use std::io::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use halite_cluster::join::{JoinError, Joined, Joiner, Link, Refusal, Step};
use halite_cluster::limits::MEMBERS_MAX;
use halite_cluster::{Delta, PeerId};
use halite_crypto::files::{MODE_SECRET, WriteOptions, ensure_private_dir, write_atomic};
use halite_crypto::{PrivateKey, Secret, SharedSecret};
use halite_key::cluster::ClusterDir;
use halite_mesh::limits::PEERS_MAX;
use halite_mesh::{Conversation, MeshError, PeerAddress, Turn, converse};
use halite_proto::msgpack::{pack_modern, unpack_modern};
use halite_proto::{Map, Value};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use super::secret::ClusterSecret;
use super::settings::ClusterSettings;
use crate::error::{StartError, chain};
use crate::limits::{
    FOUND_AFTER, JOIN_PAUSE_MAX, JOIN_PAUSE_MIN, JOIN_PAUSE_REFUSED, JOIN_SAID_EVERY,
};

/// Directory below `cluster_pki_dir` with the registers.
pub(crate) const REGISTERS_DIR: &str = "registers";

/// The file there with what a joiner was given, until it has what the others have.
pub(crate) const GIVEN: &str = "given";

/// What members give to those who join.
pub(crate) struct Admission {
    /// The cluster's private key, PEM.
    pub(crate) cluster_pem: Secret<String>,
    /// The members and the publish key.
    pub(crate) delta: Delta,
}

impl Admission {
    /// As it is sent, sealed.
    pub(crate) fn to_value(&self) -> Value {
        Map::from([
            (
                "cluster_pem",
                Value::from(self.cluster_pem.expose().as_str()),
            ),
            ("delta", self.delta.to_value()),
        ])
        .into()
    }

    fn from_value(value: Value) -> Option<Self> {
        let Value::Map(mut map) = value else {
            return None;
        };
        let Some(Value::Str(pem)) = map.remove("cluster_pem") else {
            return None;
        };
        let delta = Delta::from_value(map.remove("delta")?).ok()?;
        Some(Self {
            cluster_pem: Secret::new(pem),
            delta,
        })
    }
}

/// Joins, if the cluster's key is not here yet. A master whose name is the first of those
/// configured founds the cluster if no other one has it.
///
/// # Errors
/// When it may never succeed: without a secret, or when a file cannot be written.
pub(super) fn join_if_new(
    me: &str,
    key: &PrivateKey,
    settings: &ClusterSettings,
    dir: &ClusterDir,
) -> Result<(), StartError> {
    if dir.has_identity() || settings.peers.is_empty() {
        return Ok(());
    }
    let Some(secret) = ClusterSecret::open(settings)?.proofs() else {
        return Err(StartError::Option {
            option: "cluster_secret",
            why: "it must not be empty: masters that join prove themselves with it".to_owned(),
        });
    };
    let me = PeerId::parse(me).map_err(|error| StartError::Option {
        option: "id",
        why: error.to_string(),
    })?;
    let mut others = settings
        .peers
        .iter()
        .filter(|peer| peer.host() != me.as_str());
    let is_first = others.all(|peer| me.as_str() < peer.host());
    let asks = Asks {
        founds: is_first && settings.fingerprint.is_none(),
        me,
        key: key.clone(),
        secret,
        settings,
    };
    // The master's own runtime is where it waits for this.
    let given = std::thread::scope(|scope| {
        let asks = &asks;
        let asking = scope.spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(unless_stopped(asks.until_taken()))
        });
        asking
            .join()
            .unwrap_or_else(|_| Err(Error::other("the join has failed")))
    });
    match given.map_err(StartError::Threads)? {
        Some(Some(admission)) => keep(&admission, settings, dir),
        Some(None) => Ok(()),
        None => Err(StartError::Stopped),
    }
}

/// The result, or `None` if the master is stopped before.
async fn unless_stopped<T>(done: impl Future<Output = T>) -> Result<Option<T>, Error> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        done = done => Ok(Some(done)),
        _ = terminate.recv() => Ok(None),
        _ = interrupt.recv() => Ok(None),
    }
}

struct Asks<'s> {
    me: PeerId,
    key: PrivateKey,
    secret: SharedSecret,
    settings: &'s ClusterSettings,
    /// This master makes the cluster if nobody has one.
    founds: bool,
}

impl Asks<'_> {
    /// Asks all peers repeatedly; `None` if this master is to found the cluster.
    async fn until_taken(&self) -> Option<Admission> {
        let begin = Instant::now();
        let mut pause = JOIN_PAUSE_MIN;
        // Who is to found the cluster is not refused by masters that are not there.
        let mut next_word = begin
            + match self.founds {
                true => FOUND_AFTER,
                false => Duration::ZERO,
            };
        loop {
            let mut refusals = Vec::new();
            for address in &self.settings.peers {
                match self.ask(address).await {
                    Ok(admission) => return Some(admission),
                    Err(Failed::Link(MeshError::Own)) => {}
                    Err(error) => refusals.push((address, error)),
                }
            }
            let nobody_has_one = refusals.iter().all(|(_, error)| error.is_nobody_there());
            if self.founds && nobody_has_one && begin.elapsed() >= FOUND_AFTER {
                tracing::info!("no other master answers for the cluster: creating it");
                return None;
            }
            if Instant::now() >= next_word {
                next_word = Instant::now() + JOIN_SAID_EVERY;
                for (address, error) in &refusals {
                    tracing::warn!("could not join the cluster at {address}: {}", error.text());
                }
            }
            let lasts = refusals.iter().any(|(_, error)| error.lasts());
            sleep(if lasts { JOIN_PAUSE_REFUSED } else { pause }).await;
            pause = (pause * 2).min(JOIN_PAUSE_MAX);
        }
    }

    async fn ask(&self, address: &PeerAddress) -> Result<Admission, Failed> {
        let begin = |link: halite_mesh::JoinLink| {
            let link = Link {
                joiner_key: link.own_key,
                member_key: link.other_key,
                binding: link.binding,
            };
            let (joiner, hello) = Joiner::begin(
                self.me.clone(),
                self.key.clone(),
                self.secret.clone(),
                self.settings.id.clone(),
                self.settings.address(self.me.as_str()),
                self.settings.fingerprint.clone().map(plain_fingerprint),
                link,
            );
            (Side { joiner, end: None }, packed(&hello))
        };
        let asked = converse(&self.key, address, begin).await;
        let joined = asked.map_err(Failed::Link)?.end;
        let joined = joined.unwrap_or(Err(JoinError::Refused(Refusal::Failed)));
        let joined = joined.map_err(Failed::Join)?;
        let member = joined.member.as_str();
        tracing::info!("joined the cluster at {address}, admitted by {member}");
        if member != address.host() {
            tracing::warn!(
                "the master at {address} has the `id` {member}: write that in `cluster_peers`"
            );
        }
        let failed = Failed::Join(JoinError::Refused(Refusal::Failed));
        Admission::from_value(joined.given).ok_or(failed)
    }
}

fn plain_fingerprint(text: String) -> String {
    text.trim().replace(':', "")
}

/// Why one attempt came to nothing.
enum Failed {
    Link(MeshError),
    Join(JoinError),
}

impl Failed {
    /// Whether no master is there that could be of a cluster. One that takes the
    /// connection and does not answer may be busy.
    fn is_nobody_there(&self) -> bool {
        matches!(self, Self::Link(error) if error.is_nobody_there())
    }

    /// Whether the same is said again until an administrator does something.
    fn lasts(&self) -> bool {
        let Self::Join(JoinError::Refused(refusal)) = self else {
            return false;
        };
        !matches!(refusal, Refusal::Busy | Refusal::Failed)
    }

    fn text(&self) -> String {
        match self {
            Self::Link(error) => chain(error),
            Self::Join(error) => chain(error),
        }
    }
}

/// This side of one conversation.
struct Side {
    joiner: Joiner,
    end: Option<Result<Box<Joined>, JoinError>>,
}

impl Conversation for Side {
    fn heard(&mut self, message: &[u8]) -> Turn {
        // What cannot be unpacked is no message of a join either.
        let value = unpack_modern(message).unwrap_or_default();
        match self.joiner.heard(value) {
            Ok(Step::Say(value)) => Turn::Say(packed(&value)),
            Ok(Step::Joined(joined)) => {
                self.end = Some(Ok(joined));
                Turn::End
            }
            Err(error) => {
                self.end = Some(Err(error));
                Turn::End
            }
        }
    }
}

/// A message of a join in bytes: it holds nothing that cannot be packed.
pub(crate) fn packed(value: &Value) -> Vec<u8> {
    pack_modern(value).unwrap_or_default()
}

fn keep(
    admission: &Admission,
    settings: &ClusterSettings,
    dir: &ClusterDir,
) -> Result<(), StartError> {
    let registers = settings.pki_dir.join(REGISTERS_DIR);
    let failed = |source| StartError::File {
        what: "what the cluster has given",
        source,
    };
    ensure_private_dir(&registers, None).map_err(failed)?;
    let options = WriteOptions::new(MODE_SECRET);
    let bytes = packed(&admission.delta.to_value());
    write_atomic(&given_path(&settings.pki_dir), options, &bytes).map_err(failed)?;
    if let Some(key) = admission.delta.publish_key() {
        dir.put_publish_key(&key.key)?;
    }
    dir.put_identity(&admission.cluster_pem, settings.key_pass.as_ref())?;
    Ok(())
}

// Each member has a file of its key, which the links read.
const _: () = assert!(MEMBERS_MAX <= PEERS_MAX);

/// Where it is kept what a joiner was given.
pub(crate) fn given_path(pki_dir: &Path) -> PathBuf {
    pki_dir.join(REGISTERS_DIR).join(GIVEN)
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    async fn listen() -> (TcpListener, PeerAddress) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        (listener, PeerAddress::parse(&address, 1).unwrap())
    }

    fn settings(dir: &Path, peer: PeerAddress) -> ClusterSettings {
        ClusterSettings {
            id: "c".to_owned(),
            pki_dir: dir.to_owned(),
            peers: vec![peer],
            listen: "127.0.0.1:4520".parse().unwrap(),
            bus: None,
            fingerprint: None,
            isolated: true,
            secret: Some(Secret::new("a secret".to_owned())),
            key_pass: None,
            copies_returns: true,
            drain_time: Duration::ZERO,
            session_s: 1,
            replay_window_s: 1,
        }
    }

    #[tokio::test]
    async fn a_cluster_is_founded_only_where_nobody_listens() {
        let dir = tempfile::tempdir().unwrap();
        let (listener, peer) = listen().await;
        let settings = settings(dir.path(), peer);
        let asks = Asks {
            me: PeerId::parse("first").unwrap(),
            key: PrivateKey::generate(2048).unwrap(),
            secret: ClusterSecret::open(&settings).unwrap().proofs().unwrap(),
            settings: &settings,
            founds: true,
        };
        // A member that closes without a word, for longer than nobody would be
        // waited for.
        let begin = Instant::now();
        let closes = async {
            while begin.elapsed() < 2 * FOUND_AFTER {
                drop(listener.accept().await.unwrap());
            }
        };
        tokio::select! {
            given = asks.until_taken() => panic!("it founds: {}", given.is_none()),
            () = closes => {}
        }
        drop(listener);
        assert!(asks.until_taken().await.is_none());
    }
}
