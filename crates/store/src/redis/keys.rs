//! The names of the keys of jobs.

use std::fmt::Display;

/// All jobs by id, with what is searched for.
pub(super) const INDEX: &str = "halite:jobs";
/// When each job was prepared.
pub(super) const PREPARED: &str = "halite:prepared";
/// When each publisher was noted.
pub(super) const PUBLISHERS: &str = "halite:publishers";

/// All minions that ever returned.
pub(super) const MINIONS: &str = "minions";

/// The names of a job's keys. In a cluster ours are in the slot of its returns, whose
/// name is Salt's: the keys of one script must be on one server.
#[derive(Clone, Copy, Debug)]
pub(super) struct JobKeys {
    pub(super) is_cluster: bool,
}

impl JobKeys {
    pub(super) fn load(self, jid: impl Display) -> String {
        format!("load:{jid}")
    }

    pub(super) fn returns(self, jid: impl Display) -> String {
        format!("ret:{jid}")
    }

    /// What Salt does not keep of a job: `nocache`, `owner`, `endtime`, `batch`.
    pub(super) fn notes(self, jid: impl Display) -> String {
        self.ours("job", jid)
    }

    pub(super) fn minions(self, jid: impl Display) -> String {
        self.ours("minions", jid)
    }

    pub(super) fn publisher(self, jid: impl Display) -> String {
        format!("halite:publisher:{jid}")
    }

    fn ours(self, what: &str, jid: impl Display) -> String {
        match self.is_cluster {
            true => format!("halite:{what}:{{{}}}", self.returns(jid)),
            false => format!("halite:{what}:{jid}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_cluster_lie_beside_the_returns() {
        let one = JobKeys { is_cluster: false };
        assert_eq!(one.notes(1), "halite:job:1");
        let many = JobKeys { is_cluster: true };
        assert_eq!(many.returns(1), "ret:1");
        assert_eq!(many.notes(1), "halite:job:{ret:1}");
        assert_eq!(many.minions(1), "halite:minions:{ret:1}");
    }
}
