//! What zones are, as `firewall-cmd` lists them, and what is asked of one.

use halite_call::{Call, CallError, CallResult};
use halite_proto::{Map, Value};

use super::functions::listed;

pub(super) fn asked(call: &Call<'_>, what: &str) -> CallResult {
    Ok(listed(call, what)?.into())
}

/// Zones by their headings, with what is indented below these.
pub(super) fn parsed(said: &str) -> Map {
    let mut all = Map::new();
    let mut zone: Option<&str> = None;
    for line in said.lines().filter(|line| !line.trim().is_empty()) {
        if !line.starts_with(char::is_whitespace) {
            zone = Some(line.trim());
            all.insert(line.trim(), Map::new());
            continue;
        }
        let Some(Value::Map(about)) = zone.and_then(|zone| all.get_mut(zone)) else {
            continue;
        };
        // What has no colon goes on with the line before: rich rules.
        match line.split_once(':').filter(|(key, _)| !key.contains('"')) {
            Some((key, value)) => {
                about.insert(key.trim(), vec![Value::from(value.trim())]);
            }
            None => {
                let last = about.iter().next_back().map(|(key, _)| key.clone());
                let values = last.and_then(|key| about.get_mut(key.as_str()?));
                if let Some(Value::List(values)) = values {
                    values.push(line.trim().into());
                }
            }
        }
    }
    all
}

/// `port=22:proto=tcp:toport=2222:toaddr=`, line by line.
pub(super) fn forwards(said: &str) -> Vec<Value> {
    let lines = said.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| {
            let part = |name: &str| -> Value {
                // The address, which comes last, may have colons.
                let (_, value) = line.split_once(&format!("{name}=")).unwrap_or_default();
                let value = match name {
                    "toaddr" => value,
                    _ => value.split(':').next().unwrap_or_default(),
                };
                value.trim().into()
            };
            Map::from([
                ("Source port", part("port")),
                ("Protocol", part("proto")),
                ("Destination port", part("toport")),
                ("Destination address", part("toaddr")),
            ])
            .into()
        })
        .collect()
}

pub(super) fn forward(call: &Call<'_>, verb: &str) -> CallResult {
    let [source, target, protocol, address] =
        ["src", "dest", "proto", "dstaddr"].map(|name| call.text(name));
    asked(
        call,
        &format!(
            "{verb}-forward-port=port={source}:proto={protocol}:toport={target}:toaddr={address}"
        ),
    )
}

pub(super) fn is_masquerading(call: &Call<'_>) -> Result<bool, CallError> {
    let said = listed(call, "list-all")?;
    Ok(said.lines().any(|line| line.trim() == "masquerade: yes"))
}

/// Turns masquerading on where that is asked for beside something else.
pub(super) fn masquerade_if_forced(call: &Call<'_>) -> Result<(), CallError> {
    if call.flag("force_masquerade") && !is_masquerading(call)? {
        asked(call, "add-masquerade")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rich_rules_are_below_their_heading() {
        let said = "work\n  target: default\n  rich rules: \n\trule family=\"ipv6\" source address=\"::1\" accept\n";
        let all = parsed(said);
        let rules = all.get("work").unwrap().get("rich rules").unwrap();
        assert_eq!(rules.as_list().unwrap().len(), 2);
        assert!(parsed("  stray: line\n").is_empty());
    }

    #[test]
    fn forwarded_ports_have_four_parts() {
        let all = forwards("port=22:proto=tcp:toport=2222:toaddr=fd00::1\n\n");
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].get("Destination address"), Some(&"fd00::1".into()));
        assert_eq!(all[0].get("Destination port"), Some(&"2222".into()));
        assert_eq!(all[0].get("Source port"), Some(&"22".into()));
    }
}
