//! Applies the messages of the other masters of the cluster to the parts of this
//! one, and sends them its events.
//!
//! Invariant: a peer's message is never passed on; every master has a link to every
//! other one.

mod jobs;
mod resend;

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use halite_mesh::{Incarnation, PeerId, RELEASED, Receiver};
use halite_proto::event::Event;
use halite_proto::{Jid, Map, MinionId, Value};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, spawn_blocking};

pub(crate) use self::jobs::LateJobs;
use self::jobs::tell_unfinished;
use self::resend::{Resend, Rounds};
use crate::cluster::drain::Stage;
use crate::cluster::grants::{EarlyUse, GrantId};
use crate::cluster::message::Message;
use crate::cluster::{Channel, Cluster};
use crate::core::lead::Met;
use crate::error::chain;
use crate::events::bus::Bus;
use crate::fleet::Fleet;
use crate::jobs::Jobs;
use crate::keys::Keys;
use crate::limits::PEERS_HANDLE_MAX;
use crate::master::Master;
use crate::publishing::Publishing;
use crate::under_way::UnderWay;

/// The tag of decisions about keys.
const KEY_TAG: &str = "salt/key";

/// The links, while the master runs.
pub(crate) struct Relay {
    cluster: Arc<Cluster>,
    jobs: Arc<Jobs>,
    resend: Arc<Resend>,
    tasks: Vec<JoinHandle<()>>,
}

impl Relay {
    /// What sends jobs of this master's last life that minions have missed.
    pub(crate) fn late_jobs(&self) -> LateJobs {
        LateJobs {
            jobs: Arc::clone(&self.jobs),
            cluster: Arc::clone(&self.cluster),
            resend: Arc::clone(&self.resend),
        }
    }

    /// Ends the links once the connected peers have handled all messages, or take too
    /// long.
    pub(crate) async fn stop(self) {
        if let Some(lease) = &self.cluster.lease {
            lease.give_up().await;
        }
        self.cluster.mesh.all_acknowledged(PEERS_HANDLE_MAX).await;
        for task in self.tasks {
            task.abort();
            let _ = task.await;
        }
    }
}

/// Begins to talk to the peers, if this master belongs to a cluster.
/// `channels` are other parts that talk to their like at the peers.
pub(crate) fn start(master: &Master, channels: Vec<Arc<dyn Channel>>) -> Option<Relay> {
    let cluster = master.cluster.clone()?;
    let listener = cluster.take_listener()?;
    let resend = Arc::new(Resend {
        jobs: Arc::clone(&master.jobs),
        fleet: Arc::clone(&master.fleet),
        publishing: Arc::clone(&master.publishing),
        rounds: Mutex::new(Rounds::default()),
        wanted: Notify::new(),
    });
    let receiver = PeerReceiver {
        resend: Arc::clone(&resend),
        bus: Arc::clone(&master.bus),
        keys: Arc::clone(&master.keys),
        jobs: Arc::clone(&master.jobs),
        fleet: Arc::clone(&master.fleet),
        publishing: Arc::clone(&master.publishing),
        cluster: Arc::clone(&cluster),
        under_way: master.under_way.clone(),
        channels,
    };
    let peers = Arc::downgrade(&cluster);
    master
        .fleet
        .attendance
        .on_change(Box::new(move |id, is_here| {
            tell_presence(&peers, id, is_here);
        }));
    let (jobs, unfinished) = (Arc::clone(&master.jobs), Arc::clone(&cluster));
    spawn_blocking(move || tell_unfinished(&jobs, &unfinished));
    let peers = Arc::downgrade(&cluster);
    master.bus.tell_peers(move |event| {
        if let Some(cluster) = peers.upgrade() {
            cluster.tell_event(event);
        }
    });
    let mesh = cluster.mesh.clone();
    let resending = tokio::spawn(Arc::clone(&resend).run(mesh.clone()));
    let links = tokio::spawn(async move {
        mesh.run(listener, Arc::new(receiver)).await;
    });
    let leading = Arc::clone(&cluster);
    let leasing = tokio::spawn(async move {
        if let Some(lease) = &leading.lease {
            lease.keep().await;
        }
    });
    Some(Relay {
        cluster,
        jobs: Arc::clone(&master.jobs),
        resend,
        tasks: vec![links, resending, leasing],
    })
}

fn tell_presence(cluster: &Weak<Cluster>, id: &MinionId, is_here: bool) {
    if let Some(cluster) = cluster.upgrade() {
        cluster.tell(&Message::Presence {
            is_complete: false,
            minions: vec![(id.clone(), is_here)],
        });
    }
}

/// Applies what peers tell.
struct PeerReceiver {
    resend: Arc<Resend>,
    bus: Arc<Bus>,
    keys: Arc<Keys>,
    jobs: Arc<Jobs>,
    fleet: Arc<Fleet>,
    publishing: Arc<Publishing>,
    cluster: Arc<Cluster>,
    under_way: Option<Arc<UnderWay>>,
    channels: Vec<Arc<dyn Channel>>,
}

impl Receiver for PeerReceiver {
    fn peer_is_up(&self, peer: &PeerId, life: Incarnation) {
        tracing::info!(%peer, %life, "the peer is connected");
        if let Some(met) = self.cluster.note_up(peer, life) {
            self.tell_met(peer, met);
        }
        let current = self.cluster.grants.current();
        let is_known = current
            .witnesses
            .iter()
            .any(|witness| *witness == (peer.clone(), life));
        if !is_known {
            self.cluster.renew_grant();
        }
        self.cluster.tell_one(peer, &Message::Ask);
        if self.cluster.drain.stage() != Stage::Serving {
            self.cluster.tell_one(peer, &Message::Drains);
        }
        if self.cluster.grants.needs_renewal(peer) {
            self.cluster.tell_one(peer, &Message::Renew);
        }
        self.channels
            .iter()
            .for_each(|channel| channel.peer_is_up(peer));
    }

    fn peer_is_down(&self, peer: &PeerId) {
        tracing::warn!(%peer, "the peer is not connected");
        self.cluster.note_down(peer);
        self.resend.for_a_while();
        self.channels
            .iter()
            .for_each(|channel| channel.peer_is_down(peer));
        let members = self.cluster.mesh.peers().into_iter();
        let members: Vec<PeerId> = members.map(|of| of.peer).collect();
        self.fleet
            .attendance
            .master_is_away(peer.as_str(), &members);
    }

    fn receive(&self, peer: &PeerId, age: Duration, message: &[u8]) {
        if *message == RELEASED {
            return;
        }
        let Some(message) = Message::decode(message) else {
            return tracing::warn!(%peer, "ignored an unreadable message from the peer");
        };
        match message {
            Message::Event(packed) => self.event(peer, &packed),
            Message::Publish(published) => self.publish(peer, age, *published),
            Message::Return(id, job) => self.keep_return(&id, &job),
            Message::FiredReturn(fired) => self.keep_fired_return(peer, *fired),
            Message::RunnerReturn(id, load, job) => self.keep_runner_return(&id, &load, &job),
            Message::Nonce(minion, grant, nonce, ts) => self.used(EarlyUse {
                minion,
                grant,
                nonce: (nonce, ts),
            }),
            Message::Retired(id, grant) => self.session(&id, &grant, None),
            Message::Grant(grant) => self.learnt(self.cluster.grants.learn(peer, grant)),
            Message::Renewed(grant) => {
                self.learnt(self.cluster.grants.learn_renewed(peer, grant));
            }
            Message::Renew => {
                let grant = self.cluster.renew_grant();
                self.cluster.tell_one(peer, &Message::Renewed(grant));
            }
            Message::Presence {
                is_complete,
                minions,
            } => {
                self.fleet
                    .attendance
                    .heard_of(peer.as_str(), is_complete, minions);
            }
            Message::Ask => self.answer(peer),
            Message::Drains => self.cluster.note_drained(peer),
            Message::HandsOver => {
                self.cluster.note_drained(peer);
                self.resend.for_a_while();
            }
            Message::PublishKey => self.publishing.reload_key(),
            Message::Channel(name, body) => {
                let channel = self.channels.iter().find(|channel| channel.name() == name);
                match channel {
                    Some(channel) => channel.receive(peer, body),
                    None => tracing::debug!(%peer, name, "ignored a message on an unknown channel"),
                }
            }
        }
    }

    fn has_missed(&self, peer: &PeerId) {
        tracing::warn!(%peer, "messages from the peer were lost: it was disconnected for too long");
        // What was let through with keys of the grants so far may be among it.
        self.cluster.grants.forget();
        self.cluster.renew_grant();
        self.cluster.tell(&Message::Renew);
        self.keys.end_sessions();
        self.cluster.tell_one(peer, &Message::Ask);
    }
}

/// The minion that is no longer accepted according to an event.
fn revoked_by(event: &Event) -> Option<MinionId> {
    let text = |name| event.data.get(name)?.as_str();
    let is_revocation = matches!(text("act")?, "rejected" | "delete");
    if event.tag.as_str() != KEY_TAG || !is_revocation {
        return None;
    }
    MinionId::parse(text("id")?).ok()
}

/// The job and the minion whose return an event tells of.
fn returned_in(event: &Event) -> Option<(Jid, MinionId)> {
    let mut parts = event.tag.as_str().strip_prefix("salt/job/")?.splitn(3, '/');
    let (jid, what, id) = (parts.next()?, parts.next()?, parts.next()?);
    let jid = Jid::parse(jid).ok().filter(|_| what == "ret")?;
    Some((jid, MinionId::parse(id).ok()?))
}

impl PeerReceiver {
    fn event(&self, peer: &PeerId, packed: &[u8]) {
        match Event::unpack(packed) {
            Ok(event) => {
                let revoked = revoked_by(&event);
                // Where the masters share a job cache, they tell of no returns besides.
                if let Some((jid, id)) = returned_in(&event) {
                    self.jobs.missed.returned(&jid, &id);
                }
                self.bus.relay(event, peer.as_str());
                if let Some(id) = revoked {
                    self.keys.end_session(&id);
                }
            }
            Err(error) => {
                tracing::warn!(%peer, "ignored an invalid event from the peer: {}", chain(&error))
            }
        }
    }

    /// The link to a peer was cut, and both have lived on.
    fn tell_met(&self, peer: &PeerId, met: Met) {
        tracing::warn!(
            %peer,
            "the link to the peer was cut for {:.1?}; meanwhile the tasks of the cluster that one \
             master runs were {} here",
            met.apart,
            if met.led { "done" } else { "not done" }
        );
        let data = Map::from([
            ("node_id", Value::from(self.cluster.own.as_str())),
            ("peer", peer.as_str().into()),
            (
                "apart_ms",
                Value::Int(i128::try_from(met.apart.as_millis()).unwrap_or(i128::MAX)),
            ),
            ("ran_schedule", met.led.into()),
        ]);
        self.bus.fire_under("cluster", ["met"], data);
    }

    /// A peer has let a request through.
    fn used(&self, early: EarlyUse) {
        if let Some(of) = self.cluster.grants.known_or_kept(early) {
            let (nonce, ts) = &of.nonce;
            self.session(&of.minion, &of.grant, Some((nonce, *ts)));
        }
    }

    /// A grant was learnt whose keys were used so often before.
    fn learnt(&self, uses: Option<Vec<EarlyUse>>) {
        uses.unwrap_or_default()
            .into_iter()
            .for_each(|early| self.used(early));
    }

    fn session(&self, id: &MinionId, grant: &GrantId, nonce: Option<(&halite_proto::Nonce, i64)>) {
        if let Some(accepted) = self.keys.accepted.get(id) {
            self.keys.sessions.heard(id, &accepted, grant, nonce);
        }
    }

    /// Sends a peer what it may have missed.
    fn answer(&self, peer: &PeerId) {
        let grant = self.cluster.grants.current();
        self.cluster.tell_one(peer, &Message::Grant(grant));
        let here = self.fleet.attendance.here().into_iter();
        let minions = here.map(|id| (id, true)).collect();
        let is_complete = true;
        self.cluster.tell_one(
            peer,
            &Message::Presence {
                is_complete,
                minions,
            },
        );
    }
}
