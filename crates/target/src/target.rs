//! Targets of every kind, parsed once and matched against many minions.
//!
//! Invariant: matching a parsed target cannot fail. If the result is unknown (a
//! regular expression that takes too long, unknown grains), the target does not
//! match.

use halite_proto::{Map, Value};

use crate::compound::{self, Expression};
use crate::data::{DataTarget, Pattern};
use crate::glob::Glob;
use crate::ipcidr::IpCidr;
use crate::limits::EXPRESSION_BYTES_MAX;
use crate::pcre::Pcre;
use crate::range::Ranges;
use crate::{TargetError, list, nodegroup};

/// What separates the parts of a grain or pillar target unless said otherwise.
pub const DEFAULT_DELIMITER: &str = ":";

/// A minion, as far as targets look at it.
pub trait Subject {
    /// Its id.
    fn id(&self) -> &str;

    /// Its grains, if they are known.
    fn grains(&self) -> Option<&Map>;

    /// Its pillar, if it is known.
    fn pillar(&self) -> Option<&Map>;

    /// What is said of grains and pillar that are not known: that they match,
    /// or that they do not.
    fn matches_unknown(&self) -> bool {
        false
    }
}

/// What is needed besides the target to read it.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// What separates the parts of a grain or pillar target.
    pub delimiter: &'a str,
    /// The configured node groups.
    pub nodegroups: Option<&'a Map>,
    /// Who is asked for ranges; reading a target that has some waits for the
    /// answer.
    pub ranges: Option<&'a dyn Ranges>,
}

impl Default for Reading<'_> {
    fn default() -> Self {
        Self {
            delimiter: DEFAULT_DELIMITER,
            nodegroups: None,
            ranges: None,
        }
    }
}

/// A target that has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target(TargetKind);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TargetKind {
    Glob(Glob),
    Pcre(Pcre),
    List(Vec<String>),
    Grain(DataTarget),
    Pillar(DataTarget),
    IpCidr(IpCidr),
    /// Hosts, sorted.
    Range(Vec<String>),
    Compound(Expression),
}

impl Target {
    /// Reads `tgt` as the kind `tgt_type`: `glob`, `pcre`, `list`, `grain`,
    /// `grain_pcre`, `pillar`, `pillar_pcre`, `pillar_exact`, `ipcidr`,
    /// `compound` or `compound_pillar_exact`.
    ///
    /// # Errors
    /// When it cannot be understood or the kind is unknown; the offset is that
    /// of the byte that is to blame.
    pub fn parse(tgt: &Value, tgt_type: &str, delimiter: &str) -> Result<Self, TargetError> {
        let reading = Reading {
            delimiter,
            ..Reading::default()
        };
        Self::parse_with(tgt, tgt_type, &reading)
    }

    /// Like [`Target::parse`], with node groups (`nodegroup` and `N@`) and
    /// ranges (`range` and `R@`).
    ///
    /// # Errors
    /// As [`Target::parse`], when a node group is missing or is part of itself,
    /// and when the hosts of a range cannot be told.
    pub fn parse_with(
        tgt: &Value,
        tgt_type: &str,
        reading: &Reading<'_>,
    ) -> Result<Self, TargetError> {
        let data = |pattern| DataTarget::parse(text(tgt, tgt_type)?, reading.delimiter, pattern);
        Ok(Self(match tgt_type {
            "glob" => TargetKind::Glob(Glob::new(text(tgt, tgt_type)?)),
            "pcre" => TargetKind::Pcre(Pcre::new(text(tgt, tgt_type)?)?),
            "list" => match tgt {
                Value::Str(_) | Value::List(_) => {
                    TargetKind::List(list::ids(tgt).into_iter().map(str::to_owned).collect())
                }
                other => return Err(wrong_type(other, tgt_type)),
            },
            "grain" => TargetKind::Grain(data(Pattern::Glob)?),
            "grain_pcre" => TargetKind::Grain(data(Pattern::Pcre)?),
            "pillar" => TargetKind::Pillar(data(Pattern::Glob)?),
            "pillar_pcre" => TargetKind::Pillar(data(Pattern::Pcre)?),
            "pillar_exact" => TargetKind::Pillar(data(Pattern::Exact)?),
            "ipcidr" => TargetKind::IpCidr(IpCidr::parse(text(tgt, tgt_type)?)?),
            "compound" => TargetKind::Compound(compound::parse(tgt, reading, false)?),
            "compound_pillar_exact" => TargetKind::Compound(compound::parse(tgt, reading, true)?),
            "nodegroup" => {
                let none = Map::new();
                let groups = reading.nodegroups.unwrap_or(&none);
                let words = nodegroup::expand(text(tgt, tgt_type)?, groups)?;
                let words = Value::List(words.into_iter().map(Value::Str).collect());
                TargetKind::Compound(compound::parse(&words, reading, false).map_err(|error| {
                    TargetError::new(0, format!("in the node group: {}", error.message))
                })?)
            }
            "range" => {
                let expression = text(tgt, tgt_type)?;
                let hosts = match reading.ranges {
                    Some(ranges) => ranges.hosts(expression),
                    None => Err("nobody is asked for ranges here".to_owned()),
                };
                let mut hosts = hosts.map_err(|why| TargetError::new(0, why))?;
                hosts.sort_unstable();
                TargetKind::Range(hosts)
            }
            other => {
                let message = format!("there is no target type {other:?}");
                return Err(TargetError::new(0, message));
            }
        }))
    }

    pub(crate) fn kind(&self) -> &TargetKind {
        &self.0
    }

    /// Whether `subject` matches.
    pub fn matches(&self, subject: &dyn Subject) -> bool {
        match &self.0 {
            TargetKind::Glob(glob) => glob.matches(subject.id()),
            TargetKind::Pcre(pcre) => pcre.matches_start(subject.id()).unwrap_or(false),
            TargetKind::List(ids) => ids.iter().any(|id| id == subject.id()),
            TargetKind::Grain(target) => match subject.grains() {
                Some(data) => target.matches(data),
                None => subject.matches_unknown(),
            },
            TargetKind::Pillar(target) => match subject.pillar() {
                Some(data) => target.matches(data),
                None => subject.matches_unknown(),
            },
            TargetKind::IpCidr(target) => match subject.grains() {
                Some(data) => target.matches(data),
                None => subject.matches_unknown(),
            },
            TargetKind::Range(hosts) => {
                let is_host = |name: &str| {
                    let found = hosts.binary_search_by(|host| host.as_str().cmp(name));
                    found.is_ok()
                };
                let full_name = || subject.grains()?.get("fqdn")?.as_str();
                is_host(subject.id()) || full_name().is_some_and(is_host)
            }
            TargetKind::Compound(expression) => {
                expression.holds(&mut |target| target.matches(subject))
            }
        }
    }

    /// The ids that are named one by one and not excluded with `not`: of these
    /// a master can say that they are missing.
    pub fn named_ids(&self) -> Vec<&str> {
        let mut ids: Vec<&str> = Vec::new();
        match &self.0 {
            TargetKind::List(own) => ids.extend(own.iter().map(String::as_str)),
            TargetKind::Compound(expression) => expression.visit(&mut |target, negated| {
                if let (TargetKind::List(own), false) = (&target.0, negated) {
                    ids.extend(own.iter().map(String::as_str));
                }
            }),
            _ => {}
        }
        ids
    }

    /// How many regular expressions it is made of.
    pub(crate) fn regexes(&self) -> usize {
        match &self.0 {
            TargetKind::Pcre(_) => 1,
            TargetKind::Grain(data) | TargetKind::Pillar(data) => data.regexes(),
            TargetKind::Glob(_)
            | TargetKind::List(_)
            | TargetKind::IpCidr(_)
            | TargetKind::Range(_) => 0,
            TargetKind::Compound(expression) => {
                let mut count = 0;
                expression.visit(&mut |target, _| count += target.regexes());
                count
            }
        }
    }

    /// Whether matching looks at more than ids.
    pub fn needs_data(&self) -> bool {
        match &self.0 {
            // Of a range the id decides, and the full name where it is known.
            TargetKind::Glob(_)
            | TargetKind::Pcre(_)
            | TargetKind::List(_)
            | TargetKind::Range(_) => false,
            TargetKind::Grain(_) | TargetKind::Pillar(_) | TargetKind::IpCidr(_) => true,
            TargetKind::Compound(expression) => {
                let mut needs = false;
                expression.visit(&mut |target, _| needs |= target.needs_data());
                needs
            }
        }
    }
}

fn text<'t>(tgt: &'t Value, tgt_type: &str) -> Result<&'t str, TargetError> {
    match tgt.as_str() {
        Some(text) if text.len() <= EXPRESSION_BYTES_MAX => Ok(text),
        Some(_) => {
            let message = format!("a target has at most {EXPRESSION_BYTES_MAX} bytes");
            Err(TargetError::new(0, message))
        }
        None => Err(wrong_type(tgt, tgt_type)),
    }
}

fn wrong_type(tgt: &Value, tgt_type: &str) -> TargetError {
    let found = tgt.type_name();
    TargetError::new(0, format!("a {tgt_type} target cannot be a {found}"))
}
