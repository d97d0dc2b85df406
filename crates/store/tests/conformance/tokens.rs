//! Checks of `Tokens`.

use halite_crypto::HashType;
use halite_proto::{Map, Value};
use halite_store::TokenId;

use crate::subject::Subject;

fn until(expires_s: i32) -> Map {
    let expire = Value::Float(expires_s.into());
    Map::from([("name", "alice".into()), ("expire", expire)])
}

pub(crate) fn a_token_holds_until_it_expires(subject: &Subject) {
    let tokens = subject.open().tokens;
    let [one, other] = [(); 2].map(|()| TokenId::generate(HashType::Sha256));
    assert_ne!(one, other);
    tokens.put(&one, &until(100), 100).unwrap();
    let again = subject.open().tokens;
    assert_eq!(again.get(&one, 100).unwrap(), Some(until(100)));
    assert_eq!(again.get(&other, 100).unwrap(), None);
    assert_eq!(again.list().unwrap(), std::slice::from_ref(&one));
    assert_eq!(again.get(&one, 101).unwrap(), None);
    // It is gone now, whatever the clock says.
    assert_eq!(tokens.get(&one, 50).unwrap(), None);
    tokens.put(&one, &until(100), 100).unwrap();
    assert!(again.delete(&one).unwrap());
    assert!(!again.delete(&one).unwrap());
    assert_eq!(tokens.get(&one, 50).unwrap(), None);
}

pub(crate) fn old_tokens_are_cleaned_away(subject: &Subject) {
    let tokens = subject.open().tokens;
    let all = [100, 200, 300].map(|at| (TokenId::generate(HashType::Md5), at));
    for (token, at) in &all {
        tokens.put(token, &until(*at), (*at).into()).unwrap();
    }
    assert_eq!(tokens.expire(201).unwrap(), 2);
    assert_eq!(tokens.expire(201).unwrap(), 0);
    assert_eq!(tokens.list().unwrap(), [all[2].0.clone()]);
}
