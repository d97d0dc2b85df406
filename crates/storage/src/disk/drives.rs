//! Data about drives, and their load.

use halite_proto::{Map, Value};

use super::devices::{device, need};
use halite_call::{Call, CallError, CallResult, host::Program, python};

/// How often `iostat` may measure.
const MEASUREMENTS_MAX: i64 = 3600;

fn number(text: &str) -> Option<Value> {
    text.trim().parse::<i64>().ok().map(Value::from)
}

/// The settings of one drive, from `hdparm`.
fn settings(call: &Call<'_>, disk: &str, flags: &str) -> Result<Map, CallError> {
    let ran = Program::new(call, &["hdparm", &format!("-{flags}"), disk]).run()?;
    if !ran.ok() {
        tracing::warn!("hdparm -{flags} {disk}: {}", ran.stderr);
    }
    let mut found = Map::new();
    for line in ran.stdout.lines().map(str::trim) {
        if line.is_empty() || line == format!("{disk}:") {
            continue;
        }
        let parts = line
            .split_once(':')
            .map(|(key, values)| (key.trim_end_matches(" is"), values))
            .or_else(|| line.split_once('='));
        let Some((key, values)) = parts else {
            continue;
        };
        let key = key.trim().to_lowercase().replace(' ', "_");
        if let Some(value) = setting(values.trim()) {
            found.insert(key, value);
        }
    }
    Ok(found)
}

/// A setting: a number with its meaning, a list, or pairs.
fn setting(text: &str) -> Option<Value> {
    if let Some((first, rest)) = text.split_once(' ')
        && let Some(number) = number(first)
        && rest.starts_with('(')
        && rest.contains(')')
    {
        let word = rest.split(' ').next().unwrap_or_default();
        let word = word.trim_matches(['(', ')']);
        return Some(vec![number, word.into()].into());
    }
    let (mut values, mut pairs) = (Vec::new(), Map::new());
    for part in text.split(['/', ',']).map(str::trim) {
        if let Some(number) = number(part) {
            values.push(number);
        } else if let Some((key, value)) = part.split_once('=') {
            if !value.trim().is_empty() {
                pairs.insert(key.trim(), value.trim());
            }
        } else if !part.is_empty() {
            values.push(part.into());
        }
    }
    if !pairs.is_empty() {
        values.push(pairs.into());
    }
    match values.len() {
        0 => None,
        1 => values.pop(),
        _ => Some(values.into()),
    }
}

fn disks(call: &Call<'_>) -> Result<Vec<String>, CallError> {
    let named = match call.arg("disks") {
        Value::List(disks) => disks.iter().map(python::str).collect(),
        one => vec![python::str(one)],
    };
    named
        .into_iter()
        .map(|disk| match disk.starts_with("/dev") {
            _ if disk.is_empty() || disk.starts_with('-') => {
                Err(CallError::invocation(format!("not a device: {disk:?}")))
            }
            true => Ok(disk),
            false => Ok(format!("/dev/{disk}")),
        })
        .collect()
}

pub(super) fn hdparms(call: &Call<'_>) -> CallResult {
    need(call, "hdparm")?;
    let flags = match call.arg("args") {
        Value::List(flags) => flags.iter().map(python::str).collect(),
        text => python::str(text),
    };
    if !flags.chars().all(|flag| flag.is_ascii_alphanumeric()) {
        return Err(CallError::invocation(format!(
            "no flags of hdparm: {flags:?}"
        )));
    }
    let mut all = Map::new();
    for disk in disks(call)? {
        let found = settings(call, &disk, &flags)?;
        all.insert(disk, found);
    }
    Ok(all.into())
}

pub(super) fn hpa(call: &Call<'_>) -> CallResult {
    need(call, "hdparm")?;
    let (mut areas, mut totals) = (Map::new(), Vec::new());
    for disk in disks(call)? {
        let found = settings(call, &disk, "N")?;
        let first = found.values().next().and_then(Value::as_list);
        let Some([visible, total, status, ..]) = first else {
            let text = format!("hdparm does not tell the size of {disk}");
            return Err(CallError::command(text));
        };
        let (Some(visible), Some(all)) = (visible.as_i64(), total.as_i64()) else {
            let text = format!("hdparm does not tell the size of {disk}");
            return Err(CallError::command(text));
        };
        let mut area = Map::from([("total", all)]);
        if visible != all && !python::str(status).contains("disabled") {
            area.insert("visible", visible);
            area.insert("hidden", all - visible);
        }
        areas.insert(disk.as_str(), area);
        totals.push((disk, all));
    }
    let size = call.arg("size");
    if size.is_nil() {
        return Ok(areas.into());
    }
    for (disk, total) in totals {
        let text = python::str(size);
        let wanted = match text.strip_suffix('%') {
            Some(percent) => {
                let percent = python::int(&percent.into())?;
                (100 - percent) * total / 100
            }
            None => total - python::int(size)?,
        };
        let wanted = if wanted <= 0 { total } else { wanted };
        let option = format!("-Np{wanted}");
        let words = ["hdparm", "--yes-i-know-what-i-am-doing", &option, &disk];
        let ran = Program::new(call, &words).run()?;
        if !ran.ok() {
            let text = format!("{}: {}", words.join(" "), ran.stderr);
            return Err(CallError::command(text));
        }
    }
    Ok(Value::Nil)
}

pub(super) fn smart_attributes(call: &Call<'_>) -> CallResult {
    let dev = device(call, "dev")?;
    let dev = match dev.starts_with("/dev/") {
        true => dev,
        false => format!("/dev/{dev}"),
    };
    let ran = Program::new(call, &["smartctl", "--attributes", &dev]).run()?;
    if !ran.ok() {
        return Err(CallError::command(ran.stderr));
    }
    let chosen = |name: &str| match call.arg(name) {
        Value::Nil => None,
        given => Some(python::texts(given)),
    };
    let (wanted, values) = (chosen("attributes"), chosen("values"));
    let mut lines = ran.stdout.lines();
    let header = lines
        .find(|line| line.starts_with("ID#"))
        .unwrap_or_default();
    let fields: Vec<String> = header
        .split_whitespace()
        .skip(1)
        .map(str::to_lowercase)
        .collect();
    let mut attributes = Map::new();
    for line in lines {
        let mut words = line.split_whitespace();
        let Some(Ok(number)) = words.next().map(str::parse::<i64>) else {
            break;
        };
        if wanted
            .as_ref()
            .is_some_and(|wanted| !wanted.contains(&number.to_string()))
        {
            continue;
        }
        let words: Vec<&str> = words.collect();
        let last = fields.len().saturating_sub(1);
        let mut about = Map::new();
        for (at, field) in fields.iter().enumerate() {
            if values
                .as_ref()
                .is_some_and(|values| !values.contains(field))
            {
                continue;
            }
            // The last field may have blanks.
            let text = match at == last {
                true => words.get(at..).unwrap_or_default().join(" "),
                false => words.get(at).copied().unwrap_or_default().to_owned(),
            };
            about.insert(field.as_str(), value(&text));
        }
        attributes.insert(Value::from(number), about);
    }
    Ok(attributes.into())
}

/// A number, a list of numbers, or text.
fn value(text: &str) -> Value {
    if let Ok(number) = text.parse::<i64>() {
        return number.into();
    }
    let numbers: Option<Vec<Value>> = text.split(' ').map(number).collect();
    match numbers {
        Some(numbers) if !text.is_empty() => numbers.into(),
        _ => text.into(),
    }
}

/// Sums of the columns of a table.
#[derive(Default)]
struct Sums {
    header: Vec<String>,
    sums: Vec<f64>,
    rows: u32,
}

impl Sums {
    fn add<'w>(&mut self, header: &[String], words: impl Iterator<Item = &'w str>) {
        let numbers: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
        self.header = header.to_vec();
        self.sums.resize(numbers.len().max(self.sums.len()), 0.0);
        for (sum, number) in self.sums.iter_mut().zip(numbers) {
            *sum += number;
        }
        self.rows += 1;
    }

    fn means(self) -> Map {
        let rows = f64::from(self.rows.max(1));
        let means = self.sums.into_iter().map(|sum| {
            let mean = format!("{:.2}", sum / rows);
            mean.parse::<f64>().unwrap_or_default()
        });
        self.header.into_iter().zip(means).collect()
    }
}

pub(super) fn iostat(call: &Call<'_>) -> CallResult {
    need(call, "iostat")?;
    let (interval, count) = (call.int("interval")?, call.int("count")?);
    if !(1..=MEASUREMENTS_MAX).contains(&interval) || !(1..=MEASUREMENTS_MAX).contains(&count) {
        return Err(CallError::invocation(format!(
            "interval and count are numbers from 1 to {MEASUREMENTS_MAX}"
        )));
    }
    let disks = match call.arg("disks") {
        Value::Nil => None,
        Value::List(disks) => Some(disks.iter().map(python::str).collect()),
        one => Some(vec![python::str(one)]),
    };
    let flag = if disks.is_some() { "-xd" } else { "-x" };
    let (interval, count) = (interval.to_string(), count.to_string());
    let mut program = Program::new(call, &["iostat", flag, &interval, &count]);
    for disk in disks.into_iter().flatten() {
        if disk.starts_with('-') {
            return Err(CallError::invocation(format!("not a device: {disk:?}")));
        }
        program = program.arg(disk);
    }
    Ok(measured(&program.run()?.stdout).into())
}

/// The means of what `iostat` has measured.
fn measured(text: &str) -> Map {
    let mut found: Vec<(String, Sums)> = Vec::new();
    let mut header: Vec<String> = Vec::new();
    let mut is_of_disks = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else {
            is_of_disks = false;
            continue;
        };
        let (name, words) = match first {
            "avg-cpu:" => {
                header = words.map(str::to_owned).collect();
                let numbers = lines.next().unwrap_or_default().split_whitespace();
                ("sys", numbers.collect::<Vec<_>>())
            }
            "Device:" | "Device" => {
                header = words.map(str::to_owned).collect();
                is_of_disks = true;
                continue;
            }
            disk if is_of_disks => (disk, words.collect()),
            _ => continue,
        };
        let at = found.iter().position(|(known, _)| known == name);
        let at = at.unwrap_or_else(|| {
            found.push((name.to_owned(), Sums::default()));
            found.len() - 1
        });
        if let Some((_, sums)) = found.get_mut(at) {
            sums.add(&header, words.into_iter());
        }
    }
    found
        .into_iter()
        .map(|(name, sums)| (name, sums.means()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_are_means() {
        let text = "Linux\n\navg-cpu:  %user %idle\n 1.00 99.00\n\nDevice r/s w/s\nsda 2.00 4.00\n\n\
                    avg-cpu:  %user %idle\n 2.00 98.00\n\nDevice r/s w/s\nsda 4.00 5.00\n";
        let means = measured(text);
        let of = |name: &str, field: &str| means.get(name).unwrap().get(field).unwrap().as_f64();
        assert_eq!(of("sys", "%user"), Some(1.5));
        assert_eq!(of("sda", "w/s"), Some(4.5));
    }

    #[test]
    fn settings_of_drives_are_read() {
        assert_eq!(
            setting("1 (on)"),
            Some(vec![Value::from(1), "on".into()].into())
        );
        assert_eq!(setting("256"), Some(256.into()));
        let geometry = [Value::from("121601"), 255.into()];
        assert_eq!(
            setting("121601/255"),
            Some(vec![121_601.into(), geometry[1].clone()].into())
        );
        assert_eq!(setting(""), None);
        assert_eq!(value("1 2"), vec![Value::from(1), 2.into()].into());
        assert_eq!(value("0x0012"), "0x0012".into());
    }
}
