//! Zone files of name servers, as `dnsutil.parse_zone` reads them.

use halite_call::CallError;
use halite_proto::{Map, Value};

const WEEK: i64 = 604_800;

/// A length of time, at most a week.
fn seconds(text: &str) -> Result<i64, CallError> {
    let text = text.to_uppercase();
    let number = |text: String| {
        text.parse::<i64>().map_err(|_| {
            CallError::exception(
                "ValueError",
                format!("invalid literal for int() with base 10: '{text}'"),
            )
        })
    };
    let seconds = if text.contains('H') {
        number(text.replace('H', ""))?.saturating_mul(3600)
    } else if text.contains('D') {
        number(text.replace('D', ""))?.saturating_mul(86_400)
    } else if text.contains('W') {
        WEEK
    } else {
        text.parse().unwrap_or(WEEK)
    };
    Ok(seconds.min(WEEK))
}

/// The lines without comments, those in brackets as one.
fn records(text: &str) -> Vec<String> {
    let mut records = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines() {
        let line = line.split(';').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if open.is_none() && line.contains('(') && !line.contains(')') {
            open = Some(String::new());
        }
        match &mut open {
            Some(all) => {
                all.push(' ');
                all.push_str(line);
                if line.contains(')') {
                    records.push(all.replace(['(', ')'], ""));
                    open = None;
                }
            }
            None => records.push(line.to_owned()),
        }
    }
    records
}

/// The records of a zone by their kinds.
pub(crate) fn parse(text: &str) -> Result<Map, CallError> {
    let mut zone = Map::new();
    for record in records(text) {
        if let Some(directive) = record.trim().strip_prefix('$') {
            let mut words = directive.split_whitespace();
            if let (Some(name), Some(value)) = (words.next(), words.next()) {
                zone.insert(name, value);
            }
            continue;
        }
        let origin = zone
            .get("ORIGIN")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let line = match &origin {
            Some(origin) => record.replace('@', origin),
            None => record.clone(),
        };
        let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        if record.contains("SOA") {
            start(&mut zone, words)?;
            continue;
        }
        let origin = origin.unwrap_or_default();
        let first = words.first().cloned().unwrap_or_default();
        if first == "IN" {
            words.insert(0, origin.clone());
        } else if !first.ends_with('.') && !record.contains("NS") {
            words[0] = format!("{first}.{origin}");
        }
        add(&mut zone, &words, &record)?;
    }
    Ok(zone)
}

fn short(record: &str) -> CallError {
    CallError::command(format!("a record of the zone is too short: {record}"))
}

/// The record that a zone starts with.
fn start(zone: &mut Map, mut words: Vec<String>) -> Result<(), CallError> {
    let line = words.join(" ");
    if words.get(1).is_some_and(|word| word != "IN") {
        words.remove(1);
    }
    let word = |at: usize| words.get(at).cloned().ok_or_else(|| short(&line));
    zone.insert("ORIGIN", word(0)?);
    zone.insert("NETWORK", word(1)?);
    zone.insert("SOURCE", word(3)?);
    zone.insert("CONTACT", word(4)?.replacen('.', "@", 1));
    zone.insert("SERIAL", word(5)?);
    for (name, at) in [("REFRESH", 6), ("RETRY", 7), ("EXPIRE", 8), ("MINTTL", 9)] {
        zone.insert(name, seconds(&word(at)?)?);
    }
    Ok(())
}

fn add(zone: &mut Map, words: &[String], record: &str) -> Result<(), CallError> {
    let word = |at: usize| words.get(at).cloned().ok_or_else(|| short(record));
    let kind = word(2)?;
    if kind == "NS" || kind == "MX" {
        let server = match kind.as_str() {
            "NS" => Value::from(word(3)?),
            _ => Map::from([("priority", word(3)?), ("host", word(4)?)]).into(),
        };
        let servers = zone.get_or_insert_with(kind.as_str(), || Value::List(Vec::new()));
        if let Value::List(servers) = servers
            && (kind == "NS" || servers.is_empty())
        {
            servers.push(server);
        }
        return Ok(());
    }
    let value = word(3)?;
    let (kind, entry) = match value.as_str() {
        "A" | "AAAA" => {
            let about = Map::from([("TARGET", word(4)?), ("TTL", word(1)?)]);
            (value, Value::from(about))
        }
        _ => (kind, value.into()),
    };
    let all = zone.get_or_insert_with(kind, || Value::Map(Map::new()));
    if let Value::Map(all) = all {
        all.insert(word(0)?, entry);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_read() {
        let text = "$TTL 3D\n@ IN SOA ns.x.org. me.x.org. (\n 1 ; serial\n 8H 2H 4W 1D )\n\
                    NS ns ; no class\nwww IN A 192.0.2.1\nmail 60 IN A 192.0.2.2\n";
        let text = text
            .replace("@ IN", "x.org. IN")
            .replace("NS ns", "x.org. IN NS ns");
        let zone = parse(&text).unwrap();
        let text = |key: &str| zone.get(key).and_then(Value::as_str).unwrap().to_owned();
        assert_eq!(text("ORIGIN"), "x.org.");
        assert_eq!(text("CONTACT"), "me@x.org.");
        assert_eq!(zone.get("REFRESH"), Some(&28_800.into()));
        assert_eq!(zone.get("EXPIRE"), Some(&WEEK.into()));
        assert_eq!(zone.get("NS"), Some(&vec![Value::from("ns")].into()));
        let named = zone.get("A").unwrap();
        assert_eq!(named.get("www.x.org."), Some(&"192.0.2.1".into()));
        let mail = named.get("mail.x.org.").unwrap();
        assert_eq!(mail.get("TTL"), Some(&"60".into()));
        assert!(parse("x.org. IN SOA a").is_err());
    }
}
