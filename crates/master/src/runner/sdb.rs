//! `sdb.*`: values behind `sdb://` addresses, as the master's configuration
//! knows them.

use halite_proto::Value;

use super::Call;
use super::error::Ran;
use super::http::on_master;
use super::table::Function;

const CHARS: &str = "(uri, length=8, chars='abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)')";

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("sdb.delete", "(uri)", delete, "Removes a value."),
    Function::new("sdb.get", "(uri)", get, "The value behind an sdb address."),
    Function::new(
        "sdb.get_or_set_hash",
        CHARS,
        get_or_set_hash,
        "The value behind an address; if there is none, random characters are stored and returned.",
    ),
    Function::new("sdb.set", "(uri, value)", set, "Stores a value."),
];

fn arguments(call: &Call<'_>, names: &[&str]) -> Vec<Value> {
    names.iter().map(|name| call.arg(name).clone()).collect()
}

fn get(call: &Call<'_>) -> Ran {
    on_master(call, "sdb.get", &arguments(call, &["uri"]))
}

fn set(call: &Call<'_>) -> Ran {
    on_master(call, "sdb.set", &arguments(call, &["uri", "value"]))
}

fn delete(call: &Call<'_>) -> Ran {
    on_master(call, "sdb.delete", &arguments(call, &["uri"]))
}

fn get_or_set_hash(call: &Call<'_>) -> Ran {
    let args = arguments(call, &["uri", "length", "chars"]);
    on_master(call, "sdb.get_or_set_hash", &args)
}
