//! Filters of lists and maps.

use super::text::nothing;
use super::{flag, int, only};
use crate::error::{Error, ErrorKind, Result};
use crate::eval::{Args, Machine, access};
use crate::limits::TEXT_BYTES_MAX;
use crate::value::{self, Mapping, Native, Value, iterate, to_usize};

pub(super) fn find(name: &str) -> Option<Native> {
    Some(match name {
        "join" => join,
        "length" | "count" => |_, args| value::length(&only(args, "len")?).map(Value::int_of),
        "first" => |machine, args| {
            let mut items = iterate(&only(args, "first")?)?;
            if items.is_empty() {
                return Ok(nothing(machine, "No first item, sequence was empty."));
            }
            Ok(items.swap_remove(0))
        },
        "last" => |machine, args| {
            let value = only(args, "last")?;
            if matches!(value, Value::Other(value::Other(value::OtherKind::Iter(_)))) {
                return Err(Error::of_type("'generator' object is not reversible"));
            }
            let last = iterate(&value)?.pop();
            Ok(last.unwrap_or_else(|| nothing(machine, "No last item, sequence was empty.")))
        },
        "list" => |_, args| iterate(&only(args, "list")?).map(Value::list),
        "items" => |_, args| {
            let value = only(args, "items")?;
            match &value {
                Value::Dict(Mapping(cell)) => Ok(Value::iter("generator", cell.0.borrow().items())),
                other if other.as_undefined().is_some() => Ok(Value::iter("generator", Vec::new())),
                _ => Err(Error::of_type("Can only get item pairs from a mapping.")),
            }
        },
        "sort" => sort,
        "dictsort" => dictsort,
        "batch" => batch,
        "slice" => slice,
        "groupby" => groupby,
        "combinations" => |_, args| pick(args, "combinations", false, false),
        "combinations_with_replacement" => {
            |_, args| pick(args, "combinations_with_replacement", true, false)
        }
        "permutations" => |_, args| pick(args, "permutations", false, true),
        "product" => product,
        "compress" => |_, args| {
            let [data, selectors] = args.bind("compress", ["data", "selectors"], 2)?;
            let data = iterate(&data.unwrap_or(Value::None))?;
            let selectors = iterate(&selectors.unwrap_or(Value::None))?;
            let mut kept = Vec::new();
            for (item, selector) in data.into_iter().zip(selectors) {
                if selector.is_true()? {
                    kept.push(item);
                }
            }
            Ok(Value::iter("compress", kept))
        },
        "zip" => |_, args| zip(args, false),
        "zip_longest" => |_, args| zip(args, true),
        _ => return None,
    })
}

fn join(machine: &Machine<'_>, args: Args) -> Result<Value> {
    let [value, separator, attribute] = args.bind("do_join", ["value", "d", "attribute"], 1)?;
    let separator = separator.map_or_else(|| Ok(String::new()), |sep| value::text(&sep))?;
    let attribute = attribute.filter(|attribute| !attribute.is_none());
    let mut out = String::new();
    for (index, item) in iterate(&value.unwrap_or(Value::None))?.iter().enumerate() {
        if out.len() > TEXT_BYTES_MAX {
            return Err(Error::long_text());
        }
        if index > 0 {
            out.push_str(&separator);
        }
        match &attribute {
            Some(path) => out.push_str(&value::text(&by_path(machine, item, path)?)?),
            None => out.push_str(&value::text(item)?),
        }
        if index % 1024 == 0 {
            machine.account(out.len() / 64)?;
        }
    }
    Ok(Value::str(out))
}

/// An item's attribute by a dotted path or an index.
pub(super) fn by_path(machine: &Machine<'_>, item: &Value, path: &Value) -> Result<Value> {
    let Some(text) = path.as_str() else {
        return access::item(machine, item, path);
    };
    let mut found = item.clone();
    for part in text.split('.') {
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let key = match part.parse() {
            Ok(index) if digits => Value::Int(index),
            _ => Value::str(part),
        };
        found = access::item(machine, &found, &key)?;
    }
    Ok(found)
}

/// Text without regard to case, where that is wanted.
pub(super) fn folded(value: Value, case_sensitive: bool) -> Value {
    match &value {
        Value::Str(text) | Value::Markup(text) if !case_sensitive => {
            Value::str(text.to_lowercase())
        }
        _ => value,
    }
}

fn sort(machine: &Machine<'_>, args: Args) -> Result<Value> {
    let names = ["value", "reverse", "case_sensitive", "attribute"];
    let [value, reverse, case_sensitive, attribute] = args.bind("do_sort", names, 1)?;
    let (reverse, case) = (flag(reverse, false)?, flag(case_sensitive, false)?);
    let attribute = attribute.filter(|attribute| !attribute.is_none());
    let paths: Vec<Value> = match &attribute {
        Some(Value::Str(text)) => text.split(',').map(Value::str).collect(),
        Some(other) => vec![other.clone()],
        None => Vec::new(),
    };
    let mut items = iterate(&value.unwrap_or(Value::None))?;
    machine.steps_taken(items.len() as u64)?;
    value::sort_by(&mut items, reverse, |item| {
        if paths.is_empty() {
            return Ok(folded(item.clone(), case));
        }
        let mut keys = Vec::new();
        for path in &paths {
            keys.push(folded(by_path(machine, item, path)?, case));
        }
        Ok(if keys.len() == 1 {
            keys.remove(0)
        } else {
            Value::list(keys)
        })
    })?;
    Ok(Value::list(items))
}

fn dictsort(_: &Machine<'_>, args: Args) -> Result<Value> {
    let names = ["value", "case_sensitive", "by", "reverse"];
    let [value, case_sensitive, by, reverse] = args.bind("do_dictsort", names, 1)?;
    let (case, reverse) = (flag(case_sensitive, false)?, flag(reverse, false)?);
    let by = by.unwrap_or_else(|| Value::str("key"));
    let at = match by.as_str() {
        Some("key") => 0,
        Some("value") => 1,
        _ => {
            return Err(Error::new(
                ErrorKind::FilterArgument,
                "You can only sort by either \"key\" or \"value\"",
            ));
        }
    };
    let value = value.unwrap_or(Value::None);
    let mut items = match &value {
        Value::Dict(Mapping(cell)) => cell.0.borrow().items(),
        other => {
            super::defined(other)?;
            return Err(Error::new(
                ErrorKind::Attribute,
                format!("'{}' object has no attribute 'items'", other.type_name()),
            ));
        }
    };
    value::sort_by(&mut items, reverse, |pair| {
        let part = iterate(pair)?.into_iter().nth(at).unwrap_or(Value::None);
        Ok(folded(part, case))
    })?;
    Ok(Value::list(items))
}

fn batch(machine: &Machine<'_>, args: Args) -> Result<Value> {
    let [value, count, fill] = args.bind("do_batch", ["value", "linecount", "fill_with"], 2)?;
    let count = to_usize(int(count, 0)?).unwrap_or_default();
    let items = iterate(&value.unwrap_or(Value::None))?;
    if count == 0 {
        // Jinja2 never finds a full batch and yields all in one.
        let all = if items.is_empty() {
            Vec::new()
        } else {
            vec![Value::list(items)]
        };
        return Ok(Value::iter("generator", all));
    }
    let fill = fill.filter(|fill| !fill.is_none());
    let mut rows = Vec::new();
    for chunk in items.chunks(count) {
        let mut row = chunk.to_vec();
        if let Some(fill) = &fill {
            machine.account_items(count - row.len())?;
            row.resize(count, fill.clone());
        }
        rows.push(Value::list(row));
    }
    Ok(Value::iter("generator", rows))
}

fn slice(machine: &Machine<'_>, args: Args) -> Result<Value> {
    let [value, slices, fill] = args.bind("do_slice", ["value", "slices", "fill_with"], 2)?;
    let slices = to_usize(int(slices, 0)?).filter(|slices| *slices <= crate::limits::ITEMS_MAX);
    let Some(slices) = slices.filter(|slices| *slices > 0) else {
        return Err(Error::new(
            ErrorKind::ZeroDivision,
            "integer division or modulo by zero",
        ));
    };
    let fill = fill.filter(|fill| !fill.is_none());
    let items = iterate(&value.unwrap_or(Value::None))?;
    // A list for each, however few items there are.
    machine.account_items(slices)?;
    let (per_slice, extra) = (items.len() / slices, items.len() % slices);
    let mut rows = Vec::new();
    let mut at = 0;
    for number in 0..slices {
        let length = per_slice + usize::from(number < extra);
        let mut row = items.get(at..at + length).unwrap_or_default().to_vec();
        at += length;
        if let Some(fill) = &fill
            && number >= extra
        {
            row.push(fill.clone());
        }
        rows.push(Value::list(row));
    }
    Ok(Value::iter("generator", rows))
}

fn groupby(machine: &Machine<'_>, args: Args) -> Result<Value> {
    let names = ["value", "attribute", "default", "case_sensitive"];
    let [value, attribute, default, case_sensitive] = args.bind("do_groupby", names, 2)?;
    let case = flag(case_sensitive, false)?;
    let path = attribute.unwrap_or(Value::None);
    let key_of = |item: &Value| -> Result<Value> {
        let found = by_path(machine, item, &path)?;
        Ok(match &default {
            Some(default) if found.as_undefined().is_some() => default.clone(),
            _ => found,
        })
    };
    let mut items = iterate(&value.unwrap_or(Value::None))?;
    value::sort_by(&mut items, false, |item| {
        key_of(item).map(|key| folded(key, case))
    })?;
    let mut groups: Vec<(Value, Value, Vec<Value>)> = Vec::new();
    for item in items {
        let key = key_of(&item)?;
        let folded = folded(key.clone(), case);
        match groups.last_mut() {
            Some((last, _, members)) if value::equal(last, &folded)? => members.push(item),
            _ => groups.push((folded, key, vec![item])),
        }
    }
    // A pair that also has names: a map would not unpack, so it stays a pair.
    Ok(Value::list(
        groups
            .into_iter()
            .map(|(_, key, members)| Value::object(value::Object::Group(key, Value::list(members))))
            .collect(),
    ))
}

fn pick(args: Args, name: &str, repeats: bool, ordered: bool) -> Result<Value> {
    let [value, count] = args.bind(name, ["iterable", "r"], if ordered { 1 } else { 2 })?;
    let items = iterate(&value.unwrap_or(Value::None))?;
    let count = count.filter(|count| !count.is_none());
    let count = match count {
        Some(count) => {
            to_usize(count.want_int()?).ok_or_else(|| Error::of_value("r must be non-negative"))?
        }
        None => items.len(),
    };
    let mut out = Vec::new();
    if count <= PICK_MAX {
        let rule = Rule {
            items: &items,
            count,
            repeats,
            ordered,
        };
        rule.choose(&mut Vec::new(), 0, &mut out)?;
    }
    Ok(Value::iter("generator", out))
}

/// Items of one combination.
const PICK_MAX: usize = 64;
/// Combinations that are computed at once.
const PICKED_MAX: usize = 200_000;

struct Rule<'a> {
    items: &'a [Value],
    count: usize,
    repeats: bool,
    ordered: bool,
}

impl Rule<'_> {
    fn choose(&self, chosen: &mut Vec<usize>, start: usize, out: &mut Vec<Value>) -> Result<()> {
        if chosen.len() == self.count {
            if out.len() >= PICKED_MAX {
                return Err(Error::limit("too many combinations"));
            }
            let picked = chosen.iter().filter_map(|at| self.items.get(*at).cloned());
            out.push(Value::tuple(picked.collect()));
            return Ok(());
        }
        let first = if self.ordered { 0 } else { start };
        for at in first..self.items.len() {
            if self.ordered && chosen.contains(&at) {
                continue;
            }
            chosen.push(at);
            self.choose(chosen, if self.repeats { at } else { at + 1 }, out)?;
            chosen.pop();
        }
        Ok(())
    }
}

fn product(_: &Machine<'_>, mut args: Args) -> Result<Value> {
    let repeat = to_usize(int(args.take_named("repeat"), 1)?)
        .unwrap_or(1)
        .min(PICK_MAX);
    args.no_named("product")?;
    let mut pools = Vec::new();
    for _ in 0..repeat {
        for value in &args.pos {
            pools.push(iterate(value)?);
        }
    }
    let mut rows = vec![Vec::new()];
    for pool in pools {
        if rows.len().saturating_mul(pool.len()) > PICKED_MAX {
            return Err(Error::limit("too many combinations"));
        }
        let extend = |row: &Vec<Value>, item: &Value| {
            let mut row = row.clone();
            row.push(item.clone());
            row
        };
        rows = rows
            .iter()
            .flat_map(|row| pool.iter().map(move |item| extend(row, item)))
            .collect();
    }
    Ok(Value::iter(
        "product",
        rows.into_iter().map(Value::tuple).collect(),
    ))
}

fn zip(mut args: Args, longest: bool) -> Result<Value> {
    let fill = args.take_named("fillvalue").unwrap_or(Value::None);
    args.no_named("zip")?;
    let mut columns = Vec::new();
    for value in &args.pos {
        columns.push(iterate(value)?);
    }
    let lengths = columns.iter().map(Vec::len);
    let length = if longest {
        lengths.max()
    } else {
        lengths.min()
    }
    .unwrap_or_default();
    let row = |at: usize| {
        let cells = columns
            .iter()
            .map(|column| column.get(at).cloned().unwrap_or_else(|| fill.clone()));
        Value::tuple(cells.collect())
    };
    Ok(Value::iter(
        if longest { "zip_longest" } else { "zip" },
        (0..length).map(row).collect(),
    ))
}
