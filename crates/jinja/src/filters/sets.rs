//! Salt's filters of lists as sets, and questions about lists.

use super::{defined, flag, int, only};
use crate::error::{Error, ErrorKind, Result};
use crate::eval::{Args, Machine, operators};
use crate::value::{self, Key, Native, Tuple, Value, iterate};

pub(super) fn find(name: &str) -> Option<Native> {
    Some(match name {
        "unique" => |_, args| {
            let [value, _, _] =
                args.bind("unique", ["values", "case_sensitive", "attribute"], 1)?;
            let value = value.unwrap_or(Value::None);
            defined(&value)?;
            unique(&value)
        },
        "union" => |_, args| combine(args, "union"),
        "intersect" => |_, args| combine(args, "intersect"),
        "difference" => |_, args| combine(args, "difference"),
        "symmetric_difference" => |_, args| combine(args, "symmetric_difference"),
        "flatten" => |_, args| {
            let names = ["data", "levels", "preserve_nulls"];
            let [value, levels, nulls] = args.bind("flatten", names, 1)?;
            let value = value.unwrap_or(Value::None);
            defined(&value)?;
            let levels = levels.filter(|levels| !levels.is_none());
            let levels = int(levels, 200)?.clamp(-1, 200);
            let mut out = Vec::new();
            flatten(&iterate(&value)?, levels, flag(nulls, false)?, &mut out)?;
            Ok(Value::list(out))
        },
        "is_list" => |_, args| {
            Ok(Value::Bool(matches!(
                only(args, "is_list")?,
                Value::List(_)
            )))
        },
        "is_iter" => |_, args| {
            let [value, _] = args.bind("is_iter", ["thing", "ignore"], 1)?;
            let value = value.unwrap_or(Value::None);
            defined(&value)?;
            let text = matches!(value, Value::Str(_) | Value::Markup(_));
            let single = matches!(
                value,
                Value::None | Value::Bool(_) | Value::Int(_) | Value::Float(_)
            );
            Ok(Value::Bool(!text && !single))
        },
        "exactly_one_true" => |_, args| count_true(only(args, "exactly_one_true")?, 1),
        "exactly_n_true" => |_, args| {
            let [value, amount] = args.bind("exactly_n_true", ["iterable", "amount"], 1)?;
            count_true(value.unwrap_or(Value::None), int(amount, 1)?)
        },
        "substring_in_list" => |_, args| {
            let names = ["string_to_search_for", "list_to_search"];
            let [wanted, list] = args.bind("substring_in_list", names, 2)?;
            let wanted = wanted.unwrap_or(Value::None);
            for item in iterate(&list.unwrap_or(Value::None))? {
                if operators::contains(&item, &wanted)? {
                    return Ok(Value::Bool(true));
                }
            }
            Ok(Value::Bool(false))
        },
        "sorted_ignorecase" => |_, args| {
            let mut items = iterate(&only(args, "sorted_ignorecase")?)?;
            value::sort_by(&mut items, false, |item| {
                Ok(Value::str(item.want_str("item")?.to_lowercase()))
            })?;
            Ok(Value::list(items))
        },
        "check_whitelist_blacklist" => whitelist,
        _ => return None,
    })
}

/// Python's `Hashable`: lists, maps and sets are not.
fn hashable(value: &Value) -> bool {
    !matches!(value, Value::List(_) | Value::Dict(_) | Value::Set(_))
}

fn keys(value: &Value) -> Result<Vec<Key>> {
    iterate(value)?.into_iter().map(Key::new).collect()
}

fn unique(value: &Value) -> Result<Value> {
    if hashable(value) {
        return Ok(Value::set(keys(value)?));
    }
    let kept = Value::list(Vec::new());
    for item in iterate(value)? {
        if !operators::contains(&kept, &item)?
            && let Value::List(list) = &kept
        {
            list.0.0.borrow_mut().push(item);
        }
    }
    Ok(kept)
}

fn only_in(items: &[Value], other: &Value, wanted: bool) -> Result<Vec<Value>> {
    let mut out = Vec::new();
    for item in items {
        if operators::contains(other, item)? == wanted {
            out.push(item.clone());
        }
    }
    Ok(out)
}

fn combine(args: Args, name: &str) -> Result<Value> {
    let [a, b] = args.bind(name, ["lst1", "lst2"], 2)?;
    let (a, b) = (a.unwrap_or(Value::None), b.unwrap_or(Value::None));
    defined(&a)?;
    defined(&b)?;
    let (left, right) = (iterate(&a)?, iterate(&b)?);
    if !hashable(&a) && !hashable(&b) || hashable(&a) != hashable(&b) {
        if name == "union" && a.type_name() != b.type_name() {
            let sum = operators::binary(crate::ast::BinaryOp::Add, &a, &b)?;
            return unique(&sum);
        }
        let items = match name {
            "union" => [left, right].concat(),
            "intersect" => only_in(&left, &b, true)?,
            "difference" => only_in(&left, &b, false)?,
            _ => [only_in(&left, &b, false)?, only_in(&right, &a, false)?].concat(),
        };
        return unique(&Value::list(items));
    }
    let items = match name {
        "union" => [left, right].concat(),
        "intersect" => only_in(&left, &Value::list(right), true)?,
        "difference" => only_in(&left, &Value::list(right), false)?,
        _ => {
            let (a, b) = (Value::list(left.clone()), Value::list(right.clone()));
            [only_in(&left, &b, false)?, only_in(&right, &a, false)?].concat()
        }
    };
    Ok(Value::set(keys(&Value::list(items))?))
}

fn flatten(items: &[Value], levels: i128, nulls: bool, out: &mut Vec<Value>) -> Result<()> {
    for item in items {
        match item {
            Value::None if !nulls => {}
            Value::List(_) | Value::Tuple(Tuple(_)) if levels >= 1 => {
                if out.len() > crate::limits::ITEMS_MAX {
                    return Err(Error::limit("a list has too many items"));
                }
                flatten(&iterate(item)?, levels - 1, nulls, out)?;
            }
            other => out.push(other.clone()),
        }
    }
    Ok(())
}

fn count_true(value: Value, wanted: i128) -> Result<Value> {
    let mut count = 0;
    for item in iterate(&value)? {
        count += i128::from(item.is_true()?);
    }
    Ok(Value::Bool(count == wanted))
}

fn whitelist(machine: &Machine<'_>, args: Args) -> Result<Value> {
    let names = ["value", "whitelist", "blacklist"];
    let [value, white, black] = args.bind("check_whitelist_blacklist", names, 1)?;
    let value = value.unwrap_or(Value::None);
    let text = value.want_str("value")?;
    let any = |list: Option<Value>| -> Result<Option<bool>> {
        let Some(list) = list else { return Ok(None) };
        let patterns = match &list {
            Value::Str(_) => vec![list.clone()],
            Value::None => return Ok(None),
            other => iterate(other)?,
        };
        if patterns.is_empty() {
            return Ok(None);
        }
        for pattern in patterns {
            machine.step()?;
            let Some(pattern) = pattern.as_str() else {
                return Err(Error::new(ErrorKind::Type, "a pattern must be text"));
            };
            if glob(pattern, text) {
                return Ok(Some(true));
            }
        }
        Ok(Some(false))
    };
    let (white, black) = (any(white)?, any(black)?);
    Ok(Value::Bool(black != Some(true) && white.unwrap_or(true)))
}

/// Python's `fnmatch`, without ranges of characters.
fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || text.get(t) == Some(c) => {
                p += 1;
                t += 1;
            }
            _ => match retry {
                Some((star, at)) => {
                    retry = Some((star, at + 1));
                    p = star + 1;
                    t = at + 1;
                }
                None => return false,
            },
        }
    }
    pattern
        .get(p..)
        .is_some_and(|rest| rest.iter().all(|c| *c == '*'))
}
