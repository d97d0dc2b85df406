//! The results that masters keep on a Redis, in the layout of Salt's returner.

use anyhow::{Context as _, Result, ensure};
use halite_integration_tests::chaos::Results;
use halite_test_services::Redis;
use serde_json::Value;

/// Where the returns of a job are, by its id.
const RETURNS: &str = "ret:";

/// Of each return the key, the minion and the JSON, a line each: JSON has no line breaks.
const ALL: &str = "local all = {} \
    for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do \
        local parts = redis.call('HGETALL', key) \
        for at = 1, #parts, 2 do \
            table.insert(all, key) \
            table.insert(all, parts[at]) \
            table.insert(all, parts[at + 1]) \
        end \
    end \
    return all";

/// Adds every result, by job and minion.
pub(crate) fn read_store(redis: &Redis, results: &mut Results) -> Result<()> {
    let said = redis.cli(&["EVAL", ALL, "0", RETURNS])?;
    let lines: Vec<&str> = said.lines().filter(|line| !line.is_empty()).collect();
    for parts in lines.chunks(3) {
        ensure!(parts.len() == 3, "half a result: {parts:?}");
        let jid = parts[0].strip_prefix(RETURNS).context("no job id")?;
        let stored: Value = serde_json::from_str(parts[2]).context("no return")?;
        let key = (jid.to_owned(), parts[1].to_owned());
        results
            .entry(key)
            .or_default()
            .push(stored["return"].clone());
    }
    Ok(())
}
