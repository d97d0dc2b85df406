//! Which grains and pillar a target looks at, by the name at their top: who
//! keeps the data of many minions need not read all of it.

use std::collections::BTreeSet;

use crate::target::{Kind, Target};

/// Names at the top of grains or pillar.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Names {
    /// None at all.
    #[default]
    None,
    /// These.
    These(BTreeSet<String>),
    /// It may be any of them.
    All,
}

impl Names {
    fn add(&mut self, name: &str) {
        // To Python some numbers and truths are one key, and `*` is any.
        let is_plain = !name.is_empty()
            && !name.contains(['*', '?', '['])
            && !name
                .bytes()
                .any(|byte| byte.is_ascii_digit() && name.parse::<f64>().is_ok())
            && !matches!(
                name,
                "true" | "True" | "yes" | "on" | "false" | "False" | "no" | "off"
            );
        match self {
            Self::All => {}
            _ if !is_plain => *self = Self::All,
            Self::None => *self = Self::These(BTreeSet::from([name.to_owned()])),
            Self::These(names) => {
                names.insert(name.to_owned());
            }
        }
    }
}

/// What a target looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Of the grains.
    pub grains: Names,
    /// Of the pillar.
    pub pillar: Names,
}

impl Target {
    /// The grains and pillar that decide whether a minion is meant: without
    /// all others the answer is the same.
    pub fn wanted(&self) -> Wanted {
        let mut wanted = Wanted::default();
        self.add_to(&mut wanted);
        wanted
    }

    fn add_to(&self, wanted: &mut Wanted) {
        match self.kind() {
            Kind::Glob(_) | Kind::Pcre(_) | Kind::List(_) => {}
            Kind::Grain(data) => wanted.grains.add(data.first_name()),
            Kind::Pillar(data) => wanted.pillar.add(data.first_name()),
            Kind::IpCidr(_) => {
                wanted.grains.add("ipv4");
                wanted.grains.add("ipv6");
            }
            Kind::Range(_) => wanted.grains.add("fqdn"),
            Kind::Compound(expression) => expression.visit(&mut |target, _| target.add_to(wanted)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(compound: &str) -> Wanted {
        Target::parse(&compound.into(), "compound", ":")
            .unwrap()
            .wanted()
    }

    fn these(names: &[&str]) -> Names {
        Names::These(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn the_first_names_are_wanted() {
        let found = wanted("web* and ( G@os:Debian or not P@place:city:^B ) and I@role:x:y");
        assert_eq!(found.grains, these(&["os", "place"]));
        assert_eq!(found.pillar, these(&["role"]));
        assert_eq!(wanted("S@10.0.0.0/8").grains, these(&["ipv4", "ipv6"]));
        assert_eq!(wanted("web* or L@a,b"), Wanted::default());
    }

    #[test]
    fn where_any_name_may_decide_all_are_wanted() {
        for text in ["G@*:x", "G@os:x and G@1:x", "G@true:x"] {
            assert_eq!(wanted(text).grains, Names::All, "{text}");
        }
    }
}
