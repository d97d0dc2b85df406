//! The memory of a process by what it is for: `/proc/<pid>/smaps`.

use halite_proto::Value;

const FIELDS: [&str; 10] = [
    "Rss:",
    "Size:",
    "Pss:",
    "Shared_Clean:",
    "Shared_Dirty:",
    "Private_Clean:",
    "Private_Dirty:",
    "Referenced:",
    "Anonymous:",
    "Swap:",
];

/// The bytes behind a name on a line.
fn bytes(line: &str, name: &str) -> Option<u64> {
    let rest = line.strip_prefix(name)?;
    let kib: u64 = rest.split_whitespace().next()?.parse().ok()?;
    Some(kib.saturating_mul(1024))
}

/// What is the process's alone, its share, and what is swapped out.
pub(super) fn shares(text: &str) -> [u64; 3] {
    let (mut own, mut share, mut swapped) = (0u64, 0u64, 0u64);
    for line in text.lines() {
        if line.starts_with("Private_") {
            let name = line.split_inclusive(':').next().unwrap_or_default();
            own += bytes(line, name).unwrap_or_default();
        }
        share += bytes(line, "Pss:").unwrap_or_default();
        swapped += bytes(line, "Swap:").unwrap_or_default();
    }
    [own, share, swapped]
}

/// The regions, those of one path together.
pub(super) fn by_path(text: &str) -> Value {
    let mut sums: Vec<(String, [u64; FIELDS.len()])> = Vec::new();
    let mut current = None;
    for line in text.lines() {
        let first = line.split_whitespace().next().unwrap_or_default();
        if !first.ends_with(':') {
            let path = line
                .split_whitespace()
                .skip(5)
                .collect::<Vec<_>>()
                .join(" ");
            let path = match path.as_str() {
                "" => "[anon]".to_owned(),
                path => path.trim_end_matches(" (deleted)").to_owned(),
            };
            let known = sums.iter().position(|(known, _)| *known == path);
            current = Some(known.unwrap_or_else(|| {
                sums.push((path, [0; FIELDS.len()]));
                sums.len() - 1
            }));
            continue;
        }
        let Some((_, sums)) = current.and_then(|at| sums.get_mut(at)) else {
            continue;
        };
        for (sum, name) in sums.iter_mut().zip(FIELDS) {
            *sum += bytes(line, name).unwrap_or_default();
        }
    }
    sums.into_iter()
        .map(|(path, sums)| {
            let numbers = sums.into_iter().map(Value::from);
            std::iter::once(Value::from(path))
                .chain(numbers)
                .collect::<Vec<_>>()
                .into()
        })
        .collect::<Vec<Value>>()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "1-2 rw-p 0 0:0 0 /lib/a b\nRss: 4 kB\nPss: 2 kB\nPrivate_Dirty: 1 kB\n\
                        2-3 rw-p 0 0:0 0 \nRss: 8 kB\nPrivate_Clean: 3 kB\nSwap: 1 kB\n\
                        3-4 rw-p 0 0:0 0 /lib/a b\nRss: 1 kB\nVmFlags: rd\n";

    #[test]
    fn regions_of_one_path_are_added_up() {
        assert_eq!(shares(TEXT), [4096, 2048, 1024]);
        let Value::List(maps) = by_path(TEXT) else {
            panic!("no list")
        };
        let rss: Vec<_> = maps
            .iter()
            .map(|map| {
                (
                    map.as_list().unwrap()[0].clone(),
                    map.as_list().unwrap()[1].clone(),
                )
            })
            .collect();
        assert_eq!(
            rss,
            [
                ("/lib/a b".into(), 5120.into()),
                ("[anon]".into(), 8192.into())
            ]
        );
    }
}
