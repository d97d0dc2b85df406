//! Requests that change the table while the minion runs, as Salt's event
//! `manage_beacons` carries them, and their answers.

use halite_proto::{Map, Value};

use super::{AVAILABLE, ENABLED, Table, settings, validate};

/// What came of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Managed {
    /// The tag of the answer.
    pub tag: &'static str,
    /// The answer.
    pub answer: Map,
}

impl Managed {
    fn new<const N: usize>(tag: &'static str, answer: [(&str, Value); N]) -> Self {
        Self {
            tag,
            answer: Map::from(answer),
        }
    }
}

impl Table {
    /// Carries out a request; `None` if the function does not exist.
    pub fn manage(&mut self, request: &Map) -> Option<Managed> {
        let text = |name: &str| request.get(name).and_then(Value::as_str);
        let name = text("name").unwrap_or_default();
        let data = request.get("beacon_data").cloned().unwrap_or_default();
        Some(match text("func")? {
            "list" => self.list(request),
            "list_available" => Managed::new(
                "/salt/minion/minion_beacons_list_available_complete",
                [
                    ("complete", true.into()),
                    ("beacons", AVAILABLE.map(Value::from).to_vec().into()),
                ],
            ),
            "validate_beacon" => check(name, &data),
            "add" => {
                let comment = match self.own.contains_key(name) {
                    true => format!("Updating settings for beacon item: {name}"),
                    false => format!("Added new beacon item: {name}"),
                };
                let tag = "/salt/minion/minion_beacon_add_complete";
                self.change(tag, name, "update", &comment, |own| {
                    own.insert(name, data);
                })
            }
            "modify" => {
                let comment = format!("Updating settings for beacon item: {name}");
                let tag = "/salt/minion/minion_beacon_modify_complete";
                self.change(tag, name, "modify", &comment, |own| {
                    own.insert(name, data);
                })
            }
            "delete" => {
                let comment = match self.own.contains_key(name) {
                    true => format!("Deleting beacon item: {name}"),
                    false => format!("Beacon item {name} not found."),
                };
                let tag = "/salt/minion/minion_beacon_delete_complete";
                self.change(tag, name, "delete", &comment, |own| {
                    own.remove(name);
                })
            }
            "enable_beacon" => self.switch(name, true),
            "disable_beacon" => self.switch(name, false),
            "enable" => self.switch_all(true),
            "disable" => self.switch_all(false),
            "reset" => {
                self.own = Map::new();
                Managed::new(
                    "/salt/minion/minion_beacon_reset_complete",
                    [
                        ("complete", true.into()),
                        ("comment", "Beacons have been reset".into()),
                        ("beacons", self.own.clone().into()),
                    ],
                )
            }
            _ => return None,
        })
    }

    fn list(&self, request: &Map) -> Managed {
        let included = |name: &str| request.get(name).is_none_or(Value::is_true);
        let mut beacons = Map::new();
        if included("include_opts") {
            beacons.extend(self.own.clone());
        }
        if included("include_pillar") {
            beacons.extend(self.pillar.clone());
        }
        Managed::new(
            "/salt/minion/minion_beacons_list_complete",
            [("complete", true.into()), ("beacons", beacons.into())],
        )
    }

    /// Changes the beacons of the configuration, unless `name` is the
    /// pillar's.
    fn change(
        &mut self,
        tag: &'static str,
        name: &str,
        verb: &str,
        comment: &str,
        change: impl FnOnce(&mut Map),
    ) -> Managed {
        let is_pillars = self.pillar.contains_key(name);
        let comment = match (is_pillars, verb) {
            (false, _) => {
                change(&mut self.own);
                comment.to_owned()
            }
            (true, "update") => {
                format!("Cannot update beacon item {name}, because it is configured in pillar.")
            }
            (true, verb) => {
                format!("Cannot {verb} beacon item {name}, it is configured in pillar.")
            }
        };
        Managed::new(
            tag,
            [
                ("complete", (!is_pillars).into()),
                ("comment", comment.into()),
                ("beacons", self.own.clone().into()),
            ],
        )
    }

    fn switch(&mut self, name: &str, on: bool) -> Managed {
        let (tag, verb, comment) = match on {
            true => (
                "/salt/minion/minion_beacon_enabled_complete",
                "enable",
                format!("Enabling beacon item {name}"),
            ),
            false => (
                "/salt/minion/minion_beacon_disabled_complete",
                "disable",
                format!("Disabling beacon item {name}"),
            ),
        };
        self.change(tag, name, verb, &comment, |own| {
            if let Some(config) = own.get_mut(name) {
                settings::set_enabled(config, on);
            }
        })
    }

    fn switch_all(&mut self, on: bool) -> Managed {
        self.own.insert(ENABLED, on);
        let tag = match on {
            true => "/salt/minion/minion_beacons_enabled_complete",
            false => "/salt/minion/minion_beacons_disabled_complete",
        };
        let beacons = self.own.clone().into();
        Managed::new(tag, [("complete", true.into()), ("beacons", beacons)])
    }
}

fn check(name: &str, data: &Value) -> Managed {
    let checked = validate(&settings::module(name, data), data);
    let (valid, comment) = match checked {
        Ok(comment) => (true, comment.to_owned()),
        Err(comment) => (false, comment),
    };
    Managed::new(
        "/salt/minion/minion_beacon_validation_complete",
        [
            ("complete", true.into()),
            ("vcomment", comment.into()),
            ("valid", valid.into()),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask<const N: usize>(table: &mut Table, fields: [(&str, Value); N]) -> Map {
        table.manage(&Map::from(fields)).unwrap().answer
    }

    fn comment(answer: &Map) -> &str {
        answer.get("comment").and_then(Value::as_str).unwrap()
    }

    #[test]
    fn beacons_come_and_go() {
        let mut table = Table::default();
        let data = Value::from(vec![Map::from([("percent", 1)]).into()]);
        let add = [
            ("func", Value::from("add")),
            ("name", "memusage".into()),
            ("beacon_data", data.clone()),
        ];
        let answer = ask(&mut table, add.clone());
        assert_eq!(comment(&answer), "Added new beacon item: memusage");
        assert_eq!(answer.get("beacons").unwrap().get("memusage"), Some(&data));
        let off = ask(
            &mut table,
            [
                ("func", "disable_beacon".into()),
                ("name", "memusage".into()),
            ],
        );
        assert_eq!(comment(&off), "Disabling beacon item memusage");
        assert_eq!(table.active().len(), 0);
        let gone = ask(
            &mut table,
            [("func", "delete".into()), ("name", "memusage".into())],
        );
        assert_eq!(comment(&gone), "Deleting beacon item: memusage");
        assert!(table.is_idle());
        table.set_pillar(Map::from([("memusage", data)]));
        let answer = ask(&mut table, add);
        assert_eq!(answer.get("complete"), Some(&false.into()));
        assert_eq!(
            comment(&answer),
            "Cannot update beacon item memusage, because it is configured in pillar."
        );
        assert_eq!(table.manage(&Map::from([("func", "x")])), None);
    }
}
