//! The cluster that a master belongs to, as it tells a minion of ours: masters of
//! one cluster share events, so each event needs to go to only one of them.

use crate::capabilities::FIELD;
use crate::limits::CLUSTER_NAME_BYTES_MAX;
use crate::{Map, Value};

/// The name of the cluster among the capabilities in the sign-in.
const NAME: &str = "cluster";

/// What a master says in the sign-in; one on its own, or of Salt, says nothing.
pub fn cluster_name_of(extra: &Map) -> Option<&str> {
    let name = extra.get(FIELD)?.get(NAME)?.as_str()?;
    (1..=CLUSTER_NAME_BYTES_MAX)
        .contains(&name.len())
        .then_some(name)
}

/// Says so, beside the capabilities.
pub fn add_cluster_name(extra: &mut Map, name: &str) {
    if let Some(Value::Map(field)) = extra.get_mut(FIELD)
        && name.len() <= CLUSTER_NAME_BYTES_MAX
    {
        field.insert(NAME, name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Capabilities;

    #[test]
    fn a_name_is_read_as_it_was_said_within_its_length() {
        let mut extra = Capabilities::OURS.to_extra();
        assert_eq!(cluster_name_of(&extra), None);
        add_cluster_name(&mut extra, "master_cluster");
        assert_eq!(cluster_name_of(&extra), Some("master_cluster"));
        assert_eq!(Capabilities::of(&extra), Capabilities::OURS);
        let long = "x".repeat(CLUSTER_NAME_BYTES_MAX + 1);
        for name in ["", &long] {
            let said = Map::from([(FIELD, Map::from([(NAME, name)]))]);
            assert_eq!(cluster_name_of(&said), None);
        }
        // For a peer that gets no fields beyond Salt's.
        let mut none = Map::new();
        add_cluster_name(&mut none, "master_cluster");
        assert_eq!(none, Map::new());
    }
}
