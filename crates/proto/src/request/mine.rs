//! Requests about the mine.

use crate::fields::{Fields, MessageError, Put};
use crate::publish::take_tgt;
use crate::{Map, MinionId, Value};

/// Values for the mine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MineStore {
    /// The value of each function, maybe wrapped with who may read it.
    pub data: Map,
    /// Whether the values that are there go away.
    pub clear: bool,
}

/// A question to the mine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MineGet {
    /// Whose values.
    pub tgt: Value,
    /// Of which functions: text, several separated by commas, or a list.
    pub fun: Value,
    /// How `tgt` is meant; `glob` where it does not say.
    pub tgt_type: Option<String>,
}

/// One value out of the mine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MineDelete {
    /// The function.
    pub fun: String,
}

impl MineStore {
    pub(super) fn take(fields: &mut Fields) -> Result<Self, MessageError> {
        Ok(Self {
            data: fields.need("data", Fields::map)?,
            clear: fields.flag("clear").unwrap_or(false),
        })
    }

    pub(super) fn put(&self, id: &MinionId, map: &mut Map) {
        map.put("cmd", "_mine");
        map.put("data", self.data.clone());
        map.put("id", id);
        map.put("clear", self.clear);
    }
}

impl MineGet {
    /// The functions that are asked for.
    pub fn funs(&self) -> Vec<&str> {
        match &self.fun {
            Value::Str(names) => names.split(',').collect(),
            Value::List(names) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether the answer is a map by function, because several were asked for.
    pub fn is_several(&self) -> bool {
        match &self.fun {
            Value::Str(names) => names.contains(','),
            _ => true,
        }
    }

    pub(super) fn take(fields: &mut Fields) -> Result<Self, MessageError> {
        let fun = match fields.value("fun") {
            None => return Err(fields.missing("fun")),
            Some(fun @ (Value::Str(_) | Value::List(_))) => fun,
            Some(other) => return Err(fields.wrong_type("fun", "str", &other)),
        };
        let tgt_type = match fields.text("tgt_type")? {
            Some(tgt_type) => Some(tgt_type),
            None => fields.text("expr_form")?,
        };
        Ok(Self {
            tgt: take_tgt(fields)?,
            fun,
            tgt_type,
        })
    }

    pub(super) fn put(&self, id: &MinionId, map: &mut Map) {
        map.put("cmd", "_mine_get");
        map.put("id", id);
        map.put("tgt", self.tgt.clone());
        map.put("fun", self.fun.clone());
        map.put_some("tgt_type", self.tgt_type.as_deref());
    }
}

impl MineDelete {
    pub(super) fn take(fields: &mut Fields) -> Result<Self, MessageError> {
        Ok(Self {
            fun: fields.need("fun", Fields::text)?,
        })
    }

    pub(super) fn put(&self, id: &MinionId, map: &mut Map) {
        map.put("cmd", "_mine_delete");
        map.put("id", id);
        map.put("fun", self.fun.as_str());
    }
}
