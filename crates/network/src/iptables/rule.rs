//! A rule from the arguments of a function or a state.
//!
//! Invariant: matches come first, the options of a jump after the jump.

use halite_call::python;
use halite_proto::{Map, Value};

/// Options that belong to a jump, in the order in which they are written.
const AFTER_JUMP: &str = "\
    j jump add-set and-mark and-tos checksum-fill clamp-mss-to-pmtu clustermac ctevents \
    ctmask del-set ecn-tcp-remove exist expevents gateway hash-init hashmode helper label \
    local-node log-ip-options log-level log-prefix log-tcp-options log-tcp-sequence log-uid \
    map-set mask mss new nfmask nflog-group nflog-prefix nflog-range nflog-threshold nodst \
    notrack on-ip on-port or-mark or-tos persistent queue-balance queue-bypass queue-num \
    random random-fully rateest-ewmalog rateest-interval rateest-name reject-with restore \
    restore-mark sack-perm save-mark selctx set-class set-dscp set-dscp-class set-mark \
    set-mss set-tos set-xmark strip-options timeout timestamp to to-destination to-ports \
    to-source total-nodes tproxy-mark ttl-dec ttl-inc ttl-set type ulog-cprange \
    ulog-nlgroup ulog-prefix ulog-qthreshold wscale xor-mark xor-tos zone zone-orig \
    zone-reply dst-pfx hl-dec hl-inc hl-set hmark-dport-mask hmark-dst-prefix hmark-mod \
    hmark-offset hmark-proto-mask hmark-rnd hmark-spi-mask hmark-sport-mask \
    hmark-src-prefix hmark-tuple led-always-blink led-delay led-trigger-id \
    queue-cpu-fanout src-pfx to-port addr and-mask delude honeypot or-mask prefix reset \
    reuse set-mac shift static tarpit tname ttl";

/// Matches that have a name of their own.
const NAMED_MATCHES: [&str; 3] = ["pknock", "quota2", "recent"];

/// What is left of the arguments.
struct Options(Map);

impl Options {
    fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }

    /// `flag` with the value of `name`, if that was given.
    fn flag(&mut self, name: &str, flag: &str, rule: &mut Vec<String>) -> bool {
        let Some(value) = self.take(name) else {
            return false;
        };
        let (not, value) = negated(&python::str(&value));
        rule.push(format!("{not}{flag} {value}"));
        true
    }
}

/// `!x` and `not x` mean all but x.
fn negated(text: &str) -> (&'static str, String) {
    if is_negated(text) {
        ("! ", bare(text))
    } else {
        ("", text.to_owned())
    }
}

fn is_negated(text: &str) -> bool {
    text.starts_with('!') || text.starts_with("not")
}

/// The text without the words that negate it, each with a blank behind it.
fn bare(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        let word = ["!", "not"].iter().find(|word| rest.starts_with(*word));
        match word {
            Some(word) => {
                rest = &rest[word.len()..];
                let blank = rest.chars().next().filter(|c| c.is_whitespace());
                rest = &rest[blank.map_or(0, char::len_utf8)..];
            }
            None => {
                out.push(char);
                rest = &rest[char.len_utf8()..];
            }
        }
    }
    out
}

fn list(value: Value) -> Vec<String> {
    match value {
        Value::List(items) => items.iter().map(python::str).collect(),
        other => vec![python::str(&other)],
    }
}

/// The rule, or a sentence that begins with `Error: `.
pub(super) fn build(kwargs: Map) -> Result<String, &'static str> {
    let mut options = Options(kwargs);
    options.0.retain(|key, _| {
        !key.as_str().is_some_and(|key| {
            halite_state::keywords::is_internal(key)
                || key.starts_with("__pub_")
                || ["name", "chain", "save", "table"].contains(&key)
        })
    });
    if let Some(target) = options.take("target") {
        options.0.insert("jump", target);
    }
    let mut rule: Vec<String> = Vec::new();
    options.flag("if", "-i", &mut rule);
    options.flag("of", "-o", &mut rule);
    let policy = options.0.get("match").and_then(Value::as_str) == Some("policy");
    if !policy && let Some(proto) = options.take("proto") {
        options.0.insert("protocol", proto);
    }
    let protocol = options.flag("protocol", "-p", &mut rule);
    matches(&mut options, policy, &mut rule);
    if options.0.contains_key("connstate") {
        once("-m state", &mut rule);
        options.flag("connstate", "--state", &mut rule);
    }
    options.flag("dport", "--dport", &mut rule);
    options.flag("sport", "--sport", &mut rule);
    for name in ["dports", "sports"] {
        if let Some(value) = options.take(name) {
            let known = rule.iter().any(|part| part == "-m multiport");
            once("-m multiport", &mut rule);
            if !known && !protocol {
                return Err("Error: protocol must be specified");
            }
            ports(name, value, &mut rule);
        }
    }
    if let Some(comment) = options.take("comment") {
        once("-m comment", &mut rule);
        rule.push(format!("--comment \"{}\"", python::str(&comment)));
    }
    if options.0.get("set").is_some_and(Value::is_true) {
        options.flag("set", "--match-set", &mut rule);
    }
    let jump = jump(&mut options);
    for (key, value) in &options.0 {
        let key = python::str(key);
        let dashes = if key.chars().count() == 1 { "-" } else { "--" };
        let (not, text) = negated(&python::str(value));
        let value = if value.is_nil() || text.is_empty() {
            String::new()
        } else {
            format!(" {text}")
        };
        rule.push(format!("{not}{dashes}{key}{value}"));
    }
    rule.extend(jump);
    Ok(rule.join(" "))
}

fn once(part: &str, rule: &mut Vec<String>) {
    if !rule.iter().any(|known| known == part) {
        rule.push(part.to_owned());
    }
}

fn matches(options: &mut Options, policy: bool, rule: &mut Vec<String>) {
    if let Some(value) = options.take("match") {
        let names = match value {
            Value::List(items) => items.iter().map(python::str).collect(),
            other => python::str(&other)
                .split(',')
                .map(str::to_owned)
                .collect::<Vec<_>>(),
        };
        for name in names {
            rule.push(format!("-m {name}"));
            if NAMED_MATCHES.contains(&name.trim())
                && let Some(own) = options.take("name_")
            {
                rule.push(format!("--name {}", python::str(&own)));
            }
        }
        if policy {
            options.flag("proto", "--proto", rule);
        }
    }
    for set in options.take("match-set").map(list).unwrap_or_default() {
        let (not, set) = negated(&set);
        rule.push(format!("-m set {not}--match-set {set}"));
    }
}

fn ports(name: &str, value: Value, rule: &mut Vec<String>) {
    let mut ports = list(value);
    if ports.iter().any(|port| is_negated(port)) {
        ports = ports.iter().map(|port| bare(port)).collect();
        rule.push("!".to_owned());
    }
    rule.push(format!("--{name} {}", ports.join(",")));
}

fn jump(options: &mut Options) -> Vec<String> {
    let mut jump = Vec::new();
    for name in AFTER_JUMP.split_whitespace() {
        let Some(value) = options.take(name) else {
            continue;
        };
        let text = python::str(&value);
        jump.push(if value.is_nil() || text.is_empty() {
            format!("--{name}")
        } else if text.contains(|c: char| c.is_ascii_whitespace() || c == '\x0b') {
            format!("--{name} \"{text}\"")
        } else {
            format!("--{name} {text}")
        });
    }
    jump
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_negate_are_taken_out() {
        for (text, not, value) in [
            ("!127.0.0.1", "! ", "127.0.0.1"),
            ("not 127.0.0.1", "! ", "127.0.0.1"),
            ("! a", "! ", "a"),
            ("eth0", "", "eth0"),
        ] {
            assert_eq!(negated(text), (not, value.to_owned()), "{text}");
        }
    }
}
