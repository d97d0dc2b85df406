//! The global functions: Jinja2's and Salt's.

use std::cell::Cell;

use crate::error::{Error, ErrorKind, Result};
use crate::eval::{Args, Machine};
use crate::limits;
use crate::methods;
use crate::value::{self, Cycler, Dict, Key, Native, Object, OtherKind, Range, Value};
use std::rc::Rc;

/// The functions by name.
pub(crate) const GLOBALS: &[(&str, Native)] = &[
    ("range", range),
    ("dict", dict),
    ("odict", dict),
    ("namespace", namespace),
    ("cycler", cycler),
    ("joiner", joiner),
    ("raise", raise),
    ("ifelse", ifelse),
    ("lipsum", lipsum),
    ("show_full_context", unreached),
];

/// A function as a value.
pub(crate) fn value(name: &'static str, function: Native) -> Value {
    Value::object(Object::Function(name, function))
}

fn range(_: &Machine<'_>, args: Args) -> Result<Value> {
    args.no_named("range")?;
    let mut ints = Vec::new();
    for value in &args.pos {
        ints.push(value.want_int()?);
    }
    let range = match *ints.as_slice() {
        [stop] => Range {
            start: 0,
            stop,
            step: 1,
        },
        [start, stop] => Range {
            start,
            stop,
            step: 1,
        },
        [_, _, 0] => return Err(Error::of_value("range() arg 3 must not be zero")),
        [start, stop, step] => Range { start, stop, step },
        _ => {
            return Err(Error::of_type(format!(
                "range expected 1 to 3 arguments, got {}",
                ints.len()
            )));
        }
    };
    let within = ints
        .iter()
        .all(|int| int.unsigned_abs() < u128::from(u64::MAX));
    if !within || range.len() > limits::RANGE_MAX {
        return Err(Error::overflow(format!(
            "Range too big. The sandbox blocks ranges larger than MAX_RANGE ({}).",
            limits::RANGE_MAX
        )));
    }
    Ok(Value::other(OtherKind::Range(Rc::new(range))))
}

fn entries(args: Args, name: &str) -> Result<Dict> {
    if args.pos.len() > 1 {
        return Err(Error::of_type(format!(
            "{name} expected at most 1 argument, got {}",
            args.pos.len()
        )));
    }
    let mut dict = Dict::new();
    if let Some(source) = args.pos.first() {
        for (key, value) in methods::pairs(source)? {
            dict.insert(key, value);
        }
    }
    for (name, value) in args.named {
        dict.insert(Key::text(name), value);
    }
    Ok(dict)
}

fn dict(_: &Machine<'_>, args: Args) -> Result<Value> {
    entries(args, "dict").map(Value::dict)
}

fn namespace(_: &Machine<'_>, args: Args) -> Result<Value> {
    let cell = value::namespace();
    *cell.0.borrow_mut() = entries(args, "dict")?;
    Ok(Value::object(Object::Namespace(cell)))
}

fn cycler(_: &Machine<'_>, args: Args) -> Result<Value> {
    args.no_named("cycler")?;
    if args.pos.is_empty() {
        return Err(Error::new(
            ErrorKind::Runtime,
            "at least one item has to be provided",
        ));
    }
    Ok(Value::object(Object::Cycler(Cycler::new(args.pos))))
}

fn joiner(_: &Machine<'_>, args: Args) -> Result<Value> {
    let [separator] = args.bind("joiner", ["sep"], 0)?;
    let separator = match separator {
        Some(separator) => value::text(&separator)?,
        None => ", ".to_owned(),
    };
    Ok(Value::object(Object::Joiner(
        separator.into(),
        Cell::new(false),
    )))
}

fn raise(_: &Machine<'_>, args: Args) -> Result<Value> {
    let [message] = args.bind("jinja_raise", ["msg"], 1)?;
    let message = value::text(&message.unwrap_or(Value::None))?;
    Err(Error::new(ErrorKind::Raised, message))
}

/// `ifelse(condition, value, ..., default)`: conditions are looked at for
/// their truth.
fn ifelse(_: &Machine<'_>, args: Args) -> Result<Value> {
    args.no_named("ifelse")?;
    for chunk in args.pos.chunks(2) {
        match chunk {
            [condition, value] if condition.is_true()? => return Ok(value.clone()),
            [default] => return Ok(default.clone()),
            _ => {}
        }
    }
    Ok(Value::None)
}

/// Words without a sense, which need chance: the host has it.
fn lipsum(machine: &Machine<'_>, args: Args) -> Result<Value> {
    machine.host_filter("lipsum", &args)
}

/// Calls of `show_full_context` are answered where the names are known.
fn unreached(_: &Machine<'_>, _: Args) -> Result<Value> {
    Ok(Value::dict(Dict::new()))
}
