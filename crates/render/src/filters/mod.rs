//! The filters that need the machine, the network, the clock or randomness: the
//! template engine leaves these to its host.

mod args;
pub(crate) mod chance;
mod lipsum;
mod machine;
pub(crate) mod mersenne;
mod tables;
mod time;
mod xml;

use halite_jinja::{Error, Result};
use halite_proto::{Map, Value};

use crate::jmespath;
use crate::render_context::{RenderContext, RenderContextError};
pub(crate) use args::Args;
pub(crate) use machine::find_program;

/// Applies the filter `name`; the first argument is the value.
pub(crate) fn apply(
    ctx: &dyn RenderContext,
    name: &str,
    args: &mut Vec<Value>,
    kwargs: &mut Map,
) -> Result<Value> {
    let given = Args::new(name, args, kwargs);
    match name {
        "date_format" | "strftime" => time::strftime(&given),
        "dns_check" => machine::dns_check(&given),
        "file_hashsum" => machine::file_hashsum(&given),
        "filter_by_networks" => tables::filter_by_networks(&given),
        "gen_mac" => chance::gen_mac(&given),
        "get_uid" => machine::get_uid(&given),
        "http_query" => http_query(ctx, args, kwargs),
        "is_bin_file" => Ok(machine::is_bin_file(&given)),
        "is_empty" => Ok(machine::is_empty(&given)),
        "is_text_file" => Ok(machine::is_text_file(&given)),
        "json_query" => jmespath::search(&given.text(1, "expr")?, &given.value())
            .map_err(|error| Error::foreign(error.to_string())),
        "lipsum" => lipsum::lipsum(&given),
        "list_files" => machine::list_files(&given),
        "mysql_to_dict" => tables::mysql_to_dict(&given),
        "rand_str" | "random_hash" => chance::random_hash(&given),
        "random" => chance::random(&given),
        "random_sample" => chance::random_sample(&given),
        "random_shuffle" => chance::random_shuffle(&given),
        "random_str" => chance::random_str(&given),
        "which" => Ok(machine::which(&given)),
        "xml" => xml::format(&given.value()),
        other => Err(Error::foreign(format!("filter '{other}' is not available"))),
    }
}

/// The same as the function `http.query`, where there is one.
fn http_query(ctx: &dyn RenderContext, args: &mut Vec<Value>, kwargs: &mut Map) -> Result<Value> {
    const FUNCTION: &str = "http.query";
    if !ctx.has_function(FUNCTION) {
        return Err(Error::foreign("http_query needs the function http.query"));
    }
    const NAMES: &[&str] = &["method", "params", "data", "data_file", "header_dict"];
    for (name, value) in NAMES.iter().zip(args.drain(1..)) {
        kwargs.get_or_insert_with(*name, || value);
    }
    let returned = ctx.call(FUNCTION, args, kwargs);
    returned
        .map(|returned| returned.value)
        .map_err(RenderContextError::in_template)
}
