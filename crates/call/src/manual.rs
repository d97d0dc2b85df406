//! What `sys.doc` and `sys.state_doc` say of a function beside its own text: its
//! arguments, and examples of what people use most.
//!
//! Invariant: each example binds to the signature of its function or state; a test
//! of the crate with all functions binds them.

mod states;

use halite_proto::{Value, python};

pub use self::states::STATE_EXAMPLES;
pub(crate) use self::states::example as state_example;

use crate::signature::{Param, Signature};

/// Arguments of calls, as they are typed behind the function's name.
pub const EXAMPLES: &[(&str, &[&str])] = &[
    ("config.get", &["master", "my:option default=7"]),
    (
        "cp.get_file",
        &[
            "salt://app/app.conf /etc/app.conf",
            "salt://app/{{grains.os}}.conf /etc/app.conf template=jinja",
        ],
    ),
    (
        "cp.get_url",
        &[
            "salt://app/app.conf /etc/app.conf",
            "https://example.org/app.tar.gz /tmp/app.tar.gz",
        ],
    ),
    ("environ.get", &["PATH", "EDITOR vi"]),
    (
        "file.check_hash",
        &["/etc/hosts md5:0123456789abcdef0123456789abcdef"],
    ),
    ("file.directory_exists", &["/etc"]),
    ("file.file_exists", &["/etc/hosts"]),
    (
        "file.find",
        &["/var/log type=f name=*.log", "/tmp mtime=+7d delete=f"],
    ),
    ("file.read", &["/etc/hostname"]),
    ("file.remove", &["/tmp/old"]),
    (
        "grains.get",
        &["os", "ip_interfaces:eth0", "roles default=none"],
    ),
    ("grains.item", &["os", "os osrelease oscodename"]),
    ("grains.setval", &["role web", "roles '[web, db]'"]),
    (
        "mine.get",
        &[
            "'*' network.ip_addrs",
            "os:Debian network.ip_addrs tgt_type=grain",
        ],
    ),
    ("mine.send", &["network.ip_addrs", "network.ip_addrs eth0"]),
    ("network.ip_addrs", &["", "eth0", "cidr=10.0.0.0/8"]),
    (
        "network.ping",
        &["example.org", "example.org return_boolean=True timeout=3"],
    ),
    ("pillar.get", &["app:port", "app:port default=80"]),
    ("pillar.items", &["", "pillar='{\"app\": {\"port\": 81}}'"]),
    (
        "pkg.install",
        &[
            "nginx",
            "nginx version=1.22.1-9",
            "pkgs='[nginx, curl]' refresh=True",
            "sources='[{\"app\": \"salt://app.deb\"}]'",
        ],
    ),
    ("pkg.list_upgrades", &["", "refresh=False"]),
    ("pkg.refresh_db", &[""]),
    ("pkg.remove", &["nginx", "pkgs='[nginx, curl]'"]),
    ("pkg.version", &["nginx", "nginx curl"]),
    ("saltutil.refresh_pillar", &["", "wait=True"]),
    ("saltutil.sync_all", &["", "saltenv=dev"]),
    ("service.restart", &["nginx"]),
    ("service.start", &["nginx"]),
    ("service.status", &["nginx", "'nginx*'"]),
    (
        "slsutil.renderer",
        &["salt://app/map.jinja", "string='a: {{ 1 + 1 }}'"],
    ),
    (
        "state.apply",
        &[
            "",
            "app",
            "app,users test=True",
            "app pillar='{\"app\": {\"port\": 81}}'",
        ],
    ),
    ("state.highstate", &["", "test=True"]),
    ("state.show_sls", &["app"]),
    (
        "state.single",
        &["pkg.installed nginx", "file.managed /tmp/a contents=hello"],
    ),
    ("state.sls", &["app", "app test=True"]),
    ("sys.doc", &["", "pkg", "pkg.install"]),
    ("test.ping", &[""]),
    ("test.sleep", &["5"]),
    ("user.info", &["root"]),
];

/// The examples of a function, if there are any.
pub(crate) fn examples(fun: &str) -> Option<&'static [&'static str]> {
    let at = EXAMPLES
        .binary_search_by(|(name, _)| (*name).cmp(fun))
        .ok()?;
    EXAMPLES.get(at).map(|(_, examples)| *examples)
}

/// The arguments, one a line: what each is when it is not given, and of which
/// type, as far as that shows it.
pub(crate) fn arguments(signature: &Signature) -> String {
    let named = signature.params.iter().chain(&signature.keyword_only);
    let shown = named.filter(|param| !param.name.starts_with('_'));
    let mut text: String = shown.map(line).collect();
    if let Some(name) = &signature.varargs {
        text.push_str(&format!("        *{name}: any number of values\n"));
    }
    if let Some(name) = &signature.kwargs {
        text.push_str(&format!("        **{name}: further values by name\n"));
    }
    text
}

fn line(param: &Param) -> String {
    let name = &param.name;
    let Some(default) = &param.default else {
        return format!("        {name}: must be given\n");
    };
    let kind = match default {
        Value::Bool(_) => "true or false, ",
        Value::Int(_) | Value::Float(_) => "a number, ",
        Value::Str(_) => "a text, ",
        Value::List(_) => "a list, ",
        Value::Map(_) => "a map, ",
        _ => "",
    };
    format!("        {name}: {kind}default {}\n", python::repr(default))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_in_the_order_of_their_functions() {
        assert!(EXAMPLES.is_sorted_by_key(|(name, _)| *name));
        assert!(examples("pkg.install").is_some() && examples("no.such").is_none());
    }
}
