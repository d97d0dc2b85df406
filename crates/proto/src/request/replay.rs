//! The request for recent jobs, and its additional fields.

use crate::fields::{Fields, MessageError, Put};
use crate::{Map, MinionId, Nonce, Value};

/// A minion asks which jobs it has missed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Replay {
    /// Which process of the minion asks; the answer then names others. Only to a
    /// master that understands it.
    pub process: Option<Nonce>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Replayed {
    /// The jobs, as they were published.
    pub jobs: Vec<Value>,
    /// From where the master hears other processes with the id and the key of
    /// the one that asks.
    pub others: Vec<String>,
}

impl Replay {
    pub(super) fn put(&self, cmd: &str, id: &MinionId, map: &mut Map) {
        map.put("cmd", cmd);
        map.put("id", id);
        map.put_some("process", self.process.as_ref());
    }

    pub(super) fn take(fields: &mut Fields) -> Result<Self, MessageError> {
        let process = fields.text("process")?;
        Ok(Self {
            process: process.and_then(|process| Nonce::parse(process).ok()),
        })
    }
}

impl Replayed {
    /// The answer as it travels: a list alone to who says no process.
    pub fn into_value(self, to: &Replay) -> Value {
        let jobs = Value::List(self.jobs);
        if to.process.is_none() {
            return jobs;
        }
        let others = self.others.into_iter().map(Value::from).collect();
        Map::from([("jobs", jobs), ("others", Value::List(others))]).into()
    }

    /// Reads an answer; a value of another form holds no jobs.
    pub fn from_value(value: Value) -> Self {
        match value {
            Value::List(jobs) => Self {
                jobs,
                others: Vec::new(),
            },
            Value::Map(mut map) => {
                let mut list = |name| match map.remove(name) {
                    Some(Value::List(list)) => list,
                    _ => Vec::new(),
                };
                let (jobs, others) = (list("jobs"), list("others"));
                let others = others.iter().filter_map(Value::as_str);
                Self {
                    jobs,
                    others: others.map(str::to_owned).collect(),
                }
            }
            _ => Self::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::MinionRequest;

    #[test]
    fn question_and_answer_survive() {
        let id = MinionId::parse("web1").unwrap();
        let named = Replay {
            process: Some(Nonce::from_random([7; 16])),
        };
        for question in [Replay::default(), named.clone()] {
            let asked = MinionRequest::Replay(question);
            let mut map = asked.to_map(&id);
            map.remove("id");
            assert_eq!(MinionRequest::from_map(map), Ok(asked));
        }
        let answer = Replayed {
            jobs: vec![Map::from([("jid", "1")]).into()],
            others: vec!["192.0.2.7".to_owned()],
        };
        let told = |to: &Replay| Replayed::from_value(answer.clone().into_value(to));
        assert_eq!(told(&named), answer);
        // Who says no process gets what there was before there were any.
        assert_eq!(told(&Replay::default()).jobs, answer.jobs);
        assert!(told(&Replay::default()).others.is_empty());
        assert_eq!(Replayed::from_value(7.into()), Replayed::default());
    }
}
