//! Tokens: after a login, a user can show one for some hours instead of a password.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use halite_crypto::HashType;
use halite_proto::{Map, Value};
use halite_store::{StoreError, TokenId};

use crate::error::chain;

/// A user who has logged in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoggedIn<'a> {
    /// The name.
    pub(crate) name: &'a str,
    /// The way to log in.
    pub(crate) eauth: &'a str,
    /// Their groups, which the token keeps.
    pub(crate) groups: &'a [String],
}

/// Is notified of tokens that are made or deleted, and finds those of other masters.
pub(crate) trait TokenListener: Send + Sync {
    /// Waits, for a bounded time, until a token that another master has made is in the
    /// store; it is not if nobody has it.
    fn seek(&self, token: &TokenId);

    /// The data of a token now, or `None` if it was deleted.
    fn changed(&self, token: &TokenId, data: Option<&Map>);
}

/// The tokens of one master.
pub(crate) struct Tokens {
    listener: OnceLock<Arc<dyn TokenListener>>,
    store: halite_store::Tokens,
    hash_type: HashType,
    per_user_max: usize,
    /// The tokens of each user. The store is read when the first token is made.
    held: Mutex<Option<TokensByUser>>,
}

/// The tokens of each user of each way to log in, by their end.
type TokensByUser = HashMap<(String, String), BTreeSet<(i64, TokenId)>>;

impl Tokens {
    /// The tokens of a store; new ones have the length of this hash.
    pub(crate) fn new(
        store: halite_store::Tokens,
        hash_type: HashType,
        per_user_max: usize,
    ) -> Self {
        Self {
            listener: OnceLock::new(),
            store,
            hash_type,
            per_user_max,
            held: Mutex::default(),
        }
    }

    /// Registers the listener for all later changes; called once.
    pub(crate) fn listen(&self, listener: Arc<dyn TokenListener>) {
        let _ = self.listener.set(listener);
    }

    /// The store. Direct changes to it are not announced.
    pub(crate) fn store(&self) -> &halite_store::Tokens {
        &self.store
    }

    fn tell(&self, token: &TokenId, data: Option<&Map>) {
        if let Some(listener) = self.listener.get() {
            listener.changed(token, data);
        }
    }

    /// Makes a token for a user who has logged in and returns its data.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub(crate) fn make(
        &self,
        who: LoggedIn<'_>,
        lifetime_s: u64,
        auth_list: Option<Vec<Value>>,
        now_s: i64,
    ) -> Result<Map, StoreError> {
        let token = TokenId::generate(self.hash_type);
        let expire = now_s.saturating_add(i64::try_from(lifetime_s).unwrap_or(i64::MAX / 2));
        #[expect(clippy::cast_precision_loss, reason = "Salt's tokens have floats here")]
        let float = |seconds: i64| Value::Float(seconds as f64);
        let mut data = Map::from([
            ("start", float(now_s)),
            ("expire", float(expire)),
            ("name", who.name.into()),
            ("eauth", who.eauth.into()),
            ("token", token.expose().into()),
        ]);
        if !who.groups.is_empty() {
            let groups = who.groups.iter().map(|group| group.as_str().into());
            data.insert("groups", Value::List(groups.collect()));
        }
        if let Some(auth_list) = auth_list {
            data.insert("auth_list", auth_list);
        }
        self.store.put(&token, &data, expire)?;
        self.tell(&token, Some(&data));
        self.make_room(who, expire, token)?;
        Ok(data)
    }

    /// Counts a new token; of too many those go that would end first.
    fn make_room(&self, who: LoggedIn<'_>, expire: i64, token: TokenId) -> Result<(), StoreError> {
        let mut held = self.held();
        let held = match &mut *held {
            Some(held) => held,
            none => none.insert(self.read_held()?),
        };
        let user = (who.eauth.to_owned(), who.name.to_owned());
        let of_user = held.entry(user).or_default();
        of_user.insert((expire, token.clone()));
        while of_user.len() > self.per_user_max {
            // The new one is what was asked for.
            let Some(oldest) = of_user.iter().find(|(_, held)| *held != token).cloned() else {
                break;
            };
            of_user.remove(&oldest);
            self.store.delete(&oldest.1)?;
            self.tell(&oldest.1, None);
        }
        Ok(())
    }

    fn held(&self) -> MutexGuard<'_, Option<TokensByUser>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_held(&self) -> Result<TokensByUser, StoreError> {
        let mut held = TokensByUser::new();
        for token in self.store.list()? {
            // Those that have expired go with the housekeeping.
            let Some(data) = self.store.get(&token, i64::MIN)? else {
                continue;
            };
            let text = |name: &str| data.get(name).and_then(Value::as_str).map(str::to_owned);
            let user = (
                text("eauth").unwrap_or_default(),
                text("name").unwrap_or_default(),
            );
            let expire = data
                .get("expire")
                .and_then(Value::as_f64)
                .unwrap_or_default();
            #[expect(clippy::cast_possible_truncation, reason = "seconds of our time fit")]
            let expire = expire as i64;
            held.entry(user).or_default().insert((expire, token));
        }
        Ok(held)
    }

    /// The data of a token, or `None` if it does not exist or has expired. Waits for the
    /// other masters if one of them may have it.
    pub(crate) fn get(&self, token: &str, now_s: i64) -> Option<Map> {
        let token = TokenId::parse(token)?;
        self.stored(&token, now_s).or_else(|| {
            self.listener.get()?.seek(&token);
            self.stored(&token, now_s)
        })
    }

    /// Whether [`get`](Self::get) would ask other masters for a token.
    pub(crate) fn is_to_be_sought(&self, token: &str, now_s: i64) -> bool {
        let token = self.listener.get().and_then(|_| TokenId::parse(token));
        token.is_some_and(|token| self.stored(&token, now_s).is_none())
    }

    fn stored(&self, token: &TokenId, now_s: i64) -> Option<Map> {
        self.store.get(token, now_s).unwrap_or_else(|error| {
            tracing::error!("could not read a token: {}", chain(&error));
            None
        })
    }

    /// Removes a token; false if there was none.
    pub(crate) fn remove(&self, token: &str) -> bool {
        let Some(token) = TokenId::parse(token) else {
            return false;
        };
        if let Some(held) = &mut *self.held() {
            for of_user in held.values_mut() {
                of_user.retain(|(_, held)| *held != token);
            }
        }
        match self.store.delete(&token) {
            Ok(was_there) => {
                self.tell(&token, None);
                was_there
            }
            Err(error) => {
                tracing::error!("could not remove a token: {}", chain(&error));
                false
            }
        }
    }

    /// Removes those that have expired.
    pub(crate) fn clean(&self, now_s: i64) {
        if let Some(held) = &mut *self.held() {
            held.retain(|_, of_user| {
                of_user.retain(|(expire, _)| *expire >= now_s);
                !of_user.is_empty()
            });
        }
        if let Err(error) = self.store.expire(now_s) {
            tracing::error!("could not remove old tokens: {}", chain(&error));
        }
    }
}

#[cfg(test)]
mod tests {
    use halite_store::StoreOptions;

    use super::*;

    fn tokens(dir: &tempfile::TempDir) -> Tokens {
        let store = halite_store::open(&StoreOptions::local_fs(dir.path(), HashType::Sha256));
        Tokens::new(store.tokens, HashType::Sha256, 3)
    }

    #[test]
    fn a_user_has_so_many_tokens_and_the_oldest_go() {
        let dir = tempfile::tempdir().unwrap();
        let make = |tokens: &Tokens, name: &str, lifetime_s: u64| {
            let who = LoggedIn {
                name,
                eauth: "pam",
                groups: &[],
            };
            let made = tokens.make(who, lifetime_s, None, 1000).unwrap();
            let token = made.get("token").and_then(Value::as_str);
            token.unwrap().to_owned()
        };
        let first = tokens(&dir);
        let others = make(&first, "bob", 1);
        let mut made: Vec<String> = (10..12).map(|n| make(&first, "ali", n)).collect();
        // What lies there counts after a restart too.
        let tokens = tokens(&dir);
        made.extend((12..15).map(|n| make(&tokens, "ali", n)));
        let holds = |token: &String| tokens.get(token, 1000).is_some();
        let held: Vec<bool> = made.iter().map(holds).collect();
        assert_eq!(held, [false, false, true, true, true]);
        assert!(holds(&others));
        // One that was given back makes room.
        assert!(tokens.remove(&made[4]));
        let short = make(&tokens, "ali", 1);
        assert!(holds(&short) && holds(&made[2]) && holds(&made[3]));
        let shortest = make(&tokens, "ali", 0);
        assert!(holds(&shortest) && !holds(&short), "not the new one itself");
    }

    #[test]
    fn a_token_holds_until_it_expires() {
        let dir = tempfile::tempdir().unwrap();
        let tokens = tokens(&dir);
        let who = LoggedIn {
            name: "alice",
            eauth: "pam",
            groups: &["ops".to_owned()],
        };
        let made = tokens.make(who, 100, None, 1000).unwrap();
        assert_eq!(made.get("groups"), Some(&Value::List(vec!["ops".into()])));
        let token = made.get("token").and_then(Value::as_str).unwrap();
        assert_eq!(token.len(), 64);
        assert_eq!(tokens.get(token, 1050), Some(made.clone()));
        assert_eq!(tokens.get(&token[1..], 1050), None);
        assert_eq!(tokens.get(token, 1101), None);
        // It is gone now, whatever the clock says.
        assert_eq!(tokens.get(token, 1050), None);
    }

    #[test]
    fn only_what_has_the_form_of_a_token_is_a_path() {
        let dir = tempfile::tempdir().unwrap();
        let tokens = tokens(&dir);
        for text in ["", "../tokens", "x", "a/b"] {
            assert_eq!(tokens.get(text, 0), None);
            assert!(!tokens.remove(text));
        }
    }
}
