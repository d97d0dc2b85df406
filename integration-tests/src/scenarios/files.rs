//! What minions get from a master: files, states, values of others' mines.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::Pair;
use crate::kind::Kind;

/// Files of the master arrive whole at the minion, in one and in many chunks.
pub fn files_arrive(master: Kind, minion: Kind) -> Result<()> {
    let small = "first line\nžluťoučký\n";
    let pair = Pair::with(
        master,
        minion,
        |plan| plan.file("web/small.txt", small).file("empty", ""),
        |plan| plan,
    )?;
    let large: Vec<u8> = (0..3_000_000_u32)
        .map(|number| number.wrapping_mul(2_654_435_761).to_be_bytes()[0])
        .collect();
    fs::write(pair.master.dir().join("srv/large.bin"), &large)?;
    let wanted: [(&str, &[u8]); 3] = [
        ("web/small.txt", small.as_bytes()),
        ("large.bin", &large),
        ("empty", b""),
    ];
    for (name, content) in wanted {
        let to = pair.fleet.path().join("got");
        let to = to.to_str().context("a path that is no text")?;
        let returned = pair.returned(&["cp.get_file", &format!("salt://{name}"), to])?;
        ensure!(
            returned == json!(to),
            "cp.get_file of {name} returned {returned}"
        );
        ensure!(fs::read(to)? == content, "{name} arrived changed");
        fs::remove_file(to)?;
    }
    let listed = pair.returned(&["cp.list_master"])?;
    ensure!(
        listed == json!(["empty", "large.bin", "web/small.txt"]),
        "unexpected list {listed}"
    );
    let missing = pair.returned(&["cp.get_file", "salt://no/such", "/dev/null"])?;
    ensure!(missing == json!(""), "a missing file gave {missing}");
    // Whether that is an error or nothing at all, it is not the file.
    let outside = pair
        .master
        .salt(&["web1", "cp.get_file_str", "salt://../master"])?;
    ensure!(
        !outside.stdout.contains("publish_port"),
        "a file above the root was served: {outside}"
    );
    Ok(())
}

/// Files of several pieces, of any length, are pushed to the master, and copied
/// to the minion by the programs of either side.
pub fn files_go_in_pieces(master: Kind, minion: Kind) -> Result<()> {
    const ODD_PIECE_BYTES: usize = 10_000;
    const BYTES: usize = 60_001;
    let pair = Pair::with(
        master,
        minion,
        |plan| {
            plan.set("file_recv", true)
                .set("salt_cp_chunk_size", ODD_PIECE_BYTES)
        },
        |plan| plan.set("file_buffer_size", ODD_PIECE_BYTES),
    )?;
    let whole: Vec<u8> = (0..=250_u8).cycle().take(BYTES).collect();
    let from = pair.fleet.path().join("from");
    let to = pair.fleet.path().join("to");
    let text = |path: &Path| path.to_str().map(str::to_owned).context("no text");
    let (from_text, to_text) = (text(&from)?, text(&to)?);
    let inbox = pair.master.dir().join("cache/minions/web1/files");
    let pushed = inbox.join(from_text.trim_start_matches('/'));
    // The last piece is shorter, as long as the others, the only one, and none.
    for size in [BYTES, 32_768, 2 * ODD_PIECE_BYTES, 3, 0] {
        fs::write(&from, &whole[..size])?;
        let returned = pair.returned(&["cp.push", &from_text])?;
        ensure!(returned == json!(true), "cp.push returned {returned}");
        ensure!(fs::read(&pushed)? == whole[..size], "{size} bytes changed");
    }
    let mut kinds = vec![master, minion];
    kinds.dedup();
    for kind in kinds {
        for size in [BYTES, 2 * ODD_PIECE_BYTES] {
            fs::write(&from, &whole[..size])?;
            let words = ["-C", "web1", &from_text, &to_text];
            pair.master.tools(kind).cp(&words)?.ok()?;
            ensure!(fs::read(&to)? == whole[..size], "salt-cp of {kind}");
        }
    }
    Ok(())
}

/// A small tree of states is fetched and applied.
pub fn a_small_tree_is_applied(master: Kind, minion: Kind) -> Result<()> {
    let sls = "\
{% set path = pillar.get('path', grains['saltpath'] and opts['root_dir'] ~ '/applied') %}
the file:
  file.managed:
    - name: {{ path }}
    - source: salt://web/motd
    - template: jinja
    - mode: '0640'

a command:
  cmd.run:
    - name: echo applied >> {{ path }}.log
    - onchanges:
      - file: the file
";
    let pair = Pair::with(
        master,
        minion,
        |plan| {
            plan.file("web/init.sls", sls)
                .file("web/motd", "this is {{ grains['id'] }}\n")
        },
        |plan| plan,
    )?;
    let file = pair.minion.dir().join("applied");
    let first = pair.returned(&["state.apply", "web"])?;
    let results = first
        .as_object()
        .with_context(|| format!("no states in {first}"))?;
    ensure!(results.len() == 2, "expected two states in {first}");
    ensure!(
        results.values().all(|state| state["result"] == true),
        "a state failed: {first}"
    );
    assert_eq!(fs::read_to_string(&file)?, "this is web1\n");
    assert_eq!(fs::read_to_string(file.with_extension("log"))?, "applied\n");

    let again = pair.returned(&["state.apply", "web"])?;
    let unchanged = |state: &Value| state["changes"] == json!({});
    ensure!(
        again
            .as_object()
            .is_some_and(|states| states.values().all(unchanged)),
        "the second run changed: {again}"
    );
    Ok(())
}

/// What a minion puts into the mine, another command reads from it.
pub fn the_mine_keeps_and_gives(master: Kind, minion: Kind) -> Result<()> {
    let pair = Pair::with(
        master,
        minion,
        |plan| plan,
        |plan| {
            plan.set("mine_functions", json!({ "test.echo": ["from the file"] }))
                .set("mine_interval", 60)
        },
    )?;
    assert_eq!(pair.returned(&["mine.update"])?, json!(true));
    assert_eq!(
        pair.returned(&["mine.get", "*", "test.echo"])?,
        json!({ "web1": "from the file" })
    );
    assert_eq!(
        pair.returned(&["mine.send", "grains.get", "id"])?,
        json!(true)
    );
    assert_eq!(
        pair.returned(&["mine.get", "web1", "grains.get"])?,
        json!({ "web1": "web1" })
    );
    assert_eq!(
        pair.returned(&["mine.get", "nobody", "grains.get"])?,
        json!({})
    );
    assert_eq!(pair.returned(&["mine.delete", "grains.get"])?, json!(true));
    assert_eq!(pair.returned(&["mine.get", "*", "grains.get"])?, json!({}));
    Ok(())
}
