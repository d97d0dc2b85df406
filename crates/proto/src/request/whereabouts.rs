//! Tells a master that another master has results of its jobs.

use crate::fields::{Fields, MessageError};
use crate::{Jid, Map, Value};

/// A result that another master has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whereabouts {
    /// The job.
    pub jid: Jid,
    /// The master that has the result, as the minion knows it.
    pub master: String,
}

/// The list as it travels.
pub(super) fn to_value(results: &[Whereabouts]) -> Value {
    let result = |result: &Whereabouts| {
        Value::from(Map::from([
            ("jid", Value::from(&result.jid)),
            ("master", result.master.as_str().into()),
        ]))
    };
    Value::List(results.iter().map(result).collect())
}

/// Reads the list; what is no such thing in it is left out.
pub(super) fn take(fields: &mut Fields) -> Result<Vec<Whereabouts>, MessageError> {
    let results = fields.list("results")?.unwrap_or_default();
    let result = |result: &Value| {
        Some(Whereabouts {
            jid: Jid::parse(result.get("jid")?.as_str()?).ok()?,
            master: result.get("master")?.as_str()?.to_owned(),
        })
    };
    Ok(results.iter().filter_map(result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MinionId;
    use crate::request::MinionRequest;

    #[test]
    fn a_list_comes_back_as_it_was_and_what_is_odd_in_it_is_left_out() {
        let results = vec![Whereabouts {
            jid: Jid::parse("20261120141841939742").unwrap(),
            master: "m2:4506".to_owned(),
        }];
        let id = MinionId::parse("web1").unwrap();
        let mut map = MinionRequest::Whereabouts(results.clone()).to_map(&id);
        map.remove("id");
        assert_eq!(
            MinionRequest::from_map(map.clone()),
            Ok(MinionRequest::Whereabouts(results))
        );
        map.insert("results", Value::List(vec![7.into(), Map::new().into()]));
        let odd = MinionRequest::from_map(map);
        assert_eq!(odd, Ok(MinionRequest::Whereabouts(Vec::new())));
    }
}
