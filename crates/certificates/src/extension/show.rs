//! Extensions as results show them.

use halite_proto::{Map, Value};

use super::{Extension, access, list, points, policies, usage};
use crate::asn1::{DerError, Item, Reader, tag};
use crate::text::{pretty_hex, pretty_number};
use crate::{general, name, time};

/// Whether it is critical, and what it says.
pub(crate) fn show(extension: &Extension) -> Map {
    let mut shown = Map::from([("critical", Value::from(extension.critical))]);
    match fields(extension) {
        Ok(fields) => shown.extend(fields),
        Err(_) => {
            shown.insert("value", pretty_hex(&extension.value));
        }
    }
    shown
}

fn value(value: impl Into<Value>) -> Map {
    Map::from([("value", value.into())])
}

fn fields(extension: &Extension) -> Result<Map, DerError> {
    let der = &extension.value;
    let sequence = || Reader::one(der, tag::SEQUENCE);
    Ok(match extension.oid.as_str() {
        "2.5.29.19" => basic(sequence()?)?,
        "2.5.29.15" => key_usage(der)?,
        "2.5.29.37" => value(each(sequence()?, |item| Ok(purpose(&item.oid()?).into()))?),
        "2.5.29.14" => value(pretty_hex(Reader::one(der, tag::OCTETS)?.body)),
        "2.5.29.35" => authority(sequence()?)?,
        "2.5.29.17" | "2.5.29.18" | "2.5.29.29" => value(general::show_all(&sequence()?)?),
        "1.3.6.1.5.5.7.1.1" => value(access_list(sequence()?)?),
        "2.5.29.31" | "2.5.29.46" => value(each(sequence()?, |item| Ok(point(item)?.into()))?),
        "2.5.29.28" => issuing(sequence()?)?,
        "2.5.29.32" => value(policy_list(sequence()?)?),
        "2.5.29.36" => policy_constraints(sequence()?)?,
        "2.5.29.54" | "2.5.29.20" | "2.5.29.27" => value(Reader::one(der, tag::INTEGER)?.number()?),
        "2.5.29.30" => name_constraints(sequence()?)?,
        "1.3.6.1.5.5.7.48.1.5" => value(true),
        "1.3.6.1.5.5.7.1.24" => value(tls_features(sequence()?)?),
        "2.5.29.21" => value(revocation_reason(der)?),
        "2.5.29.24" => value(time::text(time::read(&Reader::new(der).next()?)?)),
        _ => return Err(DerError::Value),
    })
}

/// The items of a sequence, shown one by one.
fn each(
    sequence: Item<'_>,
    show: impl Fn(&Item<'_>) -> Result<Value, DerError>,
) -> Result<Value, DerError> {
    let items = sequence.inside().all()?;
    Ok(Value::List(
        items.iter().map(show).collect::<Result<_, _>>()?,
    ))
}

fn policy_constraints(item: Item<'_>) -> Result<Map, DerError> {
    let mut fields = item.inside();
    let mut number = |tag: u8| -> Result<Value, DerError> {
        match fields.maybe(tag)? {
            Some(item) => Ok(item.number()?.into()),
            None => Ok(Value::Nil),
        }
    };
    let explicit = number(tag::implicit(0))?;
    Ok(Map::from([
        ("inhibitPolicyMapping", number(tag::implicit(1))?),
        ("requireExplicitPolicy", explicit),
    ]))
}

fn name_constraints(item: Item<'_>) -> Result<Map, DerError> {
    let mut fields = item.inside();
    let mut names = |number: u8| -> Result<Value, DerError> {
        let Some(trees) = fields.maybe(tag::explicit(number))? else {
            return Ok(Value::List(Vec::new()));
        };
        each(trees, |tree| {
            Ok(general::show(&tree.inside().next()?)?.into())
        })
    };
    let permitted = names(0)?;
    Ok(Map::from([
        ("excluded", names(1)?),
        ("permitted", permitted),
    ]))
}

fn tls_features(item: Item<'_>) -> Result<Value, DerError> {
    each(item, |item| {
        let number = item.number()?;
        let mut all = usage::TLS.iter();
        let known = all.find(|(_, known)| i64::try_from(*known) == Ok(number));
        Ok(known.map_or_else(|| number.into(), |(name, _)| Value::from(*name)))
    })
}

fn revocation_reason(der: &[u8]) -> Result<&'static str, DerError> {
    let number = Reader::one(der, tag::ENUMERATED)?.number()?;
    let mut all = list::REASONS.iter();
    let known = all.find(|(_, known)| i64::from(*known) == number);
    known.map(|(name, _)| *name).ok_or(DerError::Value)
}

fn basic(item: Item<'_>) -> Result<Map, DerError> {
    let mut fields = item.inside();
    let ca = fields
        .maybe(tag::BOOLEAN)?
        .is_some_and(|item| item.body.first().is_some_and(|byte| *byte != 0));
    let pathlen = match fields.maybe(tag::INTEGER)? {
        Some(item) => item.number()?.into(),
        None => Value::Nil,
    };
    Ok(Map::from([("ca", ca.into()), ("pathlen", pathlen)]))
}

fn is_set(bits: &[u8], at: usize) -> bool {
    bits.get(at / 8)
        .is_some_and(|byte| byte & (0x80 >> (at % 8)) != 0)
}

fn key_usage(der: &[u8]) -> Result<Map, DerError> {
    let bits = Reader::one(der, tag::BITS)?.bits()?;
    let mut names: Vec<(&str, bool)> = usage::KEY_USES
        .iter()
        .enumerate()
        .map(|(at, name)| (*name, is_set(bits, at)))
        .collect();
    names.sort_by_key(|(name, _)| name.to_lowercase());
    Ok(names.into_iter().collect())
}

fn purpose(oid: &str) -> String {
    // Those that others give no name stand here with their identifiers.
    let unnamed = ["msCodeInd", "msCodeCom", "msCTLSign", "msEFS", "ipsecIKE"];
    let known = usage::PURPOSES.iter().find(|(_, known)| *known == oid);
    match known {
        Some((name, _)) if !unnamed.contains(name) => (*name).to_owned(),
        _ => oid.to_owned(),
    }
}

fn authority(item: Item<'_>) -> Result<Map, DerError> {
    let mut fields = item.inside();
    let key = match fields.maybe(tag::implicit(0))? {
        Some(item) => pretty_hex(item.body).into(),
        None => Value::Nil,
    };
    let issuer = match fields.maybe(tag::explicit(1))? {
        Some(item) => general::show_all(&item)?,
        None => Value::Nil,
    };
    let serial = match fields.maybe(tag::implicit(2))? {
        Some(item) => pretty_number(item.body).into(),
        None => Value::Nil,
    };
    Ok(Map::from([
        ("keyid", key),
        ("issuer", issuer),
        ("issuer_sn", serial),
    ]))
}

fn access_list(item: Item<'_>) -> Result<Value, DerError> {
    let mut shown = Vec::new();
    for description in item.inside().all()? {
        let mut fields = description.inside();
        let oid = fields.expect(tag::OID)?.oid()?;
        let known = access::WAYS.iter().find(|(_, known)| *known == oid);
        let way = known.map_or(oid.as_str(), |(name, _)| *name);
        let place = general::show(&fields.next()?)?;
        let place = place
            .split_once(':')
            .map_or(place.as_str(), |(_, place)| place);
        shown.push(Map::from([(way, Value::from(place))]).into());
    }
    Ok(Value::List(shown))
}

/// The names of a point, in full and relative.
fn place(item: Option<Item<'_>>) -> Result<(Value, Value), DerError> {
    let mut full = Value::List(Vec::new());
    let mut relative = Value::Nil;
    if let Some(item) = item {
        let inner = item.inside().next()?;
        if inner.tag == tag::explicit(0) {
            full = general::show_all(&inner)?;
        } else {
            relative = name::relative_written(inner.body)?.into();
        }
    }
    Ok((full, relative))
}

fn reasons(item: Option<Item<'_>>) -> Result<Value, DerError> {
    let Some(item) = item else {
        return Ok(Value::List(Vec::new()));
    };
    let bits = item.bits()?;
    let mut names: Vec<&str> = points::REASONS
        .iter()
        .enumerate()
        .filter(|(at, _)| is_set(bits, *at))
        .map(|(_, name)| *name)
        .collect();
    names.sort_unstable();
    Ok(Value::List(names.into_iter().map(Value::from).collect()))
}

fn point(item: &Item<'_>) -> Result<Map, DerError> {
    let mut fields = item.inside();
    let (full, relative) = place(fields.maybe(tag::explicit(0))?)?;
    let why = reasons(fields.maybe(tag::implicit(1))?)?;
    let issuer = match fields.maybe(tag::explicit(2))? {
        Some(item) => general::show_all(&item)?,
        None => Value::List(Vec::new()),
    };
    Ok(Map::from([
        ("crlissuer", issuer),
        ("fullname", full),
        ("reasons", why),
        ("relativename", relative),
    ]))
}

fn issuing(item: Item<'_>) -> Result<Map, DerError> {
    let mut fields = item.inside();
    let (full, relative) = place(fields.maybe(tag::explicit(0))?)?;
    let mut flag = |number: u8| -> Result<bool, DerError> {
        let item = fields.maybe(tag::implicit(number))?;
        Ok(item.is_some_and(|item| item.body.first().is_some_and(|byte| *byte != 0)))
    };
    let (user, ca) = (flag(1)?, flag(2)?);
    let why = reasons(fields.maybe(tag::implicit(3))?)?;
    let mut flag = |number: u8| -> Result<bool, DerError> {
        let item = fields.maybe(tag::implicit(number))?;
        Ok(item.is_some_and(|item| item.body.first().is_some_and(|byte| *byte != 0)))
    };
    let (indirect, attributes) = (flag(4)?, flag(5)?);
    Ok(Map::from([
        ("fullname", full),
        ("onysomereasons", why),
        ("relativename", relative),
        ("onlyuser", user.into()),
        ("onlyCA", ca.into()),
        ("onlyAA", attributes.into()),
        ("indirectCRL", indirect.into()),
    ]))
}

fn policy_list(item: Item<'_>) -> Result<Value, DerError> {
    let mut shown = Vec::new();
    for policy in item.inside().all()? {
        let mut fields = policy.inside();
        let oid = fields.expect(tag::OID)?.oid()?;
        let mut qualifiers = Vec::new();
        if let Some(list) = fields.maybe(tag::SEQUENCE)? {
            for qualifier in list.inside().all()? {
                qualifiers.push(policy_qualifier(&qualifier)?);
            }
        }
        let oid = oid.as_str();
        shown.push(Map::from([(oid, Value::List(qualifiers))]).into());
    }
    Ok(Value::List(shown))
}

fn policy_qualifier(item: &Item<'_>) -> Result<Value, DerError> {
    let mut fields = item.inside();
    let kind = fields.expect(tag::OID)?.oid()?;
    let what = fields.next()?;
    if kind == policies::PRACTICE {
        return Ok(Map::from([("practice_statement", Value::from(what.text()))]).into());
    }
    let mut notice = what.inside();
    let (mut organization, mut numbers) = (Value::Nil, Value::Nil);
    if let Some(reference) = notice.maybe(tag::SEQUENCE)? {
        let mut reference = reference.inside();
        organization = reference.next()?.text().into();
        let list = reference.expect(tag::SEQUENCE)?.inside().all()?;
        numbers = Value::List(
            list.iter()
                .map(|item| item.number().map(Value::from))
                .collect::<Result<_, _>>()?,
        );
    }
    let text = match notice.is_empty() {
        true => Value::Nil,
        false => notice.next()?.text().into(),
    };
    Ok(Map::from([
        ("organizataion", organization),
        ("notice_numbers", numbers),
        ("explicit_text", text),
    ])
    .into())
}
