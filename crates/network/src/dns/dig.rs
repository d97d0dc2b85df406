//! Answers of name servers, through `dig`: the execution module `dig`.

use std::net::IpAddr;

use halite_call::host::Program;
use halite_call::{Call, CallError, CallResult, Function, Module};
use halite_proto::Value;

/// How many records of SPF may lead from one to another.
const SPF_DEPTH_MAX: usize = 16;

pub(super) const HOST: &str = "(host, nameserver=None)";

pub(crate) const DIG: Module = Module {
    name: "dig",
    functions: &[
        Function::new(
            "dig.A",
            HOST,
            |c| addresses(c, "A"),
            "The IPv4 addresses of a host.",
        ),
        Function::new(
            "dig.AAAA",
            HOST,
            |c| addresses(c, "AAAA"),
            "The IPv6 addresses of a host.",
        ),
        Function::new("dig.CNAME", HOST, cname, "The name that a name stands for."),
        Function::new(
            "dig.MX",
            "(domain, resolve=False, nameserver=None)",
            mx,
            "Who takes mail for a domain.",
        ),
        Function::new(
            "dig.NS",
            "(domain, resolve=True, nameserver=None)",
            ns,
            "The name servers of a domain, or with resolve their addresses.",
        ),
        Function::new("dig.PTR", HOST, ptr, "The names of an address."),
        Function::new(
            "dig.SPF",
            "(domain, record='SPF', nameserver=None)",
            spf,
            "The addresses that may send mail for a domain.",
        ),
        Function::new("dig.TXT", HOST, txt, "The texts of a name."),
        Function::new("dig.a", HOST, |c| addresses(c, "A"), "The same as dig.A."),
        Function::new(
            "dig.aaaa",
            HOST,
            |c| addresses(c, "AAAA"),
            "The same as dig.AAAA.",
        ),
        Function::new(
            "dig.check_ip",
            "(addr)",
            |call| Ok(is_address(&call.text("addr")).into()),
            "Whether a text is an address, or one with a mask.",
        ),
        Function::new("dig.cname", HOST, cname, "The same as dig.CNAME."),
        Function::new(
            "dig.mx",
            "(domain, resolve=False, nameserver=None)",
            mx,
            "The same as dig.MX.",
        ),
        Function::new(
            "dig.ns",
            "(domain, resolve=True, nameserver=None)",
            ns,
            "The same as dig.NS.",
        ),
        Function::new("dig.ptr", HOST, ptr, "The same as dig.PTR."),
        Function::new(
            "dig.spf",
            "(domain, record='SPF', nameserver=None)",
            spf,
            "The same as dig.SPF.",
        ),
    ],
};

pub(super) const NO_DIG: &str = "This function requires dig, which is not currently available";

/// Whether a text is an address, or one with a mask.
pub(super) fn is_address(text: &str) -> bool {
    let (address, mask) = match text.rsplit_once('/') {
        Some((address, mask)) => (address, Some(mask)),
        None => (text, None),
    };
    let Ok(address) = address.parse::<IpAddr>() else {
        return false;
    };
    let range = if address.is_ipv4() { 1..=32 } else { 8..=128 };
    mask.is_none_or(|mask| mask.parse().is_ok_and(|mask: u8| range.contains(&mask)))
}

/// What dig answers in lines; nothing if it fails.
fn asked(
    call: &Call<'_>,
    name: &str,
    kind: &[&str],
    nameserver: Option<&str>,
) -> Result<Option<String>, CallError> {
    if !call.host().has("dig") {
        return Err(CallError::NotFound(
            "The 'dig' binary was not found in $PATH.".to_owned(),
        ));
    }
    if name.starts_with(['-', '+', '@']) {
        return Err(CallError::invocation(format!("not a name: {name:?}")));
    }
    let mut words = vec!["dig", "+short"];
    match kind {
        ["-x"] => words.extend(["-x", name]),
        kind => {
            words.push(name);
            words.extend(kind);
        }
    }
    let server = nameserver.map(|server| format!("@{server}"));
    words.extend(server.as_deref());
    let ran = Program::new(call, &words).run()?;
    if !ran.ok() {
        tracing::warn!(
            "dig returned exit code '{}'. Returning empty list as fallback.",
            ran.code
        );
        return Ok(None);
    }
    Ok(Some(ran.stdout))
}

fn of_call(call: &Call<'_>, name: &str, kind: &[&str]) -> Result<Option<String>, CallError> {
    let nameserver = call.text_opt("nameserver");
    asked(call, &call.text(name), kind, nameserver.as_deref())
}

fn list<'l>(items: impl IntoIterator<Item = &'l str>) -> Value {
    items
        .into_iter()
        .map(Value::from)
        .collect::<Vec<_>>()
        .into()
}

pub(super) fn addresses(call: &Call<'_>, kind: &str) -> CallResult {
    let said = of_call(call, "host", &[kind])?.unwrap_or_default();
    Ok(list(said.lines().filter(|line| is_address(line))))
}

fn cname(call: &Call<'_>) -> CallResult {
    Ok(match of_call(call, "host", &["CNAME"])? {
        Some(said) => said.into(),
        None => Value::List(Vec::new()),
    })
}

/// The lines of an answer, as Python splits them: none is one that is empty.
pub(super) fn split(said: Option<String>) -> Value {
    match said {
        Some(said) => list(said.split('\n')),
        None => Value::List(Vec::new()),
    }
}

fn ptr(call: &Call<'_>) -> CallResult {
    Ok(split(of_call(call, "host", &["-x"])?))
}

fn txt(call: &Call<'_>) -> CallResult {
    Ok(split(of_call(call, "host", &["TXT"])?))
}

/// The IPv4 addresses of each of these names.
fn addresses_of<'n>(
    call: &Call<'_>,
    names: impl Iterator<Item = &'n str>,
) -> Result<Vec<Vec<String>>, CallError> {
    let nameserver = call.text_opt("nameserver");
    names
        .map(|name| {
            let said = asked(call, name, &["A"], nameserver.as_deref())?.unwrap_or_default();
            Ok(said
                .lines()
                .filter(|line| is_address(line))
                .map(str::to_owned)
                .collect())
        })
        .collect()
}

fn ns(call: &Call<'_>) -> CallResult {
    let said = of_call(call, "domain", &["NS"])?;
    let Some(text) = said.as_deref().filter(|_| call.flag("resolve")) else {
        return Ok(split(said));
    };
    let names = text.lines().filter(|name| !name.is_empty());
    let found = addresses_of(call, names)?;
    Ok(list(found.iter().flatten().map(String::as_str)))
}

fn mx(call: &Call<'_>) -> CallResult {
    let Some(said) = of_call(call, "domain", &["MX"])? else {
        return Ok(Value::List(Vec::new()));
    };
    let mut servers: Vec<Vec<String>> = said
        .split('\n')
        .map(|line| line.split_whitespace().map(str::to_owned).collect())
        .collect();
    if call.flag("resolve") {
        for server in &mut servers {
            let Some(name) = server.get_mut(1) else {
                continue;
            };
            let found = addresses_of(call, std::iter::once(name.as_str()))?;
            if let Some(address) = found.into_iter().flatten().next() {
                *name = address;
            }
        }
    }
    let servers = servers
        .iter()
        .map(|words| list(words.iter().map(String::as_str)));
    Ok(servers.collect::<Vec<_>>().into())
}

fn spf(call: &Call<'_>) -> CallResult {
    let mut found = Vec::new();
    senders(
        call,
        &call.text("domain"),
        &call.text("record"),
        0,
        &mut found,
    )?;
    Ok(list(found.iter().map(String::as_str)))
}

fn senders(
    call: &Call<'_>,
    domain: &str,
    record: &str,
    depth: usize,
    found: &mut Vec<String>,
) -> Result<(), CallError> {
    if depth >= SPF_DEPTH_MAX {
        return Err(CallError::command(format!(
            "the SPF records of {domain} lead on and on"
        )));
    }
    let nameserver = call.text_opt("nameserver");
    let Some(said) = asked(call, domain, &[record], nameserver.as_deref())? else {
        return Ok(());
    };
    if said.is_empty() && record == "SPF" {
        return senders(call, domain, "TXT", depth + 1, found);
    }
    let said = said.replace('"', "");
    let mut sections = said.split_whitespace();
    if sections.next() != Some("v=spf1") {
        return Ok(());
    }
    for section in sections {
        if let Some(other) = section.strip_prefix("redirect=") {
            return senders(call, other, "SPF", depth + 1, found);
        }
        let section = section.trim_start_matches(['+', '~']);
        match section.split_once(':') {
            Some(("include", other)) => senders(call, other, "SPF", depth + 1, found)?,
            Some(("ip4" | "ip6", address)) if is_address(address) => {
                found.push(address.to_owned());
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_known() {
        for (text, known) in [
            ("127.0.0.1", true),
            ("127.0.0.1/33", false),
            ("::1/64", true),
            ("::1/4", false),
            ("x", false),
        ] {
            assert_eq!(is_address(text), known, "{text}");
        }
    }
}
