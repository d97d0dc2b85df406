//! The return of a state function, and the few forms that most returns have.

use halite_proto::{Map, Value};

use crate::call::Call;

/// The result of a state: its name, whether it holds, what was changed, and a
/// comment.
#[derive(Debug, Clone, PartialEq)]
pub struct StateReturn {
    /// The state's name.
    pub name: Value,
    /// What was changed, or would be in test mode.
    pub changes: Map,
    /// `Some(true)`: the state holds; `Some(false)`: it could not be reached;
    /// `None`: test mode, something would be changed.
    pub result: Option<bool>,
    /// For people. Usually text; some states give a list.
    pub comment: Value,
    /// What else a state may say: `warnings`, `pchanges`, `skip_watch`,
    /// `skip_req`, `sub_state_run`, or fields of its own.
    pub more: Map,
}

impl StateReturn {
    /// The state that is called by its argument `name`, as with [`Self::new`].
    #[must_use]
    pub fn of(call: &Call<'_>) -> Self {
        Self::new(call.arg("name").clone())
    }

    /// The state `name` holds, nothing was changed, no comment yet.
    pub fn new(name: impl Into<Value>) -> Self {
        Self {
            name: name.into(),
            changes: Map::new(),
            result: Some(true),
            comment: Value::Str(String::new()),
            more: Map::new(),
        }
    }

    /// The state holds.
    #[must_use]
    pub fn ok(mut self, comment: impl Into<Value>) -> Self {
        self.result = Some(true);
        self.comment = comment.into();
        self
    }

    /// The state could not be reached.
    #[must_use]
    pub fn failed(mut self, comment: impl Into<Value>) -> Self {
        self.result = Some(false);
        self.comment = comment.into();
        self
    }

    /// Something would be changed.
    #[must_use]
    pub fn pending(mut self, comment: impl Into<Value>) -> Self {
        self.result = None;
        self.comment = comment.into();
        self
    }

    /// The same result with another comment.
    #[must_use]
    pub fn commented(mut self, comment: impl Into<Value>) -> Self {
        self.comment = comment.into();
        self
    }

    /// Adds a change.
    #[must_use]
    pub fn change(mut self, key: impl Into<Value>, value: impl Into<Value>) -> Self {
        self.changes.insert(key, value);
        self
    }
}

impl From<StateReturn> for Value {
    fn from(state: StateReturn) -> Self {
        let mut map = Map::new();
        map.insert("name", state.name);
        map.insert("changes", state.changes);
        map.insert("result", state.result.map_or(Self::Nil, Self::Bool));
        map.insert("comment", state.comment);
        for (key, value) in state.more {
            map.insert(key, value);
        }
        map.into()
    }
}
