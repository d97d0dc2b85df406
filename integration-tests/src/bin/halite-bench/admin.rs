//! Longer operations of an administrator: targets over a large fleet and large
//! files.

use std::fs;
use std::time::Instant;

use anyhow::{Result, ensure};
use halite_integration_tests::wire::msgpack::Item;
use halite_integration_tests::{Kind, Master, Minion};

use crate::daemons::{minion, new_fleet, plan};
use crate::measure::{Effort, Numbers, Unit, mebibytes, median, millis};

/// Minions of which the master knows the grains.
const MINIONS: usize = 10_000;

/// One of them, with words of every kind in the expression.
const EXPRESSION: &str =
    "( G@os:Debian and P@place:city:^B and not node0* ) and G@serial:s4242 or L@node00007";

/// Bytes of the large file.
const FILE_BYTES: usize = 100 << 20;

/// Everything an administrator does.
pub(crate) fn admin(kind: Kind, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    let fleet = new_fleet()?;
    let mut master = plan(&fleet, kind)?;
    let mut web1 = minion(&fleet, kind, &master, 1)?;
    large_file(&mut master, &mut web1, effort, numbers)?;
    write_minions(&master, &fs::read(master.dir().join("pki/minions/web1"))?)?;
    target_minions(&master, "", effort, numbers)
}

/// A file of 100 MiB from the master to a minion, and what both take more of
/// memory behind it.
fn large_file(
    master: &mut Master,
    web1: &mut Minion,
    effort: Effort,
    numbers: &mut Numbers,
) -> Result<()> {
    // No two blocks are the same, so that nothing is gained by packing them.
    let bytes: Vec<u8> = (0..FILE_BYTES / 8)
        .flat_map(|number: usize| (number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_le_bytes())
        .collect();
    fs::write(master.dir().join("srv/large"), bytes)?;
    let before = (master.memory_kib()?, web1.memory_kib()?);
    let mut times = Vec::new();
    for number in 0..effort.calls {
        let path = web1
            .dir()
            .join(format!("large{number}"))
            .display()
            .to_string();
        let begun = Instant::now();
        let copied =
            master.returns(&["-t", "120", "web1", "cp.get_file", "salt://large", &path])?;
        times.push(begun.elapsed());
        ensure!(
            copied.get("web1").is_some_and(|to| *to == path),
            "{copied:?}"
        );
        ensure!(
            fs::metadata(&path)?.len() == FILE_BYTES as u64,
            "{path} is not whole"
        );
        fs::remove_file(path)?;
    }
    numbers.add(
        "`cp.get_file` of 100 MiB",
        median(times)?,
        Unit::Milliseconds,
        "6x",
    );
    for (name, before, after) in [
        (
            "master after it, more than before",
            before.0,
            master.memory_kib()?,
        ),
        (
            "minion after it, more than before",
            before.1,
            web1.memory_kib()?,
        ),
    ] {
        numbers.add(
            name,
            mebibytes(after.saturating_sub(before)),
            Unit::Mebibytes,
            "10 MiB",
        );
    }
    Ok(())
}

/// A large fleet that a master knows: one key for all, and grains of each.
pub(crate) fn write_minions(master: &Master, key: &[u8]) -> Result<()> {
    let keys = master.dir().join("pki/minions");
    let grains = master.dir().join("cache/grains");
    fs::create_dir_all(&grains)?;
    fs::create_dir_all(&keys)?;
    for number in 0..MINIONS {
        let id = format!("node{number:05}");
        fs::write(keys.join(&id), key)?;
        fs::write(
            grains.join(format!("{id}.p")),
            grains_of(&id, number).pack(),
        )?;
    }
    Ok(())
}

/// A compound expression over the kept grains of a large fleet, until the job has
/// its id. `place` says where they are kept.
pub(crate) fn target_minions(
    master: &Master,
    place: &str,
    effort: Effort,
    numbers: &mut Numbers,
) -> Result<()> {
    let start = || -> Result<_> {
        let begun = Instant::now();
        let started = master
            .salt(&["-t", "120", "-C", EXPRESSION, "test.ping", "--async"])?
            .ok()?;
        let took = begun.elapsed();
        ensure!(started.stdout.contains("job ID: 2"), "unexpected {started}");
        Ok(took)
    };
    let first = start()?;
    numbers.add(
        &format!("`salt -C --async` over 10,000 minions{place}, the first time"),
        millis(first),
        Unit::Milliseconds,
        "1000 ms",
    );
    let times: Result<Vec<_>> = (0..effort.calls.max(2)).map(|_| start()).collect();
    numbers.add(
        &format!("`salt -C --async` over 10,000 minions{place}"),
        median(times?)?,
        Unit::Milliseconds,
        "50 ms",
    );
    Ok(())
}

/// Grains as large as those of a real machine.
fn grains_of(id: &str, number: usize) -> Item {
    let text = |value: String| Item::from(value.as_str());
    let mut entries = vec![
        ("id".to_owned(), Item::from(id)),
        (
            "os".to_owned(),
            Item::from(["Debian", "Ubuntu", "Alpine"][number % 3]),
        ),
        ("serial".to_owned(), text(format!("s{number}"))),
        (
            "place".to_owned(),
            Item::map([("city", Item::from(["Berlin", "Bonn", "Ulm"][number % 3]))]),
        ),
    ];
    for more in 0..100 {
        entries.push((
            format!("grain{more}"),
            text(format!("value {more} of {id} {}", "x".repeat(40))),
        ));
    }
    let entries = entries.into_iter();
    Item::Map(
        entries
            .map(|(name, value)| (Item::from(name.as_str()), value))
            .collect(),
    )
}
