//! `pillar.*`: the pillar of this minion.
//!
//! Invariant: a function that was called as a job shows values as `**********`
//! unless `unmask=True` or `pillar_mask_output: false`; called from another
//! function it returns them, because templates need them.

use std::path::Path;

use halite_proto::{Map, Value};
use halite_render::Renderer;

use super::grains::map_argument;
use halite_call::{
    Call, CallError, CallRenderContext, CallResult, Function, Module, PillarRequest, decrypt,
    dicts::{self, Choice},
    python,
    render_context::each_text,
};

const MASK: &str = "**********";
const COMPILED: &str =
    "(*args, pillar=None, pillar_enc=None, pillarenv=None, saltenv=None, unmask=None)";
const GET: &str = "(key, default=NOT_SET, merge=False, merge_nested_lists=None, delimiter=':', pillarenv=None, saltenv=None, unmask=None)";

pub(super) const MODULE: Module = Module {
    name: "pillar",
    functions: &[
        Function::new("pillar.data", COMPILED, items, "The same as pillar.items."),
        Function::new(
            "pillar.ext",
            "(external, pillar=None, unmask=None)",
            ext,
            "The pillar compiled with one more external pillar, if the master's\non_demand_ext_pillar allows it.",
        ),
        Function::new("pillar.fetch", GET, get, "The same as pillar.get."),
        Function::new(
            "pillar.file_exists",
            "(path, saltenv=None)",
            file_exists,
            "Whether a file is there in the pillar_roots of this machine.",
        ),
        Function::new(
            "pillar.filter_by",
            "(lookup_dict, pillar, merge=None, default='default', base=None)",
            filter_by,
            "Picks the entry of a map whose key matches a pillar value, over the entry\n`base`, under `merge`.",
        ),
        Function::new(
            "pillar.get",
            GET,
            get,
            "A value of the pillar that the minion holds; `a:b` is within the map or\nlist `a`. With merge, a map or list is laid over the default.",
        ),
        Function::new(
            "pillar.item",
            "(*args, default=None, delimiter=None, pillarenv=None, saltenv=None, unmask=None)",
            item,
            "Several values of the pillar that the minion holds.",
        ),
        Function::new(
            "pillar.items",
            COMPILED,
            items,
            "The pillar as the master compiles it now, with values given as `pillar`\nlaid over it; the minion's own stays as it is. unmask=True shows the values.",
        ),
        Function::new(
            "pillar.keys",
            "(key, delimiter=':', unmask=None)",
            keys,
            "The names below a value that is a map.",
        ),
        Function::new(
            "pillar.ls",
            COMPILED,
            ls,
            "The names at the top of the pillar as the master compiles it now.",
        ),
        Function::new(
            "pillar.obfuscate",
            COMPILED,
            obfuscate,
            "The pillar with the kinds of its values instead of the values.",
        ),
        Function::new(
            "pillar.raw",
            "(key=None, unmask=None)",
            raw,
            "The pillar that the minion holds, or one top-level value of it, as it is.",
        ),
    ],
};

fn masked(call: &Call<'_>, value: Value) -> Value {
    if is_bare(call) || call.flag("unmask") {
        value
    } else {
        mask(value)
    }
}

/// Whether values are shown whatever `unmask` says: to other functions, and
/// where this minion hides nothing. (In Salt that option is for `pillar.items`
/// alone.)
fn is_bare(call: &Call<'_>) -> bool {
    call.depth() > 0 || call.opt("pillar_mask_output").as_bool() == Some(false)
}

/// Hides everything that is not empty and not a map or list.
fn mask(value: Value) -> Value {
    match value {
        Value::Map(map) => map
            .into_iter()
            .map(|(key, value)| (key, mask(value)))
            .collect::<Map>()
            .into(),
        Value::List(items) => items.into_iter().map(mask).collect::<Vec<_>>().into(),
        value if value.is_true() => MASK.into(),
        value => value,
    }
}

/// The pillar that the minion holds, or that of other environments: in that
/// case as pillar.items shows it, whatever `unmask` says, as in Salt.
fn held(call: &Call<'_>) -> Result<Map, CallError> {
    if call.arg("saltenv").is_nil() && call.arg("pillarenv").is_nil() {
        return Ok(Map::clone(&call.ctx.pillar()));
    }
    let pillar = call.ctx.compile_pillar(&other_envs(call))?;
    if is_bare(call) {
        return Ok(pillar);
    }
    Ok(match mask(pillar.into()) {
        Value::Map(pillar) => pillar,
        _ => Map::new(),
    })
}

fn get(call: &Call<'_>) -> CallResult {
    let key = call.text("key");
    let pillar = held(call)?;
    let found = python::traverse_map(&pillar, &key, &call.text("delimiter"));
    let default = if call.is_given("default") {
        call.arg("default").clone()
    } else if found.is_none() && call.opt("pillar_raise_on_missing").is_true() {
        return Err(not_found(&key));
    } else {
        "".into()
    };
    let Some(found) = found else {
        return Ok(masked(call, default));
    };
    let merged = match (call.flag("merge"), default, found) {
        (true, Value::Map(mut under), Value::Map(over)) => {
            let lists = call.arg("merge_nested_lists");
            let lists = if lists.is_nil() {
                call.opt("pillar_merge_lists")
            } else {
                lists
            };
            dicts::update(&mut under, over, lists.is_true());
            under.into()
        }
        (true, Value::List(mut first), Value::List(more)) => {
            let more: Vec<Value> = more
                .iter()
                .filter(|item| !first.iter().any(|known| python::equal(known, item)))
                .cloned()
                .collect();
            first.extend(more);
            first.into()
        }
        (_, _, found) => found.clone(),
    };
    Ok(masked(call, merged))
}

fn not_found(key: &str) -> CallError {
    CallError::exception("KeyError", format!("'Pillar key not found: {key}'"))
}

fn item(call: &Call<'_>) -> CallResult {
    let pillar = held(call)?;
    let delimiter = call.text_opt("delimiter").unwrap_or_else(|| ":".to_owned());
    let default = if call.is_given("default") {
        call.arg("default").clone()
    } else {
        "".into()
    };
    let found: Map = call
        .varargs()
        .iter()
        .map(|key| {
            let value = python::traverse_map(&pillar, &python::str(key), &delimiter);
            (key.clone(), value.unwrap_or(&default).clone())
        })
        .collect();
    Ok(masked(call, found.into()))
}

/// The environments that the parameters ask for. As in Salt, `saltenv` counts
/// only where the pillar's environment follows it.
fn other_envs(call: &Call<'_>) -> PillarRequest {
    let saltenv = call.opt_text("saltenv");
    let pillarenv = if !call.arg("pillarenv").is_nil() {
        call.text_opt("pillarenv")
    } else if call.opt("pillarenv_from_saltenv").is_true() {
        call.text_opt("saltenv").or_else(|| saltenv.clone())
    } else {
        call.opt_text("pillarenv")
    };
    PillarRequest {
        saltenv,
        pillarenv,
        ..PillarRequest::default()
    }
}

/// The pillar of now, as the parameters of `pillar.items` ask for it.
fn compiled(call: &Call<'_>) -> Result<Map, CallError> {
    let request = PillarRequest {
        overrides: overrides(call)?,
        ..other_envs(call)
    };
    Ok(call.ctx.compile_pillar(&request)?)
}

/// The argument `pillar`, decrypted if it says how (`pillar_enc`).
fn overrides(call: &Call<'_>) -> Result<Option<Map>, CallError> {
    let given = call.arg("pillar");
    let Some(renderer) = call.text_opt("pillar_enc").filter(|_| given.is_true()) else {
        return Ok(given.as_map().cloned());
    };
    let allowed = python::texts(call.opt("decrypt_pillar_renderers"));
    let decrypted = if allowed.is_empty() || allowed.contains(&renderer) {
        let render_context = CallRenderContext::new(call);
        // A command line has no newlines, encrypted texts have.
        let newlines = |text: String| Ok(text.replace("\\n", "\n").into());
        each_text(given.clone(), &newlines)
            .and_then(|given| decrypt(&Renderer::new(&render_context), &renderer, given))
    } else {
        Err(format!(
            "'{renderer}' is not a valid decryption renderer. Valid choices are: {}",
            allowed.join(", ")
        ))
    };
    match decrypted {
        Ok(value) => Ok(value.as_map().cloned()),
        Err(error) => Err(CallError::command(format!(
            "Failed to decrypt pillar override: {error}"
        ))),
    }
}

fn items(call: &Call<'_>) -> CallResult {
    if !call.varargs().is_empty() {
        // As in Salt, asking for single values never unmasks them here.
        let mut options = Map::new();
        for name in ["pillarenv", "saltenv"] {
            if !call.arg(name).is_nil() {
                options.insert(name, call.arg(name).clone());
            }
        }
        let found = call.salt("pillar.item", call.varargs(), options)?;
        return Ok(if call.depth() > 0 { found } else { mask(found) });
    }
    Ok(masked(call, compiled(call)?.into()))
}

fn ext(call: &Call<'_>) -> CallResult {
    let external = match call.arg("external") {
        Value::Str(text) => halite_yaml::load(text, "external")
            .map_err(|error| CallError::invocation(error.to_string()))?
            .into_value(),
        other => other.clone(),
    };
    let request = PillarRequest {
        saltenv: call.opt_text("saltenv"),
        pillarenv: call.opt_text("pillarenv"),
        overrides: call.arg("pillar").as_map().cloned(),
        ext: Some(external),
    };
    Ok(masked(call, call.ctx.compile_pillar(&request)?.into()))
}

fn file_exists(call: &Call<'_>) -> CallResult {
    let Some(roots) = call.opt("pillar_roots").as_map().filter(|r| !r.is_empty()) else {
        return Err(CallError::command(
            "No pillar_roots found. Are you running this on the master?",
        ));
    };
    let (path, saltenv) = (call.text("path"), call.text_opt("saltenv"));
    let mut meant = roots.iter().filter(|(env, _)| {
        saltenv
            .as_deref()
            .is_none_or(|saltenv| env.as_str() == Some(saltenv))
    });
    let exists = meant.any(|(_, dirs)| {
        let dirs = python::texts(dirs);
        dirs.iter().any(|dir| Path::new(dir).join(&path).is_file())
    });
    Ok(exists.into())
}

fn ls(call: &Call<'_>) -> CallResult {
    let names: Vec<Value> = compiled(call)?.keys().cloned().collect();
    Ok(names.into())
}

fn obfuscate(call: &Call<'_>) -> CallResult {
    items(call).map(kinds)
}

fn kinds(value: Value) -> Value {
    match value {
        Value::Map(map) => map
            .into_iter()
            .map(|(key, value)| (key, kinds(value)))
            .collect::<Map>()
            .into(),
        Value::List(items) => items.into_iter().map(kinds).collect::<Vec<_>>().into(),
        value => format!("<{}>", value.type_name()).into(),
    }
}

fn keys(call: &Call<'_>) -> CallResult {
    let key = call.text("key");
    let pillar = call.ctx.pillar();
    match python::traverse_map(&pillar, &key, &call.text("delimiter")) {
        None => Err(not_found(&key)),
        Some(Value::Map(map)) => Ok(map.keys().cloned().collect::<Vec<_>>().into()),
        Some(_) => Err(CallError::exception(
            "ValueError",
            format!("Pillar value in key {key} is not a dict"),
        )),
    }
}

fn raw(call: &Call<'_>) -> CallResult {
    let pillar = call.ctx.pillar();
    let value = match call.text_opt("key") {
        Some(key) => pillar
            .get(&key)
            .cloned()
            .unwrap_or_else(|| Map::new().into()),
        None => Map::clone(&pillar).into(),
    };
    // Unlike the others it hides nothing unless told to.
    let hide = !call.arg("unmask").is_nil() && !call.flag("unmask");
    Ok(if hide { mask(value) } else { value })
}

fn filter_by(call: &Call<'_>) -> CallResult {
    let lookup = map_argument(call, "lookup_dict")?;
    let choice = Choice {
        default: call.arg("default"),
        base: Some(call.arg("base")).filter(|base| base.is_true()),
        merge: call.arg("merge"),
        merge_lists: false,
    };
    dicts::filter_by(lookup, &call.ctx.pillar(), &call.text("pillar"), &choice)
}
