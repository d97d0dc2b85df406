//! `map`, `select`, `reject` and related filters.

use super::sequence::by_path;
use super::{apply, flag};
use crate::checks;
use crate::error::{Error, ErrorKind, Result};
use crate::eval::{Args, Machine, operators};
use crate::value::{self, Native, Value, iterate};

pub(super) fn find(name: &str) -> Option<Native> {
    Some(match name {
        "map" => map,
        "select" => |machine, args| select(machine, args, false, true),
        "reject" => |machine, args| select(machine, args, false, false),
        "selectattr" => |machine, args| select(machine, args, true, true),
        "rejectattr" => |machine, args| select(machine, args, true, false),
        "sum" => sum,
        "min" => |machine, args| edge(machine, args, true),
        "max" => |machine, args| edge(machine, args, false),
        _ => return None,
    })
}

fn map(machine: &Machine<'_>, mut args: Args) -> Result<Value> {
    if args.pos.is_empty() {
        return Err(Error::of_type("map expected a value"));
    }
    let items = args.pos.remove(0);
    if items.is_true()? && items.as_undefined().is_none() {
        machine.step()?;
    }
    let items = iterate(&items)?;
    let mut out = Vec::with_capacity(items.len());
    if args.pos.is_empty() && args.named.iter().any(|(name, _)| &**name == "attribute") {
        let path = args.take_named("attribute").unwrap_or(Value::None);
        let default = args.take_named("default");
        if let Some((name, _)) = args.named.first() {
            let message = format!("Unexpected keyword argument '{name}'");
            return Err(Error::new(ErrorKind::FilterArgument, message));
        }
        for item in &items {
            machine.step()?;
            let found = by_path(machine, item, &path)?;
            out.push(match &default {
                Some(default) if found.as_undefined().is_some() => default.clone(),
                _ => found,
            });
        }
        return Ok(Value::iter("generator", out));
    }
    if args.pos.is_empty() {
        let message = "map requires a filter argument";
        return Err(Error::new(ErrorKind::FilterArgument, message));
    }
    let name = args.pos.remove(0);
    let name = name.want_str("the name of a filter")?;
    for item in items {
        let mut call = args.clone();
        call.pos.insert(0, item);
        out.push(apply(machine, name, call)?);
    }
    Ok(Value::iter("generator", out))
}

fn select(machine: &Machine<'_>, mut args: Args, by_attribute: bool, keep: bool) -> Result<Value> {
    if args.pos.is_empty() {
        return Err(Error::of_type("select expected a value"));
    }
    let items = iterate(&args.pos.remove(0))?;
    let path = if by_attribute {
        if args.pos.is_empty() {
            let message = "Missing parameter for attribute name";
            return Err(Error::new(ErrorKind::FilterArgument, message));
        }
        Some(args.pos.remove(0))
    } else {
        None
    };
    let test = if args.pos.is_empty() {
        None
    } else {
        Some(args.pos.remove(0))
    };
    let mut out = Vec::new();
    for item in items {
        machine.step()?;
        let subject = match &path {
            Some(path) => by_path(machine, &item, path)?,
            None => item.clone(),
        };
        let accepted = match &test {
            Some(test) => {
                let mut call = args.clone();
                call.pos.insert(0, subject);
                checks::apply(machine, test.want_str("the name of a test")?, call)?
            }
            None => subject.is_true()?,
        };
        if accepted == keep {
            out.push(item);
        }
    }
    Ok(Value::iter("generator", out))
}

fn sum(machine: &Machine<'_>, args: Args) -> Result<Value> {
    let [value, attribute, start] = args.bind("do_sum", ["iterable", "attribute", "start"], 1)?;
    let attribute = attribute.filter(|attribute| !attribute.is_none());
    let mut total = start.unwrap_or(Value::Int(0));
    for item in iterate(&value.unwrap_or(Value::None))? {
        machine.step()?;
        let item = match &attribute {
            Some(path) => by_path(machine, &item, path)?,
            None => item,
        };
        if total.as_str().is_some() {
            return Err(Error::of_type(
                "sum() can't sum strings [use ''.join(seq) instead]",
            ));
        }
        total = operators::binary(crate::ast::BinaryOp::Add, &total, &item)?;
    }
    Ok(total)
}

/// Salt replaces Jinja2's: they take nothing but the items, and mind case.
fn edge(_: &Machine<'_>, args: Args, least: bool) -> Result<Value> {
    let name = if least { "min" } else { "max" };
    let [value, case] = args.bind(name, ["obj", "case_sensitive"], 1)?;
    flag(case, true)?;
    let mut best: Option<Value> = None;
    for item in iterate(&value.unwrap_or(Value::None))? {
        let better = match &best {
            None => true,
            Some(best) if least => value::less(&item, best)?,
            Some(best) => value::less(best, &item)?,
        };
        if better {
            best = Some(item);
        }
    }
    best.ok_or_else(|| Error::of_value(format!("{name}() arg is an empty sequence")))
}
