//! What two Halite peers can do together that Salt cannot.
//!
//! Both sides say so with one more field in the sign-in, which Salt's programs
//! ignore. Invariant: nothing beyond Salt's protocol is ever sent to a peer that
//! has not said that it understands it.

use std::time::Duration;

use crate::{Map, Value};

/// The field of the sign-in request and its reply.
pub(crate) const FIELD: &str = "halite";

/// In that field of the reply: the number that the master gives the sign-in.
const SIGN_IN: &str = "sign_in";

/// In that field of the reply: how many milliseconds pass between a minion's
/// signs of life.
const SIGN_EVERY_MS: &str = "sign_every_ms";

/// In that field of the request: that the minion comes again when it is told to.
const COME_AGAIN: &str = "come_again";

/// What a peer understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// Job replay: a minion asks for the jobs it has missed.
    pub replay: bool,
    /// Signs of life: a minion proves over its subscription, several times a
    /// second, that it is there, so that the master knows at once when its
    /// connection comes and goes, and of a cut cable within two seconds.
    pub signs_of_life: bool,
    /// Own jobs: a minion gives the returns of its own jobs a mark, by which a
    /// master knows one that it has already.
    pub own_jobs: bool,
    /// Whereabouts: a minion tells a master where the results of its jobs are
    /// that it has not got.
    pub whereabouts: bool,
    /// Pieces: a minion asks for a piece of a file together with what else it
    /// has to know of the file, and only if it has not got that file already.
    pub pieces: bool,
    /// Batches: a minion says which batches the events of a request are, by
    /// which a master knows those that it has fired already.
    pub batches: bool,
    /// Return pieces: a minion hands a large return over piece by piece, and
    /// goes on where the master has it from.
    pub return_pieces: bool,
    /// Processes: a minion says which process of it asks, and its master tells it
    /// of others with its id and key.
    pub processes: bool,
    /// Commits: a minion asks which commits its files come from, and goes on with
    /// them. A master without git remotes does not say so.
    pub commits: bool,
    /// Come again: a master that is busy with sign-ins says after how long the
    /// minion is to sign in again.
    pub come_again: bool,
    /// Answered signs: a master answers signs of life over the subscription, and says how
    /// often it wants them and whether there may be jobs to ask for. Who is answered asks
    /// rarely otherwise.
    pub answered_signs: bool,
}

impl Capabilities {
    /// What this version understands.
    pub const OURS: Self = Self {
        replay: true,
        signs_of_life: true,
        own_jobs: true,
        whereabouts: true,
        pieces: true,
        batches: true,
        return_pieces: true,
        processes: true,
        commits: true,
        come_again: true,
        answered_signs: true,
    };

    /// What the sign-in of a peer says; a Salt peer says nothing.
    pub fn of(extra: &Map) -> Self {
        let says = |name| {
            let field = extra.get(FIELD).and_then(|field| field.get(name));
            field.and_then(Value::as_bool).unwrap_or(false)
        };
        Self {
            replay: says("replay"),
            signs_of_life: says("signs_of_life"),
            own_jobs: says("own_jobs"),
            whereabouts: says("whereabouts"),
            pieces: says("pieces"),
            batches: says("batches"),
            return_pieces: says("return_pieces"),
            processes: says("processes"),
            commits: says("commits"),
            come_again: says(COME_AGAIN),
            answered_signs: says("answered_signs"),
        }
    }

    /// The fields to add to a sign-in.
    pub fn to_extra(self) -> Map {
        let field = Map::from([
            ("replay", self.replay),
            ("signs_of_life", self.signs_of_life),
            ("own_jobs", self.own_jobs),
            ("whereabouts", self.whereabouts),
            ("pieces", self.pieces),
            ("batches", self.batches),
            ("return_pieces", self.return_pieces),
            ("processes", self.processes),
            ("commits", self.commits),
            (COME_AGAIN, self.come_again),
            ("answered_signs", self.answered_signs),
        ]);
        Map::from([(FIELD, field)])
    }

    /// The fields to add to the reply to a sign-in with this number, of a minion
    /// that is to give a sign of life so often.
    pub fn to_reply(self, sign_in: u64, sign_every: Duration) -> Map {
        let mut extra = self.to_extra();
        if let Some(Value::Map(field)) = extra.get_mut(FIELD) {
            let millis = i64::try_from(sign_every.as_millis()).unwrap_or(i64::MAX);
            field.insert(SIGN_IN, sign_in);
            field.insert(SIGN_EVERY_MS, millis);
        }
        extra
    }

    /// How often the reply to a sign-in wants signs of life, if it says so.
    pub fn sign_every_of(reply: &Map) -> Option<Duration> {
        let millis = reply.get(FIELD)?.get(SIGN_EVERY_MS)?.as_i64()?;
        u64::try_from(millis).ok().map(Duration::from_millis)
    }

    /// The number that the reply to a sign-in says.
    pub fn sign_in_of(reply: &Map) -> Option<u64> {
        let number = reply.get(FIELD)?.get(SIGN_IN)?.as_i64()?;
        u64::try_from(number).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_taken_at_its_word_and_salt_says_nothing() {
        assert_eq!(
            Capabilities::of(&Capabilities::OURS.to_extra()),
            Capabilities::OURS
        );
        let often = Duration::from_millis(450);
        let reply = Capabilities::OURS.to_reply(7, often);
        assert_eq!(Capabilities::sign_every_of(&reply), Some(often));
        assert_eq!(Capabilities::sign_every_of(&Map::new()), None);
        assert_eq!(Capabilities::of(&reply), Capabilities::OURS);
        assert_eq!(Capabilities::sign_in_of(&reply), Some(7));
        assert_eq!(Capabilities::sign_in_of(&Map::new()), None);
        assert_eq!(Capabilities::of(&Map::new()), Capabilities::default());
        let odd = Map::from([(FIELD, Value::from("yes"))]);
        assert_eq!(Capabilities::of(&odd), Capabilities::default());
    }
}
