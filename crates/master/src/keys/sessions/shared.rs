//! The sessions of a master in a cluster: a minion that has signed in at one master
//! is known to all that were running then.
//!
//! Invariant: while the keys of a grant are valid, every nonce accepted with one of
//! them is remembered, whichever master accepted it and reported it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use halite_crypto::{Opened, SymmetricKey};
use halite_proto::{MinionId, Nonce};

use super::{Session, Sessions};
use crate::clock::now_s;
use crate::cluster::Cluster;
use crate::cluster::grants::GrantId;
use crate::cluster::message::Message;
use crate::core::gate::Cause;
use crate::core::replay::Freshness;
use crate::keys::accepted::AcceptedKey;

impl Sessions {
    /// The session that opens a request, and what is in it.
    ///
    /// # Errors
    /// When the minion has no session that holds, or none opens it.
    pub(crate) fn open(
        &self,
        id: &MinionId,
        accepted: &AcceptedKey,
        now: i64,
        sealed: &[u8],
    ) -> Result<(Arc<Session>, Opened), Cause> {
        let candidates = self.candidates(id, accepted, now);
        if candidates.is_empty() {
            return Err(Cause::NoSession);
        }
        for session in candidates {
            if let Ok(opened) = session.crypticle.open(sealed, None) {
                return Ok((self.keep(id, session), opened));
            }
        }
        Err(Cause::NotAuthentic)
    }

    /// The sessions that a minion may have now.
    pub(crate) fn candidates(
        &self,
        id: &MinionId,
        accepted: &AcceptedKey,
        now: i64,
    ) -> Vec<Arc<Session>> {
        let Some(cluster) = &self.cluster else {
            return self.find(id, accepted, now).into_iter().collect();
        };
        let living = cluster.grants.living(now);
        let mut found = self.kept(id, accepted);
        found.retain(|session| living.iter().any(|grant| session.is_of(&grant.id)));
        for grant in living {
            if !found.iter().any(|session| session.is_of(&grant.id)) {
                found.push(Arc::new(derive(
                    cluster, id, accepted, &grant.id, grant.born,
                )));
            }
        }
        found
    }

    /// The session that a minion is given when it signs in at this master.
    pub(super) fn sign_in_shared(
        &self,
        cluster: &Cluster,
        id: &MinionId,
        accepted: &AcceptedKey,
        now: i64,
    ) -> Arc<Session> {
        let mut grant = cluster.grants.current();
        let is_retired = |grant: &GrantId| {
            let kept = self.kept(id, accepted).into_iter();
            kept.into_iter()
                .any(|one| one.is_of(grant) && one.retired.load(Ordering::Relaxed))
        };
        let is_spent = is_retired(&grant.id) && cluster.grants.may_follow(now);
        if cluster.grants.is_due(now) || is_spent {
            grant = cluster.renew_grant();
        }
        self.keep(
            id,
            Arc::new(derive(cluster, id, accepted, &grant.id, grant.born)),
        )
    }

    /// Remembers a session; the one that is remembered already, if there is one of
    /// the same grant.
    fn keep(&self, id: &MinionId, session: Arc<Session>) -> Arc<Session> {
        let Some(cluster) = &self.cluster else {
            return session;
        };
        let now = now_s();
        let mut shared = self.lock_shared();
        let of_minion = shared.entry(id.clone()).or_default();
        let same =
            |known: &Arc<Session>| known.grant == session.grant && known.owner == session.owner;
        if let Some(at) = of_minion.iter().position(same) {
            // The one that was used last is tried first.
            of_minion[..=at].rotate_right(1);
            return Arc::clone(&of_minion[0]);
        }
        of_minion.retain(|known| {
            let holds = known
                .grant
                .as_ref()
                .is_some_and(|grant| cluster.grants.holds(grant, now));
            let is_of_key = known.owner == session.owner;
            if !is_of_key {
                known.ended.store(true, Ordering::Relaxed);
            }
            holds && is_of_key
        });
        of_minion.insert(0, Arc::clone(&session));
        session
    }

    fn kept(&self, id: &MinionId, accepted: &AcceptedKey) -> Vec<Arc<Session>> {
        let shared = self.lock_shared();
        let kept = shared.get(id).into_iter().flatten();
        kept.filter(|session| session.owner == accepted.mark)
            .cloned()
            .collect()
    }

    /// A peer has let a request through; or has retired a session.
    pub(crate) fn heard(
        &self,
        id: &MinionId,
        accepted: &AcceptedKey,
        grant: &GrantId,
        nonce: Option<(&Nonce, i64)>,
    ) {
        let now = now_s();
        let candidates = self.candidates(id, accepted, now).into_iter();
        for session in candidates.filter(|session| session.is_of(grant)) {
            let session = self.keep(id, session);
            match nonce {
                Some((nonce, ts)) => drop(session.admit(nonce.as_str().as_bytes(), ts)),
                None => session.retired.store(true, Ordering::Relaxed),
            }
        }
    }

    /// Judges and remembers a request's nonce, and tells the peers.
    pub(crate) fn admit(
        &self,
        id: &MinionId,
        session: &Session,
        nonce: &Nonce,
        ts: i64,
    ) -> Freshness {
        let freshness = session.admit(nonce.as_str().as_bytes(), ts);
        if let (Some(cluster), Some(grant)) = (&self.cluster, &session.grant) {
            let message = match freshness {
                Freshness::Fresh => Message::Nonce(id.clone(), grant.clone(), nonce.clone(), ts),
                Freshness::TooOld => Message::Retired(id.clone(), grant.clone()),
                Freshness::Replayed => return freshness,
            };
            cluster.tell(&message);
        }
        freshness
    }
}

fn derive(
    cluster: &Cluster,
    id: &MinionId,
    accepted: &AcceptedKey,
    grant: &GrantId,
    born: i64,
) -> Session {
    let key: SymmetricKey = cluster.grants.key(grant, id, accepted.mark.as_str());
    let mut session = Session::new(key, born, accepted.mark.clone(), Arc::default());
    session.grant = Some(grant.clone());
    session
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use halite_config::{LoadOptions, load_master};
    use halite_crypto::Crypticle;
    use halite_key::{MasterKeyOptions, MasterSigning};
    use halite_mesh::PeerId;

    use super::*;
    use crate::cluster::settings::ClusterSettings;
    use crate::keys::accepted::KeyMark;
    use crate::limits::GRANT_PAUSE_S;
    use crate::settings::General;

    /// A master with its place in a shared directory.
    fn cluster(dir: &Path, name: &str) -> Arc<Cluster> {
        let home = dir.join(name);
        std::fs::create_dir_all(&home).unwrap();
        let text = format!(
            "id: {name}\ninterface: 127.0.0.1\ncluster_id: c\npki_dir: {home}/pki\n\
             cachedir: {dir}/cache\nsock_dir: {home}/run\ncluster_pki_dir: {dir}/pki\n",
            home = home.display(),
            dir = dir.display(),
        );
        std::fs::write(home.join("master"), text).unwrap();
        let options = LoadOptions {
            config_dir: Some(home),
            ..LoadOptions::default()
        };
        let config = load_master(&options).unwrap().config;
        let general = General::from_config(&config).unwrap();
        let mut settings = ClusterSettings::from_config(&config).unwrap().unwrap();
        settings.listen.set_port(0);
        let keys = MasterKeyOptions {
            id: name,
            passphrase: None,
            bits: 2048,
            signing: MasterSigning::None,
        };
        Arc::new(Cluster::open(&general, settings, &keys, None).unwrap())
    }

    fn own(cluster: &Cluster) -> (PeerId, halite_mesh::Incarnation) {
        (cluster.own.clone(), cluster.mesh.incarnation())
    }

    #[tokio::test]
    async fn what_one_master_has_granted_the_other_opens_and_once() {
        let dir = tempfile::tempdir().unwrap();
        let [m1, m2] = ["m1", "m2"].map(|name| cluster(dir.path(), name));
        let grant = m1.grants.renew(vec![own(&m2)], now_s());
        assert!(m2.grants.learn(&m1.own, grant.clone()).is_some());
        let [first, second] = [&m1, &m2].map(|of| Sessions::of_cluster(Arc::clone(of)));
        let id = MinionId::parse("web1").unwrap();
        let accepted = AcceptedKey {
            mark: KeyMark::of("a key"),
        };
        let now = now_s();
        let given = first.sign_in(&id, &accepted, now).unwrap();
        let sealed = Crypticle::new(&given.key).seal(b"x", None);
        // The one that has given it, and the one that was there.
        for sessions in [&first, &second] {
            let (session, _) = sessions.open(&id, &accepted, now, &sealed).unwrap();
            assert!(session.key.is_same(&given.key));
        }
        let other = AcceptedKey {
            mark: KeyMark::of("another key"),
        };
        let refused = second.open(&id, &other, now, &sealed).err();
        assert_eq!(refused, Some(Cause::NotAuthentic));
        // What was let through here is refused there, once it was told.
        let nonce = Nonce::parse("0123456789abcdef0123456789abcdef").unwrap();
        let (here, _) = first.open(&id, &accepted, now, &sealed).unwrap();
        assert_eq!(first.admit(&id, &here, &nonce, now), Freshness::Fresh);
        second.heard(&id, &accepted, &grant.id, Some((&nonce, now)));
        let (there, _) = second.open(&id, &accepted, now, &sealed).unwrap();
        assert_eq!(second.admit(&id, &there, &nonce, now), Freshness::Replayed);
        // Who has started since knows nothing of that, and opens nothing of it.
        let again = cluster(dir.path(), "m2");
        assert!(again.grants.learn(&m1.own, grant).is_none());
        let again = Sessions::of_cluster(again);
        let refused = again.open(&id, &accepted, now, &sealed).err();
        assert_eq!(refused, Some(Cause::NotAuthentic));
        // A session that is retired anywhere is not given out again, but no minion
        // hurries the whole fleet by that.
        second.heard(&id, &accepted, &there.grant.clone().unwrap(), None);
        first.heard(&id, &accepted, &there.grant.clone().unwrap(), None);
        let soon = first.sign_in(&id, &accepted, now).unwrap();
        assert!(soon.key.is_same(&given.key));
        let next = first.sign_in(&id, &accepted, now + GRANT_PAUSE_S).unwrap();
        assert!(!next.key.is_same(&given.key));
    }
}
