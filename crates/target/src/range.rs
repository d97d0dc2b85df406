//! Expressions of a range server (`R@%web`), which a server expands to hosts.

use std::fmt::Debug;

use crate::TargetError;

/// Who knows the hosts of an expression.
pub trait Ranges: Debug + Sync {
    /// The hosts that an expression stands for.
    ///
    /// # Errors
    /// When they cannot be found out; the text says why.
    fn hosts(&self, expression: &str) -> Result<Vec<String>, String>;
}

/// The mark in front of an expression within a compound target.
const MARK: &str = "R@";

/// What means nobody, to minions of Salt as well.
const NOBODY: &str = "E@(?!)";

/// The expression of a word of a compound target.
fn expression(word: &str) -> Option<&str> {
    word.strip_prefix(MARK).filter(|rest| !rest.is_empty())
}

/// Whether a compound target has an expression for a range server.
pub fn is_in(compound: &str) -> bool {
    compound
        .split_whitespace()
        .any(|word| expression(word).is_some())
}

/// The compound target with every `R@expression` replaced by the hosts it
/// stands for, so that minions need not ask.
///
/// # Errors
/// When the hosts cannot be found out; the offset is that of the expression.
pub fn write_out(compound: &str, ranges: &dyn Ranges) -> Result<String, TargetError> {
    let mut words = Vec::new();
    for word in compound.split_whitespace() {
        let Some(expression) = expression(word) else {
            words.push(word.to_owned());
            continue;
        };
        let at = expression.as_ptr() as usize - compound.as_ptr() as usize;
        let hosts = ranges
            .hosts(expression)
            .map_err(|why| TargetError::new(at, why))?;
        words.push(match hosts.is_empty() {
            true => NOBODY.to_owned(),
            false => format!("L@{}", hosts.join(",")),
        });
    }
    Ok(words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataNeeded, Reading, Subject, Target};
    use halite_proto::{Map, Value};

    #[derive(Debug)]
    struct Fixed;

    impl Ranges for Fixed {
        fn hosts(&self, expression: &str) -> Result<Vec<String>, String> {
            match expression {
                "%web" => Ok(vec!["web1".to_owned(), "web2.example.com".to_owned()]),
                "%none" => Ok(Vec::new()),
                _ => Err("NOCLUSTERDEF".to_owned()),
            }
        }
    }

    struct Minion(&'static str, Option<Map>);

    impl Subject for Minion {
        fn id(&self) -> &str {
            self.0
        }

        fn grains(&self) -> Option<&Map> {
            self.1.as_ref()
        }

        fn pillar(&self) -> Option<&Map> {
            None
        }
    }

    fn read(tgt: &str, tgt_type: &str) -> Result<Target, TargetError> {
        let reading = Reading {
            ranges: Some(&Fixed),
            ..Reading::default()
        };
        Target::parse_with(&Value::from(tgt), tgt_type, &reading)
    }

    #[test]
    fn hosts_are_ids_or_full_names() {
        let by_name = Map::from([("fqdn", "web2.example.com")]);
        let web1 = Minion("web1", None);
        let web2 = Minion("web2", Some(by_name));
        let db1 = Minion("db1", Some(Map::new()));
        for (tgt, tgt_type, meant) in [
            ("%web", "range", [true, true, false]),
            ("%none", "range", [false, false, false]),
            ("R@%web and not web1", "compound", [false, true, false]),
            ("not R@%none", "compound", [true, true, true]),
            ("db* or R@%web", "compound", [true, true, true]),
        ] {
            let target = read(tgt, tgt_type).unwrap();
            let found = [&web1, &web2, &db1].map(|minion| target.matches(minion));
            assert_eq!(found, meant, "{tgt}");
            assert!(!target.needs_data() && target.named_ids().is_empty());
            assert_ne!(target.data_needed(), DataNeeded::default());
        }
        let group = Map::from([("rg", "R@%web")]);
        let reading = Reading {
            ranges: Some(&Fixed),
            nodegroups: Some(&group),
            ..Reading::default()
        };
        let target = Target::parse_with(&"rg".into(), "nodegroup", &reading).unwrap();
        assert!(target.matches(&web1) && !target.matches(&db1));
    }

    #[test]
    fn what_the_server_refuses_has_its_place() {
        let error = read("web1 or R@%x", "compound").unwrap_err();
        assert_eq!((error.offset, error.message.as_str()), (10, "NOCLUSTERDEF"));
        let error = write_out("web1 or R@%x", &Fixed).unwrap_err();
        assert_eq!((error.offset, error.message.as_str()), (10, "NOCLUSTERDEF"));
    }

    #[test]
    fn expressions_are_written_out() {
        let written = |text| write_out(text, &Fixed).unwrap();
        assert_eq!(written("R@%web"), "L@web1,web2.example.com");
        let text = written("G@os:x and not ( R@%none or R@%web )");
        assert_eq!(text, "G@os:x and not ( E@(?!) or L@web1,web2.example.com )");
        assert!(!is_in(&text) && is_in("x or R@y") && !is_in("R@ or xR@y"));
        let nobody = Target::parse(&NOBODY.into(), "compound", ":").unwrap();
        assert!(!nobody.matches(&Minion("web1", None)));
    }
}
