//! The execution module `apache`.

use halite_call::{Call, CallResult, Function, Module};
use halite_proto::{Map, Value};

use super::switches::{SwitchKind, check, switch};
use super::{configuration, facts};

pub(crate) const MODULE: Module = Module {
    name: "apache",
    functions: &[
        Function::new(
            "apache.a2disconf",
            "(conf)",
            |call| switch(call, SwitchKind::Conf, false, &call.text("conf")),
            "Turns a configuration off (Debian).",
        ),
        Function::new(
            "apache.a2dismod",
            "(mod)",
            |call| switch(call, SwitchKind::Module, false, &call.text("mod")),
            "Turns a module off (Debian).",
        ),
        Function::new(
            "apache.a2dissite",
            "(site)",
            |call| switch(call, SwitchKind::Site, false, &call.text("site")),
            "Turns a site off (Debian).",
        ),
        Function::new(
            "apache.a2enconf",
            "(conf)",
            |call| switch(call, SwitchKind::Conf, true, &call.text("conf")),
            "Turns a configuration on (Debian).",
        ),
        Function::new(
            "apache.a2enmod",
            "(mod)",
            |call| switch(call, SwitchKind::Module, true, &call.text("mod")),
            "Turns a module on (Debian).",
        ),
        Function::new(
            "apache.a2ensite",
            "(site)",
            |call| switch(call, SwitchKind::Site, true, &call.text("site")),
            "Turns a site on (Debian).",
        ),
        Function::new(
            "apache.check_conf_enabled",
            "(conf)",
            |call| check(call, SwitchKind::Conf, &call.text("conf")),
            "Whether a configuration is on (Debian).",
        ),
        Function::new(
            "apache.check_mod_enabled",
            "(mod)",
            |call| check(call, SwitchKind::Module, &call.text("mod")),
            "Whether a module is on (Debian).",
        ),
        Function::new(
            "apache.check_site_enabled",
            "(site)",
            |call| check(call, SwitchKind::Site, &call.text("site")),
            "Whether a site is on (Debian).",
        ),
        Function::new(
            "apache.config",
            "(name, config, edit=True)",
            configuration::config,
            "The text of a configuration that is a list of maps; unless edit is false it\nis written to the file name.",
        ),
        Function::new(
            "apache.directives",
            "()",
            facts::directives,
            "The directives, and where each may be.",
        ),
        Function::new(
            "apache.fullversion",
            "()",
            facts::fullversion,
            "The version of the server, and what it was built with.",
        ),
        Function::new(
            "apache.modules",
            "()",
            facts::modules,
            "The modules that are loaded, static and shared.",
        ),
        Function::new(
            "apache.server_status",
            "(profile='default')",
            facts::server_status,
            "What the server says of itself, as the options apache.server-status of a\nprofile say where to ask (url, user, pass, realm, timeout in seconds).",
        ),
        Function::new(
            "apache.servermods",
            "()",
            facts::servermods,
            "The modules that are built in.",
        ),
        Function::new(
            "apache.signal",
            "(signal=None)",
            facts::signal,
            "Tells the server to start, stop, restart, graceful or graceful-stop.",
        ),
        Function::new(
            "apache.useradd",
            "(pwfile, user, password, opts='')",
            |call| {
                passwords(
                    call,
                    "webutil.useradd",
                    &["pwfile", "user", "password", "opts"],
                )
            },
            "Adds a user to a file of passwords, or changes the password. opts are flags\nof htpasswd.",
        ),
        Function::new(
            "apache.userdel",
            "(pwfile, user)",
            |call| passwords(call, "webutil.userdel", &["pwfile", "user"]),
            "Removes a user from a file of passwords.",
        ),
        Function::new(
            "apache.version",
            "()",
            facts::version,
            "The version of the server.",
        ),
        Function::new(
            "apache.vhosts",
            "()",
            facts::vhosts,
            "The virtual hosts by the addresses that they share.",
        ),
    ],
};

fn passwords(call: &Call<'_>, fun: &str, names: &[&str]) -> CallResult {
    let arguments: Vec<Value> = names.iter().map(|name| call.arg(name).clone()).collect();
    call.salt(fun, &arguments, Map::new())
}
