//! Several interfaces as one: the options of the kernel's module, in the file
//! of an interface and in one of `/etc/modprobe.d`.

use halite_call::host::replace_file;
use halite_call::{Call, CallError, os_error, python};
use halite_proto::{Map, Value};

use super::{SWITCHES, is_no, is_yes, wrong_interface};

/// Addresses that are asked for at most.
pub(super) const TARGETS_MAX: usize = 16;

/// How packets are spread, by number.
pub(super) const MODES: [&str; 7] = [
    "balance-rr",
    "active-backup",
    "balance-xor",
    "broadcast",
    "802.3ad",
    "balance-tlb",
    "balance-alb",
];

pub(super) const POLICIES: [&str; 3] = ["layer2", "layer2+3", "layer3+4"];

/// The options of a bond, in order.
pub(super) type Options = Vec<(&'static str, String)>;

struct Given<'a> {
    name: &'a str,
    arguments: &'a Map,
}

impl Given<'_> {
    fn text(&self, option: &str) -> Option<String> {
        self.arguments.get(option).map(python::str)
    }

    fn wrong(&self, option: &str, expected: &str) -> CallError {
        wrong_interface(self.name, option, expected)
    }

    /// A number (milliseconds mostly), or its default.
    fn number(
        &self,
        option: &'static str,
        default: &str,
    ) -> Result<(&'static str, String), CallError> {
        let value = self.text(option).unwrap_or_else(|| default.to_owned());
        match value.parse::<i64>() {
            Ok(_) => Ok((option, value)),
            Err(_) => Err(self.wrong(option, "integer")),
        }
    }

    /// How often is asked whether the links are up, and when that counts.
    fn monitored(&self) -> Result<Options, CallError> {
        Ok(vec![
            self.number("miimon", "100")?,
            self.number("downdelay", "200")?,
            self.number("updelay", "0")?,
        ])
    }

    /// Who is asked whether the network is there.
    fn targets(&self) -> Result<Options, CallError> {
        let targets = self.arguments.get("arp_ip_target");
        let targets = targets.and_then(Value::as_list).unwrap_or_default();
        if targets.is_empty() || targets.len() > TARGETS_MAX {
            return Err(self.wrong("arp_ip_target", "list of ips (up to 16)"));
        }
        let targets: Vec<String> = targets.iter().map(python::str).collect();
        Ok(vec![
            ("arp_ip_target", targets.join(",")),
            self.number("arp_interval", "250")?,
        ])
    }

    fn carrier(&self) -> Result<(&'static str, String), CallError> {
        let value = match self.arguments.get("use_carrier") {
            None => "on",
            Some(value) if is_yes(value) => "1",
            Some(value) if is_no(value) => "0",
            Some(_) => return Err(self.wrong("use_carrier", SWITCHES)),
        };
        Ok(("use_carrier", value.to_owned()))
    }

    fn primary(&self) -> Option<(&'static str, String)> {
        self.text("primary").map(|primary| ("primary", primary))
    }

    fn rate(&self) -> Result<(&'static str, String), CallError> {
        let rate = match self.text("lacp_rate").as_deref() {
            None | Some("slow" | "0") => "0",
            Some("fast" | "1") => "1",
            Some(_) => return Err(self.wrong("lacp_rate", "fast|1|slow|0")),
        };
        Ok(("lacp_rate", rate.to_owned()))
    }

    fn policy(&self) -> Result<Option<(&'static str, String)>, CallError> {
        match self.text("hashing-algorithm") {
            None => Ok(None),
            Some(policy) if POLICIES.contains(&policy.as_str()) => {
                Ok(Some(("xmit_hash_policy", policy)))
            }
            Some(_) => Err(self.wrong("hashing-algorithm", &POLICIES.join("|"))),
        }
    }
}

/// The number of the mode that is asked for.
pub(super) fn mode(name: &str, arguments: &Map) -> Result<usize, CallError> {
    let mode = arguments.get("mode").map(python::str);
    let mode = mode.ok_or_else(|| CallError::exception("KeyError", "'mode'"))?;
    let named = MODES.iter().position(|known| *known == mode);
    let number = mode.parse().ok().filter(|number| *number < MODES.len());
    named.or(number).ok_or_else(|| {
        let all = format!("0|1|2|3|4|5|6|{}", MODES.join("|"));
        wrong_interface(name, "mode", &all)
    })
}

/// The options of the bond `name`.
pub(super) fn options(name: &str, arguments: &Map) -> Result<Options, CallError> {
    let given = Given { name, arguments };
    let mode = mode(name, arguments)?;
    let mut all = vec![("mode", mode.to_string())];
    match MODES[mode] {
        "balance-rr" => all.extend(given.targets()?),
        "balance-xor" => {
            all.extend(given.targets()?);
            all.extend(given.policy()?);
        }
        "active-backup" => {
            all.extend(given.monitored()?);
            all.extend(given.primary());
            all.push(given.carrier()?);
        }
        "802.3ad" => {
            all.extend(given.monitored()?);
            all.push(given.rate()?);
            all.push(given.number("ad_select", "0")?);
            all.push(given.carrier()?);
            all.extend(given.policy()?);
        }
        _ => {
            all.extend(given.monitored()?);
            all.push(given.carrier()?);
            let has_primary = MODES[mode] != "broadcast";
            all.extend(given.primary().filter(|_| has_primary));
        }
    }
    Ok(all)
}

/// The interfaces that are the bond.
pub(super) fn slaves(arguments: &Map) -> Option<String> {
    match arguments.get("slaves")? {
        Value::List(slaves) => {
            let slaves: Vec<String> = slaves.iter().map(python::str).collect();
            Some(slaves.join(" "))
        }
        slaves => Some(python::str(slaves)),
    }
}

fn file(name: &str) -> Result<String, CallError> {
    match name.is_empty() || name.contains('/') {
        true => Err(CallError::invocation(format!("not an interface: {name:?}"))),
        false => Ok(format!("/etc/modprobe.d/{name}.conf")),
    }
}

fn lines(text: &str) -> Value {
    Value::List(text.split_inclusive('\n').map(Value::from).collect())
}

pub(super) fn get(call: &Call<'_>, name: &str) -> Result<Value, CallError> {
    let text = call.host().read(file(name)?);
    Ok(match text.is_empty() {
        true => "".into(),
        false => lines(&text),
    })
}

pub(super) fn build(call: &Call<'_>, name: &str, arguments: &Map) -> Result<Value, CallError> {
    let options = options(name, arguments)?;
    let mut text = format!("alias {name} bonding\noptions {name} ");
    for (option, value) in options {
        text.push_str(&format!("{option}={value} "));
    }
    if !arguments.get("test").is_some_and(Value::is_true) {
        let file = file(name)?;
        replace_file(&call.host().path(&file), text.as_bytes())
            .map_err(|error| os_error(&error, &file))?;
        for (fun, what) in [("kmod.load", "bonding"), ("pkg.install", "ifenslave-2.6")] {
            if call.has_function(fun) {
                call.salt(fun, &[what.into()], Map::new())?;
            }
        }
    }
    Ok(lines(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_be_numbers() {
        let arguments = Map::from([("mode", 1), ("miimon", 50)]);
        let options = options("bond0", &arguments).unwrap();
        assert!(options.contains(&("mode", "1".to_owned())));
        assert!(options.contains(&("miimon", "50".to_owned())));
    }

    #[test]
    fn a_bond_stays_in_its_file() {
        assert!(file("../bond0").is_err());
        assert_eq!(file("bond0").unwrap(), "/etc/modprobe.d/bond0.conf");
    }
}
