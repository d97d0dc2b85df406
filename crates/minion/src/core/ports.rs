//! Which local event bus ports belong to which master when the bus speaks TCP
//! (`ipc_mode: tcp`): base, base + 2, base + 4 ... or explicit lists.
//!
//! Everything is decided before anything binds, so a bad list never leaves a
//! half-started minion behind.

use std::collections::BTreeMap;

use thiserror::Error;

/// Salt's default for `tcp_pub_port`.
pub const TCP_PUB_PORT: u16 = 4510;

/// Salt's default for `tcp_pull_port`.
pub const TCP_PULL_PORT: u16 = 4511;

/// What one of the two options says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortSetting {
    /// One number: the first master's port; each further master's is 2 higher.
    Base(i64),
    /// One port for each master, in the order of the `master:` list.
    List(Vec<i64>),
}

/// The two ports of one master's local bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusPorts {
    /// Where listeners connect.
    pub publish: u16,
    /// Where events are handed in.
    pub pull: u16,
}

/// Why the two options do not give every master two ports of its own.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PortError {
    /// A list has more or fewer entries than there are masters.
    #[error(
        "{option} lists {found} ports for {masters} masters; give one port for each master ({})",
        suggestion.as_deref().unwrap_or("no free assignment was found")
    )]
    Length {
        /// The option.
        option: &'static str,
        /// Entries in the list.
        found: usize,
        /// Entries of the `master:` list.
        masters: usize,
        /// The first assignment that would work.
        suggestion: Option<String>,
    },
    /// A number is not a TCP port.
    #[error("{option}: {port} for master {master} is not a port (1 to 65535)")]
    Range {
        /// The option.
        option: &'static str,
        /// The number.
        port: i64,
        /// Whose port it would be.
        master: String,
    },
    /// Two buses would share a port.
    #[error(
        "port {port} is used twice: {first} and {second}{}",
        suggestion.as_ref().map(|s| format!("; for example: {s}")).unwrap_or_default()
    )]
    Overlap {
        /// The port.
        port: u16,
        /// The option and master that have it, `option of master`.
        first: String,
        /// Those that want it too.
        second: String,
        /// The first assignment that would work.
        suggestion: Option<String>,
    },
    /// One option is a list, the other a number.
    #[error("tcp_pub_port and tcp_pull_port must both be lists or both be numbers{}",
        suggestion.as_ref().map(|s| format!("; for example: {s}")).unwrap_or_default())]
    Mixed {
        /// The first assignment that would work.
        suggestion: Option<String>,
    },
}

/// Gives each of `masters` its two ports.
///
/// # Errors
/// When the options do not give every master two ports that no other has.
pub fn allocate(
    masters: &[String],
    publish: &PortSetting,
    pull: &PortSetting,
) -> Result<Vec<BusPorts>, PortError> {
    if matches!(publish, PortSetting::Base(_)) != matches!(pull, PortSetting::Base(_)) {
        return Err(PortError::Mixed {
            suggestion: suggest(masters.len()),
        });
    }
    let publish = expand(PUB, publish, masters)?;
    let pull = expand(PULL, pull, masters)?;
    let mut taken: BTreeMap<u16, String> = BTreeMap::new();
    let mut ports = Vec::with_capacity(masters.len());
    for ((master, publish), pull) in masters.iter().zip(publish).zip(pull) {
        for (option, port) in [(PUB, publish), (PULL, pull)] {
            let owner = format!("{option} of {master}");
            if let Some(first) = taken.insert(port, owner.clone()) {
                let suggestion = suggest(masters.len());
                return Err(PortError::Overlap {
                    port,
                    first,
                    second: owner,
                    suggestion,
                });
            }
        }
        ports.push(BusPorts { publish, pull });
    }
    Ok(ports)
}

const PUB: &str = "tcp_pub_port";
const PULL: &str = "tcp_pull_port";

fn expand(
    option: &'static str,
    setting: &PortSetting,
    masters: &[String],
) -> Result<Vec<u16>, PortError> {
    let ports: Vec<i64> = match setting {
        PortSetting::Base(base) => (0..)
            .step_by(2)
            .take(masters.len())
            .map(|step: i64| base.saturating_add(step))
            .collect(),
        PortSetting::List(list) if list.len() == masters.len() => list.clone(),
        PortSetting::List(list) => {
            return Err(PortError::Length {
                option,
                found: list.len(),
                masters: masters.len(),
                suggestion: suggest(masters.len()),
            });
        }
    };
    ports
        .into_iter()
        .zip(masters)
        .map(|(port, master)| {
            u16::try_from(port)
                .ok()
                .filter(|&port| port != 0)
                .ok_or_else(|| PortError::Range {
                    option,
                    port,
                    master: master.clone(),
                })
        })
        .collect()
}

/// Salt's own numbering, which never overlaps, written as an admin would.
fn suggest(masters: usize) -> Option<String> {
    let last = u16::try_from(masters.checked_mul(2)?).ok()?;
    TCP_PULL_PORT.checked_add(last)?;
    let list = |first: u16| {
        (first..)
            .step_by(2)
            .take(masters)
            .map(|p| p.to_string())
            .collect::<Vec<_>>()
            .join(", ")
    };
    Some(format!(
        "{PUB}: [{}], {PULL}: [{}]",
        list(TCP_PUB_PORT),
        list(TCP_PULL_PORT)
    ))
}

#[cfg(test)]
mod tests {
    use super::PortSetting::{Base, List};
    use super::*;

    fn masters(n: usize) -> Vec<String> {
        (1..=n).map(|i| format!("m{i}")).collect()
    }

    #[test]
    fn each_master_gets_the_next_pair() {
        let ports = allocate(&masters(3), &Base(4510), &Base(4511)).unwrap();
        let pairs: Vec<_> = ports.iter().map(|p| (p.publish, p.pull)).collect();
        assert_eq!(pairs, [(4510, 4511), (4512, 4513), (4514, 4515)]);
    }

    #[test]
    fn lists_are_taken_in_order() {
        let ports = allocate(
            &masters(2),
            &List(vec![5000, 6000]),
            &List(vec![5001, 6001]),
        )
        .unwrap();
        assert_eq!(
            ports[1],
            BusPorts {
                publish: 6000,
                pull: 6001
            }
        );
    }

    #[test]
    fn a_list_of_the_wrong_length_names_the_option_and_a_way_out() {
        let error = allocate(&masters(2), &List(vec![1]), &List(vec![2, 3])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "tcp_pub_port lists 1 ports for 2 masters; give one port for each master \
             (tcp_pub_port: [4510, 4512], tcp_pull_port: [4511, 4513])"
        );
    }

    #[test]
    fn overlaps_are_found_within_and_across_the_options() {
        for (publish, pull) in [
            (List(vec![10, 10]), List(vec![11, 12])),
            (List(vec![10, 11]), List(vec![12, 10])),
            (Base(4510), Base(4510)),
            (Base(4510), Base(4512)),
        ] {
            let error = allocate(&masters(2), &publish, &pull).unwrap_err();
            assert!(matches!(error, PortError::Overlap { .. }), "{error}");
        }
    }

    #[test]
    fn numbers_that_are_no_port_and_mixed_forms_are_refused() {
        for bad in [0, -1, 65536, i64::MAX] {
            let error = allocate(&masters(1), &Base(bad), &Base(4511)).unwrap_err();
            assert!(matches!(error, PortError::Range { .. }), "{error}");
        }
        assert!(allocate(&masters(2), &Base(65535), &Base(4511)).is_err());
        let error = allocate(&masters(2), &Base(4510), &List(vec![1, 2])).unwrap_err();
        assert!(matches!(error, PortError::Mixed { .. }));
    }
}
