//! Which top-level grains and pillar keys a target depends on, so that a master
//! reads only those of the data of many minions.

use std::collections::BTreeSet;

use crate::target::{Target, TargetKind};

/// Top-level names of grains or pillar.
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

/// The grains and pillar keys that a target depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataNeeded {
    /// Top-level grains.
    pub grains: Names,
    /// Top-level pillar keys.
    pub pillar: Names,
}

impl Target {
    /// The grains and pillar keys that decide whether a minion matches. Removing all
    /// others does not change the answer.
    pub fn data_needed(&self) -> DataNeeded {
        let mut needed = DataNeeded::default();
        self.add_to(&mut needed);
        needed
    }

    /// How many of its parts ask about pillar: each is a question about what
    /// minions other than the one that asks may hold in secret.
    pub fn parts_about_pillar(&self) -> usize {
        match self.kind() {
            TargetKind::Pillar(_) => 1,
            TargetKind::Compound(expression) => {
                let mut parts = 0;
                expression.visit(&mut |target, _| parts += target.parts_about_pillar());
                parts
            }
            _ => 0,
        }
    }

    fn add_to(&self, wanted: &mut DataNeeded) {
        match self.kind() {
            TargetKind::Glob(_) | TargetKind::Pcre(_) | TargetKind::List(_) => {}
            TargetKind::Grain(data) => wanted.grains.add(data.first_name()),
            TargetKind::Pillar(data) => wanted.pillar.add(data.first_name()),
            TargetKind::IpCidr(_) => {
                wanted.grains.add("ipv4");
                wanted.grains.add("ipv6");
            }
            TargetKind::Range(_) => wanted.grains.add("fqdn"),
            TargetKind::Compound(expression) => {
                expression.visit(&mut |target, _| target.add_to(wanted))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_about_pillar_is_a_question() {
        let parts = |tgt: &str, tgt_type: &str| {
            let target = Target::parse(&tgt.into(), tgt_type, ":").unwrap();
            target.parts_about_pillar()
        };
        assert_eq!(parts("pass:x", "pillar_exact"), 1);
        assert_eq!(parts("pass:x", "grain"), 0);
        assert_eq!(parts("web* and not I@a:1 or J@b:2", "compound"), 2);
    }

    fn wanted(compound: &str) -> DataNeeded {
        Target::parse(&compound.into(), "compound", ":")
            .unwrap()
            .data_needed()
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
        assert_eq!(wanted("web* or L@a,b"), DataNeeded::default());
    }

    #[test]
    fn where_any_name_may_decide_all_are_wanted() {
        for text in ["G@*:x", "G@os:x and G@1:x", "G@true:x"] {
            assert_eq!(wanted(text).grains, Names::All, "{text}");
        }
    }
}
