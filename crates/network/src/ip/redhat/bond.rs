//! The options of a bond.

use halite_call::{CallError, python};
use halite_proto::{Map, Value};

use super::super::bond::{MODES, POLICIES, TARGETS_MAX, mode};
use super::super::{SWITCHES, is_no, is_yes, wrong, wrong_interface};

struct Given<'a> {
    name: &'a str,
    arguments: &'a Map,
}

impl Given<'_> {
    fn wrong(&self, option: &str, expected: &str) -> CallError {
        wrong_interface(self.name, option, expected)
    }

    fn number(&self, option: &str) -> Result<Option<i64>, CallError> {
        let Some(value) = self.arguments.get(option) else {
            return Ok(None);
        };
        let number = python::int(value).map_err(|_| self.wrong(option, "integer"))?;
        Ok(Some(number))
    }

    /// How often (milliseconds) is asked whether the links are up, and when
    /// that counts.
    fn monitored(&self, every: i64) -> Result<Vec<String>, CallError> {
        let mut words = vec![format!("miimon={every}")];
        for (option, default) in [
            ("downdelay", Some(every.saturating_mul(2))),
            ("updelay", None),
        ] {
            let Some(value) = self.number(option)?.or(default) else {
                continue;
            };
            if value != 0 && (every == 0 || value % every != 0) {
                let expected = format!("0 or a multiple of miimon ({every})");
                return Err(self.wrong(option, &expected));
            }
            words.push(format!("{option}={value}"));
        }
        let carrier = match self.arguments.get("use_carrier") {
            None => 0,
            Some(value) if is_yes(value) => 1,
            Some(value) if is_no(value) => 0,
            Some(_) => return Err(self.wrong("use_carrier", SWITCHES)),
        };
        words.push(format!("use_carrier={carrier}"));
        Ok(words)
    }

    /// Who is asked, and how often, whether the network is there.
    fn targets(&self, every: i64) -> Result<Vec<String>, CallError> {
        let targets = self.arguments.get("arp_ip_target");
        let targets = targets.and_then(Value::as_list).unwrap_or_default();
        if targets.is_empty() || targets.len() > TARGETS_MAX {
            return Err(self.wrong("arp_ip_target", "list of ips (up to 16)"));
        }
        let targets: Vec<String> = targets.iter().map(python::str).collect();
        Ok(vec![
            format!("arp_interval={every}"),
            format!("arp_ip_target={}", targets.join(",")),
        ])
    }

    fn policy(&self) -> Result<Option<String>, CallError> {
        match self.arguments.get("hashing-algorithm").map(python::str) {
            None => Ok(None),
            Some(policy) if POLICIES.contains(&policy.as_str()) => {
                Ok(Some(format!("xmit_hash_policy={policy}")))
            }
            Some(_) => Err(self.wrong("hashing-algorithm", &POLICIES.join("|"))),
        }
    }

    fn aggregated(&self) -> Result<Vec<String>, CallError> {
        let rate = match self.arguments.get("lacp_rate").map(python::str).as_deref() {
            None | Some("slow" | "0") => 0,
            Some("fast" | "1") => 1,
            Some(_) => return Err(self.wrong("lacp_rate", "fast|1|slow|0")),
        };
        let select = self.number("ad_select")?.unwrap_or_default();
        Ok(vec![
            format!("lacp_rate={rate}"),
            format!("ad_select={select}"),
        ])
    }
}

/// The options as one text.
pub(super) fn options(name: &str, arguments: &Map) -> Result<String, CallError> {
    let given = Given { name, arguments };
    if !arguments.contains_key("mode") {
        return Err(wrong("mode is required for bond interfaces"));
    }
    let mode = mode(name, arguments)?;
    let mut words = vec![format!("mode={mode}")];
    let kind = MODES[mode];
    let links = given.number("miimon")?;
    if ["balance-rr", "balance-xor", "broadcast"].contains(&kind) {
        let targets = given.number("arp_interval")?;
        if links.is_none() && targets.is_none() {
            let expected = "at least one of these is required";
            return Err(given.wrong("miimon or arp_interval", expected));
        }
        if let Some(every) = links {
            words.extend(given.monitored(every)?);
        }
        if let Some(every) = targets {
            words.extend(given.targets(every)?);
        }
    } else {
        let every = links.ok_or_else(|| given.wrong("miimon", "integer"))?;
        words.extend(given.monitored(every)?);
    }
    match kind {
        "802.3ad" => words.extend(given.aggregated()?),
        "active-backup" | "balance-tlb" | "balance-alb" => {
            let primary = arguments.get("primary").map(python::str);
            words.extend(primary.map(|primary| format!("primary={primary}")));
        }
        _ => {}
    }
    if ["802.3ad", "balance-xor"].contains(&kind) {
        words.extend(given.policy()?);
    }
    Ok(words.join(" "))
}
