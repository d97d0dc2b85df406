//! What runs when a job is due.

use halite_proto::{Map, Value};

/// Whom the result of a job goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returned {
    /// To the masters, which keep it.
    Stored,
    /// To the masters, which fire it and do not store it.
    NotStored,
    /// To nobody.
    No,
}

/// A job that is to run now.
#[derive(Clone, Debug, PartialEq)]
pub struct Due {
    /// Its name in the schedule.
    pub name: String,
    /// The function.
    pub function: String,
    /// Its arguments.
    pub args: Vec<Value>,
    /// Its keyword arguments.
    pub kwargs: Map,
    /// Whom the result goes to.
    pub returned: Returned,
    /// Data that goes along with the result.
    pub metadata: Option<Map>,
    /// Whether other minion programs see that it runs (`jid_include`).
    pub is_shown: bool,
    /// Returners that it names.
    pub returner: Option<Value>,
    /// Their options: `ret_config` and `ret_kwargs`.
    pub returner_options: Map,
}

impl Due {
    /// What a job with the definition `data` runs.
    pub fn from_definition(name: &str, data: &Map) -> Self {
        let function = ["function", "func", "fun"]
            .iter()
            .find_map(|key| data.get(key))
            .and_then(Value::as_str);
        let args = match data.get("args") {
            Some(Value::List(args)) => args.clone(),
            Some(Value::Nil) | None => Vec::new(),
            Some(one) => vec![one.clone()],
        };
        let map = |key: &str| data.get(key).and_then(Value::as_map).cloned();
        let returned = match data.get("return_job") {
            Some(Value::Str(text)) if text == "nocache" => Returned::NotStored,
            Some(value) if !value.is_true() => Returned::No,
            _ => Returned::Stored,
        };
        Self {
            name: name.to_owned(),
            function: function.unwrap_or_default().to_owned(),
            args,
            kwargs: map("kwargs").unwrap_or_default(),
            returned,
            metadata: map("metadata"),
            is_shown: data.get("jid_include").is_none_or(Value::is_true),
            returner: data.get("returner").cloned().filter(Value::is_true),
            returner_options: returner_options(data),
        }
    }
}

fn returner_options(data: &Map) -> Map {
    let names = [
        ("return_config", "ret_config"),
        ("return_kwargs", "ret_kwargs"),
    ];
    let given = |(from, to): (&str, &'static str)| Some((to, data.get(from)?.clone()));
    names.into_iter().filter_map(given).collect()
}
